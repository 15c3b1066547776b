"""What the contracts of the share consumers begin with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from share_cluster_model import TOPIC, ModelCluster
from share_flavours import FLAVOURS, Flavour, Make


@pytest.fixture(params=FLAVOURS, ids=lambda flavour: flavour.name)
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """A consumer over a model cluster, subscribed; configured as the module's CONFIG says, unless told otherwise."""
    made: list[Flavour] = []

    def maker(records: int = 3, model: ModelCluster | None = None, **config: Any) -> Flavour:
        model = model or ModelCluster()
        model.produce([b"%d" % i for i in range(records)])
        flavour: Flavour = request.param(model, **{**request.module.CONFIG, **config})
        made.append(flavour)
        flavour.subscribe([TOPIC])
        return flavour

    yield maker
    for flavour in made:
        flavour.end()
