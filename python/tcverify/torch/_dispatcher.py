"""What torch's dispatcher is asked for that may hold products: of every thread, compiled or not.

On its way from modes and autograd to the kernel of a device a call passes the key BackendSelect. While somebody listens,
operations that may hold products have a kernel of ours there, which runs the device's own. Compilers do not look at that key:
what they made stays valid, and what they leave to Python passes here as well.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from tcverify.torch import _known

#: Runs what was called.
Run = Callable[[], Any]

#: Why a call is not seen.
UNSEEN = "it may hold products that are not seen from outside"
THREAD = "ran in another thread than the capture's"

_KEY = torch._C.DispatchKey.BackendSelect
_BELOW = torch._C._dispatch_keyset_full_after(_KEY)
#: Under this name a thread of torch keeps its listeners; autograd's threads take them from the thread that called.
_OWN = "tcverify"


class Listener:
    """Who is told of calls that may hold products."""

    #: Whether it computes products itself.
    computes = False
    #: Products that were met, whatever became of them.
    looked = 0

    def called(self, func: Any, args: Any, kwargs: Any, run: Run) -> Any:
        """An operation, or by its name a registered function of Python; gives what the call gives."""
        raise NotImplementedError

    def missed(self, name: str, why: str) -> None:
        """A call whose products are not seen."""
        raise NotImplementedError

    def opened(self, name: str, run: Run) -> Any:
        """A call that is seen by what it calls; if that holds no product, the call is one that hides them."""
        before = self.looked
        result = run()
        if self.looked == before:
            self.missed(name, UNSEEN)
        return result

    def module_ended(self, module: torch.nn.Module, args: Any, result: Any) -> None:
        """A module was called in this thread."""


#: Those who listen, of all threads.
LISTENING: list[Listener] = []
lock = threading.RLock()


# A process that was forked off is no part of what is listened to.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=LISTENING.clear)


class _Thread(threading.local):
    quiet = 0


_thread = _Thread()


@contextmanager
def quiet() -> Iterator[None]:
    """Nobody is told of what is called inside."""
    _thread.quiet += 1
    try:
        yield
    finally:
        _thread.quiet -= 1


def _kept() -> list[Listener]:
    """Those whom this thread began, those that have ended included in threads of autograd."""
    kept: list[Listener] = torch._C._get_obj_in_tls(_OWN) if torch._C._is_key_in_tls(_OWN) else []
    return kept


def _kept_for_good() -> list[Listener]:
    """The same, to be changed."""
    if not torch._C._is_key_in_tls(_OWN):
        kept: list[Listener] = []
        # Torch takes a reference for its own that it was not given: one for it, which a thread's end gives back.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
        torch._C._stash_obj_in_tls(_OWN, kept)
    return _kept()


def here() -> list[Listener]:
    """Those who listen to this thread; first who computes, so that others see what it gives."""
    own = [one for one in _kept() if one in LISTENING]
    return sorted(own, key=lambda one: not one.computes)


def simulation() -> Any:
    """Who computes the products of this thread; none if the device does."""
    return next((one for one in reversed(_kept()) if one.computes and one in LISTENING), None)


_frames: Any = torch._C._dynamo.eval_frame


def _skipped(code: Any) -> None:
    """A compiler that looks at what is called passes over this code."""
    if hasattr(_frames, "skip_code"):
        _frames.skip_code(code)
    elif hasattr(_frames, "set_code_exec_strategy"):
        action = _frames._FrameAction
        _frames.set_code_exec_strategy(code, _frames._FrameExecStrategy(action.SKIP, action.DEFAULT))


def uncompiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, where a compiler may look at what is called: it does not look at this."""

    @functools.wraps(function)
    def aside(*args: Any, **kwargs: Any) -> Any:
        prior = _frames.set_eval_frame(None)
        try:
            return function(*args, **kwargs)
        finally:
            _frames.set_eval_frame(prior)

    setattr(aside, "_torchdynamo_disable", True)
    _skipped(aside.__code__)  # type: ignore[attr-defined]
    return aside


