"""Fields that belong together as one argument."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Union

from tcverify._errors import CheckError

if TYPE_CHECKING:
    from types import EllipsisType

#: Rows or columns: ``slice(128, 256)``, ``range(128, 256)``, ``(128, 256)``, ``"128..256"``, a number, or ``...`` for all. A slice is
#: cut to what there is, as NumPy does it; what else reaches further is an error.
SpanLike = Union[str, int, slice, range, "EllipsisType", "tuple[int | None, int | None]"]


@dataclass(frozen=True)
class Schedule:
    """How a kernel goes over K: a name (``tcverify schedules``) or a file, and what is changed of it.

    >>> Schedule("cublas-workspace-f32", split_k=4)
    Schedule('cublas-workspace-f32', split_k=4)
    """

    schedule: str | None = None
    schedule_file: str | os.PathLike[str] | None = None
    tile_k: int | None = None
    residue: Literal["first", "first-aligned", "last"] | None = None
    instruction_k: int | None = None
    split: Literal["serial", "workspace", "interleaved"] | None = None
    slices: int | None = None
    split_k: int | None = None
    grain: int | None = None
    partials: Literal["f32", "result"] | None = None
    sum_order: Literal["serial", "reverse", "pairwise", "adjacent"] | None = None
    workers: int | None = None
    promote: int | Literal["never"] | None = None

    def __repr__(self) -> str:
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        name = said.pop("schedule")
        words = [] if name is None else [repr(name)]
        words += [f"{key}={value!r}" for key, value in said.items() if value is not None]
        return f"Schedule({', '.join(words)})"


@dataclass(frozen=True)
class Region:
    """A part of D: some rows, some columns, or the rectangle of both."""

    rows: SpanLike | None = None
    cols: SpanLike | None = None


@dataclass(frozen=True)
class Sample:
    """So many elements of D, drawn by a number, or by a commitment's file and a public value that came after it."""

    sample: int
    seed: int | None = None
    seed_from: str | os.PathLike[str] | None = None
    beacon: str | None = None


#: Arguments that stand for several fields.
GROUPS: dict[str, tuple[type[Any], ...]] = {"order": (Schedule,), "part": (Region, Sample)}


def without_groups(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same, with the fields of a group in its place.

    :raises CheckError: if it is none, or a field is said twice.
    """
    found = {name: value for name, value in values.items() if name not in GROUPS}
    for name, kinds in GROUPS.items():
        group = values.get(name)
        if group is None:
            continue
        if not isinstance(group, kinds):
            expected = " or ".join(f"tcverify.{kind.__name__}" for kind in kinds)
            raise CheckError(name, f"`{name}`: a {expected} is expected, not {group!r}")
        inside = {field.name: getattr(group, field.name) for field in fields(group)}
        if isinstance(group, Region) and None not in inside.values():
            inside = {"region": (group.rows, group.cols)}
        for field, value in inside.items():
            if value is not None:
                if found.get(field) is not None:
                    raise CheckError(field, f"`{field}` is said twice: in `{name}` and beside it")
                found[field] = value
    return found
