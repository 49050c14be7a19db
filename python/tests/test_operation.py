"""Operations between products, from arrays in memory."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import normal

import tcverify


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_a_norm_is_replayed_and_checked(dtype: Any) -> None:
    x, weight = normal(1, (4, 256), dtype), normal(2, (256,), dtype)
    y = tcverify.replay_operation("rms_norm", x=x, weight=weight, eps=1e-6, variant="pytorch-fused")
    assert y.dtype == x.dtype and y.shape == x.shape
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6) * weight.astype(np.float64)
    assert np.abs(y.astype(np.float64) - expected).max() < 0.05
    found = tcverify.check_operation("rms_norm", x=x, weight=weight, y=y, eps=1e-6, variant="pytorch-fused")
    assert found.verdict == "identical" and repr(found) == "<tcverify.OperationReport: identical, rms_norm pytorch-fused>"
    found.raise_for_difference()
    wrong = y.copy()
    wrong.view(f"u{y.itemsize}")[2, 7] ^= 1
    found = tcverify.check_operation("rms_norm", x=x, weight=weight, y=wrong, eps=1e-6, variant="pytorch-fused", causes=False)
    assert not found.identical and found.document["outcome"]["comparison"]["mismatches"] == 1 and "DIFFERENT" in str(found)
    with pytest.raises(tcverify.DifferentError) as caught:
        found.raise_for_difference()
    assert caught.value.report is found
    with pytest.raises(TypeError, match="identical"):
        bool(found)
    # Another rule, or another epsilon, gives another result.
    for other in ({"eps": 1e-2}, {"x": x[:, ::-1]}):
        assert not tcverify.check_operation("rms_norm", **{"x": x, "weight": weight, "y": y, "eps": 1e-6, "variant": "pytorch-fused", "causes": False, **other}).identical


def test_torch_goes_in_and_out() -> None:
    torch = pytest.importorskip("torch")
    x = torch.randn(4, 256).bfloat16()
    y = tcverify.replay_operation("softmax", x=x)
    assert isinstance(y, torch.Tensor) and y.dtype == torch.bfloat16 and (y.float().sum(-1) - 1).abs().max() < 0.02
    part = tcverify.check_operation("softmax", x=x, y=y, rows=slice(0, 2))
    assert part.verdict == "identical_in_part"


def test_what_is_asked_wrongly_is_said_by_name() -> None:
    x, weight = normal(1, (4, 256), np.float16), normal(2, (256,), np.float16)
    for call, why in [
        (lambda: tcverify.replay_operation("rms_norm", x=x[:, :64], weight=weight[:64], eps=1e-6), "`x`: rows of 64 elements"),
        (lambda: tcverify.replay_operation("rms_nrom", x=x), "rms_nrom"),
        (lambda: tcverify.replay_operation("rms_norm", x=x, weight=weight, epsilon=1e-6), "`epsilon` is no option"),
        (lambda: tcverify.check_operation("rms_norm", x=x, weight=weight, eps=1e-6), "y"),
        (lambda: tcverify.check_operation("rms_norm", x=object(), weight=weight, eps=1e-6), "`x` is of type object"),
    ]:
        with pytest.raises(tcverify.CheckError, match=why) as caught:
            call()
        assert "/tmp" not in str(caught.value)