def compiling() -> bool:
    """Whether what runs is only traced, or tried for its speed, by a compiler."""
    return torch._guards.TracingContext.try_get() is not None


def tensors_of(values: Any) -> list[torch.Tensor]:
    """All tensors among arguments, in lists, too."""
    found: list[torch.Tensor] = []
    queue = [values]
    while queue:
        value = queue.pop()
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            queue.extend(value)
        elif isinstance(value, dict):
            queue.extend(value.values())
    return found


def without_numbers(values: Any) -> bool:
    """Whether no number is computed: tensors on the device `meta`, and those that stand for others while compiling."""
    return any(tensor.is_meta or isinstance(tensor, FakeTensor) for tensor in tensors_of(values))


def passed(values: Any) -> bool:
    """Whether nobody wants to know of a call with these arguments."""
    return bool(_thread.quiet) or not LISTENING or compiling() or without_numbers(values)


def told(name: str, why: str) -> None:
    """Something may hold products that are not seen."""
    if _thread.quiet or compiling():
        return
    for one in here():
        one.missed(name, why)
    if not here():
        elsewhere(name)


def elsewhere(name: str) -> None:
    """A call in a thread that belongs to nobody: perhaps to the program of any listener."""
    for one in list(LISTENING):
        one.missed(name, THREAD)


def asked(func: Any, args: Any, kwargs: Any, run: Run) -> Any:
    """A call of an operation or of a registered function."""
    if not isinstance(func, str) and _known.full_name(func) in _known.harmless:
        # Whoever said so speaks of all that it calls, too.
        with quiet():
            return run()
    own = here()
    if not own:
        if not isinstance(func, str) and _known.contains_none(func, args, kwargs):
            return run()
        elsewhere(func if isinstance(func, str) else _known.opname(func))
        with quiet():
            return run()
    for one in own:
        run = functools.partial(one.called, func, args, kwargs, run)
    return run()


@functools.cache
def composite(name: str) -> bool:
    """Whether torch makes this operation of others, by its full name with overload."""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"))


#: Kinds of tensors for which an operation that is made of others may have a kernel of its own, of torch's or a library's.
_KINDS = [f"{kind}{device}" for kind in ("", "NestedTensor", "Sparse", "SparseCsr", "Quantized") for device in ("CPU", "CUDA")]
_KINDS += ["MkldnnCPU", "PrivateUse1", "XPU", "MPS"]


def _reaches(name: str) -> bool:
    """Whether calls of an operation pass the key."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    if name in _kernels.names:
        return True
    if has(name, "BackendSelect"):
        return False
    return not composite(name) or any(has(name, kind) for kind in _KINDS)


def _overload(name: str) -> Any:
    space, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, space), base), overload or "default")


def _with_numbers(below: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A sum with a number (``x + 1``), which arrives as one, and is a tensor without say in the result's type below."""
    beside = next((one for one in args[:2] if isinstance(one, torch.Tensor)), torch.empty(1))

    def tensor(number: Any) -> Any:
        if not isinstance(number, (int, float, complex)):
            return number
        wide = beside.dtype in (torch.float64, torch.complex128)
        kinds = {bool: torch.bool, int: torch.int64, complex: torch.complex128 if wide else torch.complex64}
        exact = beside.is_floating_point() or beside.is_complex()
        return torch.tensor(number, dtype=kinds.get(type(number), torch.float64 if exact else torch.get_default_dtype()))

    numbers = [tensor(one) for one in args[:2]]
    if beside.dim():
        return below(*numbers, *args[2:], **kwargs)
    # Of two without axes both would have a say.
    axes = [one if one is not beside else one.reshape(1) for one in numbers]
    out = kwargs.get("out")
    result = below(*axes, *args[2:], **{**kwargs, **({} if out is None else {"out": out.reshape(1)})})
    if out is not None:
        return out
    return beside if result is axes[0] and numbers[0] is beside else result.reshape(())


