"""The pipeline's picture: what was ordered, how often records came, and what each batch was made of.

Drawn with Pillow rather than with a plotting library, which would be three times as large and would need numpy; and
rather than with a PNG writer of our own, which would need a font of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log10
from pathlib import Path
from typing import Any

from leaselog.spark.order_figures import BINS_OF_TEN, OrderFigures
from leaselog.spark.orders import CATEGORIES
from leaselog.spark.verdicts import ARCHIVED, Audit

__all__ = ["Figures", "draw"]

#: twice as many pixels as points: sharp on today's screens
_SCALE = 2
_WIDTH, _HEIGHT = 900, 470
_PAPER, _INK, _FAINT, _GRID = "#fbfaf7", "#23272e", "#7c828c", "#e4e1da"
_COLOURS = ("#2f6f8f", "#5aa469", "#e8b04a", "#d9693f", "#8a4f7d")
_DELIVERIES = ("#2f6f8f", "#e8b04a", "#d9693f", "#8a4f7d", "#5c2a3a")


@dataclass(frozen=True, slots=True)
class Figures:
    orders: int
    verdict: Audit
    output: OrderFigures
    seconds: float


@dataclass(frozen=True, slots=True)
class _Box:
    left: int
    top: int
    right: int
    bottom: int


def draw(figures: Figures, path: Path) -> Path | None:
    """Writes a PNG; None without Pillow."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        return None
    image = Image.new("RGB", (_WIDTH * _SCALE, _HEIGHT * _SCALE), _PAPER)
    sheet = _Sheet(ImageDraw.Draw(image), ImageFont)
    _title(sheet, figures)
    _values(sheet, figures.output.by_value, _Box(60, 110, 500, 410))
    _deliveries(sheet, figures.verdict.by_deliveries, _Box(590, 110, 870, 210))
    _batches(sheet, figures.output.by_batch, _Box(590, 290, 870, 410))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, optimize=True)
    return path


class _Sheet:
    """Draws in points."""

    def __init__(self, pen: Any, fonts: Any) -> None:
        self._pen, self._fonts = pen, fonts

    def bar(self, left: float, top: float, right: float, bottom: float, colour: str) -> None:
        """Neighbours touch: the end of one is the pixel before the next."""
        x, y, after_x, after_y = (round(point * _SCALE) for point in (left, top, right, bottom))
        if after_x > x and after_y > y:
            self._pen.rectangle([x, y, after_x - 1, after_y - 1], fill=colour)

    def line(self, left: float, top: float, right: float, bottom: float, colour: str) -> None:
        self._pen.line(
            [left * _SCALE, top * _SCALE, right * _SCALE, bottom * _SCALE], fill=colour, width=_SCALE
        )

    def text(
        self, x: float, y: float, text: str, size: int = 11, colour: str = _INK, anchor: str = "la"
    ) -> None:
        font = self._fonts.load_default(size * _SCALE)
        self._pen.text((x * _SCALE, y * _SCALE), text, font=font, fill=colour, anchor=anchor)


def _title(sheet: _Sheet, figures: Figures) -> None:
    verdict = figures.verdict
    lost = sum(verdict.wrong.values())
    claim = "each accounted for" if lost == 0 else f"{lost:,} not accounted for"
    sheet.text(24, 18, f"{figures.orders:,} orders, {claim}", 22)
    text = f"{figures.output.rows:,} rows in Parquet, {verdict.total(ARCHIVED):,} archived"
    sheet.text(24, 50, f"{text}; {figures.orders / figures.seconds:,.0f} records/s", 12, _FAINT)


def _heading(sheet: _Sheet, box: _Box, text: str) -> None:
    sheet.text(box.left, box.top - 24, text, 12)


