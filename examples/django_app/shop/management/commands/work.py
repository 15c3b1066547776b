"""`manage.py work`: packs orders until SIGTERM or Ctrl-C, and finishes what it has begun."""

from __future__ import annotations

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from leaselog.client import ShareConsumer, as_json
from shop.jobs import pack


class Command(BaseCommand):
    help = "Packs orders as they come."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--concurrency", type=int, default=4)

    def handle(self, *args: object, concurrency: int, **options: object) -> None:
        config = {"group.id": settings.LEASELOG_GROUP, "value.deserializer": as_json}
        with ShareConsumer(config, bootstrap_servers=settings.LEASELOG_BOOTSTRAP_SERVERS) as worker:
            worker.subscribe([settings.LEASELOG_TOPIC])
            worker.run(pack, concurrency=concurrency, begins="earliest")