def _kernel(name: str) -> Callable[..., Any]:
    func: Any = None
    #: Where it takes tensors.
    tensors: list[int] = []

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal func
        prior = _frames.set_eval_frame(None)

        def run() -> Any:
            _frames.set_eval_frame(prior)
            try:
                below = functools.partial(func.redispatch, keys & _BELOW)
                if any(isinstance(args[at], (int, float, complex)) for at in tensors if at < len(args)):
                    return _with_numbers(below, args, kwargs)
                return below(*args, **kwargs)
            finally:
                _frames.set_eval_frame(None)

        try:
            if func is None:
                func = _overload(name)
                tensors.extend(at for at, one in enumerate(func._schema.arguments) if str(one.type) == "Tensor")
            return run() if passed((args, kwargs)) else asked(func, args, kwargs, run)
        finally:
            _frames.set_eval_frame(prior)

    _skipped(kernel.__code__)
    return kernel


_kernel_of_torch = functools.cache(_kernel)


class _Kernels:
    """Our kernels, while somebody listens."""

    def __init__(self) -> None:
        self._libraries: dict[str, torch.library.Library] = {}
        self.names: set[str] = set()

    def put(self, names: set[str]) -> None:
        for name in names - self.names:
            space, _, rest = name.partition("::")
            if space not in self._libraries:
                self._libraries[space] = torch.library.Library(space, "IMPL")
            # A library may end, and another one define the same names.
            kernel = (_kernel_of_torch if space == "aten" else _kernel)(name)
            self._libraries[space].impl(rest, kernel, "BackendSelect", with_keyset=True)
        self.names |= names

    def put_new(self) -> set[str]:
        """The same of operations that were defined meanwhile; gives their names."""
        new = _hiding() - self.names
        self.put(new)
        return new

    def take_away(self) -> None:
        for library in self._libraries.values():
            library._destroy()
        self._libraries.clear()
        self.names.clear()


_kernels = _Kernels()


def _hiding() -> set[str]:
    """Operations that may hold products."""
    names: list[str] = torch._C._dispatch_get_all_op_names()
    registered = torch._C._dispatch_get_registrations_for_dispatch_key
    state = (hash(tuple(names)), hash(tuple(registered("CPU"))), hash(tuple(registered("CUDA"))), hash(frozenset(_known.harmless)))
    if _hidden[0] != state:
        bases = {name: name.partition(".")[0] for name in names}
        told = {name for name, base in bases.items() if base in _known.harmless or not _known.without_products(base)}
        found = {name for name in told if _reaches(name)}
        _hidden[:] = [state, found]
    return set(_hidden[1])


_hidden: list[Any] = [None, frozenset()]


def join(listener: Listener, also: Callable[[str], bool] | None = None) -> None:
    """Tells somebody of this thread's calls, and of those of threads that belong to nobody; ``also`` of other operations."""
    with lock:
        _kernels.put_new()
        if also is not None:
            names = torch._C._dispatch_get_all_op_names()
            _kernels.put({name for name in names if also(name.partition(".")[0]) and _reaches(name)})
        LISTENING.append(listener)
    _kept_for_good().append(listener)


def leave(listener: Listener) -> None:
    """Tells no more."""
    kept = _kept()
    kept[:] = [one for one in kept if one is not listener]
    with lock:
        if listener in LISTENING:
            LISTENING.remove(listener)
        if not LISTENING:
            _kernels.take_away()


def defined_meanwhile() -> None:
    """Operations were defined by Python, perhaps."""
    with lock:
        if LISTENING:
            _kernels.put_new()


def defined_unseen() -> set[str]:
    """Operations that were defined past Python since somebody began to listen. From now on they are seen."""
    with lock:
        return _kernels.put_new() if LISTENING else set()
