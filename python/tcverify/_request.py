"""The arguments of a check as the one object of flat fields that documents have."""

from __future__ import annotations

import difflib
import html
import json
import math
import operator
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypedDict, Union

from tcverify import _arrays, _tcverify
from tcverify._errors import CheckError
from tcverify._groups import GROUPS, Region, Sample, Schedule, SpanLike, without_groups

#: A format by any of its names, or a dtype of NumPy, ml_dtypes or torch.
FormatLike = Union[str, Any]


class CheckFields(TypedDict, total=False):
    """What a check may say beside its operands; docs/request.md has the meanings."""

    # begin: written by tests/commands/docs.rs
    model: str | os.PathLike[str] | None
    instruction: str | None
    dtype: FormatLike | None
    dtype_b: FormatLike | None
    acc: FormatLike | None
    c_dtype: FormatLike | None
    scale_dtype: FormatLike | None
    scale_block: int | None
    ttnn: str | None
    in0_block_w: int | None
    packer_l1_acc: bool | None
    reload: Literal["exact", "tf32", "bf16"] | None
    lscale: int | None
    osm: int | None
    schedule: str | None
    schedule_file: str | os.PathLike[str] | None
    kernel: str | None
    kernel_log: str | os.PathLike[str] | None
    kernel_table: str | os.PathLike[str] | None
    workspace: int | None
    reduction: str | None
    partition: str | None
    custom: int | None
    accumulation: Literal["fast", "slow"] | None
    multiprocessors: int | None
    rotation: int | None
    whole_remainder: bool | None
    tile_k: int | None
    residue: Literal["first", "first-aligned", "last"] | None
    instruction_k: int | None
    split: Literal["serial", "workspace", "interleaved"] | None
    slices: int | None
    split_k: int | None
    grain: int | None
    partials: Literal["f32", "result"] | None
    sum_order: Literal["serial", "reverse", "pairwise", "adjacent"] | None
    workers: int | None
    promote: int | Literal["never"] | None
    alpha: float | str | None
    beta: float | str | None
    scale_result: float | str | None
    activation: Literal["relu", "relu-nan"] | None
    azp: _arrays.ArrayLike | None
    azp_adj: _arrays.ArrayLike | None
    d_dtype: FormatLike | None
    d_digest: str | None
    no_ambiguity: bool | None
    nan: Literal["exact", "any"] | None
    zero: Literal["exact", "any"] | None
    against: str | os.PathLike[str] | None
    sample: int | None
    seed: int | None
    seed_from: str | os.PathLike[str] | None
    beacon: str | None
    rows: SpanLike | None
    cols: SpanLike | None
    region: str | tuple[SpanLike, SpanLike] | None
    max_mismatches: int | None
    tree: bool | None
    block_rows: int | None
    no_causes: bool | None
    engine: Literal["fast", "exact", "auto", "gpu", "gpu:0", "gpu:1", "gpu:2", "gpu:3", "gpu:4", "gpu:5", "gpu:6", "gpu:7"] | None
    c: _arrays.ArrayLike | None
    bias: _arrays.ArrayLike | None
    bias_dtype: FormatLike | None
    scale_a: _arrays.ArrayLike | None
    scale_b: _arrays.ArrayLike | None
    weights: Literal["u4b8", "u4", "u8b128", "u8"] | None
    zero_b: _arrays.ArrayLike | None
    sparse_a: _arrays.ArrayLike | None
    sparse_layout: Literal["words", "cutlass"] | None
    transpose_a: bool | None
    transpose_b: bool | None
    tf32_input: Literal["truncate", "exact", "nearest"] | None
    # end
    #: The opposite of ``no_causes``.
    causes: bool | None
    #: ``schedule`` and what is changed of it.
    order: Schedule | None
    #: ``rows`` and ``cols``, or ``sample`` and how it is drawn.
    part: Region | Sample | None


class RequestFields(CheckFields, total=False):
    """All that a check says."""

    arch: str | None
    a: _arrays.ArrayLike
    b: _arrays.ArrayLike
    d: _arrays.ArrayLike | None


#: The type of each field's value, as it is written above.
_KINDS = {
    name: re.sub(r" \| None$", "", str(getattr(of, "__forward_arg__", of))) for name, of in CheckFields.__annotations__.items()
}


def _fields_of(kind: str) -> tuple[str, ...]:
    return tuple(name for name, of in _KINDS.items() if kind in of)


#: Fields that are arrays.
ARRAYS = ("a", "b", *_fields_of("ArrayLike"), "d")
_FORMATS = _fields_of("FormatLike")


def integer(argument: str, value: Any, *, least: int = 0, most: int = (1 << 64) - 1) -> int:
    """A number of this argument: what is none, or too small or large, is an error that names it."""
    try:
        if _is_truth(value):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise CheckError(argument, f"`{argument}`: a whole number is expected, not {value!r}") from None
    if not least <= number <= most:
        why = f"less than {least}" if number < least else f"more than {most}"
        raise CheckError(argument, f"`{argument}`: {number} is {why}")
    return number


