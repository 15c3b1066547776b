"""Django with a database and a queue of the tests' own."""

from __future__ import annotations

import os

import django
import pytest


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory, leaselog_bootstrap_servers: str) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "project.settings"
    os.environ["DATABASE"] = str(tmp_path_factory.mktemp("database") / "shop.sqlite3")
    os.environ["LEASELOG_BOOTSTRAP_SERVERS"] = leaselog_bootstrap_servers
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


@pytest.fixture
def queue(database: None, leaselog_topic: str, leaselog_group: str):
    """The shop's queue is this test's topic and group."""
    from django.test import override_settings

    with override_settings(LEASELOG_TOPIC=leaselog_topic, LEASELOG_GROUP=leaselog_group):
        yield
