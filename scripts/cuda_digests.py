#!/usr/bin/env python3
"""Checks published digests of an H100's products with tcverify: no file of operands is needed.

    scripts/cuda_digests.py [--program target/release/tcverify] [--family random] [--rows 31] [--output dw]

Each line of tests/fixtures/cuda-digests/digests.txt is a product. Without options all of them run, which takes minutes: most of
them generate 77 million numbers, and a dw has as many elements.
"""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SMS, K, N = 132, 14336, 5376


def growth(elements: int) -> int:
    """What one call of randn adds to the generator's offset."""
    threads = 256 * min(-(-elements // 256), SMS * 8)
    return 4 * -(-elements // (4 * threads))


def operands(family: str, rows: int) -> dict:
    """x, w and dy as tcverify writes them."""
    x, of_w = growth(rows * K), growth(N * K)
    up = x + of_w
    dy = up + (x if family == "swiglu_like" else 0)
    steps = {"swiglu_like": f":silu-times-{up}", "cancellation": ":pairs-negated"}.get(family, "")
    plus = ":pairs-plus-3727c5ac" if family == "cancellation" else ""
    randn = "generate:torch-cuda-randn:420"
    return {
        "x": f"{randn}:0:{SMS}:{rows}x{K}{steps}",
        "w": f"{randn}:{x}:{SMS}:{N}x{K}:times-3c08d677{plus}",
        "dy": f"{randn}:{dy}:{SMS}:{rows}x{N}:times-3dcccccd",
    }


def command(family: str, rows: int, output: str, digest: str) -> list:
    made = operands(family, rows)
    a, b, turned = {
        "y": ("x", "w", ["--transpose-b"]),
        "dx": ("dy", "w", []),
        "dw": ("dy", "x", ["--transpose-a"]),
    }[output]
    fixed = ["check", "--arch", "hopper", "--dtype", "bf16", "--d-dtype", "bf16", "--d-digest", digest]
    return fixed + turned + [made[a], made[b]]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--program", default=ROOT / "target/release/tcverify")
    options.add_argument("--family")
    options.add_argument("--rows", type=int)
    options.add_argument("--output")
    chosen = options.parse_args()
    lines = (ROOT / "tests/fixtures/cuda-digests/digests.txt").read_text().splitlines()
    failed = ran = 0
    for line in lines:
        family, rows, output, digest = line.split()
        wanted = zip([chosen.family, chosen.rows, chosen.output], [family, int(rows), output])
        if any(option not in (None, value) for option, value in wanted):
            continue
        run = subprocess.run([chosen.program, *command(family, int(rows), output, digest)], capture_output=True, text=True)
        ran += 1
        failed += run.returncode != 0
        print(f"{'identical' if run.returncode == 0 else 'DIFFERENT'}  {family} {rows} {output}", flush=True)
        if run.returncode > 1:
            print(run.stderr, file=sys.stderr)
    print(f"{ran - failed} of {ran} digests are identical")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
