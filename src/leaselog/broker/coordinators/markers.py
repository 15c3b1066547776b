"""A transaction marker, as whoever ends transactions hands it to whoever keeps what they are about."""

from __future__ import annotations

from typing import NamedTuple

from leaselog.model import ProducerId

__all__ = ["Marker"]


class Marker(NamedTuple):
    producer_id: ProducerId
    epoch: int
    is_commit: bool
    coordinator_epoch: int = 0
    #: 2 where every end raises the epoch, so that the producer's next epoch is this one
    version: int = 0
