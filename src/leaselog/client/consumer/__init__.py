"""The ordinary consumer: topics as a member of a classic consumer group, or partitions that it is told."""

from leaselog.client.consumer.async_consumer import AsyncConsumer
from leaselog.client.consumer.blocking import Consumer
from leaselog.client.consumer.record import ConsumerRecord

__all__ = ["AsyncConsumer", "Consumer", "ConsumerRecord"]
