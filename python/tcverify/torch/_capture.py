"""Every matrix product of whatever runs, with its operands and its D, as a manifest for ``tcverify batch``."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

import tcverify
from tcverify import _arrays
from tcverify._report import save
from tcverify.torch import _operations, _products, _simulate

if TYPE_CHECKING:
    from typing_extensions import Unpack

MANIFEST = "tcverify.manifest/1"
RECORD = "tcverify.torch-capture/1"

_SAFETENSORS = {
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.int32: "I32",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.float8_e4m3fnuz: "F8_E4M3FNUZ",
    torch.float8_e5m2fnuz: "F8_E5M2FNUZ",
}


@dataclass
class Captured:
    """What a capture recorded, and what not."""

    directory: Path
    #: Products in the manifest.
    products: int = 0
    #: Operations between products in the manifest.
    operations: int = 0
    #: Bytes of tensors that were stored.
    bytes: int = 0
    #: Products that were passed over, by the reason: ``select``, ``every``, ``max_bytes``.
    skipped: Counter[str] = field(default_factory=Counter)
    #: Operations that hide their products, or whose product no request can ask for: (operation, module, why) and how often.
    not_recorded: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    @property
    def manifest(self) -> Path:
        """For ``tcverify batch``."""
        return self.directory / "manifest.json"

    def batch(self, **arguments: Any) -> tcverify.Batch:
        """Judges all products."""
        return tcverify.batch(self.manifest, **arguments)


class _Modules:
    """Which module is being called, by its path in the outermost one."""

    def __init__(self, ended: Callable[[torch.nn.Module, Any, Any], None]) -> None:
        self._ended = ended
        self._names: weakref.WeakKeyDictionary[torch.nn.Module, str] = weakref.WeakKeyDictionary()
        self._path: list[str] = []
        self._hooks: list[Any] = []

    def __enter__(self) -> None:
        hooks = torch.nn.modules.module
        self._hooks = [
            hooks.register_module_forward_pre_hook(self._begin),
            hooks.register_module_forward_hook(self._end, always_call=True),
        ]

    def __exit__(self, *error: Any) -> None:
        for hook in self._hooks:
            hook.remove()
        self._path.clear()

    def _begin(self, module: torch.nn.Module, args: Any) -> None:
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

    @property
    def current(self) -> str:
        return self._path[-1] if self._path else ""


class _Store:
    """Tensors by digest, in files of about a size that appear whole."""

    def __init__(self, directory: Path, shard_bytes: int) -> None:
        self._directory = directory
        self._limit = shard_bytes
        self._places: dict[str, str] = {}
        self._waiting: dict[str, tuple[str, list[int], bytes]] = {}
        self._bytes = 0
        self._shards = 0

    @property
    def full(self) -> bool:
        return self._bytes >= self._limit

    def key(self, tensor: torch.Tensor, data: bytes) -> str:
        about = f"{_SAFETENSORS[tensor.dtype]} {list(tensor.shape)} ".encode()
        return hashlib.sha256(about + hashlib.sha256(data).digest()).hexdigest()[:32]

    def has(self, key: str) -> bool:
        return key in self._places

    def put(self, key: str, tensor: torch.Tensor, data: bytes) -> None:
        if key not in self._places:
            self._places[key] = f"shard-{self._shards:05d}.safetensors#{key}"
            self._waiting[key] = (_SAFETENSORS[tensor.dtype], list(tensor.shape), data)
            self._bytes += len(data)

    def place(self, key: str) -> str:
        return self._places[key]

    def flush(self) -> None:
        if not self._waiting:
            return
        header, end = {}, 0
        for key, (dtype, shape, data) in self._waiting.items():
            header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + len(data)]}
            end += len(data)
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        handle, temporary = tempfile.mkstemp(dir=self._directory, prefix=".tcverify-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(len(text).to_bytes(8, "little") + text)
                for _, _, data in self._waiting.values():
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._directory / f"shard-{self._shards:05d}.safetensors")
        except BaseException:
            os.unlink(temporary)
            raise
        self._waiting.clear()
        self._bytes = 0
        self._shards += 1


class capture(TorchDispatchMode):
    """Records every matrix product inside into ``directory``, for ``tcverify batch directory/manifest.json``.

    :param arch: the GPU; by default the CUDA device's own, or that of the :class:`simulate` around it.
    :param select: patterns of module paths (``"*.attn.*"``); only those products.
    :param every: of each module's operation only every so-manieth call, the first always.
    :param max_bytes: tensors of at most so many bytes in all; products beyond are counted, not stored.
    :param shard_bytes: about how many bytes a file of tensors has, and how many wait in memory.
    :param operations: also what stands between products, as far as a rule is known (docs/python.md): sums, SiLU, GELU (tanh),
        softmax, layer_norm, rms_norm, Hugging Face's RMSNorm modules, PyTorch's FlashAttention.
    :param rms_norms: with ``operations``: names of more module classes that compute RMSNorm as Llama's does.
    :param kernels: run products on CUDA under the profiler and note the names of their kernels (slow).

    Other arguments are fields of a request (docs/request.md) that hold for all products, before those of a
    :class:`simulate` around it: ``schedule="cublas-nvjet"``.
    ``with`` gives a :class:`Captured`. What waits in memory is written when ``shard_bytes`` of it do, at the end, and
    when an exception or an interrupt ends it; the manifest names only what is on disk.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        arch: str | None = None,
        select: str | Sequence[str] | None = None,
        every: int = 1,
        max_bytes: int | None = None,
        shard_bytes: int = 256 << 20,
        kernels: bool = False,
        operations: bool = False,
        rms_norms: Sequence[str] = (),
        **fields: Unpack[tcverify.CheckFields],
    ) -> None:
        super().__init__()
        if every < 1:
            raise ValueError("every: 1 or more")
        self.captured = Captured(Path(directory))
        self._arch = arch
        self._select = [select] if isinstance(select, str) else select
        self._every = every
        self._max_bytes = max_bytes
        self._kernels = kernels
        self._fields = _products.common(fields)
        self._operations = operations
        self._rms_norms = (*_operations.RMS_NORMS, *rms_norms)
        self._modules = _Modules(self._module_ended)
        self._calls: Counter[tuple[str, str]] = Counter()
        self._store = _Store(self.captured.directory, shard_bytes)
        self._cases: list[dict[str, Any]] = []
        self._records: list[dict[str, Any]] = []
        self._written = 0

    def __enter__(self) -> Captured:
        directory = self.captured.directory
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.glob("manifest.json")) or any(directory.glob("shard-*.safetensors")):
            raise FileExistsError(f"{directory} holds a capture; record into a folder of its own")
        self._modules.__enter__()
        _simulate.capturing += 1
        super().__enter__()
        return self.captured

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        super().__exit__(kind, error, trace)
        _simulate.capturing -= 1
        self._modules.__exit__()
        self._flush(None if error is None else f"{type(error).__name__}: {error}", ended=True)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        why = ""
        try:
            found = _products.wanted(func, args, kwargs)
        except _products.Refused as refused:
            found, why = None, str(refused)
        if found is None:
            if not why and self._operations:
                try:
                    step = _operations.wanted(func, args, kwargs)
                except _products.Refused as refused:
                    step, why = None, str(refused)
                if step is not None:
                    return self._between(step, lambda: func(*args, **kwargs))
            if not why:
                parts = _products.decomposed(self, func, args, kwargs)
                if parts is not NotImplemented:
                    return parts
                why = "its products are not seen from outside" if _products.hides(func) else ""
            if why:
                self.captured.not_recorded[_products.opname(func), self._modules.current, why] += 1
            return func(*args, **kwargs)
        if self._passed(found.op):
            return func(*args, **kwargs)
        # Before it runs: it may write over an operand.
        try:
            with _disable_current_modes():
                case = self._case(found)
        except _products.Refused as refused:
            self.captured.not_recorded[found.op, self._modules.current, str(refused)] += 1
            return func(*args, **kwargs)
        result, kernels = self._run(func, args, kwargs, found)
        with _disable_current_modes():
            self._record(found, case, result.detach().reshape(self._shape(found)), kernels)
        return result

    def _between(self, step: _operations.Between, run: Callable[[], Any]) -> Any:
        """A step between products: its arrays before it runs, its result after."""
        if self._passed(step.op):
            return run()
        try:
            with _disable_current_modes():
                case = self._step(step)
        except _products.Refused as refused:
            self.captured.not_recorded[step.op, self._modules.current, str(refused)] += 1
            return run()
        result = run()
        with _disable_current_modes():
            y = result if step.result is None else result[step.result]
            case["y"] = (y.detach(), _bytes(y.detach()))
            self._keep(step.op, case, {**step.arrays, "y": y}, [])
        return result

    def _module_ended(self, module: torch.nn.Module, args: Any, result: Any) -> None:
        if not self._operations:
            return
        why = ""
        try:
            with _disable_current_modes():
                step = _operations.normed(module, args, self._rms_norms)
        except _products.Refused as refused:
            step, why = None, str(refused)
        if why:
            self.captured.not_recorded["rms_norm", self._modules.current, why] += 1
        if step is not None:
            self._between(step, lambda: result)

    def _step(self, step: _operations.Between) -> dict[str, Any]:
        """The request, with tensors in place of arrays."""
        case: dict[str, Any] = dict(step.fields)
        if step.needs_arch:
            case["arch"] = self._gpu(next(iter(step.arrays.values())))
        for name, tensor in step.arrays.items():
            case[name] = (tensor.detach(), _bytes(tensor.detach()))
        return case

    def _passed(self, op: str) -> bool:
        reason = self._passed_over(op)
        if reason is not None:
            self.captured.skipped[reason] += 1
        return reason is not None

    def _passed_over(self, op: str) -> str | None:
        module = self._modules.current
        if self._select is not None and not any(fnmatch.fnmatchcase(module, one) for one in self._select):
            return "select"
        call = self._calls[module, op]
        self._calls[module, op] += 1
        return "every" if call % self._every else None

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
            raise ValueError("capture() on a CPU: say with arch= which GPU is to be judged, or simulate one")
        major, minor = torch.cuda.get_device_capability(tensor.device)
        return f"sm_{major}{minor}"

    @staticmethod
    def _shape(found: _products.Wanted) -> tuple[int, ...]:
        return (*found.a.shape[:-1], found.b.shape[-1])

    def _case(self, found: _products.Wanted) -> dict[str, Any]:
        """The request, with tensors in place of arrays."""
        outer = _simulate.ACTIVE[-1] if _simulate.ACTIVE else None
        case: dict[str, Any] = {**(outer.fields if outer else {}), **self._fields}
        case = {"arch": self._gpu(found.a), **case, **_products.formats(found), **found.fields}
        for name, tensor in {"a": found.a, "b": found.b, **found.arrays}.items():
            if tensor.dtype not in _SAFETENSORS:
                raise _products.Refused(f"{tensor.dtype} is not stored")
            tensor = tensor.detach()
            if name in ("a", "b") and tensor.dim() > 1 and not tensor.is_contiguous() and tensor.mT.is_contiguous():
                case[f"transpose_{name}"] = True
                tensor = tensor.mT
            case[name] = (tensor, _bytes(tensor))
        return case

    def _record(
        self, found: _products.Wanted, case: dict[str, Any], d: torch.Tensor, kernels: Sequence[str]
    ) -> None:
        case["d"] = (d, _bytes(d))
        # What a file of this type says itself.
        case.pop("d_dtype")
        self._keep(found.op, case, {"a": found.a, "b": found.b, **found.arrays, "d": d}, kernels)

    def _keep(
        self, op: str, case: dict[str, Any], operands: dict[str, torch.Tensor], kernels: Sequence[str]
    ) -> None:
        tensors = {name: value for name, value in case.items() if isinstance(value, tuple)}
        keys = {name: self._store.key(*value) for name, value in tensors.items()}
        new = {keys[name]: len(value[1]) for name, value in tensors.items() if not self._store.has(keys[name])}
        if self._max_bytes is not None and self.captured.bytes + sum(new.values()) > self._max_bytes:
            self.captured.skipped["max_bytes"] += 1
            return
        for name, (tensor, data) in tensors.items():
            self._store.put(keys[name], tensor, data)
            case[name] = self._store.place(keys[name])
        self.captured.bytes += sum(new.values())
        module = self._modules.current
        name = f"{len(self._cases):05d} {module or '(no module)'} {op}"
        plain = (lambda name, value: value) if "operation" in case else tcverify._request.plain
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
            }
        )
        if self._store.full:
            self._flush(None, ended=False)

    def _flush(self, stopped: str | None, *, ended: bool) -> None:
        """Tensors first, then the manifest that names them, then what is known of them."""
        self._store.flush()
        self._written = len(self._cases)
        self.captured.operations = sum("operation" in case for case in self._cases)
        self.captured.products = self._written - self.captured.operations
        save(self.captured.manifest, _json({"schema": MANIFEST, "cases": self._cases}))
        captured = self.captured
        save(
            captured.directory / "capture.json",
            _json(
                {
                    "schema": RECORD,
                    "tcverify": tcverify.__version__,
                    "torch": str(torch.__version__),
                    "cuda": torch.version.cuda,
                    "ended": ended,
                    "stopped": stopped,
                    "bytes": captured.bytes,
                    "skipped": dict(captured.skipped),
                    "not_recorded": [
                        {"op": op, "module": module, "why": why, "calls": calls}
                        for (op, module, why), calls in captured.not_recorded.items()
                    ],
                    "products": self._records,
                }
            ),
        )


def _bytes(tensor: torch.Tensor) -> bytes:
    return _arrays.held("tensor", tensor.contiguous())[0].tobytes()


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
