"""What the package does, each a few lines around the library."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tcverify import _arrays, _tcverify
from tcverify._arrays import ArrayLike
from tcverify._batch import Batch
from tcverify._documents import Commitment, Explanation, Identification, Opening, Plan, Proven
from tcverify._errors import CheckError
from tcverify._progress import Progress, listener
from tcverify._report import Report
from tcverify._request import SEARCHED, CheckFields, choice, divided, from_end, integer, known, plain, truth

if TYPE_CHECKING:
    from typing_extensions import Unpack


def check(
    a: ArrayLike,
    b: ArrayLike,
    d: ArrayLike | None = None,
    *,
    arch: str | None = None,
    progress: Progress | None = None,
    **fields: Unpack[CheckFields],
) -> Report:
    """Replays ``a @ b`` as the tensor core of ``arch`` computes it and compares every bit with ``d``.

    Arrays are NumPy's (of ml_dtypes, too), torch's, anything with ``__dlpack__`` or a buffer, or text: the path of
    a file, ``generate:SEED:CLASS:SHAPE``. Formats come from their types; ``dtype`` says what a type cannot (float32:
    ``"tf32"`` or ``"fp32"``). The other arguments are the fields of a request (docs/request.md).

    A D that differs is a report, not an exception; :meth:`Report.raise_for_difference` makes it one. With ``arch="auto"`` the
    first model that gives ``d`` is searched, as :func:`identify` does, and the report says so.

    :raises NoModelError: if ``arch`` is ``"auto"`` and no model gives ``d``.

    >>> import numpy as np
    >>> one, tiny = np.float16(1), np.float16(2**-12)
    >>> a, b = np.array([[one, tiny]]), np.array([[one], [tiny]])
    >>> check(a, b, np.array([[1]], np.float32), arch="h100", instruction="mma").verdict
    'identical'
    """
    text, arrays, *_ = divided({"arch": arch, "a": a, "b": b, "d": d, **fields})
    return Report(_tcverify.check(text, arrays, listener(progress)))


def replay(
    a: ArrayLike,
    b: ArrayLike,
    *,
    arch: str | None = None,
    codes: bool = False,
    progress: Progress | None = None,
    **fields: Unpack[CheckFields],
) -> Any:
    """D as the tensor core of ``arch`` computes it: a tensor if ``a`` is one, else an array of NumPy.

    ``d_dtype`` is its format, the accumulator's without. With ``codes`` it is an array of unsigned integers. Of vectors and
    leading axes D has the shape that ``a @ b`` has in NumPy.

    >>> import numpy as np
    >>> a = np.ones((2, 3), np.float16)
    >>> replay(a, a.T, arch="h100")
    array([[3., 3.],
           [3., 3.]], dtype=float32)
    """
    if "d" in fields:
        raise CheckError("d", "`d`: replay computes D; `check` compares one with it")
    text, arrays, lost, *_ = divided({"arch": arch, "a": a, "b": b, **fields})
    payload, format, shape = _tcverify.replay(text, arrays, listener(progress))
    kept = [n for axis, n in enumerate(shape, -len(shape)) if axis not in lost]
    return _arrays.as_user(payload, format, kept, a, codes)


def explain(
    a: ArrayLike,
    b: ArrayLike,
    d: ArrayLike | None = None,
    *,
    at: Sequence[int],
    arch: str | None = None,
    all_steps: bool = False,
    **fields: Unpack[CheckFields],
) -> Explanation:
    """How the element ``at`` of D comes about, step by step; with ``d`` also what would give that D."""
    text, arrays, lost, sizes, batch = divided({"arch": arch, "a": a, "b": b, "d": d, **fields})
    axes = [n for axis, n in enumerate((*batch, *sizes), -len(batch) - 2) if axis not in lost]
    index = indices("at", at, axes)
    for axis in reversed(lost):
        index.insert(len(index) + 1 + axis, 0)
    shown, document, same = _tcverify.explain(text, arrays, index, truth("all_steps", all_steps))
    return Explanation(shown, document, same)


def identify(
    a: ArrayLike,
    b: ArrayLike,
    d: ArrayLike,
    *,
    c: ArrayLike | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    weights: str | None = None,
    zero_b: ArrayLike | None = None,
    dtype: Any = None,
    dtype_b: Any = None,
    d_dtype: Any = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    kernel: str | None = None,
    scale_result: float | str | None = None,
    schedules: str = "auto",
    sample: int = 1024,
    seed: int = 1,
    budget: int = 500,
    quick: bool = False,
    progress: Progress | None = None,
) -> Identification:
    """Which models and schedules of the catalogue give ``d``.

    ``kernel`` is what a library says of its kernel: it stands, and what it leaves open is searched, nothing else.
    ``scale_result`` is what FP8 results were multiplied with. With ``weights`` ``b`` holds codes, ``scale_b`` scales of groups of k,
    and ``zero_b`` zero points. ``budget`` is in millions of multiply-adds; what was not
    searched for want of it is said. In commands arrays in memory are called ``a.npy``, ``b.npy`` and so on.
    """
    sample, seed = integer("sample", sample, least=1), integer("seed", seed)
    budget = integer("budget", budget, most=(1 << 64) // 1_000_000 - 1)
    text, arrays, *_ = divided(
        {
            "a": a,
            "b": b,
            "d": d,
            "c": c,
            "scale_a": scale_a,
            "scale_b": scale_b,
            "bias": bias,
            "weights": weights,
            "zero_b": zero_b,
            "dtype": dtype,
            "dtype_b": dtype_b,
            "d_dtype": d_dtype,
            "transpose_a": transpose_a,
            "transpose_b": transpose_b,
            "kernel": kernel,
            "scale_result": scale_result,
        }
    )
    found = _tcverify.identify(
        text, arrays, choice("schedules", schedules, SEARCHED), sample, seed, budget * 1_000_000, truth("quick", quick), listener(progress)
    )
    return Identification(*found, kernel)


def plan(
    a: ArrayLike | tuple[int, ...],
    b: ArrayLike | tuple[int, ...],
    *,
    arch: str | None = None,
    **fields: Unpack[CheckFields],
) -> Plan:
    """By which model and schedule ``a @ b`` would be judged, and how well those are known. Nothing is computed.

    Arrays may be shapes: tuples of numbers, with ``dtype``.

    >>> found = plan((4096, 8192), (8192, 4096), arch="h100", dtype="bf16")
    >>> found.model.instruction, found.model.evidence, found.schedule
    ('wgmma', 'captured', None)
    """
    text, arrays, *_ = divided({"arch": arch, "a": a, "b": b, **fields}, shapes=True)
    return Plan(*_tcverify.plan(text, arrays))


class Arch(NamedTuple):
    """An architecture that products can be judged by."""

    name: str
    title: str
    #: Other names of it, as ``sm_90``.
    also: tuple[str, ...]
    #: Products that contain it.
    gpus: tuple[str, ...]


def archs() -> tuple[Arch, ...]:
    """What ``arch`` can be: any of these names.

    >>> "hopper" in [arch.name for arch in archs()]
    True
    """
    return tuple(Arch(name, title, tuple(also), tuple(gpus)) for name, title, also, gpus in _tcverify.archs())


def digest(array: ArrayLike, dtype: Any = None) -> str:
    """The SHA-256 of an array's canonical payload (codes in C order, little-endian), as ``d_digest`` takes it.

    >>> import numpy as np
    >>> digest(np.array([[1, 2]], np.float16))[:16]
    '6b60ada811679b7b'
    """
    from tcverify._request import plain

    name = None if dtype is None else plain("dtype", dtype)
    if _arrays.is_named(array):
        return _tcverify.digest(array, name)
    return _tcverify.digest(_arrays.held("array", array), name)


def commit(
    a: ArrayLike,
    b: ArrayLike,
    d: ArrayLike,
    *,
    arch: str | None = None,
    **fields: Unpack[CheckFields],
) -> Commitment:
    """Fixes a product by digests, D by a Merkle tree over blocks of ``block_rows`` rows. Nothing is replayed."""
    # Of a check it says how the tree of a report is cut, and needs one.
    block_rows = fields.get("block_rows")
    if block_rows is not None:
        block_rows = integer("block_rows", block_rows, least=1)
    values = {name: value for name, value in fields.items() if name != "block_rows"}
    text, arrays, *_ = divided({"arch": arch, "a": a, "b": b, "d": d, **values})
    return Commitment(_tcverify.commit(text, arrays, block_rows))


def open(commitment: Commitment | str | os.PathLike[str], d: ArrayLike, blocks: Sequence[int] | slice | int, *, codes: bool = False) -> Opening:
    """A proof that some blocks of rows (their numbers, a slice of them, or one) are those of the committed D, and these rows."""
    operand = d if _arrays.is_named(d) else _arrays.held("d", d)
    text = _text("commitment", commitment)
    numbers = _blocks(text, blocks)
    proof, (payload, format, shape) = _tcverify.open(text, operand, numbers)
    return Opening(proof, _arrays.as_user(payload, format, shape, d, codes))


def verify(
    commitment: Commitment | str | os.PathLike[str],
    proof: Opening | str | os.PathLike[str],
    rows: ArrayLike | None = None,
) -> list[Proven]:
    """The blocks that a proof shows to be those of the committed D, with their rows if they are given.

    :raises NotCommittedError: if it proves nothing.
    """
    if isinstance(proof, Opening):
        rows = proof.rows if rows is None else rows
        proof = proof.proof
    operand = rows if rows is None or _arrays.is_named(rows) else _arrays.held("rows", rows)
    proven = _tcverify.verify(_text("commitment", commitment), _text("proof", proof), operand)
    return [Proven(block, range(first, end)) for block, first, end in proven]


def batch(
    manifest: str | os.PathLike[str] | Mapping[str, Any],
    *,
    policy: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    html: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Batch:
    """Judges all cases of a manifest (a file, or the object in it: paths are relative to the working directory
    then), or of a folder of case folders.

    ``policy`` says what cases of others may ask: ``"strict"``, or a file (docs/policy.md). ``resume`` is the file of a
    state, from which an interrupted batch goes on; ``html`` a folder for an index of all cases and a page for each.
    """
    if isinstance(manifest, Mapping):
        text = json.dumps(_written(manifest))
        handle, path = tempfile.mkstemp(dir=".", prefix=".tcverify-", suffix=".json")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            return batch(path, policy=policy, resume=resume, html=html, progress=progress)
        except CheckError as error:
            raise CheckError(error.argument, error.reason.replace(path, "the manifest").replace(os.path.basename(path), "the manifest")) from None
        finally:
            os.unlink(path)
    return Batch(_tcverify.batch(manifest, policy, resume, html, listener(progress)))


def _written(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest as JSON has it: fields may have the values that arguments have."""

    def fields(where: str, case: Any) -> Any:
        if not isinstance(case, Mapping):
            raise CheckError("manifest", f"the manifest: {where}: an object of fields is expected, not {case!r}")
        if "operation" in case:
            return case
        names = _tcverify.field_names()
        try:
            said = known({name: value for name, value in case.items() if name in names})
            said = {name: None if value is None else plain(name, value) for name, value in said.items()}
        except CheckError as error:
            raise CheckError(error.argument, f"the manifest: {where}: {error.reason}") from None
        return {name: said.get(name, value) for name, value in case.items()}

    document = dict(manifest)
    cases = document.get("cases")
    if not isinstance(cases, (list, tuple)) and "cases" in document:
        raise CheckError("manifest", f"the manifest: `cases`: a list of cases is expected, not {cases!r}")
    if "defaults" in document:
        document["defaults"] = fields("`defaults`", document["defaults"])
    if cases is not None:
        named = [(n, one, one.get("name") if isinstance(one, Mapping) else one) for n, one in enumerate(cases, 1)]
        document["cases"] = [fields(f"case {n} ({name})", one) for n, one, name in named]
    try:
        json.dumps(document)
    except (TypeError, ValueError) as error:
        raise CheckError("manifest", f"the manifest: {error}") from None
    return document


