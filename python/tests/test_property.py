"""Random modules: every multiply-add that torch's own counter sees is recorded and judged, or named."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from tcverify.torch import capture, simulate  # noqa: E402

nn = torch.nn
W = 16


class Of(nn.Module):  # type: ignore[misc, name-defined]
    """A function as a layer, perhaps with one of its own."""

    def __init__(self, call: Callable[..., Any], *layers: Any) -> None:
        super().__init__()
        self.call, self.layers = call, nn.ModuleList(layers)

    def forward(self, x: Any) -> Any:
        return self.call(x, *self.layers)


def images(x: Any, layer: Any) -> Any:
    """(batch, length, width) as images with a channel for each number of width, and back."""
    y = layer(x.transpose(1, 2).reshape(x.shape[0], W, 2, -1))
    return y.flatten(2).transpose(1, 2)


def rows(x: Any, layer: Any) -> Any:
    return layer(x.transpose(1, 2)).transpose(1, 2)


F = nn.functional
#: Layers from (2, 6, W) to (2, length, W).
LAYERS: list[Callable[[], Any]] = [
    lambda: nn.Linear(W, W),
    lambda: nn.Linear(W, W, bias=False),
    lambda: nn.Sequential(nn.Linear(W, 3 * W), nn.GELU(), nn.Linear(3 * W, W)),
    lambda: Of(images, nn.Conv2d(W, W, 3, padding=1)),
    lambda: Of(images, nn.Conv2d(W, W, 1, bias=False)),
    lambda: Of(images, nn.Conv2d(W, W, 3, padding=1, groups=4)),
    lambda: Of(images, nn.Conv2d(W, W, 3, padding=2, dilation=2)),
    lambda: Of(images, nn.ConvTranspose2d(W, W, 3, padding=1)),
    lambda: Of(rows, nn.Conv1d(W, W, 3, padding=1)),
    lambda: Of(rows, nn.BatchNorm1d(W)),
    lambda: Of(rows, nn.AvgPool1d(2)),
    lambda: Of(rows, nn.Upsample(scale_factor=2, mode="linear")),
    lambda: Of(lambda x, layer: layer(x)[0], nn.LSTM(W, W, batch_first=True)),
    lambda: Of(lambda x, layer: layer(x)[0], nn.GRU(W, W, batch_first=True)),
    lambda: Of(lambda x, layer: layer(x)[0], nn.RNN(W, W, batch_first=True)),
    lambda: Of(lambda x, layer: layer(x[:, 0])[0].unsqueeze(1) + x, nn.LSTMCell(W, W)),
    lambda: Of(lambda x, layer: layer(x[:, 0]).unsqueeze(1) + x, nn.GRUCell(W, W)),
    lambda: nn.TransformerEncoderLayer(W, 2, 2 * W, batch_first=True),
    lambda: nn.TransformerEncoderLayer(W, 2, 2 * W, batch_first=True, activation="gelu", norm_first=True),
    lambda: Of(lambda x, layer: layer(x, x), nn.TransformerDecoderLayer(W, 2, 2 * W, batch_first=True)),
    lambda: Of(lambda x, layer: layer(x, x, x)[0], nn.MultiheadAttention(W, 2, batch_first=True)),
    lambda: Of(lambda x, layer: layer(x, x), nn.Bilinear(W, W, W)),
    lambda: Of(lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True)),
    lambda: Of(lambda x: torch.cdist(x, x) @ x),
    lambda: Of(lambda x: torch.einsum("bik,bjk->bij", x, x).softmax(-1) @ x),
    lambda: Of(lambda x: x + torch.linalg.inv(torch.eye(W) * 2 + 0 * x[0, 0, 0])),
    lambda: Of(lambda x: torch.baddbmm(x, x @ x.mT, x, beta=0.5, alpha=0.25)),
    lambda: Of(lambda x: x * F.cosine_similarity(x, x, dim=-1).unsqueeze(-1)),
    lambda: nn.LayerNorm(W),
    lambda: nn.RMSNorm(W),
    lambda: nn.Sequential(nn.Dropout(0.1), nn.SiLU(), nn.Softmax(-1)),
    lambda: Of(lambda x, layer: layer(x[..., 0].abs().mul(9).long().clamp(0, 9)), nn.Embedding(10, W)),
    lambda: Of(lambda x: torch.fft.fft(x).real),
]


def flops(record: Path) -> int:
    """Two for each multiply-add of what was recorded."""
    total = 0
    for one in json.loads(record.read_text())["products"]:
        a, b = one["operands"]["a"]["shape"], one["operands"]["b"]["shape"]
        total += 2 * int(torch.tensor(a).prod()) * b[-1]
    return total


def everything_is_accounted_for(counter: Any, captured: Any, about: object) -> None:
    """What was recorded has every multiply-add that was counted, but those of operations that are named."""
    named = [op for op, _, _ in captured.coverage.missed]
    counted = counter.get_flop_counts().get("Global", {})
    # A convolution has a kernel of a longer name, by which it is named.
    rest = sum(count for op, count in counted.items() if not any(str(op).removeprefix("aten.") in name for name in named))
    assert flops(captured.directory / "capture.json") >= rest, (about, counted, captured.coverage)


def module(seed: int) -> Any:
    chosen = random.Random(seed).choices(range(len(LAYERS)), k=3)
    torch.manual_seed(seed)
    # One layer that changes the length comes last.
    layers = [LAYERS[i]() for i in chosen]
    return nn.Sequential(*layers).eval(), chosen


@pytest.mark.parametrize("seed", range(12))
def test_every_multiply_add_is_recorded_or_named(seed: int, tmp_path: Path) -> None:
    model, chosen = module(seed)
    x = torch.randn(2, W, W)
    # In training mode layers run as their parts, which the counter sees.
    with torch.no_grad():
        with FlopCounterMode(display=False) as counter:
            model(x)
        with capture(tmp_path / "plain", arch="h100") as captured:
            model(x)
    everything_is_accounted_for(counter, captured, chosen)
    # Under a simulation what is not refused is recorded, and what is recorded is judged.
    with torch.no_grad(), simulate("h100", hidden="torch") as simulation:
        with capture(tmp_path / "simulated") as captured:
            model(x)
    assert captured.coverage.missed.total() == simulation.hidden_calls.total(), (chosen, captured.coverage)
    assert simulation.products == captured.products
    if captured.products:
        batch = captured.batch()
        assert batch.identical is (not captured.coverage.missed), batch.text()
        assert batch.totals["different"] == batch.totals["unjudged"] == 0, batch.text()


def test_every_layer_is_seen(tmp_path: Path) -> None:
    torch.manual_seed(5)
    for i, layer in enumerate(LAYERS):
        model, x = layer().eval(), torch.randn(2, W, W)
        with torch.no_grad():
            with FlopCounterMode(display=False) as counter:
                model(x)
            with capture(tmp_path / str(i), arch="h100") as captured:
                model(x)
        everything_is_accounted_for(counter, captured, i)


def test_what_is_left_out_would_be_noticed(tmp_path: Path) -> None:
    layer, x = nn.Linear(W, W), torch.randn(2, W)
    with torch.no_grad():
        with FlopCounterMode(display=False) as counter:
            layer(x)
        with capture(tmp_path / "c", arch="h100", select="no such module") as captured:
            layer(x)
    with pytest.raises(AssertionError, match="addmm"):
        everything_is_accounted_for(counter, captured, "a layer")
