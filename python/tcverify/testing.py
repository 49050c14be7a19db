"""Assertions about bits, for pytest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

import tcverify
from tcverify import _arrays
from tcverify._arrays import ArrayLike

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["assert_batch_invariant", "assert_bitwise"]


@overload
def assert_bitwise(
    d: ArrayLike, a: ArrayLike, b: ArrayLike, *, arch: str | None = None, **fields: Unpack[tcverify.CheckFields]
) -> tcverify.Report: ...


@overload
def assert_bitwise(d: ArrayLike, a: ArrayLike, /) -> tcverify.Compared: ...


def assert_bitwise(
    d: ArrayLike, a: ArrayLike, b: ArrayLike | None = None, *, arch: str | None = None, **fields: Any
) -> tcverify.Report | tcverify.Compared:
    """Asserts that ``d`` has the very bits that the tensor core of ``arch`` computes from ``a`` and ``b``.

    With two arrays alone: that they have the same bits. ``tcverify.compare`` says why, if it is given their operands.

    :raises DifferentError: an ``AssertionError`` whose message is the text of the report.
    """
    __tracebackhide__ = True
    if b is None:
        if arch is not None or fields:
            raise TypeError("assert_bitwise(left, right) compares two results: it takes no model, and no operands")
        compared = tcverify.compare(d, a)
        compared.raise_for_difference()
        return compared
    report = tcverify.check(a, b, d, arch=arch, **fields)
    report.raise_for_difference()
    return report


def assert_batch_invariant(
    fn: Callable[[Any, Any], Any],
    a: Any,
    b: Any,
    *,
    sizes: Sequence[int] | None = None,
    arch: str | None = None,
    explain: bool = True,
    dtype: Any = None,
) -> None:
    """Asserts that a row of ``fn(a, b)`` has the same bits however many rows of ``a`` it is computed with.

    ``fn`` is called with all of ``a`` and with its first ``sizes`` rows (powers of two by default). If rows change,
    the message says which, and which schedules of the catalogue (of ``arch`` alone, if it is given) give each of the
    results: what ``tcverify identify`` finds. ``explain=False`` spares that search.
    """
    __tracebackhide__ = True
    rows = len(a)
    if sizes is None:
        sizes = [1 << bit for bit in range(rows.bit_length()) if 1 << bit < rows]
    wrong = [size for size in sizes if not 1 <= size <= rows]
    if wrong:
        raise ValueError(f"sizes {wrong}: a has {rows} rows")
    full = fn(a, b)
    expected = _rows(full, rows)
    changed: dict[int, tuple[Any, list[int], int]] = {}
    for size in sizes:
        found = fn(a[:size], b)
        differ = _rows(found, size) != expected[:size]
        if differ.any():
            at = [int(row) for row in np.flatnonzero(differ.any(axis=1))]
            changed[size] = found, at, int(differ.sum())
    if not changed:
        return
    lines = [f"not batch-invariant: of {len(sizes)} batch sizes, {len(changed)} change rows of the result of {rows}"]
    for size, (_, at, elements) in changed.items():
        lines.append(f"  with {size} of {rows} rows: {_ranges(at)} ({elements} elements)")
    if explain:
        results = {rows: full, **{size: found for size, (found, _, _) in changed.items()}}
        lines.append("what gives them:")
        for size, d in results.items():
            lines.append(f"  {size} rows: {_maker(a[:size], b, d, arch, dtype)}")
    raise AssertionError("\n".join(lines))


def _rows(d: Any, count: int) -> Any:
    """The codes of a result, a row for each row of A."""
    array = _arrays.held("fn", d)[0]
    if array.ndim < 1 or len(array) != count:
        raise ValueError(f"fn: a result of {array.shape} where {count} rows were given")
    array = np.ascontiguousarray(array)
    return array.view(f"u{array.dtype.itemsize}").reshape(count, -1)


def _ranges(rows: Sequence[int]) -> str:
    """``rows 0-3, 7``, the first few."""
    runs: list[list[int]] = []
    for row in rows:
        if runs and runs[-1][1] == row - 1:
            runs[-1][1] = row
        else:
            runs.append([row, row])
    shown = [f"{first}" if first == last else f"{first}-{last}" for first, last in runs[:8]]
    more = f" and {len(runs) - 8} more ranges" if len(runs) > 8 else ""
    return ("row " if len(rows) == 1 else "rows ") + ", ".join(shown) + more


def _maker(a: Any, b: Any, d: Any, arch: str | None, dtype: Any) -> str:
    try:
        found = tcverify.identify(a, b, d, dtype=dtype, schedules="always")
    except tcverify.CheckError as error:
        return f"not searched: {error}"
    fits = found.fits
    if arch is not None:
        own = tcverify.Check(arch=arch, dtype="fp16", a="a.npy", b="b.npy").architecture
        fits = tuple(fit for fit in fits if fit.architecture == own)
    seen: list[str] = []
    for fit in fits:
        given = {name: value for name, value in fit.arguments.items() if name not in _SAID}
        kernel = " ".join([fit.schedule or "one chain over K", *(f"{name}={value}" for name, value in given.items())])
        named = f"{kernel} ({fit.architecture} {fit.instruction})" if arch is None else f"{kernel} ({fit.instruction})"
        if named not in seen:
            seen.append(named)
    if not seen:
        return "nothing that was searched"
    return "; ".join(seen[:4]) + (f"; and {len(seen) - 4} more" if len(seen) > 4 else "")


#: Arguments of a fit that are said otherwise, or follow from the arrays.
_SAID = ("arch", "instruction", "schedule", "dtype", "dtype_b", "acc", "c_dtype", "d_dtype", "scale_dtype", "scale_block")
