"""Every matrix product of whatever runs, with its operands and its D, as a manifest for ``tcverify batch``."""

from __future__ import annotations

import fnmatch
import html
import json
import os
import queue
import threading
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

import tcverify
from tcverify._report import save
from tcverify.torch import _dispatcher, _known, _modules, _operations, _products
from tcverify.torch._coverage import Coverage, NotRecordedError
from tcverify.torch._store import NAMES, Snapshot, Store

if TYPE_CHECKING:
    from typing_extensions import Unpack

MANIFEST = "tcverify.manifest/1"
RECORD = "tcverify.torch-capture/1"


def _nothing() -> None:
    """Nothing is done beside the program."""


@dataclass
class Captured:
    """What a capture recorded, and what not. All of it counts while it records."""

    directory: Path
    #: Operations between products that were recorded.
    operations: int = 0
    #: Bytes of tensors that were stored.
    bytes: int = 0
    #: Calls that were passed over, by the reason: ``select``, ``every``, ``only``, ``max_bytes``.
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

    def __repr__(self) -> str:
        return f"<tcverify.torch.Captured: {self.coverage.sentence()}, in {self.directory}>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self.directory))}</p>{self.coverage._repr_html_()}"

    def batch(self, **arguments: Any) -> tcverify.Batch:
        """Judges all products."""
        return tcverify.batch(self.manifest, **arguments)


