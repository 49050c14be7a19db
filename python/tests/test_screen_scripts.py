"""Scripts that take what a screening found elsewhere: OCP's format, and evidence that needs nothing of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tcverify
from conftest import ROOT, normal

SCRIPTS = ROOT / "scripts" / "screen"
Run = Callable[[Sequence[Any]], "subprocess.CompletedProcess[str]"]


def script(name: str, *words: Any) -> subprocess.CompletedProcess[str]:
    # Isolated: with Python's own library alone.
    return subprocess.run([sys.executable, "-I", "-S", SCRIPTS / name, *map(str, words)], capture_output=True, text=True)


def test_a_judgement_in_ocps_format(run: Run, tmp_path: Path) -> None:
    assert run(["screen", "make", "--arch", "h100", "--suite", "quick", "-o", "suite.json"]).returncode == 0
    (tmp_path / "results").mkdir()
    for host, more in (("good", []), ("bad", ["--inject", "product:bit=13,stuck=1,k=3,lane=5,sm=5"])):
        run(["screen", "run", "suite.json", "--device", "simulated", "--host", host, *more, "-o", f"results/{host}.json", "--quiet"])
    assert run(["screen", "judge", "--suite", "suite.json", "results", "--json", "fleet.json"]).returncode == 1
    done = script("ocp.py", tmp_path / "fleet.json", "-o", tmp_path / "ocp")
    assert done.returncode == 0, done.stderr
    ends = {}
    for path in (tmp_path / "ocp").iterdir():
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [one["sequenceNumber"] for one in lines] == list(range(len(lines)))
        assert all(one["timestamp"].endswith("Z") for one in lines)
        # One artifact a line, in the format's order.
        kinds = [next(iter(one)) for one in lines]
        assert kinds[:2] == ["schemaVersion", "testRunArtifact"] and kinds[-1] == "testRunArtifact"
        start = lines[1]["testRunArtifact"]["testRunStart"]
        assert {"name", "version", "commandLine", "parameters", "dutInfo"} == set(start)
        steps = [one["testStepArtifact"] for one in lines if "testStepArtifact" in one]
        assert "testStepStart" in steps[0] and "testStepEnd" in steps[-1]
        diagnosis = next(one["diagnosis"] for one in steps if "diagnosis" in one)
        ends[start["dutInfo"]["dutInfoId"]] = (diagnosis["verdict"], diagnosis["type"], lines[-1]["testRunArtifact"]["testRunEnd"]["result"])
    assert ends == {"good": ("tcverify-clean", "PASS", "PASS"), "bad": ("tcverify-stuck", "FAIL", "FAIL")}


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "tcverify.screen-fleet/1"}', '{"schema": "other"}'])
def test_no_judgement_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "fleet.json").write_text(text)
    done = script("ocp.py", tmp_path / "fleet.json", "-o", tmp_path / "ocp")
    assert done.returncode == 2 and "fleet.json" in done.stderr and not (tmp_path / "ocp").exists()


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.int8])
def test_evidence_shows_the_wrong_element(dtype: Any, tmp_path: Path) -> None:
    a: Any
    b: Any
    if dtype is np.int8:
        random = np.random.default_rng(1)
        a, b = (random.integers(-128, 128, shape, dtype=np.int8) for shape in ((4, 32), (32, 6)))
    else:
        a, b = normal(1, (4, 32), dtype), normal(2, (32, 6), dtype)
    right = np.asarray(tcverify.replay(a, b, arch="h100"))
    d = right.copy()
    d.view(np.uint32)[2, 3] ^= 1 << 20
    for name, array in (("a", a), ("b", b), ("d", d), ("right", right)):
        np.save(tmp_path / f"{name}.npy", array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array)
    words = ["--dtype", "bf16"] if dtype is ml_dtypes.bfloat16 else []
    done = script("evidence.py", tmp_path, *words)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("1 of 24 elements differ from right.npy\nelement [2, 3]\n")
    distances = [float(line.split(" units")[0].split(", ")[1]) for line in done.stdout.splitlines() if "units" in line]
    # A sum rounded as the unit does it is near; what a bit was flipped in is not.
    assert distances[1] < 16 < 2**18 < distances[0]
    np.save(tmp_path / "d.npy", right)
    assert script("evidence.py", tmp_path, *words).returncode == 0
    np.save(tmp_path / "d.npy", right[:2])
    refused = script("evidence.py", tmp_path, *words)
    assert refused.returncode == 2 and "do not belong together" in refused.stderr


def test_evidence_without_files_is_refused(tmp_path: Path) -> None:
    done = script("evidence.py", tmp_path)
    assert done.returncode == 2 and "a.npy" in done.stderr
