"""A model's matrix products: recorded (:func:`capture`), or computed as a GPU would (:class:`simulate`)."""

from tcverify.torch._capture import Captured, capture
from tcverify.torch._coverage import Coverage, NotRecordedError
from tcverify.torch._register import product, register
from tcverify.torch._simulate import simulate

__all__ = ["Captured", "Coverage", "NotRecordedError", "capture", "product", "register", "simulate"]
