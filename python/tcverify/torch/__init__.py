"""A model's matrix products: recorded (:func:`capture`), or computed as a GPU would (:class:`simulate`)."""

from tcverify.torch import _ready as _ready
from tcverify.torch import _sparse as _sparse
from tcverify.torch._capture import Captured, capture
from tcverify.torch._coverage import Coverage, NotRecordedError
from tcverify.torch._pair import Product, ProductPair, assert_close
from tcverify.torch._register import product, register
from tcverify.torch._scaled_mm import scaled_mm
from tcverify.torch._simulate import simulate

__all__ = [
    "Captured",
    "Coverage",
    "NotRecordedError",
    "Product",
    "ProductPair",
    "assert_close",
    "capture",
    "product",
    "register",
    "scaled_mm",
    "simulate",
]
