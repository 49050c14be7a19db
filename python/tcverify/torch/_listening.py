"""Who listens: to what torch's dispatcher is asked for, and to what passes it by."""

from __future__ import annotations

from collections.abc import Callable

from tcverify.torch import _dispatcher, _undispatched


def begin(listener: _dispatcher.Listener, also: Callable[[str], bool] | None = None) -> None:
    """Tells somebody of this thread's calls; ``also`` of other operations than those that may hold products."""
    with _dispatcher.lock:
        _undispatched.begin()
        _dispatcher.join(listener, also)


def end(listener: _dispatcher.Listener) -> None:
    """Tells no more."""
    with _dispatcher.lock:
        _dispatcher.leave(listener)
        if not _dispatcher.LISTENING:
            _undispatched.end()
