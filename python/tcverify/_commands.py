"""Commands on files, in this process, with the words that they have on a command line."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tcverify import _arrays, _tcverify
from tcverify._documents import Commitment
from tcverify._errors import CheckError
from tcverify._groups import GROUPS
from tcverify._request import known, plain, said


class Done(NamedTuple):
    """How a command ended, and what it wrote."""

    #: 0; or 1, if something differs or proves nothing.
    exit_code: int
    output: str
    #: What it said beside.
    notes: str

    @property
    def document(self) -> Any:
        """The output as data, of a command that wrote JSON."""
        return json.loads(self.output)


def command(*words: str | os.PathLike[str], **options: Any) -> Done:
    """A command of ``tcverify``, with its words and options: ``split_k=4`` for ``--split-k 4``, ``quiet=True`` for ``--quiet``.

    A list gives an option several times. Paths start at the working directory. Output and errors are not printed.

    :raises CheckError: if it ends with neither 0 nor 1, with what it said.

    >>> command("schedules", json=True).document[0]["name"]
    'plain'
    """
    line = [os.fspath(word) for word in words]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                line.append(option)
            elif one is not None and one is not False:
                line.append(f"{option}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    code, output, notes = _tcverify.command(line)
    if code not in (0, 1):
        raise CheckError(None, notes.removeprefix("error: ").strip() or f"the command ended with {code}")
    return Done(code, output.decode("utf-8", "replace"), notes)


@contextmanager
def files(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same with a file in place of each array, document and commitment that is in memory."""
    with tempfile.TemporaryDirectory(prefix="tcverify-") as folder:
        yield {name: _file(Path(folder), name, value) for name, value in values.items()}


def _file(folder: Path, name: str, value: Any) -> Any:
    if value is None or _arrays.is_named(value):
        return value
    path = folder / f"{name}.{'json' if isinstance(value, (Commitment, Mapping)) else 'npy'}"
    if isinstance(value, Commitment):
        value.save_json(path)
    elif isinstance(value, Mapping):
        path.write_text(json.dumps(dict(value)), "utf-8")
    else:
        array, descr = _arrays.held(name, value)
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {array.shape}, }}"
        header += " " * (-(len(header) + 11) % 64) + "\n"
        start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
        path.write_bytes(start + header.encode("latin-1") + array.tobytes())
    return path


def options(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request as options of a command; what is none is an option of the command's own."""
    names = {*_tcverify.field_names(), *GROUPS, "causes"}
    own = {name: value for name, value in fields.items() if name not in names}
    request = said(known({name: value for name, value in fields.items() if name in names}))
    return {**own, **{name: plain(name, value) for name, value in request.items()}}


def schedules() -> list[dict[str, Any]]:
    """The schedules that ``schedule`` can name: ``tcverify schedules --json``.

    >>> "cublas-workspace-f32" in [one["name"] for one in schedules()]
    True
    """
    found: list[dict[str, Any]] = command("schedules", json=True).document
    return found


def ops() -> list[dict[str, Any]]:
    """The operations between products, and their variants: ``tcverify ops --json``."""
    found: list[dict[str, Any]] = command("ops", json=True).document
    return found


def verify_report(report: Any, *, policy: str | os.PathLike[str] | None = None) -> Done:
    """Repeats the check of somebody else's report (a file, or its text) and compares every field.

    ``exit_code`` is 0 if all of it is confirmed, and 1 if something is not so, which ``output`` says.
    """
    if isinstance(report, str) and report.lstrip().startswith("{"):
        report = json.loads(report)
    with files({"report": report}) as found:
        return command("verify-report", found["report"], policy=policy)
