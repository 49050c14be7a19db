"""Which module is being called in this thread, by its path in the outermost one."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import torch

from tcverify.torch import _dispatcher

_lock = threading.RLock()
_names: weakref.WeakKeyDictionary[torch.nn.Module, str] = weakref.WeakKeyDictionary()
_hooks: list[Any] = []
#: How many want to know, and in how many threads a compiler looks: what is compiled must not meet hooks that are not the program's.
_listeners = _looking = 0


class _Thread(threading.local):
    def __init__(self) -> None:
        self.path: list[tuple[int, str]] = []
        self.looking = False


_thread = _Thread()


def current() -> str:
    """The path of the innermost module that is called; empty outside of all."""
    return _thread.path[-1][1] if _thread.path else ""


def listen() -> None:
    """Somebody wants to know."""
    global _listeners
    with _lock:
        _listeners += 1
        _put_hooks()


def rest() -> None:
    """Somebody wants to know no more."""
    global _listeners
    with _lock:
        _listeners -= 1
        _put_hooks()
        if not _listeners:
            _names.clear()


def compiler_looks() -> None:
    """What this thread calls now may be compiled."""
    _look(True)


def compiler_is_done() -> None:
    """What this thread calls now runs."""
    _look(False)


def _look(looks: bool) -> None:
    global _looking
    if looks != _thread.looking:
        with _lock:
            _thread.looking = looks
            _looking += 1 if looks else -1
            _put_hooks()


def _put_hooks() -> None:
    hooks = torch.nn.modules.module
    if _listeners and not _looking:
        if not _hooks:
            _hooks.append(hooks.register_module_forward_pre_hook(_begin))
            _hooks.append(hooks.register_module_forward_hook(_end, always_call=True))
        return
    while _hooks:
        _hooks.pop().remove()


def _begin(module: torch.nn.Module, args: Any) -> None:
    if module not in _names:
        outer = current()
        prefix = outer + "." if outer else ""
        for name, inner in module.named_modules():
            _names.setdefault(inner, prefix + (name or type(module).__name__ if prefix or not name else name))
    _thread.path.append((id(module), _names[module]))


def _end(module: torch.nn.Module, args: Any, result: Any) -> None:
    if result is not None:
        # Without a result it has failed.
        for one in _dispatcher.here():
            one.module_ended(module, args, result)
    path = _thread.path
    # Of those inside the end was perhaps not heard.
    last = next((at for at in reversed(range(len(path))) if path[at][0] == id(module)), None)
    if last is not None:
        del path[last:]
