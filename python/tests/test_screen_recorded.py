"""A suite of a model's own products, from a capture to a judgement. PyTorch on a CPU stands for the GPU of a node."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import tcverify  # noqa: E402
from tcverify import screen  # noqa: E402
from tcverify.torch import capture, simulate  # noqa: E402

Run = Callable[[Sequence[Any]], "subprocess.CompletedProcess[str]"]


class Node(screen.Machine):
    """Everything of the program but the GPU; products have an H100's bits, and one of them perhaps a wrong one."""

    def __init__(self, flip: int = 0) -> None:
        self.torch, self.device, self.index = torch, torch.device("cpu"), 0
        self.architecture, self.folder, self.verified = "sm_90", "", set()
        self.about = {"name": "none", "uuid": None, "driver": None, "multiprocessors": 132, "program": "test"}
        self.flip, self.strides = flip, []

    def sense(self) -> tuple[None, None]:
        return None, None

    def multiply(self, a: Any, b: Any, dtype: str, d: str, added: Any = None, alpha: float = 1, beta: float = 1) -> Any:
        self.strides.append(b.stride())
        fields = {} if added is None else {"bias": added}
        result = tcverify.replay(a, b, arch="h100", d_dtype="bf16", **fields)
        if self.flip and a.shape != (64, 64):
            result.view(torch.int16)[3, 5] ^= self.flip
        return result


@pytest.mark.parametrize("flip", [0, 8])
def test_from_a_model_to_a_judgement(flip: int, run: Run, tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.GELU(), torch.nn.Linear(96, 32, bias=False)).bfloat16()
    with torch.no_grad(), simulate("h100"), capture(tmp_path / "captured") as captured:
        model(torch.randn(16, 64).bfloat16())
    assert captured.products == 2
    made = run(["screen", "record", "captured/manifest.json", "-o", "own.json"])
    assert made.returncode == 0 and "2 products, 5 operands" in made.stdout, made

    node = Node(flip)
    results = tmp_path / "r.json"
    code = screen.main([str(tmp_path / "own.json"), "--host", "n", "-o", str(results)], lambda device: node)
    assert code == (1 if flip else 0)
    # Weights are stored as they are, and used transposed, as the model does.
    assert node.strides[-1] == (1, 96)
    judged = run(["screen", "judge", "--suite", "own.json", "r.json", "--json", "fleet.json"])
    assert judged.returncode == code, judged
    gpu = json.loads((tmp_path / "fleet.json").read_text())["gpus"][0]
    assert gpu["compared"] == 2 and gpu["wrong_results"] == (2 if flip else 0)
    assert gpu["condition"] == ("marginal" if flip else "clean")
    if flip:
        # The evidence is whole: operands are in it.
        batch = run(["batch", "r.json.cases"])
        assert batch.returncode == 1 and "2 different, 0 could not be judged" in batch.stdout, batch


def test_operands_that_are_not_the_recorded_ones(run: Run, tmp_path: Path) -> None:
    with torch.no_grad(), simulate("h100"), capture(tmp_path / "captured"):
        torch.nn.Linear(32, 32).bfloat16()(torch.randn(16, 32).bfloat16())
    assert run(["screen", "record", "captured/manifest.json", "-o", "own.json"]).returncode == 0
    for file in (tmp_path / "own.json.operands").iterdir():
        file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    words = [str(tmp_path / "own.json"), "-o", str(tmp_path / "r.json")]
    assert screen.main(words, lambda device: Node()) == 2
    assert not (tmp_path / "r.json").exists()