class capture(_dispatcher.Listener):
    """Records every matrix product inside into ``directory``, for ``tcverify batch directory/manifest.json``.

    :param arch: the GPU; by default the CUDA device's own, or that of the :class:`simulate` around it.
    :param select: patterns of module paths (``"*.attn.*"``); only those products.
    :param every: of each module's operation only every so-manieth call, the first always.
    :param only: of the products that are left, counted from 0 in the order in which they run, only these.
    :param max_bytes: tensors of at most so many bytes in all; products beyond are counted, not stored.
    :param shard_bytes: about how many bytes a file of tensors has, and how many wait in memory.
    :param operations: also what stands between products, as far as a rule is known (docs/python.md): sums, SiLU, GELU (tanh),
        softmax, layer_norm, rms_norm, Hugging Face's RMSNorm modules, PyTorch's FlashAttention.
    :param rms_norms: with ``operations``: names of more module classes that compute RMSNorm as Llama's does.
    :param kernels: run products on CUDA under the profiler and note the names of their kernels (slow).
    :param strict: raise :class:`NotRecordedError` at the end if products ran that were not recorded.

    Other arguments are fields of a request (docs/request.md) that hold for all products, before those of a
    :class:`simulate` around it: ``schedule="cublas-nvjet"``.
    ``with`` gives a :class:`Captured`. What waits in memory is written when ``shard_bytes`` of it do, at the end, and
    when an exception or an interrupt ends it; the manifest names only what is on disk.

    The program inside runs as without: what cannot be examined is counted as not recorded, and a disk that is full ends
    the recording, which is told at the end of ``with``. What ``torch.compile`` made runs compiled, and is left as it is.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        arch: str | None = None,
        select: str | Sequence[str] | None = None,
        every: int = 1,
        only: Collection[int] | None = None,
        max_bytes: int | None = None,
        shard_bytes: int = 256 << 20,
        kernels: bool = False,
        operations: bool = False,
        rms_norms: Sequence[str] = (),
        strict: bool = False,
        **fields: Unpack[tcverify.CheckFields],
    ) -> None:
        if every < 1:
            raise ValueError("every: 1 or more")
        if arch is not None and "model" not in fields and tcverify._tcverify.architecture(arch) is None:
            raise tcverify.CheckError("arch", f"`arch`: no architecture or GPU is called {arch!r}")
        self.captured = Captured(Path(directory))
        self._arch = arch
        self._select = [select] if isinstance(select, str) else select
        self._every = every
        self._only = only
        self._max_bytes = max_bytes
        self._kernels = kernels
        self._fields = _products.common(fields)
        self._operations = operations
        self._rms_norms = (*_operations.RMS_NORMS, *rms_norms)
        self._strict = strict
        self._calls: Counter[tuple[str, str]] = Counter()
        self._store = Store(self.captured.directory, shard_bytes)
        self._cases: list[dict[str, Any]] = []
        self._records: list[dict[str, Any]] = []
        self._on_disk = 0
        self._lock = threading.RLock()
        self._jobs: queue.Queue[Any] = queue.Queue()
        self._beside: threading.Thread | None = None
        self._waiting, self._shard_bytes = 0, shard_bytes
        self._process = os.getpid()
        self._failed: Exception | None = None

    def __enter__(self) -> Captured:
        if self._arch is None and _dispatcher.simulation() is None and not torch.cuda.is_available():
            raise ValueError("capture() on a CPU: say with arch= which GPU is to be judged, or simulate one")
        _claimed(self.captured.directory)
        _modules.listen()
        _dispatcher.begin(self, _operations.known if self._operations else None)
        self.captured._settle = self.settle
        return self.captured

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        for name in sorted(_dispatcher.defined_unseen()):
            self.missed(name, "it was defined by a library that was loaded meanwhile: whether it ran was not seen")
        _dispatcher.end(self)
        _modules.rest()
        self.captured._settle = _nothing
        if os.getpid() != self._process:
            # The recording is the parent's.
            return
        self._flush(None if error is None else f"{type(error).__name__}: {error}", ended=True)
        if error is not None:
            return
        if self._failed is not None:
            raise self._failed
        if self._strict and self.captured._coverage.missed:
            raise NotRecordedError(self.captured._coverage.sentence())

    def missed(self, name: str, why: str) -> None:
        """A call that may hold products, and is not recorded."""
        module = _modules.current()
        with self._lock:
            self.looked += 1
            if self._selected(module):
                self.captured._coverage.missed[name, module, why] += 1
                self.captured._coverage.unweighed += 1
            else:
                self._left_out(name, "select")

    def _left_out(self, op: str, reason: str) -> None:
        self.captured.skipped[reason] += 1
        self.captured._coverage.passed[op, _modules.current(), reason] += 1

    def _selected(self, module: str) -> bool:
        return self._select is None or any(fnmatch.fnmatchcase(module, one) for one in self._select)

    def called(self, func: Any, args: Any, kwargs: Any, run: _dispatcher.Run) -> Any:
        named = isinstance(func, str)
        name = func if named else _known.opname(func)
        harmless = not named and _known.contains_none(func, args, kwargs)
        if harmless and not self._operations:
            return run()
        try:
            found = _products.wanted(func, args, kwargs)
        except _products.Refused as refused:
            if str(refused) != _products.EMPTY:
                return self._weighed(func, args, kwargs, str(refused), run)
            self.looked += 1
            with _dispatcher.quiet():
                return run()
        if found is not None:
            with _dispatcher.quiet():
                return self._product(found, run)
        if named:
            return run()
        step = self._step_of(func, args, kwargs) if self._operations else None
        if step is not None:
            with _dispatcher.quiet():
                return self._between(step, run)
        if harmless:
            return run()
        if _known.full_name(func) in _products.REGISTERED:
            # Whoever registered it says that this call holds none.
            with _dispatcher.quiet():
                return run()
        if _products.opens(func) or _dispatcher.simulation() is not None:
            return self.opened(name, run)
        return self._weighed(func, args, kwargs, _dispatcher.UNSEEN, run)

    def _weighed(self, func: Any, args: Any, kwargs: Any, why: str, run: _dispatcher.Run) -> Any:
        """A call that is not recorded, with the work that torch's own counter finds in it."""
        before = self.captured._coverage.unweighed
        self.missed(func if isinstance(func, str) else _known.opname(func), why)
        with _dispatcher.quiet():
            result = run()
        if self.captured._coverage.unweighed > before:
            work = _known.multiply_adds(func, args, kwargs, result)
            if work is not None:
                self._weigh("missed", work)
        return result

    def _weigh(self, kind: str, work: int) -> None:
        coverage = self.captured._coverage
        with self._lock:
            coverage.multiply_adds[kind] += work
            coverage.unweighed -= kind == "missed"

    def _product(self, found: _products.Wanted, run: _dispatcher.Run) -> Any:
        self.looked += 1
        if self._passed(found.op):
            self._weigh("passed", found.multiply_adds)
            return run()
        # Before it runs: it may write over an operand.
        case = self._tried(found.op, lambda: self._case(found), found.multiply_adds)
        if case is None:
            return run()
        result, kernels = self._run(run, found)
        self._tried(found.op, lambda: self._record(found, case, found.d(found.given(result)), kernels), found.multiply_adds)
        return result

    def _tried(self, op: str, work: Callable[[], Any], multiply_adds: int | None) -> Any:
        """What our own work gives, or none, and why is counted: a program that runs must not stop because of it.

        ``multiply_adds`` are those of a product; none of another operation.
        """
        why = "the recording had ended: " + str(self._failed)
        if self._failed is None:
            try:
                with _disable_current_modes(), _dispatcher.quiet():
                    return work()
            except _products.Refused as refused:
                why = str(refused)
            except OSError as error:
                # What was recorded and is not on disk is told by the difference.
                self._failed = error
                return None
            except Exception as error:
                why = f"cannot be recorded: {type(error).__name__}: {error}"
        if multiply_adds is None:
            self._step_missed(op, why)
            return None
        before = self.captured._coverage.unweighed
        self.missed(op, why)
        if self.captured._coverage.unweighed > before:
            self._weigh("missed", multiply_adds)
        return None

    def _step_of(self, func: Any, args: Any, kwargs: Any) -> _operations.Between | None:
        try:
            return _operations.wanted(func, args, kwargs)
        except _products.Refused as refused:
            self._step_missed(_known.opname(func), str(refused))
        except Exception as error:
            self._step_missed(_known.opname(func), f"cannot be examined: {type(error).__name__}")
        return None

    def _step_missed(self, op: str, why: str) -> None:
        with self._lock:
            self.captured.steps_not_recorded[op, _modules.current(), why] += 1

    def _between(self, step: _operations.Between, run: Callable[[], Any]) -> Any:
        """A step between products: its arrays before it runs, its result after."""
        if self._passed(step.op, product=False):
            return run()
        case = self._tried(step.op, lambda: self._step(step), None)
        result = run()
        if case is None:
            return result

        def record() -> None:
            y = result if step.result is None else result[step.result]
            case["y"] = Snapshot.of(y)
            self._keep(step.op, case, {**step.arrays, "y": y}, [])

        self._tried(step.op, record, None)
        return result

    def module_ended(self, module: torch.nn.Module, args: Any, result: Any) -> None:
        if not self._operations:
            return
        try:
            with _disable_current_modes():
                step = _operations.normed(module, args, self._rms_norms)
        except _products.Refused as refused:
            self._step_missed("rms_norm", str(refused))
            return
        if step is not None:
            self._between(step, lambda: result)

    def _step(self, step: _operations.Between) -> dict[str, Any]:
        """The request, with tensors in place of arrays."""
        case: dict[str, Any] = dict(step.fields)
        if step.needs_arch:
            case["arch"] = self._gpu(next(iter(step.arrays.values())))
        for name, tensor in step.arrays.items():
            case[name] = Snapshot.of(tensor)
        return case

    def _passed(self, op: str, *, product: bool = True) -> bool:
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
        module = _modules.current()
        if not self._selected(module):
            return "select"
        call = self._calls[module, op]
        self._calls[module, op] += 1
        return "every" if call % self._every else None

    def _not_chosen(self) -> str | None:
        number = self.captured.offered
        self.captured.offered += 1
        return "only" if self._only is not None and number not in self._only else None

    def _run(self, run: _dispatcher.Run, found: _products.Wanted) -> tuple[Any, list[str]]:
        if not (self._kernels and found.a.is_cuda):
            return run(), []
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            result = run()
            torch.cuda.synchronize(found.a.device)
        events = profiler.events() or []
        return result, [event.name for event in events if str(event.device_type).endswith("CUDA")]

    def _gpu(self, tensor: torch.Tensor) -> str:
        outer = _dispatcher.simulation()
        arch = self._arch or (outer.arch if outer else None)
        if arch is not None:
            return str(arch)
        if not tensor.is_cuda:
            raise _products.Refused(f"computed on {tensor.device.type}: say with arch= which GPU is to be judged")
        major, minor = torch.cuda.get_device_capability(tensor.device)
        return f"sm_{major}{minor}"

    def _case(self, found: _products.Wanted) -> dict[str, Any]:
        """The request, with tensors in place of arrays."""
        outer = _dispatcher.simulation()
        case: dict[str, Any] = {**(outer.fields if outer else {}), **self._fields}
        case = {"arch": self._gpu(found.a), **case, **_products.formats(found), **found.fields}
        for name, tensor in {"a": found.a, "b": found.b, **found.arrays}.items():
            if tensor.dtype not in NAMES:
                raise _products.Refused(f"{tensor.dtype} is not stored")
            tensor = tensor.detach()
            if name in ("a", "b") and tensor.dim() > 1 and not tensor.is_contiguous() and tensor.mT.is_contiguous():
                case[f"transpose_{name}"] = True
                tensor = tensor.mT
            if name.startswith("scale_") and tensor.dim() > 1 and case.get(f"transpose_{name[-1]}"):
                # They are stored as their operand is.
                tensor = tensor.mT
            case[name] = Snapshot.of(tensor)
        return case

    def _record(
        self, found: _products.Wanted, case: dict[str, Any], d: torch.Tensor, kernels: Sequence[str]
    ) -> None:
        case["d"] = Snapshot.of(d)
        # What a file of this type says itself.
        case.pop("d_dtype")
        self._keep(found.op, case, {"a": found.a, "b": found.b, **found.arrays, "d": d}, kernels, found.note, found.multiply_adds)

    def _keep(
        self,
        op: str,
        case: dict[str, Any],
        operands: dict[str, torch.Tensor],
        kernels: Sequence[str],
        note: str = "",
        work: int = 0,
    ) -> None:
        """Takes a case as it is now; digests and files are made beside the program."""
        about = {
            "op": op,
            "module": _modules.current(),
            "device": _device(next(iter(operands.values())).device),
            "operands": {name: _about(tensor) for name, tensor in operands.items()},
            "flags": _flags(),
            "kernels": list(kernels),
            **({"note": note} if note else {}),
        }
        with self._lock:
            self._begin_beside()
        if self._waiting > self._shard_bytes:
            # Without the lock, which the other thread needs.
            self.settle()
        self._waiting += sum(one.bytes for one in case.values() if isinstance(one, Snapshot))
        self._jobs.put((case, about, work))

    def _begin_beside(self) -> None:
        if self._beside is None:
            self._beside = threading.Thread(target=self._work, name="tcverify-capture", daemon=True)
            self._beside.start()

    def settle(self) -> None:
        """Waits until what was taken is digested, and written if it is much."""
        self._jobs.join()
        self._waiting = 0

    def _work(self) -> None:
        for case, about, work in iter(self._jobs.get, None):
            try:
                if self._failed is None:
                    with self._lock:
                        self._stored(case, about, work)
            except Exception as error:
                # What was recorded and is not on disk is told by the difference.
                self._failed = error
            finally:
                self._jobs.task_done()
        self._jobs.task_done()

    def _stored(self, case: dict[str, Any], about: dict[str, Any], work: int) -> None:
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
        for name, snapshot in snapshots.items():
            self._store.put(keys[name], snapshot)
            case[name] = self._store.place(keys[name])
        captured.bytes += sum(new.values())
        name = f"{len(self._cases):05d} {about['module'] or '(no module)'} {about['op']}"
        plain = tcverify._request.plain if product else (lambda name, value: value)
        fields = {name: plain(name, value) for name, value in case.items() if value is not None}
        self._cases.append({"name": name, **fields})
        self._records.append({"name": name, **about})
        if product:
            captured._coverage.recorded += 1
            captured._coverage.multiply_adds["recorded"] += work
        else:
            captured.operations += 1
        if self._store.full:
            self._write(None, ended=False)

    def _flush(self, stopped: str | None, *, ended: bool) -> None:
        """The last time. What cannot be written is not there, and the manifest does not name it."""
        self.settle()
        if self._beside is not None:
            self._jobs.put(None)
            self._beside.join()
        with self._lock:
            try:
                self._write(stopped, ended=ended)
            except OSError as error:
                self._failed = self._failed or error

    def _write(self, stopped: str | None, *, ended: bool) -> None:
        """Tensors first, then the manifest that names them, then what is known of them."""
        if self._failed is None:
            self._store.flush()
            self._on_disk = len(self._cases)
        cases, captured = self._cases[: self._on_disk], self.captured
        products = sum("operation" not in case for case in cases)
        coverage = captured._coverage.document(products)
        save(captured.manifest, _json({"schema": MANIFEST, "coverage": coverage, "cases": cases}))
        not_recorded = (captured._coverage.missed + captured.steps_not_recorded).items()
        record = {
            "schema": RECORD,
            "tcverify": tcverify.__version__,
            "torch": str(torch.__version__),
            "cuda": torch.version.cuda,
            "ended": ended,
            "stopped": stopped or (None if self._failed is None else f"{type(self._failed).__name__}: {self._failed}"),
            "bytes": captured.bytes,
            "coverage": coverage,
            "multiply_adds": {**captured._coverage.multiply_adds, "calls_of_unknown_work": captured._coverage.unweighed},
            "skipped": dict(captured.skipped),
            "not_recorded": [{"op": op, "module": module, "why": why, "calls": calls} for (op, module, why), calls in not_recorded],
            "products": self._records[: self._on_disk],
        }
        save(captured.directory / "capture.json", _json(record))


