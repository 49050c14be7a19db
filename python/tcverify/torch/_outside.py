"""What a dispatch mode does not see by itself: other threads, compiled graphs, CUDA graphs, Triton kernels, packages.

While a capture lasts, the places that such work passes through are wrapped; afterwards they are what they were.
"""

from __future__ import annotations

import functools
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.utils import _python_dispatch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from tcverify.torch import _known, _products

#: Told of a call that may hold products: its name, and why it is not seen.
Told = Callable[[str, str], None]

#: Of an operation that is not known to contain no product.
UNSEEN = "it may hold products that are not seen from outside"
THREAD = "ran in another thread than the capture's"


@contextmanager
def pushed(mode: TorchDispatchMode) -> Iterator[None]:
    """A mode in this thread. Compilers are not told: they skip, for good, what they meet while a mode is entered."""
    _python_dispatch._push_mode(mode)
    try:
        yield
    finally:
        _python_dispatch._pop_mode()


@contextmanager
def popped(mode: TorchDispatchMode) -> Iterator[None]:
    """Without this mode, if it is the innermost."""
    inner = _python_dispatch._get_current_dispatch_mode() is mode
    if inner:
        _python_dispatch._pop_mode()
    try:
        yield
    finally:
        if inner:
            _python_dispatch._push_mode(mode)


def entered(mode: TorchDispatchMode) -> bool:
    """Whether this thread is in the mode now."""
    return any(one is mode for one in _python_dispatch._get_current_dispatch_mode_stack())


def compiling() -> bool:
    """Whether what runs is only traced, or tried for its speed, by a compiler."""
    return torch._guards.TracingContext.try_get() is not None


class Watching(TorchDispatchMode):
    """A mode of ours."""

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Compilers need not wait until it has gone."""
        return True


class Elsewhere(Watching):
    """Names what may hold products in a thread that is not the capture's."""

    def __init__(self, told: Told, ended: Callable[[], bool]) -> None:
        super().__init__()
        self._told = told
        self._ended = ended

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self._ended() or compiling() or _products.unreal((args, kwargs)) or _known.contains_none(func, args, kwargs):
            return func(*args, **kwargs)
        parts = _products.decomposed(self, func, args, kwargs)
        if parts is not NotImplemented:
            return parts
        self._told(_known.opname(func), THREAD)
        return func(*args, **kwargs)


#: Modes that threads may still have.
_KEPT: list[Elsewhere] = []


class Threads:
    """Other threads: those that begin meanwhile, and modules that run in any."""

    def __init__(self, mode: TorchDispatchMode, told: Told) -> None:
        self._mode = mode
        self._told = told
        self._over = threading.Event()
        self._begun = threading.local()
        self._start: Any = None
        self._owner = 0
        # One for all threads, and never freed: threads may have it when the capture is long over.
        self._elsewhere = Elsewhere(told, self._over.is_set)
        _KEPT.append(self._elsewhere)

    def __enter__(self) -> None:
        self._owner = threading.get_ident()
        start = self._start = threading.Thread.start
        threads = self

        @functools.wraps(start)
        def watched(thread: threading.Thread) -> None:
            run = thread.run

            def inside() -> None:
                with pushed(threads._elsewhere):
                    run()

            thread.run = inside  # type: ignore[method-assign]
            start(thread)

        threading.Thread.start = watched  # type: ignore[method-assign, assignment]

    def __exit__(self, *error: Any) -> None:
        self._over.set()
        threading.Thread.start = self._start  # type: ignore[method-assign]

    def own_thread(self) -> bool:
        """Whether this is the thread that the capture was begun in."""
        return threading.get_ident() == self._owner

    def seen_here(self) -> bool:
        """Whether this thread's operations are the capture's, or watched already."""
        if self.own_thread():
            return True
        return entered(self._mode) or entered(self._elsewhere)

    def recorded_here(self) -> bool:
        """Whether this thread's operations are the capture's."""
        return self.own_thread() or entered(self._mode)

    def module_begins(self) -> None:
        """A module is called in this thread, which may be one that nobody watches."""
        depth = getattr(self._begun, "depth", 0)
        if depth or not self.seen_here():
            if not depth:
                _python_dispatch._push_mode(self._elsewhere)
            self._begun.depth = depth + 1

    def module_ends(self) -> None:
        depth = getattr(self._begun, "depth", 0)
        if depth:
            self._begun.depth = depth - 1
            if depth == 1:
                _python_dispatch._pop_mode()


