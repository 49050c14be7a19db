"""An audit of a committed product by some rows and columns (docs/audits.md): draw, open, verify.

The prover commits (:func:`tcverify.commit`) and opens what a challenge draws; the auditor, who need not have the arrays,
verifies. Arrays and documents are files, or in memory.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tcverify import _commands
from tcverify._arrays import ArrayLike
from tcverify._documents import Commitment
from tcverify._errors import NotCommittedError

__all__ = ["Audit", "challenge", "open", "sha256", "verify"]

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
        agreed = {"commitment_sha256": commitment_sha256, "beacon": beacon, "elements": elements}
        signed = {"attest": attest, "attest_key": attest_key}
        options = {**found, **agreed, **signed, **_commands.options(fields), "json": "-"}
        done = _commands.command("audit", "verify", opening, quiet=True, **options)
    if not done.output.strip():
        raise _not_committed(done)
    return Audit(done)
