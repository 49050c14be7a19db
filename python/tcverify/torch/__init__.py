"""A model's matrix products: recorded (:func:`capture`), judged beside a loop (:class:`step_gate`), or computed as a GPU would (:class:`simulate`)."""

from tcverify import Captured, Coverage, NotRecordedError
from tcverify.torch import _ready as _ready
from tcverify.torch import _sparse as _sparse
from tcverify.torch._capture import capture
from tcverify.torch._gate import Disagreement, Judged, step_gate
from tcverify.torch._pair import Product, ProductPair, assert_close
from tcverify.torch._register import product, register
from tcverify.torch._scaled_mm import SplitUnknown, scaled_mm
from tcverify.torch._simulate import simulate

__all__ = [
    "Captured",
    "Coverage",
    "Disagreement",
    "Judged",
    "NotRecordedError",
    "Product",
    "ProductPair",
    "SplitUnknown",
    "assert_close",
    "capture",
    "product",
    "register",
    "scaled_mm",
    "simulate",
    "step_gate",
]

for _name in __all__:
    # Tracebacks and documents call them as users do.
    if globals()[_name].__module__.startswith("tcverify.torch._"):
        globals()[_name].__module__ = "tcverify.torch"
