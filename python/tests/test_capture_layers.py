"""scripts/capture/capture_layers.py with PyTorch on a CPU: everything but the GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tcverify

SCRIPT = Path(__file__).parents[2] / "scripts" / "capture" / "capture_layers.py"


def test_a_rehearsal_can_be_judged(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    folder = tmp_path / "captured"
    words = [sys.executable, "-B", str(SCRIPT), str(folder), "--short", "--rehearse", "--library", "torch"]
    subprocess.run(words, check=True, capture_output=True)
    report = json.loads(tcverify.batch(folder / "manifest.json").to_json())
    verdicts = {case["name"]: case["verdict"] for case in report["cases"]}
    # A CPU adds in other orders; but each array has the format and the shape that its rule wants.
    assert "unjudged" not in verdicts.values()
    assert len(verdicts) > 20
    # What has no order is what a GPU gives.
    exact = [name for name in verdicts if name.startswith(("add-", "rope-"))]
    assert len(exact) == 6
    assert {verdicts[name] for name in exact} == {"identical"}
    operations = {case["report"]["rule"]["operation"] for case in report["cases"]}
    assert {"rms_norm", "layer_norm", "softmax", "silu", "gelu", "rope", "attention", "add"} <= operations
    facts = json.loads((folder / "provenance.json").read_text())
    assert facts["device"].startswith("cpu: a rehearsal")
