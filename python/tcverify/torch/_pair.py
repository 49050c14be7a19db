"""Bits of products among what ``torch.testing`` compares."""

from __future__ import annotations

from typing import Any

from torch.testing import _comparison as comparison

import tcverify


class Product:
    """An expected value that is ``a @ b``, of the GPU ``arch``; other arguments are those of :func:`tcverify.check`."""

    def __init__(self, a: Any, b: Any, *, arch: str | None = None, **fields: Any) -> None:
        self.a, self.b, self.fields = a, b, {"arch": arch, **fields}

    def check(self, actual: Any) -> tcverify.Report:
        """The report on a result."""
        return tcverify.check(self.a, self.b, actual, **self.fields)

    def __repr__(self) -> str:
        return f"Product({tuple(self.a.shape)} @ {tuple(self.b.shape)}, arch={self.fields['arch']!r})"


class ProductPair(comparison.Pair):
    """A result and the product that it is to be, for whoever extends ``torch.testing``: one of its ``pair_types``."""

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), **others: Any) -> None:
        if not isinstance(expected, Product):
            self._inputs_not_supported()
        super().__init__(actual, expected, id=id, **others)

    def compare(self) -> None:
        try:
            report = self.expected.check(self.actual)
        except tcverify.CheckError as error:
            self._fail(AssertionError, str(error))
        if not report.identical:
            self._fail(tcverify.DifferentError, report.text())


def assert_close(actual: Any, expected: Any, **options: Any) -> None:
    """:func:`torch.testing.assert_close`, where a :class:`Product` may stand in ``expected``: its bits must be equal.

    >>> import torch
    >>> a, b = torch.ones(2, 16).half(), torch.ones(16, 3).half()
    >>> assert_close({"y": torch.full((2, 3), 16.0), "n": 1.0}, {"y": Product(a, b, arch="h100"), "n": 1.0})
    """
    __tracebackhide__ = True
    pairs = (ProductPair, comparison.NonePair, comparison.BooleanPair, comparison.NumberPair, comparison.TensorLikePair)
    message = options.pop("msg", None)
    wrong = comparison.not_close_error_metas(actual, expected, pair_types=pairs, **options)
    if wrong:
        raise wrong[0].to_error(message)


