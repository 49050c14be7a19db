"""Products of a run that a seed or a beacon draws: committed, kept, judged."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcverify
from tcverify import CheckError, NotCommittedError, Sample, audit

torch = pytest.importorskip("torch")

from tcverify.torch import capture, simulate  # noqa: E402

BEACON = "8430af44c2b90c8d"


@pytest.fixture(autouse=True)
def tf32() -> Any:
    """Products whose results show every bit of their sums."""
    torch.backends.cuda.matmul.allow_tf32 = True
    yield
    torch.backends.cuda.matmul.allow_tf32 = False


def run(folder: Path, draw: Any, *, flip: int = -1, arch: str = "h100", **more: Any) -> Any:
    """Ten products, of which one may have a wrong bit."""
    torch.manual_seed(1)
    layers = [torch.nn.Linear(64, 64, bias=bool(n % 2)) for n in range(10)]
    x = torch.randn(8, 64)
    with torch.no_grad(), simulate(arch), capture(folder, arch="h100", draw=draw, **more) as captured:
        for n, layer in enumerate(layers):
            if n == flip:
                layer.weight.view(torch.int32)[3, 5] ^= 1 << 20
            layer(x)
    return captured


def test_a_run_is_committed_drawn_and_judged(tmp_path: Path) -> None:
    first = run(tmp_path / "first", Sample(0))
    assert first.products == 0 and first.skipped == {"draw": 10} and first.coverage.multiply_adds["passed"] == 10 * 8 * 64 * 64
    assert not list((tmp_path / "first").glob("shard-*"))
    published = audit.sha256(first.commitments)
    names = audit.draw(first.commitments, beacon=BEACON, products=3)
    assert len(names) == 3 and names == sorted(names)
    assert names != audit.draw(first.commitments, beacon="another", products=3)
    second = run(tmp_path / "second", Sample(3, seed_from=first.commitments, beacon=BEACON))
    assert second.products == 3 and second.commitments.read_bytes() == first.commitments.read_bytes()
    agreed: dict[str, Any] = {"commitments_sha256": published, "beacon": BEACON, "products": 3, "arch": "h100"}
    found = audit.verify_drawn(tmp_path / "second", **agreed)
    assert found.identical and [case.name for case in found.cases] == names and found.verdict == "identical_in_part"
    assert all(len(audit.draw(first.commitments, beacon=BEACON, products=n)) == min(n, 10) for n in (0, 10, 11))
    for other in ({"commitments_sha256": "0" * 64}, {"beacon": "another"}, {"products": 4}):
        with pytest.raises(NotCommittedError):
            audit.verify_drawn(tmp_path / "second", **{**agreed, **other})
    with pytest.raises(CheckError, match="the policy allows only these: a100"):
        audit.verify_drawn(tmp_path / "second", **{**agreed, "arch": "a100"})
    with pytest.raises(CheckError, match="one of them"):
        audit.verify_drawn(tmp_path / "second", **{**agreed, "policy": "strict"})


def test_the_auditors_own_weights_go_before_the_providers(tmp_path: Path) -> None:
    first = run(tmp_path / "first", Sample(0))
    folder = run(tmp_path / "c", Sample(4, seed_from=first.commitments, beacon=BEACON)).directory
    agreed: dict[str, Any] = {"commitments_sha256": audit.sha256(first.commitments), "beacon": BEACON, "products": 4, "arch": "h100"}
    torch.manual_seed(1)
    layers = [torch.nn.Linear(64, 64, bias=bool(n % 2)) for n in range(10)]
    own = {f"{n:05d} *": layer.weight for n, layer in enumerate(layers)}
    assert audit.verify_drawn(folder, b=own, **agreed).identical
    drawn = int(audit.draw(first.commitments, beacon=BEACON, products=4)[2][:5])
    other = layers[drawn].weight.detach().clone()
    other[3, 5] *= 2
    for wrong in (other, layers[drawn].weight.t(), layers[drawn].weight.reshape(32, 128)):
        with pytest.raises(NotCommittedError, match=f"{drawn:05d} Linear .*: B is not the auditor's own"):
            audit.verify_drawn(folder, b={**own, f"{drawn:05d} *": wrong}, **agreed)


def test_the_commitments_are_those_of_the_command_line(tmp_path: Path) -> None:
    captured = run(tmp_path / "c", Sample(10, seed=1))
    cases, listed = (json.loads(path.read_text()) for path in (captured.manifest, captured.commitments))
    assert captured.batch().identical and len(cases["cases"]) == 10
    for case, one in zip(cases["cases"], listed["products"]):
        assert case["name"] == one["name"]
        fields = {name: value for name, value in case.items() if name not in ("name", "a", "b", "d", "against")}
        for name, value in fields.items():
            fields[name] = f"{tmp_path}/c/{value}" if name == "bias" else value
        arrays = [f"{tmp_path}/c/{case[name]}" for name in "abd"]
        text = tcverify.commit(*arrays, **fields).to_json()
        assert hashlib.sha256(text.encode()).hexdigest() == one["commitment_sha256"] == audit.sha256(tmp_path / "c" / case["against"])


def test_a_seed_draws_the_same_again(tmp_path: Path) -> None:
    drawn = [{case["name"] for case in json.loads(run(tmp_path / str(n), Sample(4, seed=seed)).manifest.read_text())["cases"]} for n, seed in enumerate((7, 7, 8))]
    assert drawn[0] == drawn[1] != drawn[2] and len(drawn[0]) == 4
    record = json.loads((tmp_path / "0" / "capture.json").read_text())
    assert record["draw"] == {"products": 4, "seed": 7} and len(record["products"]) == 4
    # Each of the ten is drawn about equally often.
    often = np.zeros(10)
    for seed in range(300):
        from tcverify._draw import Draw

        often[Draw(Sample(4, seed=seed)).of(10)] += 1
    assert often.min() > 80 and often.max() < 160 and often.sum() == 1200
    # Nobody knows the draw before if nobody says a seed.
    assert json.loads((run(tmp_path / "own", Sample(1)).directory / "capture.json").read_text())["draw"]["seed"] > 1 << 20


def test_a_provider_who_computes_otherwise_is_found(tmp_path: Path) -> None:
    first = run(tmp_path / "first", Sample(0), arch="exact")
    drawn = Sample(10, seed_from=first.commitments, beacon=BEACON)
    run(tmp_path / "second", drawn, arch="exact")
    found = audit.verify_drawn(tmp_path / "second", commitments_sha256=audit.sha256(first.commitments), beacon=BEACON, products=10, arch="h100")
    assert not found.identical and found.totals["different"] > 0
    # What is opened is what was committed.
    with pytest.raises(NotCommittedError, match=r"other bits, the first in 00004 Linear mm"):
        run(tmp_path / "third", drawn, arch="exact", flip=4)
    with pytest.raises(NotCommittedError, match="SHA-256"):
        audit.verify_drawn(tmp_path / "third", commitments_sha256=audit.sha256(first.commitments), beacon=BEACON, products=10, arch="h100")


def test_a_forged_folder_proves_nothing(tmp_path: Path) -> None:
    first = run(tmp_path / "first", Sample(0))
    folder = run(tmp_path / "c", Sample(2, seed_from=first.commitments, beacon=BEACON)).directory
    agreed: dict[str, Any] = {"commitments_sha256": audit.sha256(first.commitments), "beacon": BEACON, "products": 2, "arch": "h100"}
    manifest = json.loads((folder / "manifest.json").read_text())
    one, other = manifest["cases"]
    forged: list[list[Any]] = [
        [one],
        [other, one],
        [one, {**one, "name": other["name"]}],
        [one, {key: value for key, value in other.items() if key != "against"}],
        [one, 3],
    ]
    for cases in forged:
        (folder / "manifest.json").write_text(json.dumps({**manifest, "cases": cases}))
        with pytest.raises(NotCommittedError, match="does not have the 2 products"):
            audit.verify_drawn(folder, **agreed)
    # Another product's arrays, under the right name, and a model that is not the auditor's.
    swapped = {**other, **{name: one[name] for name in "abd"}}
    (folder / "manifest.json").write_text(json.dumps({**manifest, "cases": [one, swapped]}))
    assert not audit.verify_drawn(folder, **agreed).identical
    for lie in ({"arch": "exact"}, {"d_digest": "0" * 64}, {"rows": "0..1"}):
        (folder / "manifest.json").write_text(json.dumps({**manifest, "cases": [one, {**other, **lie}]}))
        with pytest.raises(CheckError):
            audit.verify_drawn(folder, **agreed)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert audit.verify_drawn(folder, **agreed).identical
    (folder / other["against"]).write_bytes((folder / one["against"]).read_bytes())
    with pytest.raises(NotCommittedError, match="is not the commitment"):
        audit.verify_drawn(folder, **agreed)


def test_what_is_asked_wrongly(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    for draw, word in [
        (3, "a tcverify.Sample is expected"),
        (Sample(-1), "-1 is less than 0"),
        (Sample(3, beacon="x"), "needs `seed_from`"),
        (Sample(3, seed_from=tmp_path / "run.json"), "needs `beacon`"),
        (Sample(3, seed=1, seed_from=tmp_path / "run.json", beacon="x"), "no `seed`"),
        (Sample(3, seed_from=tmp_path / "run.json", beacon="x"), "is no tcverify.run-commitment/1"),
    ]:
        with pytest.raises(CheckError, match=word):
            capture(tmp_path / "c", arch="h100", draw=draw)
    first = run(tmp_path / "first", Sample(0))
    for beacon in ("", "two words", "x" * 257, "\n"):
        with pytest.raises(CheckError, match="visible ASCII"):
            audit.draw(first.commitments, beacon=beacon, products=3)
    with pytest.raises(FileNotFoundError):
        capture(tmp_path / "c", arch="h100", draw=Sample(3, seed_from=tmp_path / "none.json", beacon="x"))


def test_an_interrupted_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), torch.no_grad(), simulate("h100"), capture(tmp_path / "c", draw=Sample(2, seed=1)) as captured:
        for _ in range(4):
            torch.ones(4, 64).bfloat16() @ torch.randn(64, 4).bfloat16()
        raise ZeroDivisionError
    assert captured.products == 2 and captured.batch().identical
    assert len(json.loads(captured.commitments.read_text())["products"]) == 4
    assert json.loads((tmp_path / "c" / "capture.json").read_text())["stopped"] == "ZeroDivisionError: "
