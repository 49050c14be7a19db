"""Why two results of one product differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Union

from tcverify import _tcverify
from tcverify._arrays import ArrayLike
from tcverify._documents import Compared
from tcverify._errors import CheckError
from tcverify._progress import Progress, listener
from tcverify._groups import SpanLike
from tcverify._request import SEARCHED, choice, divided, integer, span

#: A name, or several.
Names = Union[str, Sequence[str], None]


def compare(
    left: ArrayLike,
    right: ArrayLike,
    a: ArrayLike | None = None,
    b: ArrayLike | None = None,
    *,
    a2: ArrayLike | None = None,
    b2: ArrayLike | None = None,
    dtype: Any = None,
    dtype_b: Any = None,
    d_dtype: Any = None,
    d_dtype2: Any = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    arch: Names = None,
    arch1: Names = None,
    arch2: Names = None,
    kernel1: str | None = None,
    kernel2: str | None = None,
    rows1: SpanLike | None = None,
    rows2: SpanLike | None = None,
    schedules: str = "auto",
    budget: int = 500,
    max_mismatches: int = 10,
    progress: Progress | None = None,
) -> Compared:
    """Why two results differ: where and how far; with ``a`` and ``b`` also what gives each, and what separates the two.

    ``a2`` and ``b2`` are the operands of the right result, where they are others. ``arch`` names the architectures that are
    looked at for both, ``arch1`` and ``arch2`` for one; ``rows1`` and ``rows2`` are the rows that are compared, the end
    excluded. ``budget`` is in millions of multiply-adds, for each of the two searches.

    >>> import numpy as np
    >>> found = compare(np.float32([[1, 2]]), np.float32([[1, 2.0000002]]))
    >>> found.verdict, found.mismatch_count
    ('different', 1)
    """
    budget = integer("budget", budget, most=(1 << 64) // 1_000_000 - 1)
    max_mismatches = integer("max_mismatches", max_mismatches, most=1 << 32)
    formats = {"dtype": dtype, "dtype_b": dtype_b, "transpose_a": transpose_a, "transpose_b": transpose_b}
    sides = []
    for side, (result, of_a, of_b, format, kernel, names, rows) in enumerate((
        (left, a, b, d_dtype, kernel1, arch1, rows1),
        (right, a if a2 is None else a2, b if b2 is None else b2, d_dtype2 or d_dtype, kernel2, arch2, rows2),
    ), 1):
        fields = {"a": of_a, "b": of_b, "d": result, "d_dtype": format, "kernel": kernel, **formats}
        text, arrays, _, sizes, _ = divided(fields)
        part = None if rows is None else _rows(f"rows{side}", rows, sizes[0])
        sides.append((text, arrays, [*_listed(arch), *_listed(names)], part))
    try:
        return Compared(*_tcverify.compare(sides, choice("schedules", schedules, SEARCHED), budget * 1_000_000, max_mismatches, listener(progress)))
    except CheckError as error:
        # As an argument, not as an option.
        raise CheckError(error.argument, re.sub(r"--(rows[12]) (\d+):(\d+)", r"`\1=(\2, \3)`", error.reason)) from None


def _rows(argument: str, rows: SpanLike, length: int | None) -> tuple[int, int]:
    first, end = span(argument, rows, length)
    end = length if end is None else end
    if end is None:
        raise CheckError(argument, f"`{argument}`: {rows!r} has no end, and how many rows a file has is not known here")
    return first, end


def _listed(names: Names) -> list[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)
