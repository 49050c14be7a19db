"""The program for Tenstorrent chips, rehearsed with a stand-in for ttnn that multiplies as the model does."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import tcverify  # noqa: E402
from tcverify import screen  # noqa: E402

Run = Callable[[Sequence[Any]], "subprocess.CompletedProcess[str]"]

CONFIGURATIONS = (
    "WormholeComputeKernelConfig(math_fidelity=MathFidelity.HiFi4, fp32_dest_acc_en=True, packer_l1_acc=False), "
    "MatmulMultiCoreReuseProgramConfig(compute_with_storage_grid_size=(8, 8), in0_block_w=8, out_subblock_h=1, out_subblock_w=1, "
    "per_core_M=1, per_core_N=1)",
    "ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.LoFi, fp32_dest_acc_en=False, packer_l1_acc=True), "
    "ttnn.MatmulMultiCoreReuseProgramConfig(compute_with_storage_grid_size=(8, 8), in0_block_w=2, out_subblock_h=1, out_subblock_w=1, "
    "per_core_M=1, per_core_N=1)",
)


class Chip(types.ModuleType):
    """What the program calls of ttnn."""

    bfloat16, TILE_LAYOUT = "bfloat16", "tile"

    def __init__(self, flip: int = 0) -> None:
        super().__init__("ttnn")
        self.flip, self.products = flip, 0
        self.MathFidelity = types.SimpleNamespace(**{name: name.lower() for name in ("LoFi", "HiFi2", "HiFi3", "HiFi4")})
        for name in (*screen.Chip.KERNELS, *screen.Chip.PROGRAMS):
            setattr(self, name, lambda **fields: fields)

    def open_device(self, device_id: int) -> int:
        return device_id

    def get_arch_name(self) -> str:
        return "wormhole_b0"

    def from_torch(self, tensor: Any, dtype: str, layout: str, device: int) -> Any:
        assert tensor.dtype == torch.bfloat16 and (dtype, layout, device) == ("bfloat16", "tile", 0)
        return tensor

    def to_torch(self, tensor: Any) -> Any:
        return tensor

    def matmul(self, a: Any, b: Any, dtype: str, compute_kernel_config: Any, program_config: Any) -> Any:
        self.products += 1
        d = tcverify.replay(
            a,
            b,
            arch="wormhole",
            instruction=compute_kernel_config["math_fidelity"],
            acc="fp32" if compute_kernel_config["fp32_dest_acc_en"] else "bf16",
            in0_block_w=program_config["in0_block_w"],
            packer_l1_acc=compute_kernel_config["packer_l1_acc"],
            reload="exact",
            d_dtype="bf16",
        )
        d = torch.as_tensor(d) if not isinstance(d, torch.Tensor) else d.clone()
        if self.products > 2:
            d.view(torch.int16)[5, 6] ^= self.flip
        return d


@pytest.fixture
def suite(run: Run, tmp_path: Path) -> Path:
    words = [word for text in CONFIGURATIONS for word in ("--ttnn", text)]
    done = run(["screen", "make", "--arch", "wormhole", *words, "--reload", "exact", "-o", "suite.json"])
    assert done.returncode == 0, done.stderr
    assert "library.bf16.2 right by ttnn.WormholeComputeKernelConfig" in done.stdout
    return tmp_path / "suite.json"


@pytest.mark.parametrize(("flip", "code", "said"), [(0, 0, "CLEAN"), (16, 1, "FAULTY")])
def test_a_chip_is_judged(
    flip: int, code: int, said: str, suite: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ttnn", Chip(flip))
    (tmp_path / "results").mkdir()
    words = [str(suite), "--device", "ttnn:0", "--host", "node1", "-o", str(tmp_path / "results" / "node1.json")]
    assert screen.main(words) == code
    judged = run(["screen", "judge", "--suite", "suite.json", "--route", "library", "results", "--json", "fleet.json"])
    assert judged.returncode == code and judged.stdout.startswith(said), judged.stdout
    gpu = json.loads((tmp_path / "fleet.json").read_text())["gpus"][0]
    assert gpu["compared"] == 2 and gpu["wrong_results"] == (2 if flip else 0)


def test_a_suite_that_runs_programs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ttnn", Chip())
    chip = screen.Chip("ttnn:0")
    assert chip.configurations(CONFIGURATIONS[0])[0]["math_fidelity"] == "hifi4"
    for text in (
        "",
        "__import__('os').system('true')",
        "WormholeComputeKernelConfig(math_fidelity=os.environ)",
        "WormholeComputeKernelConfig(x=print('x'))",
        "open_device(device_id=0), MatmulMultiCoreReuseProgramConfig(in0_block_w=1)",
        CONFIGURATIONS[0].split(", Matmul")[0],
        "(" * 500,
    ):
        with pytest.raises(screen.Fault, match="the suite"):
            chip.configurations(text)


def test_a_chip_that_multiplies_integers_wrong_is_not_judged(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Chip(16)
    wrong.products = 2
    monkeypatch.setitem(sys.modules, "ttnn", wrong)
    assert screen.main([str(suite), "--device", "ttnn:0", "-o", str(tmp_path / "r.json")]) == 2
    assert not (tmp_path / "r.json").exists()
