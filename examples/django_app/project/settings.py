"""As little as a project needs, and where its queue is."""

from __future__ import annotations

import os
from pathlib import Path

SECRET_KEY = "an example keeps no secrets"
INSTALLED_APPS = ["shop"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("DATABASE", str(Path(__file__).parents[1] / "shop.sqlite3")),
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True

LEASELOG_BOOTSTRAP_SERVERS = os.environ.get("LEASELOG_BOOTSTRAP_SERVERS", "127.0.0.1:9092")
LEASELOG_TOPIC = os.environ.get("LEASELOG_TOPIC", "orders")
LEASELOG_GROUP = os.environ.get("LEASELOG_GROUP", "packing")
