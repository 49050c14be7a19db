"""Two results of one product."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import Array, normal

import tcverify
from tcverify.testing import assert_bitwise


def flipped(array: Array, at: tuple[int, ...]) -> Array:
    array = array.copy()
    array.view(f"u{array.itemsize}")[at] ^= 1 << 3
    return array


@pytest.fixture(scope="module")
def results() -> tuple[Array, Array, Array, Array]:
    """A and B in FP16, and the D of an A100 and of an H100."""
    a, b = normal(1, (24, 96), np.float16), normal(2, (96, 40), np.float16)
    return a, b, tcverify.replay(a, b, arch="a100"), tcverify.replay(a, b, arch="h100", instruction="mma")


def test_two_units(results: tuple[Array, Array, Array, Array]) -> None:
    a, b, left, right = results
    found = tcverify.compare(left, right, a, b, arch1="a100", arch2="h100")
    assert (found.verdict, found.explained, found.relation, found.wrong) == ("different", "both", "unit", None)
    assert found.mismatch_count == int((left.view("u4") != right.view("u4")).sum())
    parting = found.document["side_by_side"]["parting"]
    assert parting["products"] % 16 == 0
    assert "DIFFERENT, both explained" in found.text()
    assert "both explained" in found._repr_html_()
    assert repr(found).startswith("<tcverify.Compared: different")
    with pytest.raises(TypeError, match="equal"):
        bool(found)
    with pytest.raises(tcverify.DifferentError, match="both explained") as caught:
        found.raise_for_difference()
    assert caught.value.report is found


def test_a_wrong_unit_explains_nothing(results: tuple[Array, Array, Array, Array]) -> None:
    a, b, left, right = results
    found = tcverify.compare(left, right, a, b, arch="v100", schedules="never")
    assert found.explained == "neither"


def test_a_fault(results: tuple[Array, Array, Array, Array]) -> None:
    a, b, left, _ = results
    found = tcverify.compare(flipped(left, (3, 4)), left, a, b, arch="a100", schedules="never")
    assert (found.explained, found.wrong, found.mismatch_count) == ("right", "left", 1)


def test_other_operands(results: tuple[Array, Array, Array, Array]) -> None:
    a, b, left, _ = results
    other = flipped(a, (1, 2))
    found = tcverify.compare(left, tcverify.replay(other, b, arch="a100"), a, b, a2=other, arch="a100", schedules="never")
    assert found.verdict == "inputs_differ"


def test_rows(results: tuple[Array, Array, Array, Array]) -> None:
    _, _, left, right = results
    assert tcverify.compare(left, left[:8], rows1=(0, 8)).equal
    assert not tcverify.compare(left, right[8:16], rows1=(8, 16)).equal
    with pytest.raises(tcverify.CheckError, match="rows"):
        tcverify.compare(left, left, rows1=(20, 30), rows2=(20, 30))


def test_files_and_assertions(results: tuple[Array, Array, Array, Array], tmp_path: Path) -> None:
    _, _, left, right = results
    np.save(tmp_path / "left.npy", left)
    assert assert_bitwise(tmp_path / "left.npy", left).equal
    with pytest.raises(tcverify.DifferentError, match="DIFFERENT"):
        assert_bitwise(tmp_path / "left.npy", right)
    with pytest.raises(TypeError, match="two results"):
        assert_bitwise(left, right, arch="a100")  # type: ignore[call-overload]
    with pytest.raises(tcverify.CheckError, match="missing"):
        tcverify.compare(left, tmp_path / "missing.npy")