def _is_truth(value: Any) -> bool:
    """Whether this is true or false, of NumPy or torch, too."""
    return isinstance(value, bool) or str(getattr(value, "dtype", "")) in ("bool", "torch.bool")


def from_end(argument: str, value: int, length: int | None, *, end: bool = False) -> int:
    """An index that may count from the end, or the ``end`` of several, as one that counts from the start."""
    if length is None:
        if value < 0:
            raise CheckError(argument, f"`{argument}`: {value} counts from the end of D, whose shape is known here of arrays in memory alone")
        return value
    if not -length <= value < length + end:
        raise CheckError(argument, f"`{argument}`: index {value} is out of bounds for size {length}")
    return value + length if value < 0 else value


def choice(argument: str, value: Any, among: Sequence[str]) -> str:
    """One of some words."""
    if value not in among or not isinstance(value, str):
        raise CheckError(argument, f"`{argument}`: one of {', '.join(map(repr, among))} is expected, not {value!r}")
    return value


#: When schedules are searched.
SEARCHED = ("auto", "always", "never")


def truth(argument: str, value: Any) -> bool:
    """True or False, of NumPy or torch, too."""
    if not _is_truth(value):
        raise CheckError(argument, f"`{argument}`: True or False is expected, not {value!r}")
    return bool(value)


def span(name: str, value: Any, length: int | None) -> tuple[int, int | None]:
    """The first and the end of rows or columns, of so many if that is known; without an end, all from the first on."""
    bounds: list[Any]
    if value is ...:
        return 0, None
    if isinstance(value, str):
        start, dots, stop = value.partition("..")
        try:
            bounds = [int(start or 0), int(stop) if stop else None] if dots else [int(start)]
        except ValueError:
            raise CheckError(name, f"`{name}`: {value!r}: 128..256, 128.. or 7 is expected") from None
    elif isinstance(value, (slice, range)):
        if value.step not in (None, 1):
            raise CheckError(name, f"`{name}`: a part of D has no steps")
        bounds = [0 if value.start is None else value.start, value.stop]
        if isinstance(value, range) and value:
            # Its numbers are indices, so that the last one may be -1.
            last = from_end(name, value[-1], length)
            bounds = [value.start, last + 1]
    else:
        bounds = list(value) if isinstance(value, (tuple, list)) else [value]
        if len(bounds) > 2 or not bounds or hasattr(value, "shape") and len(value.shape):
            raise CheckError(name, f"`{name}`: a slice, a range, a pair of first and end, or a number is expected, not {value!r}")
    numbers = [None if one is None else integer(name, one, least=-(1 << 63), most=(1 << 63) - 1) for one in bounds]
    end: int | None
    if isinstance(value, slice) and length is not None:
        first, end, _ = slice(*numbers).indices(length)
    else:
        first = from_end(name, numbers[0] or 0, length, end=len(numbers) > 1)
        end = first + 1 if len(numbers) == 1 else numbers[1]
        end = None if end is None else from_end(name, end, length, end=True)
    if (end is not None and first >= end) or (length is not None and first >= length):
        raise CheckError(name, f"`{name}`: {value!r} selects nothing{'' if length is None else f' of {length}'}")
    # A slice to the end leaves nothing out that follows.
    return first, None if isinstance(value, slice) and end == length else end


def _span(name: str, value: Any, length: int | None) -> str:
    first, end = span(name, value, length)
    return f"{first}..{'' if end is None else end}"


def _region(value: Any, sizes: Sequence[int | None]) -> str:
    if isinstance(value, str):
        return value
    spans = list(value) if isinstance(value, (tuple, list)) else [value]
    if len(spans) != 2:
        raise CheckError("region", f"`region`: two spans are expected, rows and columns, not {value!r}")
    return ",".join(_span("region", span, length) for span, length in zip(spans, sizes))


def _format(name: str, value: FormatLike) -> str:
    """The name of a format; of a dtype its own."""
    if isinstance(value, str):
        return value
    text = str(value)
    if text.startswith("torch."):
        return text[len("torch.") :]
    import numpy as np

    try:
        return str(np.dtype(value).name)
    except TypeError:
        raise CheckError(name, f"`{name}`: {value!r} is no format") from None


