#!/usr/bin/env python3
"""Test vectors for docs/commitment-format.md, from hashlib alone.

Nothing of tcverify is used: hashes follow the definitions of RFC 6962, section 2.1, as they are written
there, by recursion.

Usage: commitment_vectors.py > tests/fixtures/commitment/vectors.json
"""

import hashlib
import json


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
    print(json.dumps({"trees": trees, "d": committed_d}, indent=1))


if __name__ == "__main__":
    main()
