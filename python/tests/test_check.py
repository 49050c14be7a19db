"""Requests, reports, errors."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import Array, normal

import tcverify
from tcverify import _tcverify
from tcverify._request import CheckFields

Product = tuple[Array, Array, Array]


def flipped(d: Array, *at: tuple[int, ...]) -> Array:
    d = d.copy()
    for index in at:
        d.view(np.uint32)[index] ^= 1 << 3
    return d


def test_every_field_of_a_check_is_an_argument() -> None:
    own = {"a", "b", "d", "arch"}
    # `causes` is `no_causes`, said the other way round.
    assert set(CheckFields.__annotations__) - {"causes", "order", "part"} | own == set(_tcverify.field_names())


def test_another_model_differs(product: Product) -> None:
    a, b, d = product
    report = tcverify.check(a, b, d, arch="a100")
    assert report.verdict == "different" and not report.identical
    assert report.mismatch_count is not None and 0 < report.mismatch_count <= report.elements == 24 * 40
    assert any(cause.kind == "other_model" for cause in report.causes)


def test_a_unit_that_nobody_names_is_searched(product: Product) -> None:
    a, b, d = product
    report = tcverify.check(a, b, d, arch="auto")
    chosen = report.document["rule"]["chosen"]
    assert report.identical and "model chosen to fit D" in report.text() and "hopper wgmma -> fp32" in chosen["fits"]
    assert report.model.architecture == "hopper" and chosen["tested"] > len(chosen["fits"])
    # A named unit is no choice, and its schedule is found with it.
    assert "chosen" not in tcverify.check(a, b, d, arch="h100").document["rule"]
    how: dict[str, Any] = {"schedule": "cublas-workspace-f32", "split_k": 3}
    split = tcverify.replay(a, b, arch="a100", **how)
    report = tcverify.check(a, b, split, arch="auto")
    assert report.identical and report.schedule is not None and not np.array_equal(split, tcverify.replay(a, b, arch="a100"))
    with pytest.raises(tcverify.NoModelError, match="none of the .* identify") as none:
        tcverify.check(a, b, flipped(d, (3, 4)), arch="auto")
    assert none.value.tested > 10 and pickle.loads(pickle.dumps(none.value)).tested == none.value.tested
    wrongs: tuple[dict[str, Any], ...] = ({"d_digest": tcverify.digest(d)}, {"d": d, "instruction": "mma"}, {"d": d, "schedule": "plain"})
    for wrong in wrongs:
        with pytest.raises(tcverify.CheckError, match="`arch` auto") as refused:
            tcverify.check(a, b, arch="auto", **wrong)
        assert refused.value.argument == "arch"
    with pytest.raises(tcverify.CheckError, match="name the GPU"):
        tcverify.replay(a, b, arch="auto")


def test_a_report_has_types(product: Product) -> None:
    a, b, d = product
    report = tcverify.check(a, b, flipped(d, (3, 4), (20, 39)), arch="h100", max_mismatches=99)
    assert (report.verdict, report.mismatch_count, report.elements) == ("different", 2, 960)
    assert (report.product.m, report.product.n, report.product.k) == (24, 40, 96)
    assert (report.model.architecture, report.model.instruction) == ("hopper", "wgmma")
    found = report.mismatches
    assert found["index"].tolist() == [[3, 4], [20, 39]]
    assert (np.abs(found["ulp"]) == 8).all() and set(found["kind"]) == {"significand"}
    assert (found["given"] ^ found["reproduced"]).tolist() == [8, 8]
    assert found["given"][0] == flipped(d, (3, 4)).view(np.uint32)[3, 4]
    assert report.schedule is None and report.command is None
    assert "DIFFERENT  2 of 960 elements" in report.text() == str(report)
    assert "2 of 960 elements differ" in repr(report)


def test_a_report_says_what_was_tried(product: Product) -> None:
    a, b, d = product
    noise = np.random.default_rng(7).integers(1, 1 << 20, d.shape, dtype=np.uint32)
    report = tcverify.check(a, b, (d.view(np.uint32) ^ noise).view(np.float32), arch="h100")
    assert report.causes == () and report.tried and report.untried
    assert tuple(report.document["tried"]) == report.tried
    assert report.places == tuple(place["sentence"] for place in report.document.get("places", []))
    known = tcverify.check(a, b, d, arch="a100")
    assert known.causes and known.tried == known.untried == ()


def test_no_mismatches_are_an_empty_array_of_the_same_type(product: Product) -> None:
    a, b, d = product
    report = tcverify.check(a, b, d, arch="h100")
    assert report.mismatches.shape == (0,) and report.mismatches["index"].shape == (0, 2)
    assert report.mismatch_count == 0 and report.causes == ()


def test_a_nan_has_no_distance() -> None:
    a = np.array([[np.nan, 1]], np.float16)
    d = np.zeros((1, 1), np.float32)
    assert np.isnan(tcverify.check(a, a.T, d, arch="h100").mismatches["ulp"]).all()


def test_a_difference_is_raised_on_demand(product: Product) -> None:
    a, b, d = product
    tcverify.check(a, b, d, arch="h100").raise_for_difference()
    with pytest.raises(tcverify.DifferentError, match="1 of 960 elements"):
        tcverify.check(a, b, flipped(d, (0, 0)), arch="h100").raise_for_difference()


def test_a_part_is_called_a_part(product: Product) -> None:
    a, b, d = product
    wrong = flipped(d, (20, 4))
    for arguments in ({"rows": slice(0, 8)}, {"rows": "0..8"}, {"region": (slice(8), slice(3, None))}, {"cols": 7}):
        report = tcverify.check(a, b, wrong, arch="h100", **arguments)  # type: ignore[arg-type]
        assert report.verdict == "identical_in_part" and report.identical
    assert tcverify.check(a, b, wrong, arch="h100", rows=slice(20, None)).verdict == "different"
    sampled = tcverify.check(a, b, d, arch="h100", sample=100, seed=3)
    assert (sampled.verdict, sampled.elements) == ("identical_in_part", 100)


def test_by_digest(product: Product) -> None:
    a, b, d = product
    assert tcverify.check(a, b, arch="h100", d_digest=tcverify.digest(d)).verdict == "identical"
    report = tcverify.check(a, b, arch="h100", d_digest=tcverify.digest(flipped(d, (0, 0))))
    assert report.verdict == "different" and report.mismatch_count is None and len(report.mismatches) == 0


def test_schedules_and_epilogues(product: Product) -> None:
    a, b, d = product
    bias = normal(5, (40,), np.float32)
    split = tcverify.replay(a, b, arch="h100", schedule="cublas-workspace-f32", split_k=2, alpha=0.5, bias=bias)
    report = tcverify.check(
        a, b, split, arch="h100", schedule="cublas-workspace-f32", split_k=2, alpha=np.float32(0.5), bias=bias
    )
    assert report.verdict == "identical" and report.schedule == "cublas-workspace-f32"
    assert not tcverify.check(a, b, split, arch="h100").identical
    infinite = tcverify.replay(a, b, arch="h100", schedule="cublas-nvjet", alpha=float("inf"))
    assert np.isinf(infinite).all()
    with pytest.raises(tcverify.CheckError) as caught:
        tcverify.replay(a, b, arch="h100", alpha=0.1)
    assert caught.value.argument == "alpha"


def test_a_kernel_by_its_name() -> None:
    a, b = normal(1, (64, 1536)), normal(2, (1536, 64))
    name = "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT"
    d = tcverify.replay(a, b, arch="h100", kernel=name, split_k=3, d_dtype="bf16")
    report = tcverify.check(a, b, d, arch="h100", kernel=name, split_k=3)
    assert report.identical and report.schedule is not None and "nvjet" in report.schedule


@pytest.mark.parametrize(
    "arguments, argument",
    [
        ({"arch": "h101"}, "arch"),
        ({}, "arch"),
        ({"arch": "h100", "model": "m.json"}, "model"),
        ({"arch": "h100", "model": Path("m.json")}, "model"),
        ({"arch": "h100", "beta": 1.0}, "beta"),
        ({"arch": "h100", "scale_a": np.ones((1, 1), np.float32)}, "scale_a"),
        ({"arch": "h100", "schedule": "no-such"}, "schedule"),
        ({"arch": "h100", "split_k": "two"}, "split_k"),
        ({"arch": "h100", "sample": 0}, "sample"),
        ({"arch": "h100", "residue": "middle"}, "residue"),
        ({"arch": "h100", "no_such_argument": 1}, "no_such_argument"),
        ({"arch": "h100", "dtype": "float9"}, "dtype"),
        ({"arch": "h100", "instruction": np.ones(3)}, "instruction"),
        ({"model": "missing.json"}, "model"),
        ({"arch": "h100", "against": "missing.json"}, "against"),
        ({"arch": "h100", "c": np.ones((24, 40), np.uint16), "beta": 1, "schedule": "cublas-nvjet"}, "c"),
    ],
)
def test_errors_name_the_argument(product: Product, arguments: dict[str, object], argument: str) -> None:
    with pytest.raises(tcverify.CheckError) as caught:
        tcverify.check(*product, **arguments)  # type: ignore[arg-type]
    assert caught.value.argument == argument, caught.value
    assert caught.value.reason == str(caught.value) and "--" not in caught.value.reason
    assert isinstance(caught.value, ValueError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.argument, again.reason) == (argument, caught.value.reason)


def test_shapes_that_do_not_multiply(product: Product) -> None:
    a, b, d = product
    with pytest.raises(tcverify.CheckError, match="inner dimensions differ: A is 24x96 and B is 95x40"):
        tcverify.check(a, b[1:], d, arch="h100")
    with pytest.raises(tcverify.CheckError, match=r"D is 23x40, but A\*B is 24x40") as caught:
        tcverify.check(a, b, d[1:], arch="h100")
    assert caught.value.argument == "d"
    with pytest.raises(tcverify.CheckError, match="`d`"):
        tcverify.check(a, b, arch="h100")
    with pytest.raises(tcverify.CheckError, match="at least 1"):
        tcverify.replay(a[:0], b, arch="h100")


def test_a_request_is_a_document() -> None:
    fields = {"arch": "h100", "dtype": "bfloat16", "a": "a.npy", "b": Path("b.npy"), "d": "d.npy", "rows": slice(4)}
    check = tcverify.Check(**fields)
    document = '{"arch":"h100","dtype":"bf16","rows":"0..4","a":"a.npy","b":"b.npy","d":"d.npy"}'
    assert check.to_json() == document
    assert tcverify.Check.from_json(document) == check and hash(tcverify.Check.from_json(document)) == hash(check)
    assert eval(repr(check), {"Check": tcverify.Check}) == check
    with pytest.raises(tcverify.CheckError) as caught:
        tcverify.Check(arch="h100", dtype="bf16", a="a.npy", b="b.npy", beta=1.0)
    assert caught.value.argument == "beta"


def test_a_report_is_a_document(product: Product, tmp_path: Path) -> None:
    a, b, d = product
    report = tcverify.check(a, b, flipped(d, (3, 4)), arch="h100")
    again = tcverify.Report.from_json(report.to_json())
    assert again.to_json() == report.to_json() and again.text() == report.text()
    assert (again.mismatches == report.mismatches).all()
    forged = report.to_json().replace('"verdict": "different"', '"verdict": "identical"')
    twice = report.to_json().replace("{", '{"verdict": "different",', 1)
    for wrong in ("{}", "[1]", report.to_json().replace("tcverify.report/1", "tcverify.report/9"), forged, twice):
        with pytest.raises(tcverify.CheckError) as caught:
            tcverify.Report.from_json(wrong)
        assert caught.value.argument == "json"
    report.save_json(tmp_path / "r.json")
    report.save_html(tmp_path / "r.html")
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "different"
    page = (tmp_path / "r.html").read_text()
    assert page == report.to_html() and "<canvas" in page and "step by step" in page
    assert report.to_markdown() and "<testsuite" in report.to_junit()
    with pytest.raises(OSError):
        report.save_html(tmp_path / "missing" / "r.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json"]


def test_a_notebook_shows_summary_and_map(product: Product) -> None:
    a, b, d = product
    cell = tcverify.check(a, b, flipped(d, (3, 4)), arch="h100")._repr_html_()
    assert "<svg" in cell and "Different" in cell and "[3, 4]" in cell
    assert "<script" not in cell and "http" not in cell.replace("https://", "http")
    assert "<svg" not in tcverify.check(a, b, d, arch="h100")._repr_html_()


def test_explain(product: Product) -> None:
    a, b, d = product
    shown = tcverify.explain(a, b, flipped(d, (3, 4)), arch="h100", at=(3, 4))
    assert shown.same is False and "bit 3" in shown.text()
    assert shown.document["schema"] == "tcverify.explanation/1"
    assert tcverify.explain(a, b, d, arch="h100", at=(3, 4)).same is True
    assert tcverify.explain(a, b, arch="h100", at=(3, 4)).same is None
    every = tcverify.explain(a, b, arch="h100", at=(3, 4), all_steps=True)
    assert len(every.text()) > len(tcverify.explain(a, b, arch="h100", at=(3, 4)).text())
    with pytest.raises(tcverify.CheckError, match="index 99 is out of bounds for size 24"):
        tcverify.explain(a, b, arch="h100", at=(99, 0))


def test_identify(product: Product) -> None:
    a, b, d = product
    found = tcverify.identify(a, b, d)
    assert found.fits[0].in_full and found.fits[0].schedule is None
    assert {fit.architecture for fit in found.fits} >= {"hopper", "blackwell"}
    for fit in found.fits[:2]:
        assert tcverify.check(a, b, d, **fit.arguments).identical
    split = tcverify.replay(a, b, arch="h100", schedule="cublas-workspace-f32", split_k=2)
    kernels = tcverify.identify(a, b, split, schedules="always").fits
    assert kernels and all(fit.schedule for fit in kernels)
    assert tcverify.check(a, b, split, **kernels[0].arguments).identical
    # What a name leaves open is found, and is what a check takes.
    words = "nvjet_sm90_tss_64x104_64x10_4x1_v_bz_splitK_TNT"
    split = tcverify.replay(a, b, arch="h100", kernel=words, split_k=2)
    nvjet = tcverify.identify(a, b, split, kernel=words).fits
    assert nvjet and {fit.schedule for fit in nvjet} == {words}
    assert all(tcverify.check(a, b, split, **fit.arguments).identical for fit in nvjet)
    with pytest.raises(tcverify.CheckError) as caught:
        tcverify.identify(a, b, d, kernel="gibberish")
    assert caught.value.argument == "kernel"
    assert tcverify.identify(a, b, flipped(d, (3, 4)), schedules="never").fits == ()
    # Formats are looked for where types do not say them, as of files.
    codes = tcverify.identify(a.view(np.uint16), b.view(np.uint16), d, schedules="never")
    assert {fit.arguments["dtype"] for fit in codes.fits} == {"bf16"}
    with pytest.raises(tcverify.CheckError) as caught:
        tcverify.identify(a, b, d, schedules="sometimes")
    assert caught.value.argument == "schedules"


def test_identify_the_kernel_of_weights() -> None:
    rng = np.random.default_rng(7)
    a = rng.standard_normal((4, 512)).astype(np.float16)
    a[:, 256:] = -a[:, :256]
    codes = np.tile(rng.integers(0, 16, (256, 128)), (2, 1)).astype(np.uint8)
    scales = np.tile(rng.uniform(0.01, 0.02, (2, 128)), (2, 1)).astype(np.float16)
    held: dict[str, Any] = {"weights": "u4b8", "scale_b": scales}
    marlin: dict[str, Any] = {"kernel": "marlin-vllm", "multiprocessors": 132}
    d = tcverify.replay(a, codes, arch="h100", **held, **marlin)
    fits = tcverify.identify(a, codes, d, **held).fits
    assert {132} <= {fit.arguments.get("multiprocessors") for fit in fits}
    assert all(tcverify.check(a, codes, d, **held, **fit.arguments).identical for fit in fits[:3])
    wrong = flipped(d, (3, 4))
    assert tcverify.identify(a, codes, wrong, **held).fits == ()
    with pytest.raises(tcverify.CheckError, match="zero_b"):
        tcverify.identify(a, codes, d, weights="u4", scale_b=scales)


def test_commitments(product: Product, tmp_path: Path) -> None:
    a, b, d = product
    commitment = tcverify.commit(a, b, d, arch="h100", block_rows=8)
    opening = tcverify.open(commitment, d, [2, 0])
    assert (opening.rows == np.concatenate([d[:8], d[16:]])).all()
    assert tcverify.verify(commitment, opening) == [(0, range(8)), (2, range(16, 24))]
    commitment.save_json(tmp_path / "c.json")
    assert tcverify.verify(str(tmp_path / "c.json"), opening.proof)[0].block == 0
    wrong = opening.rows.copy()
    wrong[3, 3] += 1
    with pytest.raises(tcverify.NotCommittedError, match="rows of block 0 differ"):
        tcverify.verify(commitment, opening.proof, wrong)
    with pytest.raises(tcverify.NotCommittedError):
        tcverify.open(commitment, flipped(d, (0, 0)), [0])
    with pytest.raises(tcverify.CheckError) as caught:
        tcverify.open(commitment, d, [3])
    assert caught.value.argument == "blocks"
    against = tmp_path / "c.json"
    assert tcverify.check(a, b, d, arch="h100", against=against).document["commitment"]["root"] == commitment.root
    with pytest.raises(tcverify.NotCommittedError) as other:
        tcverify.check(a, b, flipped(d, (0, 0)), arch="h100", against=against)
    assert any("root of D" in one for one in other.value.differences)
    with pytest.raises(tcverify.CheckError):
        tcverify.verify("{}", opening.proof)


def test_batches(product: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, d = product
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    np.save(tmp_path / "d.npy", d)
    np.save(tmp_path / "w.npy", flipped(d, (3, 4)))
    fields = {"arch": "h100", "dtype": "bf16", "a": "a.npy", "b": "b.npy"}
    cases = [
        {"name": "<good>", **fields, "d": "d.npy"},
        {"name": "bad", **fields, "d": "w.npy"},
        {"name": "gone", **fields, "d": "x.npy"},
    ]
    manifest = {"schema": "tcverify.manifest/1", "cases": cases}
    (tmp_path / "m.json").write_text(json.dumps(manifest))
    batch = tcverify.batch(tmp_path / "m.json")
    assert batch.verdict == "unjudged" and not batch.identical
    assert [case.verdict for case in batch.cases] == ["identical", "different", "unjudged"]
    assert batch.cases[1].report is not None and batch.cases[1].report.mismatch_count == 1
    assert batch.cases[2].error is not None and "x.npy" in batch.cases[2].error
    with pytest.raises(tcverify.DifferentError):
        batch.raise_for_difference()
    shown = batch._repr_html_()
    assert "&lt;good&gt;" in shown and "<good>" not in shown and "<script" not in shown
    assert tcverify.batch(tmp_path / "m.json", html=tmp_path / "pages").verdict == "unjudged"
    index = (tmp_path / "pages" / "index.html").read_text()
    assert "&lt;good&gt;" in index and len(list((tmp_path / "pages").iterdir())) >= 3
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    same = tcverify.batch({**manifest, "cases": cases[:1]}, resume="state.json")
    assert same.identical and same.totals["cases"] == 1
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "state.json"])
    with pytest.raises(tcverify.CheckError) as caught:
        tcverify.batch(tmp_path / "none.json")
    assert caught.value.argument == "manifest"


def test_a_policy_says_what_cases_may_ask(product: Product, tmp_path: Path) -> None:
    a, b, d = product
    (tmp_path / "cases").mkdir()
    for name, array in zip("abd", product):
        np.save(tmp_path / "cases" / f"{name}.npy", array)
    case = {"name": "one", "arch": "h100", "dtype": "bf16", "a": "a.npy", "b": "b.npy", "d": "d.npy"}
    whole, part = tmp_path / "cases" / "whole.json", tmp_path / "cases" / "part.json"
    whole.write_text(json.dumps({"schema": "tcverify.manifest/1", "cases": [case]}))
    part.write_text(json.dumps({"schema": "tcverify.manifest/1", "cases": [{**case, "rows": "0..1"}]}))
    batch = tcverify.batch(whole, policy="strict")
    assert batch.identical and batch.document["policy"]["name"] == "strict" and "policy    strict" in batch.text()
    assert "policy" not in tcverify.batch(whole).document
    assert tcverify.batch(part).verdict == "identical_in_part"
    with pytest.raises(tcverify.CheckError, match="rows") as caught:
        tcverify.batch(part, policy="strict")
    assert caught.value.argument == "manifest"
    lenient = {"schema": "tcverify.policy/1", "scope": "part"}
    (tmp_path / "policy.json").write_text(json.dumps(lenient))
    assert tcverify.batch(part, policy=tmp_path / "policy.json").identical
    # Where the author of the cases could have written it, it says nothing.
    (tmp_path / "cases" / "policy.json").write_text(json.dumps(lenient))
    for policy in (tmp_path / "cases" / "policy.json", tmp_path / "none.json"):
        with pytest.raises(tcverify.CheckError) as caught:
            tcverify.batch(part, policy=policy)
        assert caught.value.argument == "policy"
    # The folder of the cases is closed to outputs.
    with pytest.raises(tcverify.CheckError, match="folder of the cases"):
        tcverify.batch(whole, policy="strict", html=tmp_path / "cases" / "pages")


def test_operations_between_products_are_cases(product: Product, tmp_path: Path, run: Any) -> None:
    x = normal(3, (4, 64))
    np.save(tmp_path / "x.npy", x)
    assert run(["replay", "--op", "silu", "--dtype", "bf16", "x.npy", "-o", "y.npy"]).returncode == 0
    y = np.load(tmp_path / "y.npy")
    y.view(np.uint16)[1, 2] ^= 1
    np.save(tmp_path / "w.npy", y)
    fields = {"operation": "silu", "dtype": "bf16", "x": "x.npy"}
    cases = [{"name": "good", **fields, "y": "y.npy"}, {"name": "bad", **fields, "y": "w.npy"}]
    (tmp_path / "m.json").write_text(json.dumps({"schema": "tcverify.manifest/1", "cases": cases}))
    good, bad = tcverify.batch(tmp_path / "m.json").cases
    assert (good.verdict, bad.verdict) == ("identical", "different") and good.report is bad.report is None
    assert bad.document is not None and bad.document["schema"] == "tcverify.report/1"
    assert bad.summary is not None and "1 of 256 elements" in str(bad.summary["sentence"])
    shown = tcverify.batch(tmp_path / "m.json")._repr_html_()
    # Whether its rule is proven is a part of the verdict.
    assert good.summary is not None and str(good.summary["title"]) in shown and "silu" in shown


def test_files_and_generated_operands(product: Product, tmp_path: Path) -> None:
    a, b, d = product
    np.savez(tmp_path / "x.npz", a=a.view(np.uint16), d=d)
    report = tcverify.check(f"{tmp_path}/x.npz#a", b, tmp_path / "x.npz#d", arch="h100", dtype="bf16")
    assert report.identical and report.command is None
    made = tcverify.replay("generate:1:normal:4x32", "generate:2:normal:32x4", arch="h100", dtype="bf16")
    report = tcverify.check(
        "generate:1:normal:4x32", "generate:2:normal:32x4", made.astype(ml_dtypes.bfloat16), arch="h100", dtype="bf16"
    )
    assert report.identical and report.request.fields["a"] == "generate:1:normal:4x32"
