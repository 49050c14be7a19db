#!/usr/bin/env python3
"""Test vectors for docs/commitment-format.md and docs/audits.md, from hashlib alone.

Nothing of tcverify is used: hashes follow the definitions of RFC 6962, section 2.1, as they are written
there, by recursion.

Usage: commitment_vectors.py > tests/fixtures/commitment/vectors.json
"""

import hashlib
import json
import sys

sys.dont_write_bytecode = True

from verify_opening import draw, draw_text


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def split(n: int) -> int:
    """The largest power of two below n."""
    return 1 << (n - 1).bit_length() - 1


def root(payloads: list) -> bytes:
    if len(payloads) == 1:
        return sha256(b"\0" + payloads[0])
    k = split(len(payloads))
    return sha256(b"\1" + root(payloads[:k]) + root(payloads[k:]))


def path(m: int, payloads: list) -> list:
    if len(payloads) == 1:
        return []
    k = split(len(payloads))
    if m < k:
        return path(m, payloads[:k]) + [root(payloads[k:])]
    return path(m - k, payloads[k:]) + [root(payloads[:k])]


def committed(format_name: str, shape: list, block_rows: int, payload: bytes) -> dict:
    """What a commitment says of a D with this canonical payload."""
    rows = 1
    for axis in shape[:-1]:
        rows *= axis
    width = len(payload) // rows
    size = block_rows * width
    blocks = [payload[i : i + size] for i in range(0, len(payload), size)]
    axes = ",".join(str(axis) for axis in shape)
    header = f"tcverify.commitment/1\nformat={format_name}\nshape={axes}\nblock_rows={block_rows}\n"
    tree = root(blocks)
    return {
        "format": format_name,
        "shape": shape,
        "block_rows": block_rows,
        "payload": payload.hex(),
        "leaves": [sha256(b"\0" + block).hex() for block in blocks],
        "tree": tree.hex(),
        "header": sha256(b"\2" + header.encode()).hex(),
        "root": sha256(b"\3" + sha256(b"\2" + header.encode()) + tree).hex(),
    }


def lined(operand: str, format_name: str, shape: list, lines: str, width: int) -> dict:
    """What a commitment says of an input with the bytes 0, 1, 2, ... as its canonical payload."""
    count = 1
    for axis in shape:
        count *= axis
    payload = bytes(i % 256 for i in range(count * width))
    codes = [payload[i : i + width] for i in range(0, len(payload), width)]
    rows, columns = shape[-2:] if len(shape) > 1 else (1, count)
    matrices = [codes[i : i + rows * columns] for i in range(0, count, rows * columns)]
    if lines == "rows":
        cut = [m[r * columns : (r + 1) * columns] for m in matrices for r in range(rows)]
    elif lines == "columns":
        cut = [m[c::columns] for m in matrices for c in range(columns)]
    else:
        cut = [codes]
    tree = root([b"".join(line) for line in cut])
    axes = ",".join(str(axis) for axis in shape)
    header = f"tcverify.commitment/1\noperand={operand}\nformat={format_name}\nshape={axes}\nlines={lines}\n"
    return {
        "operand": operand,
        "format": format_name,
        "shape": shape,
        "lines": lines,
        "payload": payload.hex(),
        "tree": tree.hex(),
        "root": sha256(b"\3" + sha256(b"\2" + header.encode()) + tree).hex(),
    }


def drawn(commitment: str, beacon: str, shape: list, count: int) -> dict:
    """Elements of a D of this shape that a commitment and a beacon draw."""
    digest = sha256(draw_text(commitment, beacon))
    seed = int.from_bytes(digest[:8], "big")
    batches, rows, columns = shape
    positions = draw(batches * rows * columns, count, seed)
    return {
        "commitment_sha256": commitment,
        "beacon": beacon,
        "draw_sha256": digest.hex(),
        "seed": f"{seed:016x}",
        "shape": shape,
        "elements": [[p // (rows * columns), p // columns % rows, p % columns] for p in positions],
    }


def main():
    # Leaves as in the test suites of Certificate Transparency.
    leaves = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657",
              "606162636465666768696a6b6c6d6e6f"]
    leaves = [bytes.fromhex(leaf) for leaf in leaves] + [b"ninth"]
    trees = [
        {
            "leaves": [leaf.hex() for leaf in leaves[:n]],
            "root": root(leaves[:n]).hex(),
            "paths": [[step.hex() for step in path(m, leaves[:n])] for m in range(n)],
        }
        for n in range(1, len(leaves) + 1)
    ]
    payload = bytes(range(48))
    committed_d = [
        committed("fp32", [6, 2], 4, payload),
        committed("fp32", [3, 2, 2], 4, payload),
        committed("fp32", [6, 2], 1, payload),
        committed("fp32", [6, 2], 100, payload),
        committed("bf16", [6, 4], 4, payload),
    ]
    lines = [
        lined("a", "fp16", [3, 4], "rows", 2),
        lined("a", "fp16", [3, 4], "columns", 2),
        lined("b", "bf16", [2, 5, 3], "columns", 2),
        lined("b", "e4m3", [70, 67], "columns", 1),
        lined("b", "e4m3", [67, 70], "rows", 1),
        lined("c", "fp32", [2, 1, 3, 2], "rows", 4),
        lined("scale_a", "fp64", [2, 3], "columns", 8),
        lined("bias", "fp32", [7], "whole", 4),
    ]
    draws = [
        drawn("00" * 32, "1", [1, 5, 4], 3),
        drawn("00" * 32, "2", [1, 5, 4], 3),
        drawn("ff" * 32, "1b35a8b2c45e9ba4", [2, 16, 9], 40),
        drawn("ff" * 32, "1b35a8b2c45e9ba4", [2, 16, 9], 200),
        drawn("ab" * 32, "~", [1, 16384, 53248], 10),
    ]
    document = {"trees": trees, "d": committed_d, "lines": lines, "draws": draws}
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
