"""Documents of other kinds than reports: plans, explanations, searches, commitments."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tcverify._errors import DifferentError
from tcverify._report import OfProduct, save


class _Document:
    """Text for people and a document for programs."""

    __slots__ = ("__dict__", "_fragment", "_json", "_text")

    def __init__(self, text: str, document: str, fragment: str | None = None) -> None:
        self._text = text
        self._json = document
        self._fragment = fragment

    @cached_property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._json)
        return document

    def text(self) -> str:
        """As the command prints it, without colours."""
        return self._text

    def to_json(self) -> str:
        """As the command writes it."""
        return self._json

    def __str__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._json == other._json

    def __hash__(self) -> int:
        return hash(self._json)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>" if self._fragment is None else self._fragment


class Plan(_Document, OfProduct):
    """By which rule a product would be judged: model, schedule, and how well they are known."""

    @property
    def evidence(self) -> str:
        """The lower of the model's and the schedule's: ``claimed`` < ``inferred`` < ``published`` < ``compared`` < ``captured``."""
        return str(self.document["evidence"])

    @property
    def format(self) -> str:
        """D's."""
        return str(self.document["format"])

    @property
    def shape(self) -> tuple[int, ...]:
        """D's."""
        return tuple(self.document["shape"])

    def __repr__(self) -> str:
        model = self.model
        order = self.schedule or "one chain over K"
        return f"<tcverify.Plan: {model.architecture} {model.instruction}, {order}, {self.evidence}>"


class Explanation(_Document):
    """One element of D, step by step: ``tcverify.explanation/1``."""

    #: Whether the D that was given has these bits; none without one.
    same: bool | None

    def __init__(self, text: str, document: str, same: bool | None) -> None:
        super().__init__(text, document)
        self.same = same

    def __repr__(self) -> str:
        given = {True: ", the given D has it", False: ", the given D has another", None: ""}[self.same]
        return f"<tcverify.Explanation: D{self.document['index']}{given}>"


@dataclass(frozen=True)
class Fit:
    """A model, perhaps under a schedule, that gives everything of D that it was tested on."""

    architecture: str
    instruction: str
    evidence: str
    #: Arguments for :func:`tcverify.check` beside the arrays.
    arguments: Mapping[str, Any]
    #: Elements of the sample that it was tested on, and whether it gives all of D.
    tested: int
    in_full: bool

    @property
    def schedule(self) -> str | None:
        """The kernel's schedule, or a library's words for it; none for one chain over K."""
        schedule: str | None = self.arguments.get("schedule") or self.arguments.get("kernel")
        return schedule


#: Settings of a library's kernel that a search finds, by the argument that says them; the others are overrides.
_FOUND = {
    "reduction": "reduction",
    "custom option": "custom",
    "accumulation": "accumulation",
    "multiprocessors": "multiprocessors",
}


class Compared(_Document):
    """Why two results differ: ``tcverify.compared/1``."""

    @property
    def verdict(self) -> str:
        """``equal``, ``different`` or ``inputs_differ``."""
        return str(self.document["verdict"])

    @property
    def equal(self) -> bool:
        return self.verdict == "equal"

    @property
    def explained(self) -> str | None:
        """``both``, ``left``, ``right`` or ``neither``; none where nothing was searched."""
        explained = self.document["explained"]
        return None if explained is None else str(explained)

    @property
    def relation(self) -> str | None:
        """What separates the two: ``rounding``, ``order``, ``unit``, ``unit_and_order``, ``operands``; or ``same``."""
        relation = self.document["relation"]
        return None if relation is None else str(relation)

    @property
    def wrong(self) -> str | None:
        """``left`` or ``right``, where that is shown."""
        wrong = self.document["wrong"]
        return None if wrong is None else str(wrong)

    @property
    def mismatch_count(self) -> int:
        return int(self.document["mismatch_count"])

    def raise_for_difference(self) -> None:
        """Does nothing if both have the same bits.

        :raises DifferentError: with the text of the comparison, if they have not.
        """
        if not self.equal:
            raise DifferentError(self.text()).of(self)

    def __bool__(self) -> bool:
        raise TypeError("a comparison is neither true nor false: ask its `equal`")

    def __repr__(self) -> str:
        explained = "" if self.explained is None else f", explained: {self.explained}"
        return f"<tcverify.Compared: {self.verdict}, {self.mismatch_count} elements differ{explained}>"