class Patches:
    """Methods and functions that are wrapped for a while."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def wrap(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        """``around(real, *args, **kwargs)`` in its place."""
        real = getattr(owner, name, None)
        if real is None:
            return

        @functools.wraps(real)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            return around(real, *args, **kwargs)

        self.put(owner, name, wrapped)

    def put(self, owner: Any, name: str, instead: Any) -> None:
        """Another value for a while."""
        self._stack.callback(self._restore, owner, name, getattr(owner, name), name in vars(owner))
        setattr(owner, name, instead)

    @staticmethod
    def _restore(owner: Any, name: str, real: Any, own: bool) -> None:
        if own:
            setattr(owner, name, real)
        else:
            delattr(owner, name)

    def close(self) -> None:
        self._stack.close()


def _watch_higher_orders(patches: Patches, told: Told) -> None:
    """Operations that take functions (``flex_attention``) ask a mode for a rule of its own, and stop if it has none."""

    def dispatched(real: Any, operation: Any, key: Any, *args: Any, **kwargs: Any) -> Any:
        stack = _python_dispatch._get_current_dispatch_mode_stack()
        kind = type(stack[-1]) if stack else None
        if kind is None or not issubclass(kind, Watching) or key != torch._C.DispatchKey.Python:
            return real(operation, key, *args, **kwargs)
        if not compiling() and not _products.unreal((args, kwargs)):
            told(_known.full_name(operation), UNSEEN)
        if kind not in operation.python_key_table:
            operation.py_impl(kind)(lambda mode, *args, **kwargs: operation(*args, **kwargs))
        return real(operation, key, *args, **kwargs)

    patches.wrap(torch._ops.HigherOrderOperator, "dispatch", dispatched)


def watch(patches: Patches, told: Told, here: Callable[[], bool]) -> None:
    """Names what is launched past the dispatcher; ``here`` says whether the capture wants to know."""
    _watch_compilers(patches, told, here)
    _watch_higher_orders(patches, told)

    def replayed(real: Any, *args: Any, **kwargs: Any) -> Any:
        told("torch.cuda.CUDAGraph.replay", "a CUDA graph is replayed: its kernels are not seen one by one")
        return real(*args, **kwargs)

    patches.wrap(torch.cuda.CUDAGraph, "replay", replayed)
    package = sys.modules.get("torch._inductor.package.package") or sys.modules.get("torch._inductor.package")
    compiled = getattr(package, "AOTICompiledModel", None)
    if compiled is not None:

        def packaged(real: Any, *args: Any, **kwargs: Any) -> Any:
            told("AOTInductor package", "a package of compiled kernels: they are not seen one by one")
            with _disable_current_modes():
                return real(*args, **kwargs)

        patches.wrap(compiled, "__call__", packaged)
    triton = getattr(sys.modules.get("triton.runtime.jit"), "JITFunction", None)
    if triton is not None:

        def launched(real: Any, kernel: Any, *args: Any, **kwargs: Any) -> Any:
            name = f"triton::{getattr(kernel, '__name__', 'kernel')}"
            if name not in _known.harmless and not kwargs.get("warmup"):
                told(name, "a Triton kernel: what it multiplies is not seen")
            return real(kernel, *args, **kwargs)

        patches.wrap(triton, "run", launched)


#: Told of a call of a registered function: its name, the function, its arguments; gives what the function gives.
Called = Callable[[str, Callable[..., Any], tuple[Any, ...], "dict[str, Any]"], Any]


def watch_functions(patches: Patches, called: Called) -> None:
    """Puts ``called`` in place of each function that was registered by its dotted name, wherever a module holds it.

    One whose module is imported later is not found.
    """
    instead: dict[int, Callable[..., Any]] = {}
    for name in (name for name in _products.REGISTERED if "::" not in name):
        module, _, attribute = name.rpartition(".")
        real = getattr(sys.modules.get(module), attribute, None)
        if callable(real):
            instead[id(real)] = _in_place_of(called, name, real)
    for owner in list(sys.modules.values()) if instead else ():
        held = getattr(owner, "__dict__", None)
        for key, value in list(held.items()) if isinstance(held, dict) else ():
            if id(value) in instead:
                patches.put(owner, key, instead[id(value)])


def _in_place_of(called: Called, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    # One for all who hold it: another capture looks for the same object.
    @functools.wraps(real)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        unreal = compiling() or _products.unreal((args, kwargs))
        return real(*args, **kwargs) if unreal else called(name, real, args, kwargs)

    return wrapped


def outside_of_compiled(patches: Patches, begins: Callable[[], None], ends: Callable[[], None]) -> None:
    """Calls ``begins`` before the compiler looks at what is called, and ``ends`` when a graph runs, or it no longer looks.

    Its guards compare which modes are there: one that stayed would have everything compiled once more, at every call.
    """
    frames = sys.modules.get("torch._dynamo.eval_frame")
    if frames is None or not hasattr(frames, "_maybe_set_eval_frame"):
        return

    working = threading.local()

    def compiled(real: Any, *args: Any, **kwargs: Any) -> Any:
        working.depth = getattr(working, "depth", 0) + 1
        try:
            return real(*args, **kwargs)
        finally:
            working.depth -= 1

    def entered(real: Any, callback: Any) -> Any:
        # What the compiler does to its own functions is no part of the program.
        if getattr(working, "depth", 0):
            return real(callback)
        # What is called while the compiler listens is compiled: only before, and after.
        if callback not in (None, False):
            begins()
            return real(callback)
        prior = real(callback)
        if callback is None:
            ends()
        return prior

    patches.wrap(frames, "_maybe_set_eval_frame", entered)
    compiler = getattr(sys.modules.get("torch._dynamo.convert_frame"), "CatchErrorsWrapper", None)
    if compiler is not None:
        patches.wrap(compiler, "__call__", compiled)


def graph_breaks() -> bool:
    """Whether something that was compiled in this process has parts between its graphs, which no mode of ours sees."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    if counters is None:
        return False
    frames = counters["frames"]
    return bool(counters["graph_break"]) or frames["total"] > frames["ok"]


