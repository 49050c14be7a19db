"""The plugin of pytest, in a pytest of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import tcverify

TESTS = """
import numpy as np, tcverify
A = np.random.default_rng(1).standard_normal((8, 64)).astype(np.float16)
D = tcverify.replay(A, A.T, arch="h100")

def test_right(tcverify_bitwise):
    tcverify_bitwise(D, A, A.T)

def test_wrong(tcverify_bitwise):
    tcverify_bitwise(np.nextafter(D, np.float32(9)), A, A.T)
"""


def test_failures_leave_their_reports(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    try:
        from importlib.metadata import entry_points

        installed = any(point.value == "tcverify._pytest" for point in entry_points(group="pytest11"))
    except ImportError:
        installed = False
    words += [] if installed else ["-p", "tcverify._pytest"]
    run = [*words, "--tcverify-arch", "h100", "--tcverify-reports", "pages", "test_it.py"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert "1 failed, 1 passed" in done.stdout and "DIFFERENT" in done.stdout, done.stdout
    names = sorted(path.name for path in (tmp_path / "pages").iterdir())
    assert names == ["test_it.py_test_wrong.html", "test_it.py_test_wrong.json"] and names[0] in done.stdout
    assert json.loads((tmp_path / "pages" / names[1]).read_text())["verdict"] == "different"
    done = subprocess.run([*words, "test_it.py"], cwd=tmp_path, capture_output=True, text=True)
    assert "2 skipped" in done.stdout


def test_no_search_for_causes() -> None:
    a = np.ones((4, 16), np.float16)
    d = tcverify.replay(a, a.T, arch="h100")
    d[1, 2] = 3
    assert tcverify.check(a, a.T, d, arch="h100").causes is not None
    assert tcverify.check(a, a.T, d, arch="h100", causes=False).causes == ()


def test_unknown_arguments_are_told_what_is_meant() -> None:
    a = np.ones((4, 16), np.float16)
    try:
        tcverify.replay(a, a.T, arch="h100", shedule="plain")  # type: ignore[call-arg]
    except tcverify.CheckError as error:
        assert error.argument == "shedule" and "did you mean `schedule`?" in error.reason
    else:
        raise AssertionError("it was taken")
