"""Every matrix product of whatever runs, with its operands and its D, as a manifest for ``tcverify batch``."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

import tcverify
from tcverify._recorder import Captured, Recorder, Refused
from tcverify._store import NAMES, Snapshot, type_name
from tcverify.torch import _dispatcher, _known, _listening, _module_paths, _operations, _products
from tcverify.torch._product_request import EMPTY, ProductRequest

if TYPE_CHECKING:
    from typing_extensions import Unpack

RECORD = "tcverify.torch-capture/1"


class capture(_dispatcher.Listener):
    """Records every matrix product inside into ``directory``, for ``tcverify batch directory/manifest.json``.

    :param arch: the GPU; by default the CUDA device's own, or that of the :class:`simulate` around it.
    :param select: patterns of module paths (``"*.attn.*"``); only those products.
    :param every: of each module's operation only every so-manieth call, the first always.
    :param only: of the products that are left, counted from 0 in the order in which they run, only these.
    :param draw: a :class:`tcverify.Sample` of the products that are left: ``Sample(20, seed=7)``, or ``Sample(20, seed_from=PATH,
        beacon=VALUE)`` for a second run of what was committed before. Every product is committed to (``captured.commitments``); only
        the drawn ones are stored. ``Sample(0)`` commits alone. They wait in memory for the end (docs/audits.md).
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
        draw: tcverify.Sample | None = None,
        max_bytes: int | None = None,
        shard_bytes: int = 256 << 20,
        kernels: bool = False,
        operations: bool = False,
        rms_norms: Sequence[str] = (),
        strict: bool = False,
        **fields: Unpack[tcverify.CheckFields],
    ) -> None:
        if arch is not None and "model" not in fields and tcverify._tcverify.architecture(arch) is None:
            raise tcverify.CheckError("arch", f"`arch`: no architecture or GPU is called {arch!r}")
        self._arch = arch
        self._kernels = kernels
        self._fields = _products.common(fields)
        self._operations = operations
        self._rms_norms = (*_operations.RMS_NORMS, *rms_norms)
        self.captured = Captured(Path(directory))
        self._recorder = Recorder(
            self.captured,
            RECORD,
            module=_module_paths.current,
            select=select,
            every=every,
            only=only,
            draw=draw,
            max_bytes=max_bytes,
            shard_bytes=shard_bytes,
            strict=strict,
        )
        self._recorder.versions = {"torch": str(torch.__version__), "cuda": torch.version.cuda}

    def __enter__(self) -> Captured:
        if self._arch is None and _dispatcher.simulation() is None and not torch.cuda.is_available():
            raise ValueError("capture() on a CPU: say with arch= which GPU is to be judged, or simulate one")
        self._recorder.begin()
        _module_paths.listen()
        _listening.begin(self, _operations.known if self._operations else None)
        return self.captured

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        for name in sorted(_dispatcher.defined_unseen()):
            self.missed(name, "it was defined by a library that was loaded meanwhile: whether it ran was not seen")
        _listening.end(self)
        _module_paths.rest()
        self._recorder.end(None if error is None else f"{type(error).__name__}: {error}", raises=error is None)

    def missed(self, name: str, why: str) -> None:
        """A call that may hold products, and is not recorded."""
        self._miss(name, why)

    def _miss(self, name: str, why: str) -> bool:
        self.looked += 1
        return self._recorder.missed(name, why)

    def called(self, func: Any, args: Any, kwargs: Any, run: _dispatcher.Run) -> Any:
        named = isinstance(func, str)
        name = func if named else _known.opname(func)
        harmless = not named and _known.contains_none(func, args, kwargs)
        if harmless and not self._operations:
            return run()
        try:
            found = _products.product_of(func, args, kwargs)
        except Refused as refused:
            if str(refused) != EMPTY:
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
        of_interest = self._miss(func if isinstance(func, str) else _known.opname(func), why)
        with _dispatcher.quiet():
            result = run()
        if of_interest:
            work = _known.multiply_adds(func, args, kwargs, result)
            if work is not None:
                self._recorder.weigh("missed", work)
        return result

    def _product(self, found: ProductRequest, run: _dispatcher.Run) -> Any:
        self.looked += 1
        if self._recorder.passed(found.op):
            self._recorder.weigh("passed", found.multiply_adds)
            return run()
        # Before it runs: it may write over an operand.
        case = self._tried(found.op, lambda: self._case(found), found.multiply_adds)
        if case is None:
            return run()
        result, kernels = self._run(run, found)
        self._tried(found.op, lambda: self._record(found, case, found.d(found.given(result)), kernels), found.multiply_adds)
        return result

    def _tried(self, op: str, work: Callable[[], Any], multiply_adds: int | None) -> Any:
        def quietly() -> Any:
            with _disable_current_modes(), _dispatcher.quiet():
                return work()

        return self._recorder.tried(op, quietly, multiply_adds)

    def _step_of(self, func: Any, args: Any, kwargs: Any) -> _operations.Between | None:
        try:
            return _operations.operation_of(func, args, kwargs)
        except Refused as refused:
            self._recorder.step_missed(_known.opname(func), str(refused))
        except Exception as error:
            self._recorder.step_missed(_known.opname(func), f"cannot be examined: {type(error).__name__}")
        return None

    def _between(self, step: _operations.Between, run: Callable[[], Any]) -> Any:
        """A step between products: its arrays before it runs, its result after."""
        if self._recorder.passed(step.op, product=False):
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
        except Refused as refused:
            self._recorder.step_missed("rms_norm", str(refused))
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

    def _run(self, run: _dispatcher.Run, found: ProductRequest) -> tuple[Any, list[str]]:
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
            raise Refused(f"computed on {tensor.device.type}: say with arch= which GPU is to be judged")
        major, minor = torch.cuda.get_device_capability(tensor.device)
        return f"sm_{major}{minor}"

    def _case(self, found: ProductRequest) -> dict[str, Any]:
        """The request, with tensors in place of arrays."""
        outer = _dispatcher.simulation()
        case: dict[str, Any] = {**(outer.fields if outer else {}), **self._fields}
        own = outer.by_dtype.get(found.a.dtype) if outer else None
        own = {**own, **self._fields} if own is not None else None
        case = _products.request(found, self._gpu(found.a), case, own)
        for name, tensor in {"a": found.a, "b": found.b, **found.arrays}.items():
            if type_name(tensor) not in NAMES:
                raise Refused(f"{tensor.dtype} is not stored")
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
        self, found: ProductRequest, case: dict[str, Any], d: torch.Tensor, kernels: Sequence[str]
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
            "module": _module_paths.current(),
            "device": _device(next(iter(operands.values())).device),
            "operands": {name: _about(tensor) for name, tensor in operands.items()},
            "flags": _flags(),
            "kernels": list(kernels),
            **({"note": note} if note else {}),
        }
        self._recorder.keep(case, about, work)


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