def _watch_compilers(patches: Patches, told: Told, here: Callable[[], bool]) -> None:
    for module in ("torch._inductor.output_code", "torch._inductor.codecache"):
        graph = getattr(sys.modules.get(module), "CompiledFxGraph", None)
        if graph is None:
            continue

        def called(real: Any, graph: Any, *args: Any, **kwargs: Any) -> Any:
            if here() and not compiling():
                for name, calls in _fused(getattr(graph, "source_code", None)).items():
                    for _ in range(calls):
                        told(name, "inside a kernel that torch.compile made")
            return real(graph, *args, **kwargs)

        patches.wrap(graph, "__call__", called)
        break


_ORIGINAL = re.compile(r"# .*Source Nodes: \[([^\]]*)\].*Original ATen: \[([^\]]*)\]")
_KERNEL = re.compile(r"^(\w+) = async_compile\.\w+\(", re.MULTILINE)
_CALL = re.compile(r"\s*(?:\w+ = )?([\w.]+)\(")


@functools.lru_cache(maxsize=256)
def _fused(source: str | None) -> Counter[str]:
    """Operations that may hold products inside of Inductor's own kernels, and how many kernels of a call have them.

    Calls of operations of torch (``extern_kernels.mm``) are not among them: those a mode sees. A kernel that adds the
    bias of such a call has the call's name, too, and multiplies nothing: they share a node of the program.
    """
    if not source or "def call(" not in source:
        return Counter({"torch.compile": 1})
    made = set(_KERNEL.findall(source))
    seen: set[tuple[str, str]] = set()
    inside: list[tuple[list[str], str]] = []
    nodes: list[str] = []
    names: list[str] = []
    for line in source[source.index("def call(") :].splitlines():
        comment = _ORIGINAL.search(line)
        if comment:
            nodes, names = ([one.strip() for one in part.split(",") if one.strip()] for part in comment.groups())
            continue
        call = _CALL.match(line)
        if call is None:
            continue
        if call.group(1).removesuffix(".run") in made:
            inside += [(nodes, name) for name in names if not _known.without_products(_registered(name))]
        elif call.group(1).startswith(("extern_kernels.", "torch.ops.")):
            seen |= {(node, name) for node in nodes for name in names}
    found: Counter[str] = Counter()
    for nodes, name in inside:
        if not any((node, name) in seen for node in nodes):
            found[_registered(name).removeprefix("aten::")] += 1
    return found


def _registered(name: str) -> str:
    """``aten::mm`` of ``aten.mm.default``."""
    space, _, rest = name.partition(".")
    return f"{space}::{rest.split('.')[0]}"