def _claimed(directory: Path) -> None:
    """A folder of one's own, also among processes that begin at once."""
    directory.mkdir(parents=True, exist_ok=True)
    try:
        if any(directory.glob("manifest.json")) or any(directory.glob("shard-*.safetensors")):
            raise FileExistsError
        with open(directory / "capture.json", "x", encoding="utf-8") as file:
            file.write(_json({"schema": RECORD, "ended": False}))
    except FileExistsError:
        raise FileExistsError(f"{directory} holds a capture; record into a folder of its own, each rank its own") from None


def _about(tensor: torch.Tensor) -> dict[str, Any]:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {"dtype": dtype, "shape": list(tensor.shape), "strides": list(tensor.stride())}


def _device(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


def _flags() -> dict[str, Any]:
    matmul = torch.backends.cuda.matmul
    names = (
        "allow_tf32",
        "allow_fp16_reduced_precision_reduction",
        "allow_bf16_reduced_precision_reduction",
        "allow_fp16_accumulation",
    )
    flags: dict[str, Any] = {}
    for name in names:
        try:
            flags[name] = bool(getattr(matmul, name))
        except (AttributeError, AssertionError):
            # Not of this version.
            continue
    return {**flags, "deterministic_algorithms": torch.are_deterministic_algorithms_enabled()}


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1) + "\n"
