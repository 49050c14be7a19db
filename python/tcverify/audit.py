"""An audit of a committed product by some rows and columns, or of a run by some products (docs/audits.md): draw, open, verify.

The prover commits (:func:`tcverify.commit`) and opens what a challenge draws; the auditor, who need not have the arrays,
verifies. Arrays and documents are files, or in memory. Of a run ``capture(draw=...)`` commits and opens, :func:`draw`
says what is drawn, and :func:`verify_drawn` judges it.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tcverify import _arrays, _commands, _draw, _functions
from tcverify._arrays import ArrayLike
from tcverify._batch import Batch
from tcverify._documents import Commitment
from tcverify._errors import CheckError, NotCommittedError
from tcverify._groups import Sample
from tcverify._request import integer

__all__ = ["Audit", "challenge", "draw", "open", "sha256", "verify", "verify_drawn"]

#: Arrays that stand beside A, B and D.
_BESIDE = ("c", "scale_a", "scale_b", "sparse_a", "bias", "azp", "azp_adj")


class Audit:
    """What an audit found: ``tcverify.audit/1``."""

    def __init__(self, done: _commands.Done) -> None:
        #: The audit as data.
        self.document: dict[str, Any] = done.document
        #: Whether every opened element is reproduced, and the opening proves what it says.
        self.identical = done.exit_code == 0

    def __str__(self) -> str:
        return json.dumps(self.document, indent=2)

    def __bool__(self) -> bool:
        raise TypeError("an Audit is neither true nor false: ask for `.identical`")

    def __repr__(self) -> str:
        return f"<tcverify.audit.Audit: {self.document.get('verdict', 'no verdict')}>"


def sha256(commitment: Commitment | str | os.PathLike[str]) -> str:
    """The SHA-256 of a commitment's file, to be published before the beacon is known."""
    data = commitment.to_json().encode() if isinstance(commitment, Commitment) else Path(commitment).read_bytes()
    return hashlib.sha256(data).hexdigest()


def challenge(commitment: Commitment | str | os.PathLike[str], *, beacon: str, elements: int) -> dict[str, Any]:
    """Draws elements of a committed D by a public value that nobody could know when the commitment was published."""
    elements = integer("elements", elements, least=1)
    with _commands.files({"commitment": commitment}) as found:
        done = _commands.command("audit", "challenge", found["commitment"], beacon=beacon, elements=elements)
    drawn: dict[str, Any] = done.document
    return drawn


def open(
    a: ArrayLike,
    b: ArrayLike,
    d: ArrayLike,
    *,
    commitment: Commitment | str | os.PathLike[str],
    challenge: dict[str, Any] | str | os.PathLike[str],
    output: str | os.PathLike[str],
    without: Sequence[str] = (),
    **fields: Any,
) -> Path:
    """Writes the rows and columns that a challenge names, with proofs; ``without`` names arrays that the auditor has.

    :raises NotCommittedError: if these are not the arrays that were committed.
    """
    beside = {name: fields.pop(name) for name in _BESIDE if name in fields}
    arrays = {"a": a, "b": b, "d": d, **beside}
    with _commands.files({"commitment": commitment, "challenge": challenge, **arrays}) as found:
        given = {name: found[name] for name in ("commitment", "challenge", *beside)}
        options = {**given, **_commands.options(fields), "without": ",".join(without) or None, "output": output}
        done = _commands.command("audit", "open", *(found[name] for name in "abd"), quiet=True, **options)
    if done.exit_code:
        raise _not_committed(done)
    return Path(output)


def _not_committed(done: _commands.Done) -> NotCommittedError:
    reason = done.notes.strip()
    return NotCommittedError(reason, [reason])


