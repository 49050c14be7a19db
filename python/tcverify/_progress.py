"""Whoever is told how far a call is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

#: Called as ``progress(done, work)``, in multiply-adds; or a bar of tqdm.
Progress = Union[Callable[[int, int], object], Any]


def listener(progress: Progress | None) -> Callable[[int, int], object] | None:
    """Who is told how far it is: a function, or a bar with ``total`` and ``update`` as tqdm's."""
    if progress is None or not hasattr(progress, "update") or not hasattr(progress, "total"):
        return progress
    told = 0

    def tell(done: int, work: int) -> None:
        nonlocal told
        progress.total = work
        progress.update(done - told)
        told = done

    return tell