def _values(sheet: _Sheet, by_value: Mapping[tuple[str, int], int], box: _Box) -> None:
    _heading(sheet, box, "Orders by what they are worth")
    bins = sorted({number for _, number in by_value})
    if not bins:
        return
    first, last = bins[0], bins[-1] + 1
    stacks = {n: [by_value.get((category, n), 0) for category in CATEGORIES] for n in range(first, last)}
    top = _scale(sheet, box, max(map(sum, stacks.values())))
    width = (box.right - box.left) / (last - first)
    for number, stack in stacks.items():
        left = box.left + (number - first) * width
        _stack(sheet, box, left, left + width - 1, zip(stack, _COLOURS, strict=True), top)
    for power in range(ceil(first / BINS_OF_TEN), last // BINS_OF_TEN + 1):
        x = box.left + (power * BINS_OF_TEN - first) * width
        sheet.text(x, box.bottom + 6, f"{10**power:,} EUR", 10, _FAINT, "ma")
    x = float(box.left)
    for category, colour in zip(CATEGORIES, _COLOURS, strict=True):
        sheet.bar(x, box.bottom + 30, x + 9, box.bottom + 39, colour)
        sheet.text(x + 14, box.bottom + 28, category, 10)
        x += 88


def _deliveries(sheet: _Sheet, by_deliveries: Mapping[int, int], box: _Box) -> None:
    _heading(sheet, box, "Accepted at which delivery (logarithmic)")
    if not by_deliveries:
        return
    most = log10(max(by_deliveries.values()) * 1.2)
    times = range(1, max(by_deliveries) + 1)
    height = min(24.0, (box.bottom - box.top) / len(times))
    for number in times:
        count = by_deliveries.get(number, 0)
        y = box.top + (number - 1) * height
        width = (box.right - box.left - 70) * log10(count + 1) / most
        sheet.text(box.left, y + height / 2 - 2, str(number), 10, _FAINT, "lm")
        sheet.bar(box.left + 16, y, box.left + 16 + width, y + height - 5, _delivery_colour(number))
        sheet.text(box.left + 22 + width, y + height / 2 - 2, f"{count:,}", 10, _INK, "lm")


def _batches(sheet: _Sheet, by_batch: Mapping[tuple[int, int], int], box: _Box) -> None:
    _heading(sheet, box, "Accepted in each batch, by delivery")
    if not by_batch:
        return
    count = max(batch for batch, _ in by_batch) + 1
    stacks = {
        batch: [(n, _delivery_colour(times)) for (b, times), n in sorted(by_batch.items()) if b == batch]
        for batch in range(count)
    }
    top = _scale(sheet, box, max(sum(n for n, _ in stack) for stack in stacks.values()))
    width = (box.right - box.left) / count
    gap = 1.0 if width > 3 else 0.0
    for batch, stack in stacks.items():
        left = box.left + batch * width
        _stack(sheet, box, left, left + width - gap, stack, top)
    sheet.text(box.left, box.bottom + 6, "batch 0", 10, _FAINT)
    sheet.text(box.right, box.bottom + 6, str(count - 1), 10, _FAINT, "ra")


def _delivery_colour(times: int) -> str:
    return _DELIVERIES[min(times, len(_DELIVERIES)) - 1]


def _stack(
    sheet: _Sheet, box: _Box, left: float, right: float, parts: Iterable[tuple[int, str]], top: float
) -> None:
    below = 0.0
    for count, colour in parts:
        high = (box.bottom - box.top) * count / top
        sheet.bar(left, box.bottom - below - high, right, box.bottom - below, colour)
        below += high


def _scale(sheet: _Sheet, box: _Box, most: int) -> float:
    """Lines to read heights by; the height of the box in their unit."""
    step = _round_step(most / 3)
    top = step * ceil(most / step)
    for number in range(0, top + 1, step):
        y = box.bottom - (box.bottom - box.top) * number / top
        sheet.line(box.left, y, box.right, y, _GRID if number else _FAINT)
        sheet.text(box.left - 6, y, f"{number:,}", 10, _FAINT, "rm")
    return top


def _round_step(about: float) -> int:
    """1, 2 or 5 times a power of ten, not above ``about``."""
    steps: Sequence[int] = [unit * 10**power for power in range(12) for unit in (1, 2, 5)]
    return max((step for step in steps if step <= about), default=1)
