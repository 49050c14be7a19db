"""What passes torch's dispatcher by: compiled graphs, CUDA graphs, Triton kernels, packages, functions of libraries.

While somebody listens, the places that such work passes through are wrapped, once for all who do; afterwards they are what
they were.
"""

from __future__ import annotations

import functools
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch

from tcverify.torch import _dispatcher, _known, _module_paths, _products
from tcverify.torch._dispatcher import told


class _Patches:
    """Methods and functions that are wrapped for a while."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._wrapped: set[tuple[int, str]] = set()

    def wrap(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        """``around(real, *args, **kwargs)`` in its place, once."""
        real = getattr(owner, name, None)
        if real is None or (id(owner), name) in self._wrapped:
            return
        self._wrapped.add((id(owner), name))

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
        self._wrapped.clear()


_patches = _Patches()
#: Functions of Python that are wrapped, by their identity.
_instead: dict[int, Callable[..., Any]] = {}


def begin() -> None:
    """Somebody begins to listen, perhaps beside others; what was imported meanwhile is wrapped, too."""
    _watch_compilers()
    _watch_launches()
    _patches.wrap(torch._ops.HigherOrderOperator, "__call__", _higher_order)
    _patches.wrap(torch.library.Library, "define", _defined)
    _watch_functions()


def end() -> None:
    """Nobody listens any more."""
    _patches.close()
    _instead.clear()


def _defined(real: Any, *args: Any, **kwargs: Any) -> Any:
    result = real(*args, **kwargs)
    _dispatcher.defined_meanwhile()
    return result


def _higher_order(real: Any, operation: Any, *args: Any, **kwargs: Any) -> Any:
    """An operation that takes functions (``flex_attention``): it is seen by what those call."""
    run = functools.partial(real, operation, *args, **kwargs)
    if not _dispatcher.passed((args, kwargs)):
        for one in _dispatcher.here():
            run = functools.partial(one.opened, _known.full_name(operation), run)
    return run()


def _exported(real: Any, *args: Any, **kwargs: Any) -> Any:
    """A program is exported: that is traced, also where compiled functions run eagerly."""

    def traced(call: Any, *args: Any, **kwargs: Any) -> Any:
        if _dispatcher.simulation() is None:
            return call(*args, **kwargs)
        with torch.compiler.set_stance("default"):
            return call(*args, **kwargs)

    made = traced(real, *args, **kwargs)
    return functools.partial(traced, made) if callable(made) else made


def _watch_launches() -> None:
    def replayed(real: Any, *args: Any, **kwargs: Any) -> Any:
        told("torch.cuda.CUDAGraph.replay", "a CUDA graph is replayed: its kernels are not seen one by one")
        return real(*args, **kwargs)

    _patches.wrap(torch.cuda.CUDAGraph, "replay", replayed)
    package = sys.modules.get("torch._inductor.package.package") or sys.modules.get("torch._inductor.package")
    compiled = getattr(package, "AOTICompiledModel", None)
    if compiled is not None:

        def packaged(real: Any, *args: Any, **kwargs: Any) -> Any:
            told("AOTInductor package", "a package of compiled kernels: they are not seen one by one")
            with _dispatcher.quiet():
                return real(*args, **kwargs)

        _patches.wrap(compiled, "__call__", packaged)
    triton = getattr(sys.modules.get("triton.runtime.jit"), "JITFunction", None)
    if triton is not None:

        def launched(real: Any, kernel: Any, *args: Any, **kwargs: Any) -> Any:
            name = f"triton::{getattr(kernel, '__name__', 'kernel')}"
            if name not in _known.harmless and not kwargs.get("warmup"):
                told(name, "a Triton kernel: what it multiplies is not seen")
            return real(kernel, *args, **kwargs)

        _patches.wrap(triton, "run", launched)


def _watch_functions() -> None:
    """Puts a wrapper in place of each function that was registered by its dotted name, wherever a module holds it.

    One whose module is imported later is not found.
    """
    new: dict[int, Callable[..., Any]] = {}
    for name in (name for name in _products.REGISTERED if "::" not in name):
        module, _, attribute = name.rpartition(".")
        real = getattr(sys.modules.get(module), attribute, None)
        if callable(real) and real not in _instead.values():
            new[id(real)] = _in_place_of(name, real)
    for owner in list(sys.modules.values()) if new else ():
        held = getattr(owner, "__dict__", None)
        for key, value in list(held.items()) if isinstance(held, dict) else ():
            if id(value) in new:
                _patches.put(owner, key, new[id(value)])
    _instead.update(new)


def _in_place_of(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    @_dispatcher.uncompiled
    @functools.wraps(real)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        run = functools.partial(real, *args, **kwargs)
        return run() if _dispatcher.passed((args, kwargs)) else _dispatcher.asked(name, args, kwargs, run)

    return wrapped


def _watch_compilers() -> None:
    for module in ("torch._inductor.output_code", "torch._inductor.codecache"):
        graph = getattr(sys.modules.get(module), "CompiledFxGraph", None)
        if graph is None:
            continue

        def called(real: Any, graph: Any, *args: Any, **kwargs: Any) -> Any:
            for name, calls in _fused(getattr(graph, "source_code", None)).items():
                for _ in range(calls):
                    told(name, "inside a kernel that torch.compile made")
            return real(graph, *args, **kwargs)

        _patches.wrap(graph, "__call__", called)
        break
    if "torch._dynamo" in sys.modules:
        _patches.wrap(torch._dynamo, "export", _exported)
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
            _module_paths.compiler_looks()
            return real(callback)
        prior = real(callback)
        if callback is None:
            _module_paths.compiler_is_done()
        return prior

    _patches.wrap(frames, "_maybe_set_eval_frame", entered)
    compiler = getattr(sys.modules.get("torch._dynamo.convert_frame"), "CatchErrorsWrapper", None)
    if compiler is not None:
        _patches.wrap(compiler, "__call__", compiled)


# Read in the source, because a compiled graph keeps nothing else: Inductor's nodes are gone when it is called, and never were
# there if it came from a cache. A hook of the compiler would miss what was compiled before anybody listened.
_ORIGINAL = re.compile(r"# .*Source Nodes: \[([^\]]*)\].*Original ATen: \[([^\]]*)\]")
_KERNEL = re.compile(r"^(\w+) = async_compile\.\w+\(", re.MULTILINE)
_CALL = re.compile(r"\s*(?:\w+ = )?([\w.]+)\(")


#: What a kernel that multiplies is called by.
_MULTIPLY = {"mm", "bmm", "addmm", "baddbmm", "mv", "dot", "convolution", "attention", "gemm", "tem"}


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
        kernel = call.group(1).removesuffix(".run")
        if kernel in made:
            # Without a comment of its own it is what its name says.
            of = names or sorted(_MULTIPLY & set(kernel.split("_")))
            inside += [(nodes, name) for name in of if not _known.without_products(_registered(name))]
            nodes, names = [], []
        elif kernel.startswith(("extern_kernels.", "torch.ops.")):
            seen |= {(node, name) for node in nodes for name in names}
            nodes, names = [], []
    found: Counter[str] = Counter()
    for nodes, name in inside:
        if not any((node, name) in seen for node in nodes):
            found[_registered(name).removeprefix("aten::")] += 1
    return found


def _registered(name: str) -> str:
    """``aten::mm`` of ``aten.mm.default`` or of ``mm``."""
    space, _, rest = name.rpartition(".") if name.count(".") == 0 else name.partition(".")
    return f"{space or 'aten'}::{rest.split('.')[0]}"
