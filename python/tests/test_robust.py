"""Nothing hangs, aborts, or passes by accident."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tcverify

from conftest import Array


def test_a_report_is_neither_true_nor_false(product: tuple[Array, Array, Array], tmp_path: Path) -> None:
    a, b, d = product
    report = tcverify.check(a, b, d, arch="h100")
    with pytest.raises(TypeError, match=r"\.identical"):
        assert report
    for name, array in zip("abd", (a, b, d)):
        np.save(tmp_path / f"{name}.npy", array.view(np.uint16) if name != "d" else array)
    case = {"name": "one", "arch": "h100", "dtype": "bf16", **{name: str(tmp_path / f"{name}.npy") for name in "abd"}}
    batch = tcverify.batch({"schema": "tcverify.manifest/1", "cases": [case]})
    with pytest.raises(TypeError, match=r"\.identical"):
        bool(batch)
    assert batch.identical and batch.coverage is None and batch.missed == 0


def test_reports_are_values(product: tuple[Array, Array, Array]) -> None:
    a, b, d = product
    report = tcverify.check(a, b, d, arch="h100")
    again = pickle.loads(pickle.dumps(report))
    assert report == again == copy.deepcopy(report) == copy.copy(report) and hash(report) == hash(again)
    d = d.copy()
    d[0, 0] += 1
    assert report != tcverify.check(a, b, d, arch="h100")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_can_check() -> None:
    script = """
import os, numpy as np, tcverify
a = np.ones((64, 64), np.float16)
d = tcverify.replay(a, a, arch="h100")
child = os.fork()
report = tcverify.check(a, a, d, arch="h100")
tcverify.verify(c := tcverify.commit(a, a, d, arch="h100"), tcverify.open(c, d, [0]))
if child == 0:
    os._exit(0 if report.identical else 1)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=120)
    assert done.returncode == 0


def rows(count: int) -> Any:
    """One row, that many times."""
    return np.lib.stride_tricks.as_strided(np.ones((1, 2), ml_dtypes.float8_e4m3fn), (count, 2), (0, 1))


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("at", lambda a, b, d: tcverify.explain(a, b, d, at=(-99, 0), arch="h100")),
        ("at", lambda a, b, d: tcverify.explain(a, b, d, at=3, arch="h100")),  # type: ignore[arg-type]
        ("at", lambda a, b, d: tcverify.explain(a, b, d, at="3,4", arch="h100")),
        ("at", lambda a, b, d: tcverify.explain(a, b, d, at=(0.5, 1), arch="h100")),  # type: ignore[arg-type]
        ("budget", lambda a, b, d: tcverify.identify(a, b, d, budget=-1)),
        ("budget", lambda a, b, d: tcverify.identify(a, b, d, budget=1 << 62)),
        ("sample", lambda a, b, d: tcverify.identify(a, b, d, sample=0)),
        ("seed", lambda a, b, d: tcverify.identify(a, b, d, seed=-1)),
        ("alpha", lambda a, b, d: tcverify.check(a, b, d, arch="h100", schedule="batch-invariant", alpha=float("nan"))),
        ("alpha", lambda a, b, d: tcverify.check(a, b, d, arch="h100", schedule="batch-invariant", alpha="NaN")),
        ("block_rows", lambda a, b, d: tcverify.commit(a, b, d, arch="h100", block_rows=-1)),
        ("blocks", lambda a, b, d: tcverify.open(tcverify.commit(a, b, d, arch="h100"), d, [99])),
        ("blocks", lambda a, b, d: tcverify.open(tcverify.commit(a, b, d, arch="h100"), d, "0")),  # type: ignore[arg-type]
        ("commitment", lambda a, b, d: tcverify.open(Path("missing.json"), d, [0])),
        ("commitment", lambda a, b, d: tcverify.open(3, d, [0])),  # type: ignore[arg-type]
        ("proof", lambda a, b, d: tcverify.verify(tcverify.commit(a, b, d, arch="h100"), "missing.json")),
        ("a", lambda a, b, d: tcverify.replay(rows(1 << 61), np.ones((2, 3), ml_dtypes.float8_e4m3fn), arch="h100")),
    ],
)
def test_arguments_are_named(argument: str, call: Any, product: tuple[Array, Array, Array]) -> None:
    with pytest.raises(tcverify.CheckError) as caught:
        call(*product)
    assert caught.value.argument == argument and argument in caught.value.reason


def test_a_d_beyond_memory_is_an_exception() -> None:
    # A row that stands for 2^40: D would have a tebibyte a column.
    row = np.broadcast_to(np.ones((1, 16), np.float16), (1 << 44, 16))
    with pytest.raises((MemoryError, tcverify.CheckError)):
        tcverify.replay(row, np.ones((16, 64), np.float16), arch="h100")


def test_a_path_is_a_document(product: tuple[Array, Array, Array], tmp_path: Path) -> None:
    commitment = tcverify.commit(*product, arch="h100", block_rows=8)
    commitment.save_json(tmp_path / "c.json")
    opening = tcverify.open(tmp_path / "c.json", product[2], [1])
    (tmp_path / "p.json").write_text(opening.proof)
    assert tcverify.verify(tmp_path / "c.json", tmp_path / "p.json", opening.rows)[0].block == 1