def plain(name: str, value: Any, sizes: Sequence[int | None] = (None, None)) -> Any:
    """A field's value as JSON has it; ``sizes`` are D's rows and columns, if they are known."""
    kind = _KINDS.get(name, "str")
    if name in _FORMATS:
        return _format(name, value)
    if name in ("rows", "cols"):
        return _span(name, value, sizes[name == "cols"])
    if name == "region":
        return _region(value, sizes)
    if kind == "bool":
        return truth(name, value)
    if kind.startswith("int") and not isinstance(value, str):
        return integer(name, value)
    if kind.startswith("float"):
        return _factor(name, value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if not isinstance(value, str) or kind == "int":
        if name in ARRAYS:
            raise CheckError(name, f"`{name}`: an array in memory is for `tcverify.check`; a request has files")
        expected = "a whole number" if kind == "int" else "text"
        raise CheckError(name, f"`{name}`: {expected} is expected, not {value!r}")
    return value


def _factor(name: str, value: Any) -> Any:
    """A number in f32: as text or as a number of Python's."""
    if hasattr(value, "item") and math.prod(getattr(value, "shape", ())) == 1 and not _is_truth(value):
        # Of NumPy or torch.
        value = value.item()
    if isinstance(value, str):
        if value.strip().lower().lstrip("+-") != "nan":
            return value
        value = math.nan
    if _is_truth(value) or not isinstance(value, (int, float)):
        raise CheckError(name, f"`{name}`: a number is expected, not {value!r}")
    if math.isnan(value):
        raise CheckError(name, f"`{name}` is NaN: every element of D would be one, whatever was computed")
    return value if math.isfinite(value) else str(value)


def said(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those that say something: a zero does; None, and a flag that is not set, do not."""
    return {
        name: value
        for name, value in values.items()
        if value is not None and not (_KINDS.get(name) == "bool" and _is_truth(value) and not value)
    }


def known(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same as fields of documents: without groups, and without ``causes``, which says the opposite of ``no_causes``.

    :raises CheckError: of a name that no field has.
    """
    found = without_groups(values)
    causes = found.pop("causes", None)
    if causes is not None:
        if found.get("no_causes") is not None:
            raise CheckError("causes", "`causes` and `no_causes` say the same: one of them")
        found["no_causes"] = not truth("causes", causes)
    names = _tcverify.field_names()
    for name in found:
        if name not in names:
            close = difflib.get_close_matches(name, [*names, "causes", *GROUPS], 1)
            hint = f": did you mean `{close[0]}`?" if close else "; docs/request.md lists them"
            raise CheckError(name, f"`{name}` is no argument that is known here{hint}")
    return found


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as notebooks show it."""

    def row(kind: str, cells: Sequence[Any]) -> str:
        return "<tr>" + "".join(f"<{kind}>{html.escape(str(cell))}</{kind}>" for cell in cells) + "</tr>"

    return f"<table>{row('th', head)}{''.join(row('td', cells) for cells in rows)}</table>"


class Divided(NamedTuple):
    """A request as the library takes it."""

    #: Fields as JSON.
    text: str
    #: The arrays that are in memory, as matrices.
    arrays: dict[str, _arrays.Held]
    #: Axes of D that are not the caller's, who multiplied vectors.
    lost: tuple[int, ...]
    #: D's rows and columns, if they are known.
    sizes: tuple[int | None, int | None]
    #: D's leading axes, as far as they are known.
    batch: tuple[int, ...]


def divided(values: Mapping[str, Any], *, shapes: bool = False) -> Divided:
    """Fields as JSON, and the arrays that are in memory; with ``shapes`` a tuple of numbers stands for an array."""
    arrays: dict[str, _arrays.Held] = {}
    values = said(known(values))
    for name in ARRAYS:
        value = values.get(name)
        if value is None or _arrays.is_named(value):
            continue
        if shapes and isinstance(value, tuple):
            arrays[name] = _arrays.of_shape(name, value, _stands_for(name, values))
        else:
            arrays[name] = _arrays.held(name, value)
    transposed = {side: bool(values.get(f"transpose_{side}")) for side in "ab"}
    lost = _arrays.multiplied(arrays, transposed)
    sizes: list[int | None] = [None, None]
    if "d" in arrays and arrays["d"][0].ndim >= 2:
        sizes = list(arrays["d"][0].shape[-2:])
    else:
        for at, side in enumerate("ab"):
            if side in arrays:
                sizes[at] = arrays[side][0].shape[-2:][transposed[side] != (side == "b")]
    fields = {name: plain(name, value, sizes) for name, value in values.items() if name not in arrays}
    for scale in ("scale_a", "scale_b"):
        # UE4M3 is E4M3 without its sign, and what libraries have for it is E4M3.
        if scale in arrays and fields.get("scale_dtype") == "ue4m3" and arrays[scale][1] == "float8_e4m3fn":
            arrays[scale] = arrays[scale][0].view("u1"), "|u1"
    batch = max((array.shape[:-2] for name, (array, _) in arrays.items() if name in "abd"), key=len, default=())
    return Divided(json.dumps(fields), arrays, lost, (sizes[0], sizes[1]), batch)


def _stands_for(name: str, values: Mapping[str, Any]) -> str:
    """The format of an array of which only the shape is given."""
    dtype = values.get("dtype")
    if name in ("a", "b"):
        said = values.get("dtype_b", dtype) if name == "b" else dtype
        if said is None:
            raise CheckError("dtype", "`dtype` is missing: shapes do not say what is multiplied")
        return _format("dtype", said)
    if name in ("azp", "azp_adj"):
        return "int32"
    said = values.get({"scale_a": "scale_dtype", "scale_b": "scale_dtype", "bias": "bias_dtype", "c": "c_dtype"}.get(name, ""))
    if said is None and name == "c":
        said = values.get("acc", "int32" if str(dtype).startswith(("int", "uint")) else dtype if dtype == "fp64" else None)
    return "fp32" if said is None else _format(name, said)
