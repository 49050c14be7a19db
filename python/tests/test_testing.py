from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import Array, normal

import tcverify
from tcverify.testing import assert_batch_invariant, assert_bitwise


def test_bits(product: tuple[Array, Array, Array]) -> None:
    a, b, d = product
    assert assert_bitwise(d, a, b, arch="h100").identical
    d.view(np.uint32)[2, 3] ^= 1
    with pytest.raises(AssertionError, match=r"DIFFERENT  1 of 960 elements[\s\S]*\[2, 3\]"):
        assert_bitwise(d, a, b, arch="h100")


def test_a_kernel_that_never_splits_is_invariant() -> None:
    calls: list[int] = []

    def fn(a: Any, b: Any) -> Any:
        calls.append(len(a))
        return tcverify.replay(a, b, arch="h100")

    assert_batch_invariant(fn, normal(1, (20, 128)), normal(2, (128, 16)))
    assert calls == [20, 1, 2, 4, 8, 16]


def test_a_kernel_that_splits_small_batches_is_found_out() -> None:
    def fn(a: Any, b: Any) -> Any:
        if len(a) < 8:
            return tcverify.replay(a, b, arch="h100", schedule="cublas-workspace-f32", split_k=4)
        return tcverify.replay(a, b, arch="h100")

    a, b = normal(1, (32, 512)), normal(2, (512, 64))
    with pytest.raises(AssertionError) as caught:
        assert_batch_invariant(fn, a, b, sizes=[4, 16], arch="h100")
    message = str(caught.value)
    assert "1 change rows" in message and "with 4 of 32 rows: rows 0-3" in message and "with 16" not in message
    whole, part = message.splitlines()[-2:]
    assert whole.startswith("  32 rows: one chain over K") and "split" not in whole.split(";")[0]
    assert part.startswith("  4 rows: ") and "split_k=4" in part
    with pytest.raises(AssertionError) as short:
        assert_batch_invariant(fn, a, b, sizes=[4], explain=False)
    assert "what gives them" not in str(short.value)


def test_a_wrong_row_is_named() -> None:
    def fn(a: Any, b: Any) -> Any:
        d = tcverify.replay(a, b, arch="h100")
        if len(a) == 4:
            d[2, 1] += 1
        return d

    a, b = normal(1, (6, 32)), normal(2, (32, 8))
    with pytest.raises(AssertionError, match=r"with 4 of 6 rows: row 2 \(1 elements\)"):
        assert_batch_invariant(fn, a, b, explain=False)
    with pytest.raises(ValueError, match="a has 6 rows"):
        assert_batch_invariant(fn, a, b, sizes=[7])
