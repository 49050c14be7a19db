"""The report on many checks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from tcverify import _tcverify
from tcverify._errors import DifferentError
from tcverify._report import Report, save

CaseVerdict = Literal["identical", "identical_in_part", "different", "unjudged"]


@dataclass(frozen=True)
class Case:
    """One case of a batch."""

    name: str
    verdict: CaseVerdict
    #: Why there is no verdict.
    error: str | None
    #: Of a product that was judged; none of an operation between products (docs/layers.md).
    report: Report | None
    #: The report as data, of an operation too: ``tcverify.report/1``. None without a verdict.
    document: dict[str, Any] | None
    #: In words: ``title`` (the verdict, and what it is under), ``sentence``, ``model``, ``product``; of one that differs
    #: ``cause`` and ``next``, where there are any. None without a verdict.
    summary: Mapping[str, Any] | None

    def __repr__(self) -> str:
        return f"<tcverify.Case: {self.name}, {self.verdict}{'' if self.error is None else f', {self.error}'}>"


class _Written:
    """All forms of a report, as they were written."""

    FORMS = ("text", "json", "fragment", "markdown", "junit")

    def __init__(self, forms: Sequence[str]) -> None:
        self._forms = dict(zip(self.FORMS, forms))

    def __getattr__(self, form: str) -> Callable[[], str]:
        if form not in self.FORMS:
            raise AttributeError(form)
        return lambda: self._forms[form]


class Batch:
    """The report on many checks: ``tcverify.batch/1``."""

    __slots__ = ("__dict__", "_result")

    def __init__(self, result: _tcverify.BatchResult | _Written) -> None:
        self._result = result

    def __reduce__(self) -> tuple[Any, tuple[Sequence[str]]]:
        return _unpickled, ([getattr(self._result, form)() for form in _Written.FORMS],)

    def __copy__(self) -> Batch:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Batch:
        # Nothing in it changes.
        return self

    @cached_property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._result.json())
        return document

    @property
    def verdict(self) -> CaseVerdict:
        """The worst of the cases."""
        verdict: CaseVerdict = self.document["verdict"]
        return verdict

    @property
    def identical(self) -> bool:
        """Whether every case was judged, all that was compared agrees, and no product that ran was missed."""
        return self.verdict in ("identical", "identical_in_part") and not self.missed

    @property
    def coverage(self) -> Mapping[str, Any] | None:
        """How much of what ran was judged, of a recording: ``judged``, ``seen``, ``recorded``, ``left_out``; else none."""
        coverage: Mapping[str, Any] | None = self.document.get("coverage")
        return coverage

    @property
    def missed(self) -> int:
        """Products that ran, were not recorded, and nobody asked to leave out."""
        left = (self.coverage or {}).get("left_out", ())
        return sum(one["calls"] for one in left if not one["on_request"])

    def __bool__(self) -> bool:
        """No report is true or false: `assert batch(...)` would pass on a D that differs.

        :raises TypeError: always.
        """
        raise TypeError("a Batch is neither true nor false: ask for `.identical`, or call `.raise_for_difference()`")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Batch) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def to_dataframe(self) -> Any:
        """All cases as a data frame of pandas: name, verdict, what came out, model, elements and how many differ.

        :raises ImportError: if pandas is not installed.
        """
        import pandas

        rows = []
        for case in self.cases:
            summary, report = case.summary or {}, case.report
            rows.append(
                {
                    "case": case.name,
                    "verdict": case.verdict,
                    "sentence": case.error or summary.get("sentence"),
                    "model": summary.get("model"),
                    "elements": None if report is None else report.elements,
                    "mismatches": None if report is None else report.mismatch_count,
                }
            )
        return pandas.DataFrame(rows)

    @property
    def totals(self) -> dict[str, int]:
        """``cases``, ``identical``, ``identical_in_part``, ``different``, ``unjudged``."""
        totals: dict[str, int] = self.document["totals"]
        return totals

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """In the order of the manifest."""

        def case(entry: dict[str, Any]) -> Case:
            document = entry["report"]
            product = document is not None and "product" in document["rule"]
            report = Report.from_json(json.dumps(document)) if product else None
            return Case(entry["name"], entry["verdict"], entry["error"], report, document, entry["summary"])

        return tuple(case(entry) for entry in self.document["cases"])

    def text(self) -> str:
        """As ``tcverify batch`` prints it, without colours."""
        return self._result.text()

    def to_json(self) -> str:
        """As ``tcverify batch --json`` writes it."""
        return self._result.json()

    def to_markdown(self) -> str:
        return self._result.markdown()

    def to_junit(self) -> str:
        return self._result.junit()

    def save_json(self, path: str | os.PathLike[str]) -> None:
        save(path, self.to_json())

    def raise_for_difference(self) -> None:
        """Does nothing if every case was judged, all that was compared agrees, and no product that ran was missed.

        :raises DifferentError: with the text of the report.
        """
        if not self.identical:
            raise DifferentError(self.text()).of(self)

    def _repr_html_(self) -> str:
        return self._result.fragment()

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        coverage, cases = self.coverage, self.totals["cases"]
        covered = "" if coverage is None else f", {coverage['judged']} of {coverage['seen']} products judged"
        return f"<tcverify.Batch: {self.verdict}, {cases} case{'' if cases == 1 else 's'}{covered}>"


def _unpickled(forms: Sequence[str]) -> Batch:
    return Batch(_Written(forms))
