"""Products of a 2:4 sparse operand, as PyTorch stores it."""

from __future__ import annotations

import pytest

import tcverify

torch = pytest.importorskip("torch")
conversions = pytest.importorskip("torch.sparse._semi_structured_conversions")

from tcverify._recorder import Refused  # noqa: E402
from tcverify.torch import _products  # noqa: E402


def stored(m: int, k: int, dtype: object) -> tuple[object, object, object]:
    """A matrix of which two of every four elements are kept; the same as PyTorch stores it, and its metadata."""
    generator = torch.Generator().manual_seed(7)
    dense = torch.randint(1, 5, (m, k), generator=generator)
    order = torch.rand((m, k // 4, 4), generator=generator).argsort(-1).reshape(m, k)
    dense = torch.where(order < 2, dense, 0).to(dtype)
    packed, meta = conversions.sparse_semi_structured_from_dense_cutlass(dense)
    return dense, packed, meta


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
def test_metadata_of_pytorch(dtype: str) -> None:
    # Small whole numbers: every order gives the same sums, so that what differs is the selection.
    dense, packed, meta = stored(64, 256, getattr(torch, dtype))
    b = torch.randint(-4, 5, (256, 24), generator=torch.Generator().manual_seed(8)).to(getattr(torch, dtype))
    d = dense.to(torch.float32) @ b.to(torch.float32)
    d = d.to(torch.int32) if dtype == "int8" else d
    said = {"arch": "h100", "instruction": "mma", "sparse_a": meta}
    report = tcverify.check(packed, b, d, sparse_layout="cutlass", **said)
    assert report.identical, report.text()
    assert report.document["rule"]["product"]["sparse"] == "2:4"
    # Read row by row the words select something else.
    assert not tcverify.check(packed, b, d, **said).identical


def test_operations_of_torch() -> None:
    dense, packed, meta = stored(32, 128, torch.float16)
    x = torch.randint(-4, 5, (2, 3, 128), generator=torch.Generator().manual_seed(9)).to(torch.float16)
    expected = (x.float() @ dense.float().t()).half()
    found = _products.product_of("aten::_sparse_semi_structured_linear", (x, packed, meta), {})
    assert found is not None and found.shape == expected.shape
    fields = {**_products.formats(found), **found.fields, **found.arrays}
    d = tcverify.replay(found.a, found.b, arch="h100", instruction="mma", **fields)
    assert torch.equal(found.returned(d), expected)
    assert torch.equal(found.d(expected), d)
    product = _products.product_of("aten::_sparse_semi_structured_mm", (packed, meta, x.reshape(-1, 128).t()), {})
    assert product is not None and product.fields == {"sparse_layout": "cutlass"}
    for name, arguments, why in [
        ("_cslt_sparse_mm", (packed, x), "cuSPARSELt"),
        ("_sparse_semi_structured_addmm", (x, packed, meta, x), "CUTLASS"),
    ]:
        with pytest.raises(Refused, match=why):
            _products.product_of(f"aten::{name}", arguments, {})
    with pytest.raises(Refused, match="bias"):
        _products.product_of("aten::_sparse_semi_structured_linear", (x, packed, meta), {"bias": x[0, 0]})
