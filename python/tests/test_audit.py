"""Commands of the command line from Python: both sides of an audit, and reports of others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import normal

import tcverify
from tcverify import CheckError, audit

A, B = normal(1, (24, 96)), normal(2, (96, 40))
D = tcverify.replay(A, B, arch="h100")
RULE: dict[str, Any] = {"arch": "h100", "dtype": ml_dtypes.bfloat16}
BEACON = "8430af44c2b90c8d"


def opened(d: Any, folder: Path, **more: Any) -> tuple[Any, Path]:
    """What a prover publishes, and sends."""
    commitment = tcverify.commit(A, B, d, arch="h100")
    drawn = audit.challenge(commitment, beacon=BEACON, elements=60)
    assert len(drawn["elements"]) == 60 and drawn["commitment_sha256"] == audit.sha256(commitment)
    path = audit.open(A, B, d, commitment=commitment, challenge=drawn, output=folder / "opening.bin", **RULE, **more)
    return commitment, path


def test_both_sides_of_an_audit(tmp_path: Path) -> None:
    commitment, path = opened(D, tmp_path, without=["b"])
    commitment.save_json(tmp_path / "c.json")
    agreed: dict[str, Any] = {"commitment_sha256": audit.sha256(tmp_path / "c.json"), "beacon": BEACON, "elements": 60}
    found = audit.verify(path, commitment=tmp_path / "c.json", b=B, **agreed, **RULE)
    assert found.identical and found.document["verdict"] == "identical_in_part" and found.document["elements"] == 60
    assert "identical_in_part" in repr(found)
    with pytest.raises(TypeError, match="identical"):
        bool(found)
    # Other words of the auditor's prove nothing, and another B is none that was committed.
    wrong: list[dict[str, Any]] = [
        {"commitment_sha256": "0" * 64},
        {"beacon": "another"},
        {"elements": 59},
        {"arch": "a100"},
        {"b": B[:, ::-1]},
    ]
    for other in wrong:
        with pytest.raises((tcverify.NotCommittedError, CheckError)):
            audit.verify(path, **{"commitment": commitment, "b": B, **agreed, **RULE, **other})


def test_a_wrong_d_is_found(tmp_path: Path) -> None:
    wrong = D + np.float32(1)
    commitment, path = opened(wrong, tmp_path)
    found = audit.verify(path, commitment=commitment, commitment_sha256=audit.sha256(commitment), beacon=BEACON, elements=60, **RULE)
    assert not found.identical and found.document["mismatches"] == 60
    with pytest.raises((CheckError, tcverify.NotCommittedError)):
        # What was committed is what is opened.
        audit.open(A, B, D, commitment=commitment, challenge=audit.challenge(commitment, beacon=BEACON, elements=3), output=tmp_path / "o", **RULE)


def test_a_report_of_somebody_else(tmp_path: Path) -> None:
    for name, array in {"a": A, "b": B, "d": D}.items():
        np.save(tmp_path / f"{name}.npy", array.view(np.uint16) if name != "d" else array)
    report = tcverify.check(*(tmp_path / f"{name}.npy" for name in "abd"), arch="h100", dtype="bf16")
    report.save_json(tmp_path / "report.json")
    assert tcverify.verify_report(tmp_path / "report.json").exit_code == 0
    forged = report.to_json().replace(report.model.sha256, "0" * 64)
    done = tcverify.verify_report(forged)
    assert done.exit_code == 1 and "sha256" in done.output + done.notes


def test_what_there_is() -> None:
    assert {one["name"] for one in tcverify.schedules()} >= {"plain", "cublas-workspace-f32", "deepgemm-sm90"}
    assert {one["operation"] for one in tcverify.ops() if "operation" in one} or tcverify.ops()
    done = tcverify.command("archs")
    assert done.exit_code == 0 and "hopper" in done.output
    with pytest.raises(CheckError, match="similar subcommand"):
        tcverify.command("explain-it", "no-such")
    with pytest.raises(CheckError, match="no_such_file|no-such-file|No such file|does not exist"):
        tcverify.command("inspect", "no-such-file.npy")


def test_what_else_the_command_line_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same words: generated operands, parts for several machines, signed verdicts, a log of commitments."""
    monkeypatch.chdir(tmp_path)
    for key in ("key", "other"):
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", f"{key}.pem"], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", f"{key}.pem", "-pubout", "-out", f"{key}.pub.pem"], check=True)
    for role, shape in {"a": "32x64", "b": "64x16"}.items():
        tcverify.command("generate", f"generate:7:normal:{shape}", dtype="bf16", role=role, quiet=True, output=f"{role}.npy")
    d = tcverify.replay("a.npy", "b.npy", arch="h100", dtype="bf16")
    np.save("d.npy", d)
    rule: dict[str, Any] = {"arch": "h100", "dtype": "bf16"}
    # The arrays that a seed gives are those of the file; the architecture may be found.
    assert tcverify.check("generate:7:normal:32x64", "generate:7:normal:64x16", d, **rule).identical
    found = tcverify.command("check", "a.npy", "b.npy", "d.npy", arch="auto", dtype="bf16", json="-")
    assert tcverify.Report.from_json(found.output).identical
    by_arrays = tcverify.check("a.npy", "b.npy", d, arch="auto", dtype="bf16")
    assert by_arrays.identical and by_arrays.document["rule"]["chosen"] == found.document["rule"]["chosen"]
    tcverify.command("shard", "plan", "a.npy", "b.npy", "d.npy", shards=2, block_rows=16, signer="key.pub.pem", output="plan.json", **rule)
    for part in range(2):
        done = tcverify.command("shard", "run", "plan.json", str(part), sign="key.pem", output=f"part{part}.json")
        assert done.exit_code == 0
    merged = tcverify.command("shard", "merge", "plan.json", "part0.json", "part1.json")
    assert merged.exit_code == 0 and merged.output.startswith("IDENTICAL")
    with pytest.raises(CheckError):
        # A part is missing.
        tcverify.command("shard", "merge", "plan.json", "part1.json")
    signed = tcverify.command("check", "a.npy", "b.npy", "d.npy", attest="d.att.json", attest_key="key.pem", **rule)
    assert signed.exit_code == 0 and tcverify.command("attest", "verify", "d.att.json", "d.npy", key="key.pub.pem").exit_code == 0
    for wrong in ({"key": "other.pub.pem"}, {"key": "key.pub.pem", "file": "a.npy"}):
        named = wrong.pop("file", "d.npy")
        try:
            assert tcverify.command("attest", "verify", "d.att.json", named, **wrong).exit_code == 1
        except CheckError as error:
            assert error.reason
    log: dict[str, Any] = {"log_key": "key.pem", "log": "log.txt", "checkpoint": "example.com/log", "proof": "c.proof"}
    tcverify.command("commit", "a.npy", "b.npy", "d.npy", output="c.json", **log, **rule)
    np.save("e.npy", d + np.float32(1))
    tcverify.command("commit", "a.npy", "b.npy", "e.npy", output="e.json", **{**log, "proof": "e.proof"}, **rule)
    tcverify.command("log", "checkpoint", "log.txt", log_key="key.pem", output="checkpoint")
    assert tcverify.command("log", "prove", "log.txt", "c.json", checkpoint="checkpoint").output


def test_commands_leave_the_process_alone() -> None:
    script = """
import sys, numpy as np, tcverify
from tcverify import _tcverify
a = np.ones((16, 16), np.float16)
d = tcverify.replay(a, a, arch="h100")
assert "plain" in tcverify.command("schedules").output
assert tcverify.check(a, a, d, arch="h100").identical
for _ in range(2):
    assert _tcverify.main(["tcverify", "archs"]) == 0
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and "cublas-workspace" not in done.stdout and done.stdout.count("hopper ") >= 2, done.stderr


def test_arrays_become_files_as_they_are(tmp_path: Path) -> None:
    from tcverify import _commands

    arrays = {"a": A, "t": A.T, "f": D, "e": normal(3, (4, 4), ml_dtypes.float8_e4m3fn), "s": np.float32(3)}
    with _commands.files({**arrays, "c": {"x": 1}, "path": "p.npy", "none": None}) as found:
        for name, array in arrays.items():
            array = np.asarray(array)
            assert tcverify.digest(found[name]) == tcverify.digest(array), name
        assert json.loads(Path(found["c"]).read_text()) == {"x": 1} and found["path"] == "p.npy" and found["none"] is None
    assert not Path(found["a"]).exists()
