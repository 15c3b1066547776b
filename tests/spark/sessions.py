"""Spark sessions as small and quick to begin as they get: for the tests, and for drivers in their own processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: two at a time, and a task may fail three times, as on a cluster
LOCAL = "local[2,4]"

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # starts sooner
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "ERROR",
}


def start_session(master: str, settings: Mapping[str, str]) -> Any:
    """A session that knows leaselog's formats."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    tests = str(Path(__file__).resolve().parents[1])  # for what tasks import
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [tests, os.environ.get("PYTHONPATH")]))
    from pyspark.sql import SparkSession

    import leaselog.spark

    builder = SparkSession.builder.master(master).appName("leaselog tests")
    for name, value in {**_SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    leaselog.spark.register(session)
    return session