class Identification(_Document):
    """Which models give a D: ``tcverify.identification/1``."""

    def __init__(self, text: str, document: str, fragment: str, kernel: str | None = None) -> None:
        super().__init__(text, document, fragment)
        #: The words about the kernel, which the document may shorten.
        self._kernel = kernel

    @cached_property
    def fits(self) -> tuple[Fit, ...]:
        """What gives D, the best known first; those of one line of the text have the same arithmetic."""
        return tuple(self._fits())

    def __repr__(self) -> str:
        first = self.fits[0] if self.fits else None
        best = "" if first is None else f", {first.architecture} {first.instruction} first"
        return f"<tcverify.Identification: fits: {len(self.fits)}{best}>"

    def to_dataframe(self) -> Any:
        """What gives D as a data frame of pandas, a row each.

        :raises ImportError: if pandas is not installed.
        """
        import pandas

        names = ("architecture", "instruction", "evidence", "schedule", "tested", "in_full")
        rows = [{**{name: getattr(fit, name) for name in names}, "arguments": dict(fit.arguments)} for fit in self.fits]
        return pandas.DataFrame(rows, columns=[*names, "arguments"])

    def _fits(self) -> Iterator[Fit]:
        for fit in self.document["fits"]:
            arithmetic, schedule = fit["arithmetic"], fit.get("schedule")
            arguments: dict[str, Any] = {"dtype": arithmetic["a"], "acc": arithmetic["accumulator"]}
            if arithmetic["b"] != arithmetic["a"]:
                arguments["dtype_b"] = arithmetic["b"]
            if arithmetic.get("addend") is not None:
                arguments["c_dtype"] = arithmetic["addend"]
            scale = arithmetic.get("scale")
            if scale is not None:
                arguments.update(scale_dtype=scale["format"], scale_block=scale["block"])
            if fit["rounded_to"] is not None:
                arguments["d_dtype"] = fit["rounded_to"]
            if schedule is not None:
                words = schedule.get("kernel")
                if words is None:
                    arguments["schedule"] = schedule["name"]
                else:
                    arguments["kernel"] = self._kernel or words["text"]
                    for setting in words["settings"]:
                        field = _FOUND.get(setting["name"])
                        if field is not None and setting["how"] == "found":
                            value = setting["value"]
                            arguments[field] = int(value) if value.isdecimal() else value.lower()
                arguments.update({k: v for k, v in schedule["overrides"].items() if v is not None})
            for name in fit["names"]:
                named = {"arch": name["architecture"], "instruction": name["instruction"]}
                yield Fit(
                    name["architecture"],
                    name["instruction"],
                    name["evidence"],
                    {**named, **arguments},
                    fit["tested"],
                    fit["in_full"],
                )


class Commitment:
    """A product fixed by digests: ``tcverify.commitment/1``."""

    __slots__ = ("_json",)

    def __init__(self, document: str) -> None:
        self._json = document

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._json)
        return document

    @property
    def root(self) -> str:
        """Of the Merkle tree over D."""
        return str(self.document["d"]["root"])

    def to_json(self) -> str:
        """As ``tcverify commit`` writes it."""
        return self._json

    def save_json(self, path: str | os.PathLike[str]) -> None:
        save(path, self._json)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Commitment) and self._json == other._json

    def __hash__(self) -> int:
        return hash(self._json)

    def _repr_html_(self) -> str:
        d = self.document["d"]
        return f"<pre>{html.escape(repr(self))}\nD: {d['shape']} {d['format']}</pre>"

    def __repr__(self) -> str:
        return f"<tcverify.Commitment: root {self.root}>"


class Opening(NamedTuple):
    """Some blocks of a committed D, and the proof that they are its."""

    #: ``tcverify.proof/1``, as ``tcverify commit prove`` writes it.
    proof: str
    #: The rows of these blocks, one block after the other.
    rows: Any

    def __repr__(self) -> str:
        return f"<tcverify.Opening: {len(self.rows)} rows, a proof of {len(self.proof)} bytes>"


class Proven(NamedTuple):
    """A block that is proven to be the committed D's."""

    block: int
    rows: range
