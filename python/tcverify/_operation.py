"""Operations between products: norms, activations, softmax, attention (docs/layers.md)."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tcverify import _arrays, _commands
from tcverify._arrays import ArrayLike
from tcverify._errors import CheckError, DifferentError
from tcverify._report import Verdict

#: What is an option, though its value may be text or a path; other arguments are arrays, by the names of their roles.
_OPTIONS = frozenset(
    "arch variant variant_file dtype engine eps softmax_scale causal layout interleaved group tile output nan zero rows cols region "
    "sample seed seed_from beacon against y_digest max_mismatches block_rows tree causes no_causes part".split()
)


class OperationReport:
    """The report on an operation between products: ``tcverify.report/1``."""

    def __init__(self, text: str, document: dict[str, Any]) -> None:
        self._text = text
        #: The report as data.
        self.document = document

    @property
    def verdict(self) -> Verdict:
        """``identical``, ``identical_in_part`` (all that was compared of a part) or ``different``."""
        verdict: Verdict = self.document["verdict"]
        return verdict

    @property
    def identical(self) -> bool:
        """Whether every element that was compared agrees."""
        return self.verdict != "different"

    def text(self) -> str:
        """As ``tcverify check --op`` prints it, without colours."""
        return self._text

    def raise_for_difference(self) -> None:
        """Does nothing if all that was compared agrees.

        :raises DifferentError: with the text of the report, if something differs.
        """
        if not self.identical:
            raise DifferentError(self.text()).of(self)

    def __bool__(self) -> bool:
        raise TypeError("an OperationReport is neither true nor false: ask for `.identical`, or call `.raise_for_difference()`")

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        rule = self.document["rule"]
        return f"<tcverify.OperationReport: {self.verdict}, {rule['operation']} {rule['variant']}>"


def check_operation(op: str, **arguments: ArrayLike | Any) -> OperationReport:
    """Replays an operation between products, and compares every bit with its captured result.

    Arrays are named by their roles, the result ``y``; other arguments are the options of ``tcverify check --op``.

    >>> import numpy as np
    >>> x, weight = np.ones((2, 256), np.float16), np.ones(256, np.float16)
    >>> y = replay_operation("rms_norm", x=x, weight=weight, eps=1e-6)
    >>> check_operation("rms_norm", x=x, weight=weight, y=y, eps=1e-6).verdict
    'identical'
    """
    with tempfile.TemporaryDirectory(prefix="tcverify-") as own:
        report = Path(own) / "report.json"
        done = _run("check", op, arguments, {"json": report})
        return OperationReport(done.output, json.loads(report.read_text("utf-8")))


def replay_operation(op: str, **arguments: ArrayLike | Any) -> Any:
    """The result of an operation as the GPU's kernel computes it: of the kind that the first array has.

    A result of one byte an element is an array of codes.
    """
    first = next((value for name, value in arguments.items() if name not in _OPTIONS), None)
    with tempfile.TemporaryDirectory(prefix="tcverify-") as own:
        path = Path(own) / "y.npy"
        _run("replay", op, arguments, {"output_file": path})
        found = np.load(path)
    names = {"<V2": "bf16", "<f2": "fp16", "<f4": "fp32", "<f8": "fp64", "<i4": "int32"}
    name = names.get(found.dtype.str.replace("|V2", "<V2"))
    payload = np.frombuffer(found.tobytes(), np.uint8).copy()
    return _arrays.as_user(payload, name or "", found.shape, first, name is None)


def _run(command: str, op: str, arguments: dict[str, Any], own: dict[str, Any]) -> _commands.Done:
    said = {name: value for name, value in arguments.items() if value is not None}
    options = _commands.options({name: value for name, value in said.items() if name in _OPTIONS})
    arrays = {name: value for name, value in said.items() if name not in _OPTIONS}
    for name, value in arrays.items():
        if isinstance(value, (bool, int, float)):
            raise CheckError(name, f"`{name}` is no option that is known here, and {value!r} no array")
    with _commands.files(arrays) as found:
        words = [f"{name}={os.fspath(value)}" for name, value in found.items()]
        try:
            return _commands.command(command, "--op", op, *words, **options, **own)
        except CheckError as error:
            reason = error.reason
            for name, value in found.items():
                # An array in memory is called as the caller calls it.
                if not _arrays.is_named(arrays[name]):
                    reason = reason.replace(os.fspath(value), f"`{name}`")
            raise CheckError(None, reason) from None
