#!/usr/bin/env python3
"""Check an opening against a commitment and a challenge, from hashlib alone.

Nothing of tcverify is used: draw, lines, trees and files are implemented again, as docs/audits.md and
docs/commitment-format.md say. Nothing is replayed: it proves whose bytes these are, not that they multiply.

Usage: verify_opening.py C.json CHALLENGE.json OPENING

Exit codes: 0 every line leads to the committed root, 1 something does not, 2 a file cannot be read.
Needs Python 3.8.
"""

import hashlib
import json
import sys

WIDTHS = {
    "fp16": 2, "bf16": 2, "tf32": 4, "xf32": 4, "e4m3": 1, "e5m2": 1, "e4m3fnuz": 1, "e5m2fnuz": 1,
    "e3m2": 1, "e2m3": 1, "e2m1": 1, "fp32": 4, "fp64": 8, "ue8m0": 1, "ue4m3": 1, "int8": 1,
    "uint8": 1, "int4": 1, "uint4": 1, "int32": 4,
}
NAMES = ["a", "b", "c", "scale_a", "scale_b", "bias", "azp", "azp_adj"]
MASK = (1 << 64) - 1


class Wrong(Exception):
    pass


def sha256(*pieces: bytes) -> bytes:
    return hashlib.sha256(b"".join(pieces)).digest()


def product(axes) -> int:
    result = 1
    for axis in axes:
        result *= axis
    return result


def words(seed: int):
    """SplitMix64."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def draw(population: int, count: int, seed: int) -> list:
    """Positions of a sample, ascending."""
    few = count <= population // 2
    wanted = count if few else population - count
    end = (1 << 64) // population * population
    drawn, source = set(), words(seed)
    while len(drawn) < wanted:
        word = next(source)
        if word < end:
            drawn.add(word % population)
    return sorted(drawn) if few else [p for p in range(population) if p not in drawn]


def draw_text(commitment: str, beacon: str) -> bytes:
    return f"tcverify.draw/1\ncommitment={commitment}\nbeacon={beacon}\n".encode()


def path_length(at: int, size: int) -> int:
    length = 0
    while size > 1:
        length += at % 2 == 1 or at + 1 < size
        at, size = at // 2, (size + 1) // 2
    return length


def climb(leaf: bytes, at: int, size: int, path: list) -> bytes:
    """The root that RFC 6962's audit path leads to."""
    path = list(path)
    while size > 1:
        if at % 2 == 1:
            leaf = sha256(b"\1", path.pop(0), leaf)
        elif at + 1 < size:
            leaf = sha256(b"\1", leaf, path.pop(0))
        at, size = at // 2, (size + 1) // 2
    return leaf


def bound(header: str, tree: bytes) -> str:
    return sha256(b"\3", sha256(b"\2", header.encode()), tree).hex()


class Cut:
    """An array cut into lines: how many, their bytes, and the committed root."""

    def __init__(self, name: str, committed: dict):
        self.name, self.root = name, committed["root"]
        shape, width = committed["shape"], WIDTHS[committed["format"]]
        axes = ",".join(map(str, shape))
        if name == "d":
            self.block_rows, rows = committed["block_rows"], product(shape[:-1])
            self.count = -(-rows // self.block_rows)
            self.rows, self.row = rows, shape[-1] * width
            self.header = (f"tcverify.commitment/1\nformat={committed['format']}\nshape={axes}\n"
                           f"block_rows={self.block_rows}\n")
            return
        lines = committed["lines"]
        if lines == "whole":
            self.count, self.length, self.per_matrix = 1, product(shape), 0
        else:
            rows, columns = shape[-2:]
            self.per_matrix, self.length = (rows, columns) if lines == "rows" else (columns, rows)
            self.count = product(shape[:-2]) * self.per_matrix
        self.width = width
        self.header = (f"tcverify.commitment/1\noperand={name}\nformat={committed['format']}\nshape={axes}\n"
                       f"lines={lines}\n")

    def line(self, batch: int, row: int, column: int, m: int) -> int:
        if self.name == "d":
            return (batch * m + row) // self.block_rows
        inner = column if self.name in ("b", "scale_b") else row
        # One B may belong to all matrices of A.
        return (batch * self.per_matrix + inner) % self.count if self.per_matrix else 0

    def bytes(self, line: int) -> int:
        if self.name == "d":
            return min(self.block_rows, self.rows - line * self.block_rows) * self.row
        return self.length * self.width


def verify(commitment_bytes: bytes, challenge: dict, opening: bytes) -> list:
    commitment = json.loads(commitment_bytes)
    if commitment["schema"] != "tcverify.commitment/1":
        raise Wrong("the commitment is not a tcverify.commitment/1")
    digest = hashlib.sha256(commitment_bytes).hexdigest()
    if challenge["commitment_sha256"] != digest:
        raise Wrong("the challenge is to another commitment")
    p = commitment["product"]
    m, n = p["m"], p["n"]
    population, count = product(p["batch"]) * m * n, len(challenge["elements"])
    hashed = sha256(draw_text(digest, challenge["beacon"]))
    if challenge["draw_sha256"] != hashed.hex() or challenge["population"] != population:
        raise Wrong("the challenge is not that of commitment and beacon")
    positions = draw(population, count, int.from_bytes(hashed[:8], "big"))
    elements = [[at // (m * n), at // n % m, at % n] for at in positions]
    if elements != challenge["elements"]:
        raise Wrong("the elements are not those that commitment and beacon draw")
    inputs = commitment["inputs"]
    cuts = [Cut(name, inputs[name]) for name in NAMES if inputs.get(name)]
    cuts.append(Cut("d", commitment["d"]))
    opened = [sorted({cut.line(*element, m) for element in elements}) for cut in cuts]
    said = [{"array": cut.name, "lines": lines} for cut, lines in zip(cuts, opened)]
    if said != challenge["opened"]:
        raise Wrong("the lines are not those of the elements")

    names = opening.split(b"\n", 5)[4].decode().partition("=")[2].split(",")
    head = (f"tcverify.opening/1\ncommitment={digest}\nbeacon={challenge['beacon']}\nelements={count}\n"
            f"arrays={','.join(names)}\n\n").encode()
    if not opening.startswith(head):
        raise Wrong("the head is not that of an opening of this challenge")
    if names != [cut.name for cut in cuts if cut.name in names] or "d" not in names:
        raise Wrong("the arrays are not those of the commitment")
    at = len(head)
    for cut, lines in zip(cuts, opened):
        if cut.name not in names:
            continue
        for line in lines:
            payload = opening[at : at + cut.bytes(line)]
            at += cut.bytes(line)
            steps = path_length(line, cut.count)
            path = [opening[at + 32 * i : at + 32 * i + 32] for i in range(steps)]
            at += 32 * steps
            tree = climb(sha256(b"\0", payload), line, cut.count, path)
            if bound(cut.header, tree) != cut.root:
                raise Wrong(f"line {line} of {cut.name} does not lead to the committed root")
    if at != len(opening):
        raise Wrong("the opening is longer or shorter than its lines")
    return names


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        commitment, challenge, opening = (open(path, "rb").read() for path in sys.argv[1:])
        names = verify(commitment, json.loads(challenge), opening)
    except Wrong as wrong:
        print(f"proves nothing: {wrong}")
        return 1
    except Exception as error:  # whatever a file may hold: it is no answer
        print(f"error: {error!r}", file=sys.stderr)
        return 2
    print(f"every line of {', '.join(names)} leads to the committed root")
    return 0


if __name__ == "__main__":
    sys.exit(main())
