#!/usr/bin/env python3
"""Counts the faults that suites find, and writes the tables of docs/screening-coverage.md, in some twenty minutes on two cores.

    cargo build --release
    benches/coverage.py [--quick]     --quick: one small suite, and the page stays as it is

The numbers are the same on every machine. Files lie in --out (target/coverage). Standard library only.
"""

import argparse
import collections
import re
import subprocess
import sys
from pathlib import Path

from measure import ROOT, table, write

PAGE = ROOT / "docs" / "screening-coverage.md"
PLACES = ["operand", "product", "aligner", "adder", "rounding"]
OTHERS = ["volta", "turing", "ampere", "ada", "cdna1", "cdna2", "cdna3"]
# All bits of these would take hours.
LARGE = ["blackwell", "rtx-blackwell"]
KINDS = ["stuck", "inverted", "several", "zero", "published"]
ROW = re.compile(r"  (\w+) +(\d+) of +(\d+) +[\d.]+ %   (.*)")


class Coverage:
    def __init__(self, binary, out):
        self.binary, self.out = binary.resolve(), out.resolve()
        self.out.mkdir(parents=True, exist_ok=True)

    def of(self, arch, suite="quick", **options):
        """Of each unit and place: found, injected, and found by each family alone."""
        name = f"{arch}-{suite}.json"
        if not (self.out / name).exists():
            self.run("screen", "make", "--arch", arch, "--suite", suite, "-o", name, "--quiet")
        words = [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
        text = self.run("screen", "coverage", name, *words)
        rows, unit = [], None
        for line in text.splitlines()[1:]:
            if row := ROW.match(line):
                place, found, injected, families = row.groups()
                families = dict(one.rsplit(" ", 1) for one in families.split(", "))
                rows.append((unit, place, int(found), int(injected), {key: int(n) for key, n in families.items()}))
            elif line and not line.startswith(" "):
                unit = line
        if len(rows) < 5:
            sys.exit(f"{name}: no table was read from\n{text}")
        return rows

    def run(self, *words):
        done = subprocess.run([self.binary, *words], cwd=self.out, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
        return done.stdout


def group(unit):
    if unit.startswith("ffma ") or "fp64" in unit:
        return "chain of multiply-adds"
    return "tensor core, to FP16" if unit.endswith("-> fp16") else "tensor core, to FP32 or INT32"


def share(rows, digits=1):
    found, injected = (sum(row[column] for row in rows) for column in (2, 3))
    if not injected:
        return ""
    # Only all of them are 100 %.
    return "100 %" if found == injected else f"{min(100 * found / injected, 100 - 10**-digits):.{digits}f} %"


def every_bit(suites):
    """All bits of an H100, by place and kind of unit."""
    quick = suites["quick"]
    rows = []
    for place in PLACES:
        groups = list(dict.fromkeys(group(row[0]) for row in quick if row[1] == place))
        groups.sort(key=lambda name: ["tensor core, to FP32 or INT32", "tensor core, to FP16", "chain of multiply-adds"].index(name))
        for name in groups if place != "rounding" else ["all"]:
            fits = lambda row: row[1] == place and name in (group(row[0]), "all")  # noqa: B023, E731
            injected = sum(row[3] for row in quick if fits(row))
            rows.append([place, name, f"{injected:,}", *(share([r for r in suite if fits(r)], 2) for suite in suites.values())])
    rows.append(["all", "", f"{sum(row[3] for row in quick):,}", *(share(suite, 2) for suite in suites.values())])
    return table(["place", "unit", "bits injected", *(f"`{name}`" for name in suites)], rows)


def by_family(rows):
    found, injected = collections.Counter(), collections.Counter()
    for _, place, _, count, families in rows:
        injected[place] += count
        for family, number in families.items():
            found[family, place] += number
    names = dict.fromkeys(family for family, _ in found)
    cells = [[f"`{name}`", *(f"{100 * found[name, place] / injected[place]:.1f} %" for place in PLACES)] for name in names]
    return table(["family", *PLACES], cells)


def in_a_row(names, all_rows, first):
    cells = []
    for name, rows in zip(names, all_rows):
        places = (share([row for row in rows if row[1] == place]) for place in PLACES)
        cells.append([name, f"{sum(row[3] for row in rows):,}", *places, share(rows)])
    return table([*first, *PLACES, "all"], cells)


def by_suite(suites):
    cells = []
    for place in PLACES:
        here = [[row for row in rows if row[1] == place] for rows in suites.values()]
        cells.append([place, f"{sum(row[3] for row in here[0]):,}", *map(share, here)])
    return table(["place", "faults injected", *(f"`{name}`" for name in suites)], cells)


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--binary", type=Path, default=ROOT / "target/release/tcverify")
    words.add_argument("--out", type=Path, default=ROOT / "target/coverage")
    words.add_argument("--page", type=Path, default=PAGE)
    words.add_argument("--quick", action="store_true", help="one small suite; the page stays as it is")
    words = words.parse_args()
    coverage = Coverage(words.binary, words.out)
    everything = 1_000_000
    if words.quick:
        print(in_a_row(["`volta`"], [coverage.of("volta", faults=everything)], ["suite", "bits injected"]))
        return
    names = ["quick", "standard", "thorough"]
    suites = {name: coverage.of("hopper", name, faults=everything) for name in names}
    rare = {name: coverage.of("hopper", name, faults=60, one_in=1000) for name in names}
    others = [*(coverage.of(arch, faults=everything) for arch in OTHERS), *(coverage.of(arch, faults=200) for arch in LARGE)]
    kinds = [coverage.of("hopper", kind=kind, faults=everything if kind == "zero" else 40) for kind in KINDS]
    kinds.append(coverage.of("hopper", kind="published", faults=40, one_in=1000))
    tables = {
        "bits": every_bit(suites),
        "families": by_family(suites["quick"]),
        "architectures": in_a_row([f"`{name}`" for name in OTHERS + LARGE], others, ["suite", "bits injected"]),
        "rare": by_suite(rare),
        "kinds": in_a_row([*(f"`{kind}`" for kind in KINDS), "`published`, in one of a thousand steps"], kinds, ["kind", "faults injected"]),
    }
    page = words.page.read_text()
    for name, text in tables.items():
        page = write(page, name, text, "coverage.py")
    words.page.write_text(page)


if __name__ == "__main__":
    main()