def _blocks(commitment: str, blocks: Any) -> list[int]:
    """Numbers of blocks of a commitment: a list, a slice or a range of them, or one."""
    count = None
    try:
        d = json.loads(commitment)["d"]
        count = -(-math.prod(d["shape"][:-1]) // d["block_rows"])
    except (ValueError, LookupError, TypeError, ZeroDivisionError):
        # The library says what is wrong with it.
        pass
    if isinstance(blocks, slice):
        blocks = range(count or 0)[blocks]
    numbers = indices("blocks", [blocks] if hasattr(blocks, "__index__") and not getattr(blocks, "shape", ()) else blocks)
    if not numbers:
        raise CheckError("blocks", "`blocks` selects none; at least one is expected")
    return [from_end("blocks", number, count) for number in numbers]


def indices(argument: str, values: Any, lengths: Sequence[int | None] = ()) -> list[int]:
    """Numbers of this argument, counted from 0, or of these lengths from the end."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise CheckError(argument, f"`{argument}`: a list of numbers is expected, not {values!r}")
    numbers = [integer(argument, value, least=-(1 << 63), most=(1 << 63) - 1) for value in values]
    if not lengths:
        return numbers
    if len(numbers) != len(lengths) and None not in lengths:
        many = "many" if len(numbers) > len(lengths) else "few"
        raise CheckError(argument, f"`{argument}`: too {many} indices: D has {len(lengths)} axes, but {len(numbers)} were indexed")
    found = lengths if len(lengths) == len(numbers) else [None] * len(numbers)
    return [from_end(argument, number, length) for number, length in zip(numbers, found)]


def _text(argument: str, document: Commitment | str | os.PathLike[str]) -> str:
    """A document's text; of a path, the file's."""
    if isinstance(document, Commitment):
        return document.to_json()
    if isinstance(document, str) and document.lstrip().startswith("{"):
        return document
    if not _arrays.is_named(document):
        kind = type(document).__name__
        raise CheckError(argument, f"`{argument}` is of type {kind}; a document, its text, or its file is expected")
    try:
        return Path(document).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckError(argument, f"`{argument}`: {os.fspath(document)} cannot be read: {error}") from None
