"""A consumer as far as the worker that drives it has to know it."""

from __future__ import annotations

from typing import Any, Protocol

from leaselog.client.cluster import Cluster
from leaselog.client.share.config import ShareConsumerConfig
from leaselog.client.share.core import ShareCore
from leaselog.client.share.processing import Acknowledgement
from leaselog.client.share.record import ShareRecord

__all__ = ["WorkedConsumer"]


class WorkedConsumer(Protocol):
    core: ShareCore
    config: ShareConsumerConfig

    @property
    def cluster(self) -> Cluster: ...

    def end_work_on(
        self, record: ShareRecord[Any, Any], said: Acknowledgement, /, *, insist: bool
    ) -> None: ...

    async def end_work(self, timeout_s: float) -> None: ...

    def wakeup(self) -> None: ...

    def check_woken(self) -> None: ...

    def tell_completed(self) -> None: ...

    def pump(self) -> None: ...

    def notify(self) -> None: ...

    async def changed(self, timeout_s: float) -> None: ...
