"""Products and operations of a program that runs, as a manifest for ``tcverify batch``: whichever library computes them."""

from __future__ import annotations

import fnmatch
import hashlib
import heapq
import html
import json
import os
import queue
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tcverify import _draw, _functions, _request, _tcverify
from tcverify._batch import Batch
from tcverify._coverage import Coverage, NotRecordedError
from tcverify._errors import CheckError, NotCommittedError
from tcverify._groups import Sample
from tcverify._report import save
from tcverify._store import Snapshot, Store

MANIFEST = "tcverify.manifest/1"


class Refused(Exception):
    """A product that no request can ask for, and why."""


def _nothing() -> None:
    """Nothing is done beside the program."""


@dataclass
class Captured:
    """What a capture recorded, and what not. All of it counts while it records."""

    directory: Path
    #: Operations between products that were recorded.
    operations: int = 0
    #: Bytes of arrays that were stored.
    bytes: int = 0
    #: Calls that were passed over, by the reason: ``select``, ``every``, ``only``, ``draw``, ``max_bytes``.
    skipped: Counter[str] = field(default_factory=Counter)
    #: Products that ``select`` and ``every`` left.
    offered: int = 0
    _coverage: Coverage = field(default_factory=Coverage, repr=False)
    #: Operations between products that no rule describes: (operation, module, why) and how often.
    steps_not_recorded: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    #: Waits for what is done beside the program.
    _settle: Callable[[], None] = field(default=_nothing, repr=False, compare=False)

    @property
    def coverage(self) -> Coverage:
        """How many products ran, how many of them were recorded, and why not all."""
        self._settle()
        return self._coverage

    @property
    def products(self) -> int:
        """Products that were recorded."""
        return self.coverage.recorded

    @property
    def not_recorded(self) -> Counter[tuple[str, str, str]]:
        """Calls that hide their products, or that no request can ask for: (operation, module, why) and how often."""
        return self.coverage.missed + self.steps_not_recorded

    @property
    def manifest(self) -> Path:
        """For ``tcverify batch``."""
        return self.directory / "manifest.json"

    @property
    def commitments(self) -> Path:
        """Of a capture that draws: the file that fixes all products. Its SHA-256 is to be published."""
        return self.directory / _draw.RUN

    def __repr__(self) -> str:
        return f"<tcverify.Captured: {self.coverage.sentence()}, in {self.directory}>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self.directory))}</p>{self.coverage._repr_html_()}"

    def batch(self, **arguments: Any) -> Batch:
        """Judges all products."""
        return _functions.batch(self.manifest, **arguments)


