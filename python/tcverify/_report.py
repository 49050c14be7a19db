"""A check as a value, and the report on one, with types."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tcverify import _tcverify
from tcverify._errors import CheckError, DifferentError
from tcverify._progress import Progress, listener
from tcverify._request import RequestFields, known, plain, said, table

if TYPE_CHECKING:
    from typing_extensions import Unpack

Verdict = Literal["identical", "identical_in_part", "different"]


def save(path: str | os.PathLike[str], text: str) -> None:
    """A file that appears whole or not at all."""
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tcverify-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


class Cause(NamedTuple):
    """What would give a D that differs, tested bit for bit on the elements that the sentence states."""

    kind: str
    sentence: str
    #: The mismatches it explains.
    mismatches: int
    #: The command that tests it on all of D, where there is one.
    command: str | None


@dataclass(frozen=True)
class Model:
    """The arithmetic that judged, and how it is known."""

    architecture: str
    instruction: str
    #: ``captured``, ``compared``, ``published``, ``inferred`` or ``claimed``.
    evidence: str
    summary: str
    sha256: str
    #: Formats of A, of B, and of the accumulator.
    a: str
    b: str
    accumulator: str

    @classmethod
    def of(cls, model: Mapping[str, Any]) -> Model:
        """Of a document's object."""
        names = ("architecture", "instruction", "evidence", "summary", "sha256")
        formats = {name: model["arithmetic"][name] for name in ("a", "b", "accumulator")}
        return cls(**{name: model[name] for name in names}, **formats)


@dataclass(frozen=True)
class Product:
    """What was multiplied: for each matrix of ``batch``, M x K by K x N."""

    batch: tuple[int, ...]
    m: int
    n: int
    k: int

    @classmethod
    def of(cls, product: Mapping[str, Any]) -> Product:
        """Of a document's object."""
        return cls(tuple(product["batch"]), product["m"], product["n"], product["k"])


class OfProduct:
    """What a document about a product says of its rule."""

    __slots__ = ()

    document: Any

    @property
    def model(self) -> Model:
        return Model.of(self.document["rule"]["model"])

    @property
    def product(self) -> Product:
        return Product.of(self.document["rule"]["product"])

    @property
    def schedule(self) -> str | None:
        """The kernel's schedule by name; none for one chain over K, which a kernel that nobody named may not be."""
        schedule = self.document["rule"].get("schedule")
        return None if schedule is None else str(schedule["name"])


