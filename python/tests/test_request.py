"""A request says what it was given, and its report asks for the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import normal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tcverify
from tcverify import Check, CheckError, _request

A, B = normal(1, (6, 32), np.float16), normal(2, (32, 5), np.float16)
C = normal(3, (6, 5), np.float32)
D = tcverify.replay(A, B, arch="h100")
FILES = {"a": "a.npy", "b": "b.npy", "d": "d.npy"}

numbers = st.integers(0, 1 << 40)
factors = st.one_of(st.just(0.0), st.just(-0.0), st.just(0), st.floats(-4, 4, width=32), st.sampled_from(["inf", "0x00000000"]))
spans = st.one_of(
    st.integers(0, 9),
    st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(10, 19))),
    st.builds(slice, st.integers(0, 9), st.one_of(st.none(), st.integers(10, 19))),
    st.builds(range, st.integers(0, 9), st.integers(10, 19)),
    st.sampled_from(["0..4", "3..", "7"]),
)
#: Values of fields by their kind; zeros are among them.
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int": numbers,
    "float | str": factors,
    "SpanLike": spans,
    "str | tuple[SpanLike, SpanLike]": st.tuples(spans, spans),
}
#: Fields that may stand beside each other in any number.
FREE = {
    name: KINDS[kind]
    for name, kind in _request._KINDS.items()
    if kind in KINDS and name in ("alpha", "max_mismatches", "tree", "no_causes", "no_ambiguity", "transpose_a", "transpose_b")
}


def text(value: Any) -> str:
    """A span as documents have it, said once more."""
    if isinstance(value, str):
        return f"{value}..{int(value) + 1}" if value.isdigit() else value
    if isinstance(value, int):
        return f"{value}..{value + 1}"
    first, end = value if isinstance(value, tuple) else (value.start, value.stop)
    return f"{first}.." if end is None else f"{first}..{end}"


@given(st.fixed_dictionaries({}, optional=FREE), st.sampled_from([None, "rows", "cols", "region"]), spans, spans)
def test_what_is_said_is_what_is_asked(fields: dict[str, Any], part: str | None, rows: Any, cols: Any) -> None:
    # A document leaves out what is so without a word.
    expected = {name: value for name, value in fields.items() if value is not False and (name, value) != ("max_mismatches", 10)}
    if part is not None:
        # Of a part there is no tree.
        fields.pop("tree", None)
        expected.pop("tree", None)
        fields[part] = {"rows": rows, "cols": cols, "region": (rows, cols)}[part]
        expected.update({name: text(span) for name, span in (("rows", rows), ("cols", cols)) if part in (name, "region")})
        # All of D is no part.
        expected = {name: value for name, value in expected.items() if value != "0.."}
    if "alpha" in fields:
        # A factor is an epilogue's.
        fields["schedule"] = expected["schedule"] = "batch-invariant"
        code = {"inf": 0x7F800000, "0x00000000": 0}.get(fields["alpha"]) if isinstance(fields["alpha"], str) else None
        code = np.float32(fields["alpha"]).view(np.uint32) if code is None else code
    check = Check(arch="h100", dtype="fp16", **FILES, **fields)
    said = check.fields
    if "alpha" in fields:
        given, _ = said.pop("alpha"), expected.pop("alpha")
        assert code == (int(given, 16) if isinstance(given, str) else np.float32(given).view(np.uint32))
    assert said == {"arch": "h100", "dtype": "fp16", **FILES, **expected}
    assert Check.from_json(check.to_json()) == check
    assert eval(repr(check), {"Check": Check}) == check
    assert Check(**check.fields) == check


@pytest.mark.parametrize("name", ["beta", "alpha", "rows", "cols", "seed", "max_mismatches", "multiprocessors", "rotation", "scale_result"])
@pytest.mark.parametrize("zero", [0, np.int64(0), np.float32(0), 0.0])
def test_a_zero_says_something(name: str, zero: Any) -> None:
    values = _request.said({name: zero})
    assert values == {name: zero}
    whole = not name.startswith(("alpha", "beta", "scale"))
    if whole and isinstance(zero, (float, np.floating)):
        with pytest.raises(CheckError, match="whole number") as caught:
            _request.plain(name, zero)
        assert caught.value.argument == name
    else:
        assert _request.plain(name, zero) == ("0..1" if name in ("rows", "cols") else 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    wrong = D.copy()
    wrong[4, 3] += 1
    arrays = {"a": A, "b": B, "c": C, "d": D, "wrong": wrong, "square": normal(5, (8, 8), np.float16)}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return folder


PARTS: list[dict[str, Any]] = [
    {"beta": 0.0, "schedule": "batch-invariant", "c": True},
    {"beta": 1, "schedule": "batch-invariant", "c": True},
    {"alpha": 0, "schedule": "batch-invariant"},
    {"rows": 0},
    {"cols": 0},
    {"rows": slice(0, 0 + 1)},
    {"sample": 7, "seed": 0},
    {"sample": 7, "seed": 1},
    {"max_mismatches": 0},
    {"region": (slice(1, 5), 3)},
    {"region": (range(4, 6), (3, None)), "max_mismatches": 0},
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(fields=st.sampled_from(PARTS), wrong=st.booleans())
def test_a_report_asks_for_what_it_reports(folder: Path, fields: dict[str, Any], wrong: bool) -> None:
    fields = {name: str(folder / "c.npy") if name == "c" else value for name, value in fields.items()}
    files = {name: str(folder / f"{name}.npy") for name in "ab"}
    report = tcverify.check(files["a"], files["b"], folder / ("wrong.npy" if wrong else "d.npy"), arch="h100", dtype="fp16", **fields)
    request = report.request
    assert request is not None
    again = request.run()
    assert again == report
    other = Check(arch="h100", dtype="fp16", **files, d=str(folder / ("wrong.npy" if wrong else "d.npy")), **fields)
    assert other.run().document["outcome"] == report.document["outcome"]


def test_a_zero_decides(folder: Path) -> None:
    """Each of these was dropped once, and then another question was answered."""
    files: Any = {name: str(folder / f"{name}.npy") for name in "abc"}
    without_c = {"arch": "h100", "dtype": "fp16", "schedule": "batch-invariant", **files, "d": str(folder / "d.npy")}
    assert Check(**without_c, beta=0.0).run().verdict == "identical"
    assert Check(**without_c, beta=1.0).run().verdict == Check(**without_c).run().verdict == "different"
    files["d"] = str(folder / "wrong.npy")
    del files["c"]
    asked: Any = {"arch": "h100", "dtype": "fp16", **files}
    assert Check(**asked, rows=0).run().verdict == "identical_in_part"
    assert Check(**asked).run().verdict == "different"
    assert len(Check(**asked, max_mismatches=0).run().mismatches) == 0 and len(Check(**asked).run().mismatches) == 1


@pytest.mark.parametrize(
    "region",
    [(slice(0, 2), slice(0, 2), slice(0, 2)), (slice(0, 2),), (), slice(0, 2), 3, "0..2,0..2,0..2", "0..2", (0.5, 1), (True, 1)],
)
def test_a_region_has_two_spans(region: Any, folder: Path) -> None:
    square = normal(5, (8, 8), np.float16)
    for ask in (
        lambda: tcverify.check(square, square, square.astype(np.float32), arch="h100", region=region),
        lambda: Check(arch="h100", dtype="fp16", **FILES, region=region).run(),
    ):
        with pytest.raises(CheckError) as caught:
            ask()
        assert caught.value.argument in ("region", "rows", "cols"), caught.value


@pytest.mark.parametrize(
    ("fields", "argument"),
    [
        ({"rows": True}, "rows"),
        ({"seed": False, "sample": 3}, "seed"),
        ({"beta": True}, "beta"),
        ({"tree": 1}, "tree"),
        ({"tree": "yes"}, "tree"),
        ({"seed": 1.5, "sample": 3}, "seed"),
        ({"seed": -1, "sample": 3}, "seed"),
        ({"split_k": "4"}, "split_k"),
        ({"max_mismatches": None, "schedule": 3}, "schedule"),
        ({"alpha": [1]}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"rows": slice(0, 4, 2)}, "rows"),
        ({"rows": (1, 2, 3)}, "rows"),
        ({"rows": "a..b"}, "rows"),
        ({"a": A}, "a"),
        ({"dtype": "float99"}, "dtype"),
        ({"nan": "maybe"}, "nan"),
        ({"engine": "quantum"}, "engine"),
    ],
)
def test_what_a_field_does_not_take(fields: dict[str, Any], argument: str) -> None:
    with pytest.raises(CheckError) as caught:
        Check(**{"arch": "h100", "dtype": "fp16", **FILES, **fields})
    reason = caught.value.reason
    assert caught.value.argument == argument and argument in reason
    assert not any(word in reason for word in ("usize", "u64", "invalid type", "variant")), reason


def test_a_request_of_a_report_in_memory_names_no_file() -> None:
    report = tcverify.check(A, B, D, arch="h100", rows=0, max_mismatches=0)
    request = report.request
    assert request is not None and request.fields["max_mismatches"] == 0 and request.fields["rows"] == "0..1"
    assert json.loads(report.to_json())["request"]["max_mismatches"] == 0


def test_groups_stand_for_their_fields() -> None:
    order = tcverify.Schedule("batch-invariant", tile_k=16)
    grouped = tcverify.check(A, B, D, arch="h100", order=order, part=tcverify.Region(rows=(0, 2), cols=-1))
    said = tcverify.check(A, B, D, arch="h100", schedule="batch-invariant", tile_k=16, region=((0, 2), -1))
    assert grouped == said and grouped.elements == 2
    sampled = tcverify.check(A, B, D, arch="h100", part=tcverify.Sample(7, seed=0))
    assert sampled == tcverify.check(A, B, D, arch="h100", sample=7, seed=0) and sampled.elements == 7
    assert eval(repr(order), {"Schedule": tcverify.Schedule}) == order
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"order": "batch-invariant"}, "order"),
        ({"part": (0, 2)}, "part"),
        ({"order": order, "tile_k": 32}, "tile_k"),
        ({"part": tcverify.Region(rows=3), "rows": 0}, "rows"),
    ]
    for fields, argument in wrong:
        with pytest.raises(CheckError) as caught:
            tcverify.check(A, B, D, arch="h100", **fields)
        assert caught.value.argument == argument


def test_what_counts_from_the_end_everywhere() -> None:
    last = tcverify.explain(A, B, D, at=(-1, -2), arch="h100")
    assert last.same and last.document["index"] == [5, 3] and repr(last) == "<tcverify.Explanation: D[5, 3], the given D has it>"
    same = tcverify.compare(D, D, rows1=slice(-2, None), rows2=(4, None))
    assert same.equal
    for part in (range(-2, 0), (0, 1, 2)):
        with pytest.raises(CheckError):
            tcverify.compare(D, D, rows1=part)  # type: ignore[arg-type]
    for at in ((-7, 0), (0, -6)):
        with pytest.raises(CheckError, match="out of bounds for size [65]"):
            tcverify.explain(A, B, D, at=at, arch="h100")


def test_what_is_no_array_is_refused_in_a_sentence() -> None:
    masked = np.ma.masked_array(A, A > 0)
    with pytest.raises(CheckError, match="masked array"):
        tcverify.replay(masked, B, arch="h100")
    with pytest.raises(CheckError, match="replay computes D"):
        tcverify.replay(A, B, arch="h100", d=D)  # type: ignore[call-arg]


def test_numbers_of_torch_are_numbers() -> None:
    torch = pytest.importorskip("torch")
    fields = {"alpha": torch.tensor(0.5), "schedule": "batch-invariant", "max_mismatches": torch.tensor(0)}
    assert (tcverify.replay(A, B, arch="h100", alpha=torch.tensor(0.5), schedule="batch-invariant") == D / 2).all()
    assert tcverify.check(A, B, D / 2, arch="h100", **fields).identical
    with pytest.raises(CheckError, match="`meta`"):
        tcverify.replay(torch.empty(2, 3, device="meta"), torch.ones(3, 2), arch="h100", dtype="tf32")


def test_star_imports_leave_python_alone() -> None:
    names: dict[str, Any] = {}
    exec("from tcverify import *", names)
    assert "open" not in names and "check" in names and tcverify.open.__module__ == "tcverify"
    with pytest.raises(tcverify.DifferentError) as caught:
        tcverify.check(A, B, D + 1, arch="h100").raise_for_difference()
    assert type(caught.value).__module__ == "tcverify"


def test_files_that_state_their_format(folder: Path) -> None:
    report = tcverify.check(folder / "a.npy", folder / "b.npy", folder / "d.npy", arch="h100")
    assert report.identical and report.model.a == "fp16"
    with pytest.raises(CheckError, match="dtype") as caught:
        tcverify.check(folder / "d.npy", folder / "b.npy", folder / "d.npy", arch="h100")
    assert caught.value.argument == "dtype"
