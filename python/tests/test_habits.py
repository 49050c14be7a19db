"""What users of NumPy and PyTorch take for granted."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import normal

import tcverify
import tcverify.audit

A, B = normal(1, (6, 32), np.float16), normal(2, (32, 5), np.float16)
D = tcverify.replay(A, B, arch="h100")


def test_vectors_are_multiplied_as_numpy_does() -> None:
    row, column, both = (tcverify.replay(x, y, arch="h100") for x, y in [(A[2], B), (A, B[:, 3]), (A[2], B[:, 3])])
    assert row.shape == (5,) and column.shape == (6,) and both.shape == ()
    assert (row == D[2]).all() and (column == D[:, 3]).all() and both == D[2, 3]
    assert tcverify.replay(A[2], np.ascontiguousarray(B.T), arch="h100", transpose_b=True).shape == (5,)
    for d, x, y in [(row, A[2], B), (column, A, B[:, 3]), (both, A[2], B[:, 3])]:
        assert tcverify.check(x, y, d, arch="h100").verdict == "identical"
        assert tcverify.check(x, y, d + 1, arch="h100").verdict == "different"
    explained = tcverify.explain(A[2], B, row, at=(4,), arch="h100")
    assert explained.same and explained.document["index"] == [0, 4]
    c = np.arange(5, dtype=np.float32)
    assert (tcverify.replay(A[2], B, c=c, arch="h100") == tcverify.replay(A, B, c=np.tile(c, (6, 1)), arch="h100")[2]).all()
    with pytest.raises(tcverify.CheckError, match="`a` is a single number"):
        tcverify.replay(np.float16(1), B, arch="h100")


def test_lists_are_arrays() -> None:
    assert tcverify.replay([[1.0, 2.0]], [[3.0], [4.0]], arch="h100", dtype="fp16").tolist() == [[11.0]]
    assert tcverify.replay([1, 2], [3, 4], arch="h100", dtype="int8", acc="s32").tolist() == 11
    with pytest.raises(tcverify.CheckError, match="`b` is a list that is no array"):
        tcverify.replay(A, [[1.0], [2.0, 3.0]], arch="h100")


def test_leading_axes_broadcast() -> None:
    a, b = normal(3, (2, 1, 4, 32), np.float16), normal(4, (3, 32, 5), np.float16)
    d = tcverify.replay(a, b, arch="h100")
    assert d.shape == np.matmul(a, b).shape == (2, 3, 4, 5)
    for i in range(2):
        for j in range(3):
            assert (d[i, j] == tcverify.replay(a[i, 0], b[j], arch="h100")).all()
    assert tcverify.check(a, b, d, arch="h100").identical
    assert tcverify.replay(a[0, 0, 0], b, arch="h100").shape == (3, 5)
    c = np.ones((4, 5), np.float32)
    assert (tcverify.replay(a, b, c=c, arch="h100") == tcverify.replay(a, b, c=np.tile(c, (2, 3, 1, 1)), arch="h100")).all()
    with pytest.raises(tcverify.CheckError, match=r"leading axes of `b`, \(3,\), do not go with those of `a`, \(2,\)"):
        tcverify.replay(a[:, 0], b, arch="h100")


@pytest.mark.parametrize(
    ("part", "same"),
    [
        ({"rows": slice(-2, None)}, {"rows": "4.."}),
        ({"rows": -1}, {"rows": 5}),
        ({"cols": slice(None, -3)}, {"cols": "0..2"}),
        ({"region": (slice(-3, -1), slice(-2, None))}, {"region": "3..5,3.."}),
    ],
)
def test_what_counts_from_the_end(part: Any, same: Any) -> None:
    found, expected = (tcverify.check(A, B, D, arch="h100", **fields) for fields in (part, same))
    assert found.elements == expected.elements and found.document["outcome"] == expected.document["outcome"]
    # A D that is a digest or a file has the shape of operands.
    assert tcverify.replay(A, B, arch="h100").shape == (6, 5)


@pytest.mark.parametrize(
    ("rows", "elements"),
    [(slice(0, 100), 30), (slice(-100, 2), 10), (slice(None), 30), (..., 30), (range(-2, 0), 10), ((-2, None), 10), (np.int64(-1), 5), ("3..", 15)],
)
def test_parts_are_selected_as_numpy_does(rows: Any, elements: int) -> None:
    report = tcverify.check(A, B, D, arch="h100", rows=rows)
    assert report.elements == elements and (report.verdict == "identical") == (elements == 30)
    assert tcverify.check(A, B, D, arch="h100", region=(rows, ...)).elements == elements


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (6, "index 6 is out of bounds for size 6"),
        (-7, "index -7 is out of bounds for size 6"),
        ((0, 7), "index 7 is out of bounds for size 6"),
        (range(0, 7), "index 6 is out of bounds for size 6"),
        (slice(4, 2), r"slice\(4, 2, None\) selects nothing of 6"),
        (range(3, 3), "selects nothing of 6"),
        (np.array([1, 2]), "a slice, a range, a pair of first and end, or a number is expected"),
        ((1, 2, 3), "a slice, a range"),
    ],
)
def test_what_is_out_of_bounds_is_said_as_numpy_does(rows: Any, why: str) -> None:
    with pytest.raises(tcverify.CheckError, match=why) as caught:
        tcverify.check(A, B, D, arch="h100", rows=rows)
    assert caught.value.argument == "rows"


def test_indices_of_one_element_and_of_blocks() -> None:
    for at, why in [((9, 0), "index 9 is out of bounds for size 6"), ((1,), "too few indices"), ((1, 2, 3), "too many indices"), (3, "a list of numbers")]:
        with pytest.raises(tcverify.CheckError, match=why):
            tcverify.explain(A, B, D, at=at, arch="h100")  # type: ignore[arg-type]
    commitment = tcverify.commit(A, B, D, arch="h100", block_rows=2)
    for blocks, proven in [(-1, [2]), (slice(1, None), [1, 2]), (range(2), [0, 1]), (np.array([0, 2]), [0, 2]), ([-3], [0])]:
        opening = tcverify.open(commitment, D, blocks)  # type: ignore[arg-type]
        assert [one.block for one in tcverify.verify(commitment, opening)] == proven
    for blocks, why in [(3, "index 3 is out of bounds for size 3"), ([], "selects none"), (slice(5, None), "selects none"), ("0", "a list of numbers")]:
        with pytest.raises(tcverify.CheckError, match=why):
            tcverify.open(commitment, D, blocks)  # type: ignore[arg-type]


def test_nobody_reads_words_of_the_implementation(tmp_path: Path) -> None:
    """Neither those of JSON's reader, nor those of the command line's."""
    calls: list[Any] = [
        lambda: tcverify.check(A, B, D, arch="h100", causes="no"),
        lambda: tcverify.identify(A, B, D, quick=3),  # type: ignore[arg-type]
        lambda: tcverify.identify(A, B, D, schedules=3),  # type: ignore[arg-type]
        lambda: tcverify.identify(A, B, D, schedules=["auto"]),  # type: ignore[arg-type]
        lambda: tcverify.compare(D, D, schedules="often"),
        lambda: tcverify.explain(A, B, at=(0, 0), arch="h100", all_steps=3),  # type: ignore[arg-type]
        lambda: tcverify.Check.from_json("{"),
        lambda: tcverify.Check.from_json("[]"),
        lambda: tcverify.batch({"schema": "tcverify.manifest/1", "cases": 3}),
        lambda: tcverify.batch({"schema": "tcverify.manifest/1", "cases": [3]}),
        lambda: tcverify.batch({"schema": "tcverify.manifest/1", "cases": [{"name": "x", "split_k": "x"}]}),
        lambda: tcverify.batch({"schema": "tcverify.manifest/1", "cases": [{"name": "x", "a": A}]}),
        lambda: tcverify.batch({"schema": "tcverify.manifest/1", "cases": [{"name": {1, 2}}]}),
        lambda: tcverify.batch({"schema": "tcverify.manifest/1", "defaults": {"rows": (1, 2, 3)}, "cases": []}),
        lambda: tcverify.compare(D, D[:2]),
        lambda: tcverify.audit.challenge(tcverify.commit(A, B, D, arch="h100"), beacon="x", elements=-1),
    ]
    for n, call in enumerate(calls):
        with pytest.raises(tcverify.CheckError) as caught:
            call()
        said = str(caught.value)
        assert not any(word in said for word in ("usize", "invalid type", "invalid value", "invalid digit", "expected struct", "--", ".tcverify-")), (n, said)


def test_cases_of_a_manifest_have_arguments_for_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, array in {"a": A, "b": B, "d": D}.items():
        np.save(f"{name}.npy", array)
    case = {"name": "one", "a": Path("a.npy"), "b": "b.npy", "d": "d.npy", "rows": slice(1, 3), "dtype": np.float16}
    batch = tcverify.batch({"schema": "tcverify.manifest/1", "defaults": {"arch": "h100"}, "cases": [case, {**case, "name": "two", "rows": None}]})
    assert [None if one.report is None else one.report.elements for one in batch.cases] == [10, 30] and not list(tmp_path.glob(".tcverify-*"))


def test_what_cannot_be_counted_from_the_end(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", A)
    np.save(tmp_path / "d.npy", D)
    with pytest.raises(tcverify.CheckError, match="counts from the end"):
        tcverify.check(tmp_path / "a.npy", B, tmp_path / "d.npy", arch="h100", dtype="fp16", rows=slice(-2, None))
    for rows in (slice(0, 4, 2), slice(0.5, 2), -9):
        with pytest.raises(tcverify.CheckError) as caught:
            tcverify.check(A, B, D, arch="h100", rows=rows)  # type: ignore[arg-type]
        assert caught.value.argument == "rows"


def test_shapes_are_called_by_their_arguments() -> None:
    with pytest.raises(tcverify.CheckError) as caught:
        tcverify.check(A, B[:-1], D, arch="h100")
    assert "`a`" in caught.value.reason and "`b`" in caught.value.reason and "memory" not in caught.value.reason
    with pytest.raises(tcverify.CheckError) as caught:
        tcverify.check(A, B, D[:-1], arch="h100")
    assert "`d`" in caught.value.reason and "memory" not in caught.value.reason


def test_a_missing_file_is_said_to_be_missing() -> None:
    with pytest.raises(tcverify.CheckError, match="no-such.npy.*(does not exist|No such file)"):
        tcverify.check("no-such.npy", B, D, arch="h100", dtype="fp16")


def test_a_plan_runs_nothing() -> None:
    # More multiply-adds than anybody computes.
    plan = tcverify.plan((1 << 20, 1 << 14), (1 << 14, 1 << 20), arch="h100", dtype="bf16", d_dtype="bf16")
    assert (plan.model.architecture, plan.model.instruction, plan.schedule) == ("hopper", "wgmma", None)
    assert (plan.shape, plan.format, plan.evidence) == ((1 << 20, 1 << 20), "bf16", "captured")
    assert "one chain over K" in repr(plan) and "Nothing was computed" in plan.text() and "PLAN" in plan.text()
    split = tcverify.plan(A, B, arch="a100", schedule="cublas-workspace-f32", split_k=4)
    assert split.schedule == "cublas-workspace-f32" and split.document["rule"]["schedule"]["constants"]
    assert split.product == tcverify.Product((), 6, 5, 32)
    # It is the rule of the report, and the lower word of both.
    report = tcverify.check(A, B, D, arch="h100")
    assert plan.model == tcverify.plan(A.shape, B.shape, arch="h100", dtype="bf16").model != report.model
    assert tcverify.plan(A, B, arch="h100").model == report.model
    captured = tcverify.plan(A, B, arch="a100", instruction="mma")
    weaker = tcverify.plan(A, B, arch="a100", instruction="mma", schedule="cutlass-sm90")
    assert captured.evidence == weaker.model.evidence == "captured" and weaker.evidence == "published"
    scaled = tcverify.plan((64, 256), (256, 128), arch="h100", dtype="e4m3", schedule="deepgemm-sm90", scale_a=(64, 2), scale_b=(2, 1))  # type: ignore[typeddict-item]
    assert scaled.schedule == "deepgemm-sm90"
    for fields, argument in [({"arch": "h100"}, "dtype"), ({"arch": "v100", "dtype": "bf16"}, "arch")]:
        with pytest.raises(tcverify.CheckError) as caught:
            tcverify.plan((4, 8), (8, 4), **fields)  # type: ignore[arg-type]
        assert caught.value.argument == argument
    with pytest.raises(tcverify.CheckError):
        tcverify.plan((4, 8), (9, 4), arch="h100", dtype="bf16")


def results(folder: Path) -> list[Any]:
    np.save(folder / "a.npy", A)
    np.save(folder / "b.npy", B)
    np.save(folder / "d.npy", D)
    case = {"name": "one", "arch": "h100", "dtype": "fp16", **{name: str(folder / f"{name}.npy") for name in "abd"}}
    return [
        tcverify.check(A, B, D, arch="h100"),
        tcverify.batch({"schema": "tcverify.manifest/1", "cases": [case]}),
        tcverify.identify(A, B, D, quick=True),
        tcverify.explain(A, B, D, at=(1, 2), arch="h100"),
        tcverify.plan(A, B, arch="h100"),
        tcverify.commit(A, B, D, arch="h100"),
        tcverify.Check(arch="h100", dtype="fp16", a="<a>.npy", b="b.npy"),
    ]


def test_every_result_is_shown_and_is_a_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for result in results(tmp_path):
        page = result._repr_html_()
        assert page.lstrip().startswith("<") and "<script" not in page, result
        assert "<a>" not in page
        again = pickle.loads(pickle.dumps(result))
        assert again == result == copy.copy(result) == copy.deepcopy(result) and hash(again) == hash(result)
        assert again._repr_html_() == page or isinstance(result, tcverify.Report)
        assert again != 3 and type(again) is type(result)


def test_data_frames(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    wrong = D.copy()
    wrong[2, 3] += 1
    frame = tcverify.check(A, B, wrong, arch="h100").to_dataframe()
    assert frame[["index_0", "index_1"]].values.tolist() == [[2, 3]] and frame["kind"].tolist() == ["sign"]
    found = tcverify.identify(A, B, D, quick=True)
    frame = found.to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(found.fits) > 0
    assert set(frame["architecture"]) == {fit.architecture for fit in found.fits}


def test_requests_are_typed() -> None:
    report = tcverify.check(A, B, D, arch="h100", max_mismatches=3)
    assert isinstance(report.request, tcverify.Check) and report.request.fields["max_mismatches"] == 3
    with pytest.raises(tcverify.CheckError, match="did you mean `dtype`"):
        tcverify.Check(arch="h100", dtyp="fp16", a="a.npy", b="b.npy")  # type: ignore[call-arg]
    assert json.loads(tcverify.Check(arch="h100", dtype="fp16", a="a.npy", b="b.npy").to_json())["arch"] == "h100"


def test_type_checkers_know_them(tmp_path: Path) -> None:
    from test_package import checked

    page = tmp_path / "typed.py"
    page.write_text(
        "import tcverify\n"
        "request = tcverify.check('a', 'b', 'd', arch='h100').request\n"
        "assert request is not None\n"
        "verdict: str = request.run().verdict\n"
        "tcverify.Check(arch=3)\n"
        "request.no_such\n"
        "tcverify.plan((1, 2), (2, 3), arch='h100', dtype='bf16').model.evidence.upper()\n"
    )
    said = checked(str(page)).stdout
    assert "typed.py:5" in said and "typed.py:6" in said and "Found 2 errors" in said, said
