"""Every matrix product of a function, with its operands and its D, as a manifest for ``tcverify batch``."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

import tcverify
from tcverify._recorder import Recorder, Refused
from tcverify._store import NAMES, Snapshot, type_name
from tcverify.jax import _interpreter, _products
from tcverify.jax._product_request import ProductRequest

if TYPE_CHECKING:
    from typing_extensions import Unpack

RECORD = "tcverify.jax-capture/1"


@dataclass(repr=False)
class Captured(tcverify.Captured):
    """What a capture recorded; called with a function, it gives the function recorded."""

    _capture: Any = field(default=None, repr=False, compare=False)

    def __call__(self, fun: Callable[..., Any], *, static_argnums: int | Sequence[int] = ()) -> Callable[..., Any]:
        return _interpreter.Listener.__call__(self._capture, fun, static_argnums=static_argnums)


class capture(_interpreter.Listener):
    """Records every matrix product of functions into ``directory``, for ``tcverify batch directory/manifest.json``.

    ``with capture("captured") as captured:`` gives a :class:`Captured`; inside, ``captured(f)`` is ``f``, recorded:
    run equation by equation, each product compiled alone. What ``jit`` of all of ``f`` computes may differ: XLA fuses, and
    chooses kernels.

    :param arch: the GPU; by default the device's own, or that of the :class:`simulate` around the function.
    :param select: patterns of names (``"*attn*"``) as ``jax.named_scope`` and Flax give them; only those products.

    ``every``, ``only``, ``draw``, ``max_bytes``, ``shard_bytes`` and ``strict`` are those of :class:`tcverify.torch.capture`. Other
    arguments are fields of a request (docs/request.md) that hold for all products, before those of a :class:`simulate`.
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
        strict: bool = False,
        **fields: Unpack[tcverify.CheckFields],
    ) -> None:
        if arch is not None and "model" not in fields and tcverify._tcverify.architecture(arch) is None:
            raise tcverify.CheckError("arch", f"`arch`: no architecture or GPU is called {arch!r}")
        self._arch = arch
        self._fields = _products.common(fields)
        self._path, self._run, self._open = "", False, False
        self._simulation: Any = None
        self.captured = Captured(Path(directory), _capture=self)
        self._recorder = Recorder(
            self.captured,
            RECORD,
            module=lambda: self._path,
            select=select,
            every=every,
            only=only,
            draw=draw,
            max_bytes=max_bytes,
            shard_bytes=shard_bytes,
            strict=strict,
        )
        self._recorder.versions = {"jax": jax.__version__}

    def __enter__(self) -> Captured:
        self._recorder.begin()
        self._open = True
        return self.captured

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._open = False
        self._recorder.end(None if error is None else f"{type(error).__name__}: {error}", raises=error is None)
        if error is None and not self._run:
            raise ValueError("capture() recorded no function: inside `with capture(...) as captured:` call `captured(f)(x)`")

    def __call__(self, fun: Callable[..., Any], *, static_argnums: int | Sequence[int] = ()) -> Callable[..., Any]:
        raise TypeError("use `with capture(...) as captured:`, and inside it `captured(f)(x)`")

    def begins(self, others: Sequence[_interpreter.Listener]) -> None:
        if not self._open:
            raise ValueError("the recording has ended: call `captured(f)(x)` inside `with capture(...) as captured:`")
        self._run = True
        self._simulation = next((one for one in others if one.computes), None)
        if self._arch is None and self._simulation is None and jax.default_backend() == "cpu":
            raise ValueError("capture() on a CPU: say with arch= which GPU is to be judged, or simulate one")

    def missed(self, name: str, why: str, path: str) -> None:
        self._path = path
        self._recorder.missed(name, why)

    def product(self, found: ProductRequest, path: str, run: _interpreter.Run) -> Any:
        self._path = path
        if self._recorder.passed(found.op):
            self._recorder.weigh("passed", found.multiply_adds)
            return run()
        case = self._recorder.tried(found.op, lambda: self._case(found), found.multiply_adds)
        result = run()
        if case is not None:
            self._recorder.tried(found.op, lambda: self._keep(found, case, result), found.multiply_adds)
        return result

    def _gpu(self, found: ProductRequest) -> str:
        arch = self._arch or (self._simulation.arch if self._simulation else None)
        if arch is not None:
            return str(arch)
        capability = getattr(_device(found), "compute_capability", None)
        if capability is None:
            raise Refused("it is not known of which GPU: say with arch= which is to be judged")
        return f"sm_{str(capability).replace('.', '')}"

    def _case(self, found: ProductRequest) -> dict[str, Any]:
        """The request, with snapshots in place of arrays."""
        devices = max((len(one.devices()) for one in found.operands if isinstance(one, jax.Array)), default=1)
        if devices > 1:
            raise Refused(f"spread over {devices} devices, whose sums XLA may add")
        case: dict[str, Any] = {**(self._simulation.fields if self._simulation else {}), **self._fields}
        arch = self._gpu(found)
        case = {"arch": arch, **case, **found.formats(arch, case.get("model"))}
        for name, array in {"a": found.a, "b": found.b}.items():
            if type_name(array) not in NAMES:
                raise Refused(f"{array.dtype} is not stored")
            case[name] = Snapshot.of(array)
        return case

    def _keep(self, found: ProductRequest, case: dict[str, Any], result: Any) -> None:
        d = found.d(result)
        if type_name(d) not in NAMES:
            raise Refused(f"{d.dtype} is not stored")
        case["d"] = Snapshot.of(d)
        # What a file of this type says itself.
        case.pop("d_dtype")
        left, right = found.operands
        about = {
            "op": found.op,
            "module": self._path,
            "device": str(getattr(_device(found), "device_kind", "unknown")),
            "operands": {name: {"dtype": str(one.dtype), "shape": list(one.shape)} for name, one in {"a": left, "b": right}.items()},
            **found.about,
            "precision": str(found.precision),
            **({"note": found.note} if found.note else {}),
        }
        self._recorder.keep(case, about, found.multiply_adds)


def _device(found: ProductRequest) -> Any:
    """Where the product ran."""
    for one in found.operands:
        if isinstance(one, jax.Array):
            return next(iter(one.devices()))
    return jax.devices()[0]