def verify(
    opening: str | os.PathLike[str],
    *,
    commitment: Commitment | str | os.PathLike[str],
    commitment_sha256: str | None = None,
    beacon: str | None = None,
    elements: int | None = None,
    own_challenge: dict[str, Any] | str | os.PathLike[str] | None = None,
    a: ArrayLike | None = None,
    b: ArrayLike | None = None,
    attest: str | os.PathLike[str] | None = None,
    attest_key: str | os.PathLike[str] | None = None,
    **fields: Any,
) -> Audit:
    """Checks the proofs of an opening and replays its elements, by the auditor's own words.

    ``commitment_sha256``, ``beacon`` and ``elements`` come from where they were published, not from the prover. ``a`` and ``b`` are
    the auditor's own copies of what was not sent. Other arguments are options of ``tcverify audit verify``.

    :raises NotCommittedError: if the opening proves nothing.
    """
    beside = {name: fields.pop(name) for name in _BESIDE if name in fields}
    documents = {"commitment": commitment, "own_challenge": own_challenge}
    with _commands.files({**documents, "a": a, "b": b, **beside}) as found:
        drawn = None if elements is None else integer("elements", elements, least=1)
        agreed = {"commitment_sha256": commitment_sha256, "beacon": beacon, "elements": drawn}
        signed = {"attest": attest, "attest_key": attest_key}
        options = {**found, **agreed, **signed, **_commands.options(fields), "json": "-"}
        done = _commands.command("audit", "verify", opening, quiet=True, **options)
    if not done.output.strip():
        raise _not_committed(done)
    return Audit(done)


def draw(commitments: str | os.PathLike[str], *, beacon: str, products: int) -> list[str]:
    """The products of a run that a public value draws, by name: ``commitments`` is the file that ``capture(draw=...)`` wrote."""
    drawn = _draw.Draw(Sample(products, seed_from=commitments, beacon=beacon))
    listed = drawn.former or []
    return [listed[number]["name"] for number in drawn.of(len(listed))]


def verify_drawn(
    directory: str | os.PathLike[str],
    *,
    commitments_sha256: str,
    beacon: str,
    products: int,
    arch: str | Sequence[str] | None = None,
    policy: str | os.PathLike[str] | None = None,
    b: Mapping[str, ArrayLike] | None = None,
) -> Batch:
    """Judges the drawn products of a run, in the folder of the capture that kept them.

    ``commitments_sha256``, ``beacon`` and ``products`` come from where they were published. ``arch`` names the architectures that may
    judge (FP32 products without TF32 need ``ieee-fma``), under the policy ``strict``; or ``policy`` is the auditor's own file.
    ``b`` has the auditor's own copies of B, as they are stored, by patterns of products' names: ``{"* layers.3.up *": weight}``.

    :raises NotCommittedError: if the folder is not of the committed run, other products than the drawn ones are in it, or a B is
        not the auditor's.
    """
    if (arch is None) == (policy is None):
        raise CheckError("arch", "`arch` or `policy` says by which models the auditor judges: one of them")
    folder = Path(directory)
    data = (folder / _draw.RUN).read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != commitments_sha256:
        raise _not_of_run(f"{_draw.RUN} has the SHA-256 {found}, not {commitments_sha256}, which was published")
    listed = _draw.listed(data, folder / _draw.RUN)
    drawn = _draw.Draw(Sample(products, seed_from=folder / _draw.RUN, beacon=beacon)).of(len(listed))
    cases = json.loads((folder / "manifest.json").read_text("utf-8")).get("cases")
    cases = [one for one in cases if isinstance(one, dict)] if isinstance(cases, list) else []
    expected = [(listed[number]["name"], f"commitment-{number:05d}.json") for number in drawn]
    if [(one.get("name"), one.get("against")) for one in cases if "operation" not in one] != expected:
        raise _not_of_run(f"manifest.json does not have the {len(drawn)} products that are drawn, each against its commitment")
    for number, (_, path) in zip(drawn, expected):
        if sha256(folder / path) != listed[number]["commitment_sha256"]:
            raise _not_of_run(f"{path} is not the commitment that {_draw.RUN} names")
    for case, (name, path) in zip((one for one in cases if "operation" not in one), expected):
        for array in (array for pattern, array in (b or {}).items() if fnmatch.fnmatchcase(name, pattern)):
            shape = json.loads((folder / path).read_bytes())["inputs"]["b"]["shape"]
            stored = str(folder / str(case.get("b")))
            if shape != list(_arrays.held("b", array)[0].shape) or _functions.digest(stored) != _functions.digest(array):
                raise _not_of_run(f"{name}: B is not the auditor's own")
    with tempfile.TemporaryDirectory(prefix="tcverify-") as own:
        if policy is None:
            names = [arch] if isinstance(arch, str) else list(arch or ())
            policy = Path(own) / "policy.json"
            policy.write_text(json.dumps({"schema": "tcverify.policy/1", "models": {"architectures": names}}), "utf-8")
        return _functions.batch(folder / "manifest.json", policy=policy)


def _not_of_run(reason: str) -> NotCommittedError:
    return NotCommittedError(reason, [reason])
