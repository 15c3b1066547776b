"""What is in the pipeline's Parquet, as figures small enough for a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["BINS_OF_TEN", "OrderFigures", "figures_of"]

#: bins for each factor of ten in an order's value
BINS_OF_TEN = 12


@dataclass(frozen=True, slots=True)
class OrderFigures:
    rows: int
    #: orders by category and by bin: bin n is 10 ** (n / BINS_OF_TEN) euros and more
    by_value: Mapping[tuple[str, int], int]
    #: orders by batch and by delivery
    by_batch: Mapping[tuple[int, int], int]


def figures_of(rows: Any) -> OrderFigures:
    """Reads the output once."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    euros_bin = F.floor(F.log10(F.col("total_cents") / 100) * BINS_OF_TEN).alias("bin")
    by_value = dict[tuple[str, int], int]()
    by_batch = dict[tuple[int, int], int]()
    grouped = rows.groupBy("category", euros_bin, "batch", "delivery_count").count()
    for row in grouped.collect():
        value, batch = (row.category, row.bin), (row.batch, row.delivery_count)
        by_value[value] = by_value.get(value, 0) + row["count"]
        by_batch[batch] = by_batch.get(batch, 0) + row["count"]
    return OrderFigures(sum(by_value.values()), by_value, by_batch)