class Recorder:
    """What becomes of products that are met: counted, kept, written. Digests and files are made beside the program."""

    def __init__(
        self,
        captured: Captured,
        schema: str,
        *,
        module: Callable[[], str],
        select: str | Sequence[str] | None = None,
        every: int = 1,
        only: Collection[int] | None = None,
        draw: Sample | None = None,
        max_bytes: int | None = None,
        shard_bytes: int = 256 << 20,
        strict: bool = False,
    ) -> None:
        self._every = _request.integer("every", every, least=1)
        self.captured = captured
        self.schema = schema
        #: Of which versions, beside ours.
        self.versions: dict[str, Any] = {}
        self.module = module
        self._select = [select] if isinstance(select, str) else select
        self._only = only
        self._draw = None if draw is None else _draw.Draw(draw)
        self._max_bytes = max_bytes
        self._strict = strict
        self._calls: Counter[tuple[str, str]] = Counter()
        self._store = Store(captured.directory, shard_bytes)
        self._cases: list[dict[str, Any]] = []
        self._records: list[dict[str, Any]] = []
        #: Of a draw: names and digests of all products, and those that are drawn as yet, the last first.
        self._committed: list[dict[str, Any]] = []
        self._drawn: list[tuple[int, int, dict[str, Any], dict[str, Any], int, str]] = []
        self._on_disk = 0
        self._lock = threading.RLock()
        self._jobs: queue.Queue[Any] = queue.Queue()
        self._beside: threading.Thread | None = None
        self._waiting, self._shard_bytes = 0, shard_bytes
        self._process = os.getpid()
        self.failed: Exception | None = None

    def begin(self) -> None:
        """Takes a folder of its own, also among processes that begin at once."""
        directory = self.captured.directory
        directory.mkdir(parents=True, exist_ok=True)
        try:
            if any(directory.glob("manifest.json")) or any(directory.glob("shard-*.safetensors")):
                raise FileExistsError
            with open(directory / "capture.json", "x", encoding="utf-8") as file:
                file.write(_json({"schema": self.schema, "ended": False}))
        except FileExistsError:
            raise FileExistsError(f"{directory} holds a capture; record into a folder of its own, each rank its own") from None
        self.captured._settle = self.settle

    def missed(self, op: str, why: str, work: int | None = None) -> bool:
        """A call that may hold products, and is not recorded; of so many multiply-adds, if they are known.

        Gives whether its work is of interest.
        """
        module, coverage = self.module(), self.captured._coverage
        with self._lock:
            if not self._selected(module):
                self._left_out(op, "select")
                return False
            coverage.missed[op, module, why] += 1
            coverage.unweighed += 1
            if work is not None:
                self.weigh("missed", work)
            return True

    def weigh(self, kind: str, work: int) -> None:
        """The multiply-adds of a call that was ``missed`` or ``passed``."""
        coverage = self.captured._coverage
        with self._lock:
            coverage.multiply_adds[kind] += work
            coverage.unweighed -= kind == "missed"

    def _left_out(self, op: str, reason: str) -> None:
        self.captured.skipped[reason] += 1
        self.captured._coverage.passed[op, self.module(), reason] += 1

    def _selected(self, module: str) -> bool:
        return self._select is None or any(fnmatch.fnmatchcase(module, one) for one in self._select)

    def passed(self, op: str, *, product: bool = True) -> bool:
        """Whether a call is to be left out, which is counted."""
        with self._lock:
            reason = self._passed_over(op)
            if reason is None and product:
                reason = self._not_chosen()
            if reason is None:
                return False
            if product:
                self._left_out(op, reason)
            else:
                self.captured.skipped[reason] += 1
            return True

    def _passed_over(self, op: str) -> str | None:
        module = self.module()
        if not self._selected(module):
            return "select"
        call = self._calls[module, op]
        self._calls[module, op] += 1
        return "every" if call % self._every else None

    def _not_chosen(self) -> str | None:
        number = self.captured.offered
        self.captured.offered += 1
        return "only" if self._only is not None and number not in self._only else None

    def tried(self, op: str, work: Callable[[], Any], multiply_adds: int | None) -> Any:
        """What our own work gives, or none, and why is counted: a program that runs must not stop because of it.

        ``multiply_adds`` are those of a product; none of another operation.
        """
        why = "the recording had ended: " + str(self.failed)
        if self.failed is None:
            try:
                return work()
            except Refused as refused:
                why = str(refused)
            except OSError as error:
                # What was recorded and is not on disk is told by the difference.
                self.failed = error
                return None
            except Exception as error:
                why = f"cannot be recorded: {type(error).__name__}: {error}"
        if multiply_adds is None:
            self.step_missed(op, why)
        else:
            self.missed(op, why, multiply_adds)
        return None

    def step_missed(self, op: str, why: str) -> None:
        """An operation between products that no rule describes."""
        with self._lock:
            self.captured.steps_not_recorded[op, self.module(), why] += 1

    def keep(self, case: dict[str, Any], about: dict[str, Any], work: int = 0) -> None:
        """Takes a case, whose arrays are snapshots, as it is now."""
        with self._lock:
            if self._beside is None:
                self._beside = threading.Thread(target=self._work, name="tcverify-capture", daemon=True)
                self._beside.start()
        if self._waiting > self._shard_bytes:
            # Without the lock, which the other thread needs.
            self.settle()
        self._waiting += sum(one.bytes for one in case.values() if isinstance(one, Snapshot))
        self._jobs.put((case, about, work))

    def settle(self) -> None:
        """Waits until what was taken is digested, and written if it is much."""
        self._jobs.join()
        self._waiting = 0

    def _work(self) -> None:
        for case, about, work in iter(self._jobs.get, None):
            try:
                if self.failed is None:
                    with self._lock:
                        self._taken(case, about, work)
            except Exception as error:
                # What was recorded and is not on disk is told by the difference.
                self.failed = error
            finally:
                self._jobs.task_done()
        self._jobs.task_done()

    def _taken(self, case: dict[str, Any], about: dict[str, Any], work: int) -> None:
        product = "operation" not in case
        number = len(self._committed) if self._draw is not None and product else len(self._cases)
        name = f"{number:05d} {about['module'] or '(no module)'} {about['op']}"
        if self._draw is None or not product:
            self._stored(name, case, about, work)
            return
        coverage = self.captured._coverage
        try:
            commitment = _commitment(case)
        except CheckError as error:
            coverage.missed[about["op"], about["module"], f"cannot be committed: {error.reason}"] += 1
            coverage.multiply_adds["missed"] += work
            return
        self._committed.append({"name": name, "commitment_sha256": hashlib.sha256(commitment.encode()).hexdigest()})
        # The heap has what is drawn last on top.
        heapq.heappush(self._drawn, (-int(self._draw.rank(number), 16), number, case, about, work, commitment))
        coverage.recorded += 1
        coverage.multiply_adds["recorded"] += work
        if len(self._drawn) > self._draw.products:
            _, _, _, about, work, _ = heapq.heappop(self._drawn)
            coverage.recorded -= 1
            coverage.multiply_adds["recorded"] -= work
            self.captured.skipped["draw"] += 1
            coverage.passed[about["op"], about["module"], "draw"] += 1
            coverage.multiply_adds["passed"] += work

    def _stored(self, name: str, case: dict[str, Any], about: dict[str, Any], work: int) -> None:
        product, captured = "operation" not in case, self.captured
        snapshots = {name: value for name, value in case.items() if isinstance(value, Snapshot)}
        keys = {name: self._store.key(value) for name, value in snapshots.items()}
        new = {keys[name]: value.bytes for name, value in snapshots.items() if not self._store.has(keys[name])}
        if self._max_bytes is not None and captured.bytes + sum(new.values()) > self._max_bytes:
            captured.skipped["max_bytes"] += 1
            if product:
                captured._coverage.passed[about["op"], about["module"], "max_bytes"] += 1
                captured._coverage.multiply_adds["passed"] += work
            return
        for role, snapshot in snapshots.items():
            self._store.put(keys[role], snapshot)
            case[role] = self._store.address(keys[role])
        captured.bytes += sum(new.values())
        self._cases.append({"name": name, **_fields(case)})
        self._records.append({"name": name, **about})
        if product:
            captured._coverage.recorded += 1
            captured._coverage.multiply_adds["recorded"] += work
        else:
            captured.operations += 1
        if self._store.full:
            self._write(None, ended=False)

    def _store_drawn(self) -> None:
        """What the draw has left, with the commitment of each."""
        coverage = self.captured._coverage
        for _, number, case, about, work, commitment in sorted(self._drawn, key=lambda one: one[1]):
            coverage.recorded -= 1
            coverage.multiply_adds["recorded"] -= work
            path = f"commitment-{number:05d}.json"
            save(self.captured.directory / path, commitment)
            self._stored(self._committed[number]["name"], {**case, "against": path}, about, work)
        self._drawn = []

    def end(self, stopped: str | None, *, raises: bool = True) -> None:
        """The last time. What cannot be written is not there, and the manifest does not name it."""
        self.captured._settle = _nothing
        if os.getpid() != self._process:
            # The recording is the parent's.
            return
        self.settle()
        if self._beside is not None:
            self._jobs.put(None)
            self._beside.join()
            self._beside = None
        with self._lock:
            try:
                self._store_drawn()
                self._write(stopped, ended=True)
            except OSError as error:
                self.failed = self.failed or error
        if not raises:
            return
        if self.failed is not None:
            raise self.failed
        self._repeats()
        if self._strict and self.captured._coverage.missed:
            raise NotRecordedError(self.captured._coverage.sentence())

    def _repeats(self) -> None:
        """Whether this run has the products that the draw is from."""
        former = None if self._draw is None else self._draw.former
        if former is None or former == self._committed:
            return
        pairs = zip(former, self._committed)
        names = [one["name"] for one, other in pairs if one != other][:3]
        what = f"other bits, the first in {', '.join(names)}" if names else "another number of products"
        raise NotCommittedError(f"this run is not the one that was committed: {what}", names or [what])

    def _write(self, stopped: str | None, *, ended: bool) -> None:
        """Arrays first, then the manifest that names them, then what is known of them."""
        if self.failed is None:
            self._store.flush()
            self._on_disk = len(self._cases)
        cases, captured = self._cases[: self._on_disk], self.captured
        products = sum("operation" not in case for case in cases)
        coverage = captured._coverage.document(products)
        save(captured.manifest, _json({"schema": MANIFEST, "coverage": coverage, "cases": cases}))
        if self._draw is not None:
            save(captured.commitments, _draw.written(self._committed))
        not_recorded = (captured._coverage.missed + captured.steps_not_recorded).items()
        record = {
            "schema": self.schema,
            "tcverify": _tcverify.__version__,
            **self.versions,
            "ended": ended,
            "stopped": stopped or (None if self.failed is None else f"{type(self.failed).__name__}: {self.failed}"),
            "bytes": captured.bytes,
            **({} if self._draw is None else {"draw": {"products": self._draw.products, "seed": self._draw.seed}}),
            "coverage": coverage,
            "multiply_adds": {**captured._coverage.multiply_adds, "calls_of_unknown_work": captured._coverage.unweighed},
            "skipped": dict(captured.skipped),
            "not_recorded": [{"op": op, "module": module, "why": why, "calls": calls} for (op, module, why), calls in not_recorded],
            "products": self._records[: self._on_disk],
        }
        save(captured.directory / "capture.json", _json(record))


def _fields(case: Mapping[str, Any]) -> dict[str, Any]:
    """A case as JSON has it."""
    plain = _request.plain if "operation" not in case else (lambda name, value: value)
    return {name: plain(name, value) for name, value in case.items() if value is not None}


def _commitment(case: Mapping[str, Any]) -> str:
    """The commitment to a product, as ``tcverify commit`` writes it."""
    arrays = {name: value.held for name, value in case.items() if isinstance(value, Snapshot)}
    fields = _fields({name: value for name, value in case.items() if name not in arrays})
    return _tcverify.commit(json.dumps(fields), arrays, None)


def common(fields: Mapping[str, Any], own: Sequence[str], why: str) -> dict[str, Any]:
    """Fields that hold for all products.

    :raises ValueError: if one is among them that differs from product to product.
    """
    fields = _request.said(_request.known(fields))
    for name in own:
        if name in fields:
            raise ValueError(f"{name}: follows from the {why}")
    return dict(fields)


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1) + "\n"
