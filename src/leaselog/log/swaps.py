"""Putting a cleaned segment in the place of its sources: a crash at any step leaves the one or the others.

    1. the cleaner writes and syncs <base>.log.cleaned and its indexes
    2. rename to <base>.log.swap, sync the directory      from here on the new segment is the truth
    3. rename the segments it replaces to .deleted, the new one's indexes to their names, and it to <base>.log

Found at open: .cleaned goes, .swap is carried through. The swap file says itself which segments it replaces,
because a cleaned segment always ends at the offset where its last source did (see ``cleaner``).
"""

from __future__ import annotations

from leaselog.log._scan import scan_headers
from leaselog.log.files import Files
from leaselog.log.layout import INDEX, LOG, SWAP, TIME_INDEX, TXN_INDEX, offset_of, segment_path

__all__ = ["finish_swaps"]


def finish_swaps(files: Files, directory: str) -> None:
    """Carry through every replacement that had reached step 2. Doing it twice does no harm."""
    names = files.names(directory)
    for base in [base for name in names if (base := offset_of(name, LOG + SWAP)) is not None]:
        swap = segment_path(directory, base, LOG + SWAP)
        end = _end_offset(files, swap, base)
        for other in [other for name in names if (other := offset_of(name, LOG)) is not None]:
            if base <= other < end:
                _remove_segment(files, directory, other)
        _remove_segment(files, directory, base)  # indexes of its first source, perhaps
        files.rename(swap, segment_path(directory, base, LOG))
        files.sync_directory(directory)


def _end_offset(files: Files, path: str, base: int) -> int:
    file, end = files.open(path), base
    for _, header in scan_headers(file, 0, file.size_bytes()):
        end = header.end_offset
    return end


def _remove_segment(files: Files, directory: str, base: int) -> None:
    # The log last: indexes without one are swept, a log without indexes has them made anew.
    for suffix in (INDEX, TIME_INDEX, TXN_INDEX, LOG):
        path = segment_path(directory, base, suffix)
        if files.exists(path):
            files.remove(path)
