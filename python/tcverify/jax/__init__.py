"""The matrix products of a function of JAX: recorded (:class:`capture`), or computed as a GPU would (:class:`simulate`)."""

try:
    import jax as _jax  # noqa: F401
except ImportError as error:
    raise ImportError("tcverify.jax needs JAX: `pip install jax`") from error

from tcverify import Coverage, NotRecordedError
from tcverify.jax._capture import Captured, capture
from tcverify.jax._simulate import simulate

__all__ = ["Captured", "Coverage", "NotRecordedError", "capture", "simulate"]

for _name in __all__:
    # Tracebacks and documents call them as users do.
    if globals()[_name].__module__.startswith("tcverify.jax._"):
        globals()[_name].__module__ = "tcverify.jax"
