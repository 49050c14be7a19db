"""Every matrix product of whatever runs, with its operands and its D, as a manifest for ``tcverify batch``."""

from __future__ import annotations

import fnmatch
import html
import json
import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _python_dispatch
from torch.utils._python_dispatch import _disable_current_modes

import tcverify
from tcverify._report import save
from tcverify.torch import _known, _operations, _outside, _products, _simulate
from tcverify.torch._coverage import Coverage, NotRecordedError
from tcverify.torch._store import NAMES, Store, bytes_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

MANIFEST = "tcverify.manifest/1"
RECORD = "tcverify.torch-capture/1"


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
    #: How many products ran, how many of them were recorded, and why not all.
    coverage: Coverage = field(default_factory=Coverage)
    #: Operations between products that no rule describes: (operation, module, why) and how often.
    steps_not_recorded: Counter[tuple[str, str, str]] = field(default_factory=Counter)

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

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self.directory))}</p>{self.coverage._repr_html_()}"

    def batch(self, **arguments: Any) -> tcverify.Batch:
        """Judges all products."""
        return tcverify.batch(self.manifest, **arguments)


class _Modules:
    """Which module is being called in this thread, by its path in the outermost one."""

    def __init__(self, threads: _outside.Threads, ended: Callable[[torch.nn.Module, Any, Any], None]) -> None:
        self._threads = threads
        self._ended = ended
        self._names: weakref.WeakKeyDictionary[torch.nn.Module, str] = weakref.WeakKeyDictionary()
        self._own = threading.local()
        self._hooks: list[Any] = []

    @property
    def _path(self) -> list[str]:
        if not hasattr(self._own, "path"):
            self._own.path = []
        path: list[str] = self._own.path
        return path

    def listen(self) -> None:
        """Hears of every module that is called."""
        if not self._hooks:
            hooks = torch.nn.modules.module
            self._hooks = [
                hooks.register_module_forward_pre_hook(self._begin),
                hooks.register_module_forward_hook(self._end, always_call=True),
            ]

    def rest(self) -> None:
        """Hears nothing. What is compiled must not meet hooks that are not the program's."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _begin(self, module: torch.nn.Module, args: Any) -> None:
        self._threads.module_begins()
        if module not in self._names:
            prefix = self._path[-1] + "." if self._path else ""
            for name, inner in module.named_modules():
                self._names.setdefault(inner, prefix + (name or type(module).__name__ if prefix or not name else name))
        self._path.append(self._names[module])

    def _end(self, module: torch.nn.Module, args: Any, result: Any) -> None:
        # Without a result it has failed.
        if result is not None:
            self._ended(module, args, result)
        if self._path:
            self._path.pop()
        self._threads.module_ends()

    @property
    def current(self) -> str:
        return self._path[-1] if self._path else ""


class capture(_outside.Watching):
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
        super().__init__()
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
        self._threads = _outside.Threads(self, self._missed)
        self._modules = _Modules(self._threads, self._module_ended)
        self._calls: Counter[tuple[str, str]] = Counter()
        self._store = Store(self.captured.directory, shard_bytes)
        self._cases: list[dict[str, Any]] = []
        self._records: list[dict[str, Any]] = []
        self._on_disk = 0
        # Products that were met, whatever became of them.
        self._looked = 0
        self._compiled = False
        self._aside = 0
        self._lock = threading.RLock()
        self._failed: Exception | None = None
        self._patches = _outside.Patches()

    def __enter__(self) -> Captured:
        directory = self.captured.directory
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.glob("manifest.json")) or any(directory.glob("shard-*.safetensors")):
            raise FileExistsError(f"{directory} holds a capture; record into a folder of its own")
        if self._arch is None and not _simulate.ACTIVE and not torch.cuda.is_available():
            raise ValueError("capture() on a CPU: say with arch= which GPU is to be judged, or simulate one")
        self._modules.listen()
        self._threads.__enter__()
        _outside.watch(self._patches, self._missed, self._threads.seen_here)
        _outside.watch_functions(self._patches, self._function)
        _outside.outside_of_compiled(self._patches, self._compiler_looks, self._compiler_is_done)
        _simulate.capturing += 1
        # Without `super`: a compiler that finds a mode entered skips what it meets, for good.
        _python_dispatch._push_mode(self)
        return self.captured

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _python_dispatch._pop_mode()
        if self._compiled and _outside.graph_breaks():
            self._missed("torch.compile", "a compiled function has graph breaks: what runs between its graphs is not seen")
        _simulate.capturing -= 1
        self._patches.close()
        self._threads.__exit__()
        self._modules.rest()
        self._flush(None if error is None else f"{type(error).__name__}: {error}", ended=True)
        if error is not None:
            return
        if self._failed is not None:
            raise self._failed
        if self._strict and self.captured.coverage.missed:
            raise NotRecordedError(self.captured.coverage.sentence())

    def _compiler_looks(self) -> None:
        """What is called now may be compiled: without our hooks, and without this mode."""
        if self._threads.own_thread() and _python_dispatch._get_current_dispatch_mode() is self:
            self._modules.rest()
            self._compiled = True
            self._aside += 1
            _python_dispatch._pop_mode()

    def _compiler_is_done(self) -> None:
        if self._aside and self._threads.own_thread():
            self._aside -= 1
            _python_dispatch._push_mode(self)
            self._modules.listen()

    def _missed(self, op: str, why: str) -> None:
        """A call that may hold products, and is not recorded."""
        module = self._modules.current
        with self._lock:
            self._looked += 1
            if self._selected(module):
                self.captured.coverage.missed[op, module, why] += 1
            else:
                self._left_out(op, "select")

    def _left_out(self, op: str, reason: str) -> None:
        self.captured.skipped[reason] += 1
        self.captured.coverage.passed[op, self._modules.current, reason] += 1

    def _selected(self, module: str) -> bool:
        return self._select is None or any(fnmatch.fnmatchcase(module, one) for one in self._select)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        harmless = _known.contains_none(func, args, kwargs)
        if (harmless and not self._operations) or _outside.compiling() or _products.unreal((args, kwargs)):
            return func(*args, **kwargs)
        if _products.of_subclasses(types):
            # It says itself what it is made of, and that is seen.
            return NotImplemented
        why = ""
        try:
            found = _products.wanted(func, args, kwargs)
        except _products.Refused as refused:
            found, why = None, str(refused)
        if found is not None:
            return self._product(found, func, args, kwargs)
        if why == _products.EMPTY:
            self._looked += 1
            return func(*args, **kwargs)
        if not why:
            if self._operations:
                step = self._step_of(func, args, kwargs)
                if step is not None:
                    return self._between(step, lambda: func(*args, **kwargs))
            if harmless:
                return func(*args, **kwargs)
            for way in (_simulate.parts, _products.decomposed, _products.opened):
                before = self._looked
                parts = way(self, func, args, kwargs)
                if parts is not NotImplemented:
                    if way is _products.opened and self._looked == before:
                        self._missed(_known.opname(func), _outside.UNSEEN)
                    return parts
            if name_of_registered(func):
                # Whoever registered it says that this call holds none.
                return func(*args, **kwargs)
            why = _outside.UNSEEN
        self._missed(_known.opname(func), why)
        return func(*args, **kwargs)

    def _product(self, found: _products.Wanted, func: Any, args: Any, kwargs: Any) -> Any:
        self._looked += 1
        if self._passed(found.op):
            return func(*args, **kwargs)
        # Before it runs: it may write over an operand.
        case = self._tried(found.op, lambda: self._case(found))
        if case is None:
            return func(*args, **kwargs)
        result, kernels = self._run(func, args, kwargs, found)
        self._tried(found.op, lambda: self._record(found, case, found.d(found.given(result)), kernels))
        return result

    def _function(self, name: str, real: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A function of Python that stands for a product: what it calls in turn is part of that."""
        if not self._threads.own_thread():
            self._missed(name, _outside.THREAD)
        if not _outside.entered(self):
            return real(*args, **kwargs)
        found = None
        try:
            found = _products.wanted(name, args, kwargs)
            if found is None:
                return real(*args, **kwargs)
        except _products.Refused as refused:
            self._missed(name, str(refused))
        with _outside.popped(self):
            return real(*args, **kwargs) if found is None else self._product(found, real, args, kwargs)

    def _tried(self, op: str, work: Callable[[], Any], missed: Callable[[str, str], None] | None = None) -> Any:
        """What our own work gives, or none, and why is counted: a program that runs must not stop because of it."""
        why = "the recording had ended: " + str(self._failed)
        if self._failed is None:
            try:
                with self._lock, _disable_current_modes():
                    return work()
            except _products.Refused as refused:
                why = str(refused)
            except OSError as error:
                # What was recorded and is not on disk is told by the difference.
                self._failed = error
                return None
            except Exception as error:
                why = f"cannot be recorded: {type(error).__name__}: {error}"
        (missed or self._missed)(op, why)
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
        self.captured.steps_not_recorded[op, self._modules.current, why] += 1

    def _between(self, step: _operations.Between, run: Callable[[], Any]) -> Any:
        """A step between products: its arrays before it runs, its result after."""
        if self._passed(step.op, product=False):
            return run()
        case = self._tried(step.op, lambda: self._step(step), self._step_missed)
        result = run()
        if case is None:
            return result

        def record() -> None:
            y = result if step.result is None else result[step.result]
            case["y"] = (y.detach(), bytes_of(y.detach()))
            self._keep(step.op, case, {**step.arrays, "y": y}, [])

        self._tried(step.op, record, self._step_missed)
        return result

    def _module_ended(self, module: torch.nn.Module, args: Any, result: Any) -> None:
        if not self._operations or not self._threads.recorded_here():
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
            case[name] = (tensor.detach(), bytes_of(tensor.detach()))
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
        module = self._modules.current
        if not self._selected(module):
            return "select"
        call = self._calls[module, op]
        self._calls[module, op] += 1
        return "every" if call % self._every else None

    def _not_chosen(self) -> str | None:
        number = self.captured.offered
        self.captured.offered += 1
        return "only" if self._only is not None and number not in self._only else None

    def _run(self, func: Any, args: Any, kwargs: Any, found: _products.Wanted) -> tuple[Any, list[str]]:
        if not (self._kernels and found.a.is_cuda):
            return func(*args, **kwargs), []
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            result = func(*args, **kwargs)
            torch.cuda.synchronize(found.a.device)
        events = profiler.events() or []
        return result, [event.name for event in events if str(event.device_type).endswith("CUDA")]

    def _gpu(self, tensor: torch.Tensor) -> str:
        outer = _simulate.ACTIVE[-1] if _simulate.ACTIVE else None
        arch = self._arch or (outer.arch if outer else None)
        if arch is not None:
            return arch
        if not tensor.is_cuda:
            raise _products.Refused(f"computed on {tensor.device.type}: say with arch= which GPU is to be judged")
        major, minor = torch.cuda.get_device_capability(tensor.device)
        return f"sm_{major}{minor}"

    def _case(self, found: _products.Wanted) -> dict[str, Any]:
        """The request, with tensors in place of arrays."""
        outer = _simulate.ACTIVE[-1] if _simulate.ACTIVE else None
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
            case[name] = (tensor, bytes_of(tensor))
        return case

    def _record(
        self, found: _products.Wanted, case: dict[str, Any], d: torch.Tensor, kernels: Sequence[str]
    ) -> None:
        case["d"] = (d, bytes_of(d))
        # What a file of this type says itself.
        case.pop("d_dtype")
        self._keep(found.op, case, {"a": found.a, "b": found.b, **found.arrays, "d": d}, kernels, found.note)

    def _keep(
        self,
        op: str,
        case: dict[str, Any],
        operands: dict[str, torch.Tensor],
        kernels: Sequence[str],
        note: str = "",
    ) -> None:
        product = "operation" not in case
        tensors = {name: value for name, value in case.items() if isinstance(value, tuple)}
        keys = {name: self._store.key(*value) for name, value in tensors.items()}
        new = {keys[name]: len(value[1]) for name, value in tensors.items() if not self._store.has(keys[name])}
        if self._max_bytes is not None and self.captured.bytes + sum(new.values()) > self._max_bytes:
            if product:
                self._left_out(op, "max_bytes")
            else:
                self.captured.skipped["max_bytes"] += 1
            return
        for name, (tensor, data) in tensors.items():
            self._store.put(keys[name], tensor, data)
            case[name] = self._store.place(keys[name])
        self.captured.bytes += sum(new.values())
        module = self._modules.current
        name = f"{len(self._cases):05d} {module or '(no module)'} {op}"
        plain = tcverify._request.plain if product else (lambda name, value: value)
        fields = {name: plain(name, value) for name, value in case.items() if value is not None}
        self._cases.append({"name": name, **fields})
        self._records.append(
            {
                "name": name,
                "op": op,
                "module": module,
                "device": _device(next(iter(operands.values())).device),
                "operands": {name: _about(tensor) for name, tensor in operands.items()},
                "flags": _flags(),
                "kernels": list(kernels),
                **({"note": note} if note else {}),
            }
        )
        if product:
            self.captured.coverage.recorded += 1
        else:
            self.captured.operations += 1
        if self._store.full:
            self._write(None, ended=False)

    def _flush(self, stopped: str | None, *, ended: bool) -> None:
        """The last time. What cannot be written is not there, and the manifest does not name it."""
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
        coverage = captured.coverage.document(products)
        save(captured.manifest, _json({"schema": MANIFEST, "coverage": coverage, "cases": cases}))
        not_recorded = captured.not_recorded.items()
        record = {
            "schema": RECORD,
            "tcverify": tcverify.__version__,
            "torch": str(torch.__version__),
            "cuda": torch.version.cuda,
            "ended": ended,
            "stopped": stopped or (None if self._failed is None else f"{type(self._failed).__name__}: {self._failed}"),
            "bytes": captured.bytes,
            "coverage": coverage,
            "skipped": dict(captured.skipped),
            "not_recorded": [{"op": op, "module": module, "why": why, "calls": calls} for (op, module, why), calls in not_recorded],
            "products": self._records[: self._on_disk],
        }
        save(captured.directory / "capture.json", _json(record))


def name_of_registered(func: Any) -> bool:
    """Whether somebody has said what this operation means."""
    return _known.full_name(func) in _products.REGISTERED


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
