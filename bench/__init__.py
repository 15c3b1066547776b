"""leaselog beside Apache Kafka, in one run: `python -m bench`, or `make bench`.

Each row of the comparison is a module of `bench.rows`; `bench.frame` says what a row is. The programs
beside it have commands of their own: `bench.share_client` (our clients beside librdkafka), `bench.share_scaling`
(consumers with work of any length), `bench.spark_driver` (what acquiring costs it), `bench.growth` (thousands beside
one) and `bench.share_machine` (decisions alone, without a broker).
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# requests as bytes and a share group's member made of them are the interop tests'
sys.path.append(str(ROOT / "tests"))
