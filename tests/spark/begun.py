"""Queries that are begun once more where Spark could not begin them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: for a query to come to an end, on a slow and busy machine
QUERY_S = 150
#: Spark gives a Python worker ten seconds to start and call back, which is a constant of its own; it takes one and a
#: half of a processor, and on a machine that others use up that may be twelve seconds. Spark says the same when the
#: first to call is a stranger: a client that looks for a broker which had the port and is gone. The query has not
#: begun then.
NOT_BEGUN = "Python worker failed to connect back"
ATTEMPTS = 5


class Query:
    """A query that is under way, begun once more if Spark could not begin it."""

    def __init__(self, start: Callable[[], Any]) -> None:
        self._start = start
        self.running = start()

    def wait(self, within_s: int | None = QUERY_S) -> None:
        """Until it has ended by itself. Raises what it fails with."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                ended = self.running.awaitTermination(within_s)  # None where it may take for ever
                assert ended is not False, f"still running: {self.running.lastProgress}"
                return
            except Exception as failed:
                if NOT_BEGUN not in str(failed) or attempt == ATTEMPTS:
                    raise
            self.running = self._start()

    def stop(self) -> None:
        self.running.stop()
