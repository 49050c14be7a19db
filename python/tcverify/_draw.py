"""Which products of a run are drawn, by a number or a beacon; and what fixes them all before."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tcverify._errors import CheckError
from tcverify._groups import Sample
from tcverify._request import integer

#: The file that fixes all products of a run by the digests of their commitments.
RUN, SCHEMA = "commitments.json", "tcverify.run-commitment/1"


class Draw:
    """So many products of a run: those whose hashes are smallest, however many there are."""

    def __init__(self, sample: Sample) -> None:
        if not isinstance(sample, Sample):
            raise CheckError("draw", f"`draw`: a tcverify.Sample is expected, not {sample!r}")
        self.products = integer("sample", sample.sample)
        #: The list of a former run, which this one must repeat.
        self.former: list[dict[str, Any]] | None = None
        self.seed: int | None = None
        if sample.seed_from is None:
            if sample.beacon is not None:
                raise CheckError("beacon", "`beacon` needs `seed_from`, the commitments of a run that was before it")
            self.seed = secrets.randbits(64) if sample.seed is None else integer("seed", sample.seed)
            said = f"tcverify.draw/1\nseed={self.seed}\n"
        else:
            if sample.beacon is None or sample.seed is not None:
                raise CheckError("beacon", "`seed_from` needs `beacon`, a public value that came after it, and no `seed`")
            data = Path(sample.seed_from).read_bytes()
            self.former = listed(data, sample.seed_from)
            said = by_beacon(data, sample.beacon)
        self._text = hashlib.sha256(said.encode()).hexdigest()

    def rank(self, number: int) -> str:
        """By which products are drawn: the smallest first."""
        return hashlib.sha256(f"{self._text}\n{number}\n".encode()).hexdigest()

    def of(self, count: int) -> list[int]:
        """The numbers of the products that are drawn of so many."""
        return sorted(sorted(range(count), key=self.rank)[: self.products])


def by_beacon(run: bytes, beacon: str) -> str:
    """The text whose hash decides the draw (docs/audits.md)."""
    if not (1 <= len(beacon) <= 256 and all("!" <= one <= "~" for one in beacon)):
        raise CheckError("beacon", "`beacon`: 1 to 256 visible ASCII characters are expected")
    return f"tcverify.draw/1\ncommitment={hashlib.sha256(run).hexdigest()}\nbeacon={beacon}\n"


def written(products: Sequence[dict[str, Any]]) -> str:
    """The file of a run: the same products give the same bytes."""
    return json.dumps({"schema": SCHEMA, "products": list(products)}, indent=1) + "\n"


def listed(data: bytes, path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The products that a run's file names.

    :raises CheckError: if it is none.
    """
    try:
        document = json.loads(data)
        products: list[dict[str, Any]] = document["products"]
        if document["schema"] == SCHEMA and all(set(one) == {"name", "commitment_sha256"} for one in products):
            return products
    except (ValueError, LookupError, TypeError):
        pass
    raise CheckError("seed_from", f"{os.fspath(path)} is no {SCHEMA}: `capture(draw=...)` writes {RUN}")
