"""What stands between products, recorded from a module and judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tcverify.torch import capture  # noqa: E402


class LlamaRMSNorm(torch.nn.Module):  # type: ignore[misc, name-defined]
    """As Hugging Face writes it."""

    def __init__(self, width: int, *, wrong: bool = False) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(1 + torch.randn(width, dtype=torch.bfloat16) / 8)
        self.variance_epsilon = 1e-6
        self.wrong = wrong

    def forward(self, x: Any) -> Any:
        y = x.to(torch.float32)
        scaled = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        # Without the rounding in between, which decides bits.
        scaled = scaled if self.wrong else scaled.to(x.dtype)
        return (self.weight * scaled).to(x.dtype)


class OddRMSNorm(LlamaRMSNorm):
    """Whose recipe nobody knows."""


class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self, norm: Any) -> None:
        super().__init__()
        self.norm = norm
        self.layer = torch.nn.Linear(256, 256, dtype=torch.bfloat16)

    def forward(self, x: Any) -> Any:
        functional = torch.nn.functional
        y = x + self.layer(self.norm(x))
        y = functional.gelu(functional.silu(y), approximate="tanh")
        functional.layer_norm(y, (256,), eps=1e-5)
        torch.softmax(y, -1)
        return y.add_(x)


def record(directory: Path, norm: Any, **arguments: Any) -> Any:
    torch.manual_seed(7)
    network = Network(norm)
    # As they are after training: weights of norms differ from 1.
    x = torch.randn(8, 256, dtype=torch.bfloat16)
    with torch.no_grad(), capture(directory, arch="a100", **arguments) as captured:
        network(x)
    return captured


def cases(captured: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(captured.manifest.read_text())["cases"]
    return found


def test_operations_are_steps_of_the_manifest(tmp_path: Path) -> None:
    captured = record(tmp_path / "c", LlamaRMSNorm(256), operations=True)
    assert (captured.products, captured.operations) == (1, 7)
    found = {case["name"]: case.get("operation") for case in cases(captured)}
    assert list(found.values()) == ["rms_norm", None, "add", "silu", "gelu", "layer_norm", "softmax", "add"]
    assert list(found)[0] == "00000 norm rms_norm"
    norm, _, add = cases(captured)[:3]
    assert norm["eps"] == "1e-06" and norm["variant"].startswith("hf-eager")
    # The operand of one is the result of another, stored once; what is written over in place is recorded before it is.
    assert norm["x"] == add["x"] and cases(captured)[1]["a"] == norm["y"]
    assert cases(captured)[-1]["x"] != cases(captured)[-1]["y"]
    # Without being asked for, none is recorded.
    captured = record(tmp_path / "products", LlamaRMSNorm(256))
    assert (captured.products, captured.operations) == (1, 0)


def test_recorded_steps_are_judged_and_a_wrong_norm_differs(tmp_path: Path) -> None:
    verdicts = {}
    for name, wrong in [("right", False), ("wrong", True)]:
        captured = record(tmp_path / name, LlamaRMSNorm(256, wrong=wrong), operations=True)
        batch = captured.batch()
        verdicts[name] = {case.name.split()[-1]: case.verdict for case in batch.cases}
        assert set(verdicts[name].values()) <= {"identical", "different"}
    # A sum that is rounded once is the same on every machine.
    assert verdicts["right"]["add"] == verdicts["wrong"]["add"] == "identical"
    assert verdicts["wrong"]["rms_norm"] == "different"


def test_what_has_no_rule_is_listed(tmp_path: Path) -> None:
    functional = torch.nn.functional
    x = torch.randn(1, 1, 4, 64, dtype=torch.bfloat16)
    norm = OddRMSNorm(64)
    with torch.no_grad(), capture(tmp_path / "c", arch="a100", operations=True) as captured:
        norm(x)
        functional.gelu(x)
        torch.softmax(x, 1)
        functional.layer_norm(x, (4, 64))
        torch.add(x, x, alpha=2)
        x + x.float()
        functional.scaled_dot_product_attention(x, x, x)
        # Integers and single numbers are nobody's residual.
        torch.arange(4) + torch.arange(4)
        x + 1
    reasons = {op: why for op, _, why in captured.not_recorded}
    assert set(reasons) >= {"rms_norm", "gelu", "_softmax", "native_layer_norm", "add"}
    assert "rms_norms=" in reasons["rms_norm"] and "erf" in reasons["gelu"]
    assert any("attention" in op for op in reasons)
    assert captured.operations == 0
    # Who knows its recipe says so.
    with torch.no_grad(), capture(tmp_path / "d", arch="a100", operations=True, rms_norms=["OddRMSNorm"]) as captured:
        norm(x)
    assert captured.operations == 1


def test_selection_and_room_hold_for_operations(tmp_path: Path) -> None:
    captured = record(tmp_path / "select", LlamaRMSNorm(256), operations=True, select="norm")
    assert [case["operation"] for case in cases(captured)] == ["rms_norm"]
    assert captured.skipped["select"] == 7
    captured = record(tmp_path / "room", LlamaRMSNorm(256), operations=True, max_bytes=1)
    assert (captured.products, captured.operations, captured.skipped["max_bytes"]) == (0, 0, 8)
