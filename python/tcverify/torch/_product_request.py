"""A product that an operation of torch is, as a request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from tcverify._recorder import Refused

#: What has no element is missed by nobody.
EMPTY = "a product without elements"


@dataclass
class ProductRequest:
    """A product as a request: its arrays, and the fields that follow from the operation."""

    op: str
    a: torch.Tensor
    b: torch.Tensor
    #: D's type.
    result: torch.dtype
    #: The shape that the operation returns.
    shape: tuple[int, ...]
    #: Other arrays by field: ``c``, ``bias``, ``scale_a``, ``scale_b``.
    arrays: dict[str, torch.Tensor] = field(default_factory=dict)
    #: Fields beside those of the formats.
    fields: dict[str, Any] = field(default_factory=dict)
    #: What is known of it that no field says.
    note: str = ""
    #: D, as a matrix, of what the operation returned, and the other way; by shape alone if there is none.
    matrix: Callable[[torch.Tensor], torch.Tensor] | None = None
    tensor: Callable[[torch.Tensor], torch.Tensor] | None = None
    #: Where the operation puts its result, if it returns none.
    out: torch.Tensor | None = None
    #: Which of several results it is.
    index: int | None = None
    #: Why its schedule is not known on an architecture, by name; without that of ``fields`` a caller may name one.
    unknown_on: dict[str, str] = field(default_factory=dict)

    @property
    def multiply_adds(self) -> int:
        return int(self.a.numel()) * int(self.b.shape[-1])

    def given(self, result: Any) -> torch.Tensor:
        """The tensor with D, of what the operation returned."""
        found = self.out if self.out is not None else result if self.index is None else result[self.index]
        if not isinstance(found, torch.Tensor):
            raise Refused(f"its result is a {type(found).__name__}, no tensor")
        return found.detach()

    def d(self, result: torch.Tensor) -> torch.Tensor:
        """D as the product of ``a`` and ``b`` has it."""
        if self.matrix is not None:
            return self.matrix(result)
        return result.reshape(*self.a.shape[:-1], self.b.shape[-1])

    def returned(self, d: torch.Tensor) -> torch.Tensor:
        """What the operation returns."""
        return self.tensor(d) if self.tensor is not None else d.reshape(self.shape)
