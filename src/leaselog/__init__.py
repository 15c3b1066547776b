"""leaselog: queues for Kafka, in Python."""

__version__ = "0.1.0"
