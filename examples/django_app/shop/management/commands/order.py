"""`manage.py order ITEM`: orders something. `manage.py order --missing`: sends again what nobody has packed."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from shop.jobs import pack_later, send
from shop.models import Order


class Command(BaseCommand):
    help = "Orders something, or sends again what nobody has packed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("item", nargs="?")
        parser.add_argument("--missing", action="store_true")

    def handle(self, *args: object, item: str | None, missing: bool, **options: object) -> None:
        if missing:
            for order in Order.objects.filter(packed_at=None):
                send(order)
        elif item:
            with transaction.atomic():
                pack_later(Order.objects.create(item=item))
        else:
            raise CommandError("expected an item, or --missing")