class Report(OfProduct):
    """The report on one check. ``str(report)`` is its text; a notebook shows summary and map."""

    __slots__ = ("__dict__", "_judged")

    def __init__(self, judged: _tcverify.Judged) -> None:
        self._judged = judged

    @classmethod
    def from_json(cls, text: str) -> Report:
        """A report that ``tcverify check --json`` or :meth:`to_json` wrote (without a map of mismatches).

        Whether it is true nobody has looked: ``tcverify verify-report`` confirms a report of somebody else.
        """
        return cls(_tcverify.read_report(text))

    @cached_property
    def document(self) -> dict[str, Any]:
        """The report as data: ``tcverify.report/1``, docs/report-format.md."""
        document: dict[str, Any] = json.loads(self._judged.json())
        return document

    @property
    def verdict(self) -> Verdict:
        """``identical``, ``identical_in_part`` (all that was compared of a part) or ``different``."""
        verdict: Verdict = self.document["verdict"]
        return verdict

    @property
    def identical(self) -> bool:
        """Whether every element that was compared agrees: see :attr:`verdict` for whether that was all of D."""
        return self.verdict != "different"

    @property
    def request(self) -> Check | None:
        """What was asked; none if a path in it is not UTF-8."""
        request = self.document["request"]
        return None if request is None else Check.from_json(json.dumps(request))

    @property
    def command(self) -> str | None:
        """The command that asks for it; none if an array was in memory."""
        command: str | None = self.document["command"]
        return command

    @property
    def elements(self) -> int:
        """Elements that were compared; 0 if D was judged by its digest."""
        return int(self.document["outcome"].get("comparison", {}).get("elements", 0))

    @property
    def mismatch_count(self) -> int | None:
        """Elements that differ; none if D was judged by its digest, which does not tell how many."""
        comparison = self.document["outcome"].get("comparison")
        return None if comparison is None else int(comparison["mismatches"])

    @property
    def causes(self) -> tuple[Cause, ...]:
        """What would give this D, if anything that was tried does."""
        return tuple(
            Cause(cause["kind"], cause["sentence"], cause["mismatches"], cause["command"])
            for cause in self.document["causes"]
        )

    @property
    def places(self) -> tuple[str, ...]:
        """Where mismatches lie together of which nothing more is known, in sentences."""
        return tuple(place["sentence"] for place in self.document.get("places", ()))

    @property
    def tried(self) -> tuple[str, ...]:
        """What was tried on this D and refuted; empty where a cause was found."""
        return tuple(self.document.get("tried", ()))

    @property
    def untried(self) -> tuple[str, ...]:
        """What was not tried on this D, each with the reason; empty where a cause was found."""
        return tuple(self.document.get("untried", ()))

    @cached_property
    def mismatches(self) -> npt.NDArray[np.void]:
        """The first mismatches in index order (``max_mismatches`` of them, 10 if it was not said).

        A structured array: ``index`` (one integer an axis of D), ``reproduced`` and ``given`` (codes), ``ulp``
        (representable numbers from one to the other, NaN where one of them is NaN; exact below 2^53, beyond which
        the document has the integer) and ``kind``.
        """
        rank = len(self.document["reproduced"]["shape"])
        dtype = np.dtype(
            [
                ("index", np.int64, (rank,)),
                ("reproduced", np.uint64),
                ("given", np.uint64),
                ("ulp", np.float64),
                ("kind", "U24"),
            ]
        )
        rows = [
            (tuple(index), reproduced, given, np.nan if ulp is None else float(ulp), kind)
            for index, reproduced, given, ulp, kind in self._judged.mismatches()
        ]
        return np.array(rows, dtype)

    def text(self) -> str:
        """As ``tcverify check`` prints it, without colours."""
        return self._judged.text()

    def to_json(self) -> str:
        """As ``tcverify check --json`` writes it."""
        return self._judged.json()

    def to_html(self) -> str:
        """The page that ``tcverify check --html`` writes: no network, no time, no host."""
        return self._judged.html()

    def to_markdown(self) -> str:
        return self._judged.markdown()

    def to_junit(self) -> str:
        return self._judged.junit()

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Writes the page; the file appears whole or not at all."""
        save(path, self.to_html())

    def save_json(self, path: str | os.PathLike[str]) -> None:
        """Writes the report for machines; the file appears whole or not at all."""
        save(path, self.to_json())

    def __bool__(self) -> bool:
        """No report is true or false: `assert check(...)` would pass on a D that differs.

        :raises TypeError: always.
        """
        raise TypeError("a Report is neither true nor false: ask for `.identical`, or call `.raise_for_difference()`")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        # As JSON: without the map of mismatches, which pages show.
        return Report.from_json, (self.to_json(),)

    def __copy__(self) -> Report:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Report:
        # Nothing in it changes.
        return self

    def to_dataframe(self) -> Any:
        """The listed mismatches as a data frame of pandas, a row each.

        :raises ImportError: if pandas is not installed.
        """
        import pandas

        found = self.mismatches
        rank = len(self.document["reproduced"]["shape"])
        index = {f"index_{axis}": found["index"][:, axis] for axis in range(rank)}
        return pandas.DataFrame({**index, **{name: found[name] for name in ("reproduced", "given", "ulp", "kind")}})

    def raise_for_difference(self) -> None:
        """Does nothing if all that was compared agrees.

        :raises DifferentError: with the text of the report, if something differs.
        """
        if not self.identical:
            raise DifferentError(self.text()).of(self)

    def _repr_html_(self) -> str:
        return self._judged.fragment()

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        model = self.document["rule"]["model"]
        differ = "" if not self.mismatch_count else f", {self.mismatch_count} of {self.elements} elements differ"
        return f"<tcverify.Report: {self.verdict}{differ}, {model['architecture']} {model['instruction']}>"


class Check:
    """A check as a value: what ``tcverify check`` would be asked, and what its reports hold as ``request``.

    >>> Check(arch="h100", dtype="bf16", a="a.npy", b="b.npy", d="d.npy").to_json()
    '{"arch":"h100","dtype":"bf16","a":"a.npy","b":"b.npy","d":"d.npy"}'
    """

    __slots__ = ("_json",)

    def __init__(self, **fields: Unpack[RequestFields]) -> None:
        values = {name: plain(name, value) for name, value in said(known(fields)).items()}
        self._json = _tcverify.normalised(json.dumps(values))

    @classmethod
    def from_json(cls, text: str) -> Check:
        """From a document's object of fields.

        :raises CheckError: if it is none.
        """
        try:
            fields = json.loads(text)
        except ValueError as error:
            raise CheckError("text", f"`text` is not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise CheckError("text", f"`text`: an object of fields is expected, not {text.strip()[:60]}")
        return cls(**fields)

    def to_json(self) -> str:
        """As documents have it."""
        return self._json

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that say something."""
        fields: dict[str, Any] = json.loads(self._json)
        return fields

    @property
    def architecture(self) -> str | None:
        """The catalogue's name of ``arch``: ``hopper`` of ``h100``; none of a model in a file, or an unknown name."""
        arch = self.fields.get("arch")
        return None if arch is None else _tcverify.architecture(arch)

    def run(self, progress: Progress | None = None) -> Report:
        """The report on it; its arrays are files."""
        return Report(_tcverify.check(self._json, {}, listener(progress)))

    def _repr_html_(self) -> str:
        return table(("field", "value"), self.fields.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Check) and self._json == other._json

    def __hash__(self) -> int:
        return hash(self._json)

    def __repr__(self) -> str:
        return f"Check({', '.join(f'{name}={value!r}' for name, value in self.fields.items())})"
