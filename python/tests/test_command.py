"""The package and the command give the same bytes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import ROOT, WIDE, Array, normal
from hypothesis import given, settings
from hypothesis import strategies as st

import tcverify

TYPES: list[tuple[str, Any, list[str]]] = [
    ("fp16", np.float16, ["v100", "a100", "h100"]),
    ("bf16", ml_dtypes.bfloat16, ["a100", "h100", "mi300x"]),
    ("e4m3", ml_dtypes.float8_e4m3fn, ["h100", "rtx4090"]),
    ("fp64", np.float64, ["a100"]),
    ("int8", np.int8, ["h100"]),
]


def test_the_version_is_one(run: Any) -> None:
    assert run(["--version"]).stdout == f"tcverify {tcverify.__version__}\n"
    manifest = (ROOT / "Cargo.toml").read_text()
    assert f'[workspace.package]\nversion = "{tcverify.__version__}"' in manifest


def test_the_command_is_the_whole_program(run: Any, product: tuple[Array, Array, Array], tmp_path: Path) -> None:
    for name, array in zip("abd", product):
        np.save(tmp_path / f"{name}.npy", array)
    words = ["check", "--arch", "h100", "--dtype", "bf16", "a.npy", "b.npy", "d.npy"]
    assert run(words).returncode == 0 and run(words).stdout.startswith("IDENTICAL")
    wrong = run([*words[:2], "a100", *words[3:]])
    assert wrong.returncode == 1 and wrong.stdout.startswith("DIFFERENT")
    bad = run([*words[:2], "h101", *words[3:]])
    assert bad.returncode == 2 and bad.stderr.startswith('error: there is no architecture or GPU called "h101"')
    usage = run(["check"])
    assert usage.returncode == 2 and "Usage: tcverify check" in usage.stderr
    assert "Replay a product" in run(["check", "--help"]).stdout


def named(document: dict[str, Any]) -> dict[str, Any]:
    """A report without the names of its arrays."""
    for entry in document["inputs"].values():
        if entry is not None:
            entry["path"] = ""
    for name in ("a", "b", "c", "d"):
        document["request"].pop(name, None)
    for cause in document["causes"]:
        cause["command"] = None
    return {**document, "command": None}


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_reports_have_the_same_bytes(command: str, data: st.DataObject) -> None:
    format, dtype, archs = data.draw(st.sampled_from(TYPES))
    arch = data.draw(st.sampled_from(archs))
    batch, (m, k, n) = data.draw(st.sampled_from([(), (2,)])), data.draw(st.tuples(*[st.integers(1, 40)] * 3))
    turn_a, turn_b = data.draw(st.booleans()), data.draw(st.booleans())
    seed = data.draw(st.integers(0, 1 << 16))
    a, b = ((4 * normal(seed + i, (*batch, *shape), np.float64)).astype(dtype) for i, shape in enumerate([(m, k), (k, n)]))
    d = tcverify.replay(a, b, arch=arch)
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, d.size - 1))
        d.reshape(-1).view(f"u{d.itemsize}")[at] ^= 1
    stored_a = np.ascontiguousarray(np.swapaxes(a, -1, -2)) if turn_a else a
    stored_b = np.ascontiguousarray(np.swapaxes(b, -1, -2)) if turn_b else b
    extra: dict[str, Any] = data.draw(
        st.sampled_from([{}, {"max_mismatches": 3}, {"no_causes": True}, {"rows": "0..1"}, {"sample": 1, "seed": 5}])
    )
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, array in (("a", stored_a), ("b", stored_b), ("d", d)):
            paths.append(f"{folder}/{name}.npy")
            # ml_dtypes' own types are saved as codes.
            np.save(paths[-1], array.view("u1") if format == "e4m3" and name != "d" else array)
        words = [command, "check", "--arch", arch, "--dtype", format, "--json", "-", *paths]
        words += ["--transpose-a"] * turn_a + ["--transpose-b"] * turn_b
        for name, value in extra.items():
            words += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
        said = subprocess.run(words, capture_output=True, text=True)
        assert said.returncode in (0, 1), said.stderr
        of_files = tcverify.check(
            *paths, arch=arch, dtype=format, transpose_a=turn_a, transpose_b=turn_b, **extra
        )
        assert of_files.to_json() == said.stdout
        assert tcverify.Report.from_json(said.stdout).to_json() == said.stdout
        again = of_files.request.run()
        assert again.to_json() == said.stdout
        plain = subprocess.run([*words[:6], *words[8:]], capture_output=True, text=True, env=WIDE)
        # The command names the next one, too.
        lines = [line for line in plain.stdout.splitlines() if not line.startswith("  next ")]
        assert lines == of_files.text().splitlines()
    of_arrays = tcverify.check(
        stored_a, stored_b, d, arch=arch, dtype=format, transpose_a=turn_a, transpose_b=turn_b, **extra
    )
    assert named(of_arrays.document) == named(json.loads(said.stdout))
    views = tcverify.check(a, b, d, arch=arch, **extra)
    assert (views.verdict, views.mismatch_count) == (of_files.verdict, of_files.mismatch_count)


def test_replays_and_commitments_have_the_same_bytes(
    run: Any, product: tuple[Array, Array, Array], tmp_path: Path
) -> None:
    a, b, d = product
    for name, array in zip("abd", product):
        np.save(tmp_path / f"{name}.npy", array)
    options = ["--arch", "h100", "--dtype", "bf16", "a.npy", "b.npy"]
    assert run(["replay", *options, "-o", "r.npy"]).returncode == 0
    assert (np.load(tmp_path / "r.npy").view(np.uint32) == d.view(np.uint32)).all()
    committed = run(["commit", *options, "d.npy", "--block-rows", "8"]).stdout
    commitment = tcverify.commit(a, b, d, arch="h100", block_rows=8)
    assert commitment.to_json() == committed
    (tmp_path / "c.json").write_text(committed)
    words = ["commit", "prove", "--commitment", "c.json", "--blocks", "1", "d.npy", "-o", "p.json"]
    assert run(words).returncode == 0
    assert tcverify.open(commitment, d, [1]).proof == (tmp_path / "p.json").read_text()
    explained = run(["explain", *options, "--at", "3,4", "--json"]).stdout
    assert tcverify.explain(a, b, arch="h100", at=(3, 4)).to_json() == explained
    found = run(["identify", "a.npy", "b.npy", "d.npy", "--json", "-"]).stdout
    assert tcverify.identify(tmp_path / "a.npy", tmp_path / "b.npy", tmp_path / "d.npy").fits
    document = json.loads(found)
    assert tcverify.identify(a, b, d).document["fits"] == document["fits"]


def test_batches_have_the_same_bytes(run: Any, product: tuple[Array, Array, Array], tmp_path: Path) -> None:
    for name, array in zip("abd", product):
        np.save(tmp_path / f"{name}.npy", array)
    case = {"name": "one", "arch": "h100", "dtype": "bf16", "a": "a.npy", "b": "b.npy", "d": "d.npy"}
    manifest = tmp_path / "m.json"
    manifest.write_text(json.dumps({"schema": "tcverify.manifest/1", "cases": [case, {**case, "name": "2", "arch": "a100"}]}))
    said = run(["batch", str(manifest), "--json", "-"])
    batch = tcverify.batch(manifest)
    assert (said.returncode, said.stdout) == (1, batch.to_json())
    assert run(["batch", str(manifest)]).stdout == batch.text()


@pytest.mark.parametrize("words", [["no-such-command"], ["check", "--arch"], ["archs", "no-such"]])
def test_usage_errors_are_two(run: Any, words: list[str]) -> None:
    said = run(words)
    assert said.returncode == 2 and said.stderr and not said.stdout


def test_the_module_for_nodes(tmp_path: Path, run: Any) -> None:
    file = Path(tcverify.__file__).parent / "screen.py"
    assert (ROOT / "scripts/screen/tcverify_screen.py").read_bytes() == file.read_bytes()

    def screen(suite: str) -> subprocess.CompletedProcess[str]:
        words = (sys.executable, "-m", "tcverify.screen", suite, "-o", "results.json")
        return subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)

    assert run(["screen", "make", "--arch", "v100", "-o", "suite.json", "--quiet"]).returncode == 0
    text = (tmp_path / "suite.json").read_text()
    (tmp_path / "edited.json").write_text(text.replace('"k":16', '"k":32', 1))
    (tmp_path / "cut.json").write_text(text[:1000])
    for name, words in (("none", "No such file"), ("edited", "was edited"), ("cut", "cut short")):
        said = screen(f"{name}.json")
        assert said.returncode == 2 and words in said.stderr and said.stderr.count("\n") == 1, said
    assert not (tmp_path / "results.json").exists()
