#!/usr/bin/env python3
"""Measures every number of docs/performance.md's tables in one go, in a quarter of an hour, and writes them there.

    cargo build --release && cargo bench --no-run
    benches/measure.py "AMD EPYC (Zen 5), two virtual cores"     the text says on what
    benches/measure.py --quick "..."                             a tenth of the time, to see whether it works

Runs are left as JSON in --out (target/measured), for benches/compare.py. Leave the machine alone meanwhile. Standard
library only.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
LIMIT = 1200


class Machine:
    """The program, and the time that is left."""

    def __init__(self, words):
        self.binary = words.binary.resolve()
        self.out = words.out.resolve()
        self.quick = words.quick
        self.end = time.monotonic() + LIMIT
        self.out.mkdir(parents=True, exist_ok=True)

    def run(self, words, **environment):
        return self.start([self.binary, *words], **environment)

    def start(self, command, **environment):
        left = self.end - time.monotonic()
        environment = {**os.environ, **environment}
        command = list(map(str, command))
        return subprocess.run(
            command, env=environment, cwd=self.out, timeout=left, stdout=subprocess.PIPE, check=False
        )

    def bench(self, name, words, **environment):
        """Rows of a run of `bench`, none if it cannot be made here."""
        return self.rows(name, [self.binary, "bench", *words], **environment)

    def ratios(self, name, words):
        """Rows of a run of benches/ratios.rs."""
        manifest = ROOT / "Cargo.toml"
        cargo = ["cargo", "bench", "--quiet", "--manifest-path", manifest, "--bench", "ratios", "--"]
        return self.rows(name, [*cargo, name, *words])

    def rows(self, name, command, **environment):
        print(f"{name} ...", file=sys.stderr, flush=True)
        start = time.monotonic()
        done = self.start([*command, "--json"], **environment)
        if done.returncode != 0:
            print(f"{name}: not possible here", file=sys.stderr)
            return None
        (self.out / f"{name}.json").write_bytes(done.stdout)
        print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        return json.loads(done.stdout)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def kernels(machine):
    size, budget = (256, 0.1) if machine.quick else (2048, 1)
    words = ["--threads", 1, "--size", size, "--budget", budget]
    native = machine.bench("kernels", words)
    rows = {row["model"]: row for row in native}
    vectors = native[0]["kernels"]
    avx2 = machine.bench("kernels-avx2", words, TCVERIFY_SIMD="avx2") if vectors != "avx2" else None
    others = {row["model"]: row for row in avx2 or []}
    lines = []
    # A phase alone is a step of a fidelity.
    for model, row in rows.items():
        if " phase" in model:
            continue
        line = [model, f"{row['rate']:.1f}", f"{row['ratio']:.2f}"]
        if avx2:
            other = others.get(model)
            line += [f"{other['rate']:.1f}", f"{other['ratio']:.2f}"] if other else ["", ""]
        lines.append(line)
    head = ["model", vectors, "by SGEMM"] + (["avx2", "by SGEMM"] if avx2 else [])
    gemm = sorted(row["gemm_rate"] for row in native)
    text = (
        f"One thread, {size}³, operands in memory; billions of multiply-adds a second, and the ratio to a plain FP32 "
        f"product ({gemm[0]:.0f} to {gemm[-1]:.0f}) in the same rounds."
    )
    return text + "\n\n" + table(head, lines)


def schedules(machine):
    size, budget = (256, 0.1) if machine.quick else (2048, 4)
    rows = machine.ratios("schedules", ["--threads", 1, "--size", size, "--budget", budget])
    lines = [[row["model"], f"`{row['schedule']}`", f"{row['rate']:.1f}", f"{row['ratio']:.2f}"] for row in rows]
    text = f"One thread, {size}³, D in BF16, medians of rounds in turn with the bare chain."
    return text + "\n\n" + table(["model", "schedule", "rate", "ratio to one chain"], lines)


def shapes(machine):
    budget = 0.1 if machine.quick else 2.5
    rows = machine.ratios("shapes", ["--budget", budget])
    name = lambda row: " x ".join(str(row[size]) for size in ("batch", "m", "n", "k"))
    lines = [[row["model"], name(row), f"{row['rate']:.1f}", f"{row['ratio']:.2f}"] for row in rows]
    text = f"{rows[0]['threads']} threads; the ratio is to 1024³ in the same rounds."
    return text + "\n\n" + table(["model", "batch x M x N x K", "rate", "ratio"], lines)


def guard(machine):
    """What benches/ratios.json is of."""
    machine.bench("guard", ["--threads", 1, "--budget", 0.1 if machine.quick else 0.7])


def check(machine):
    """A whole check from files."""
    size = 256 if machine.quick else 4096
    for operand in ("a", "b"):
        spec = f"generate:1:normal:{size}x{size}"
        words = ["generate", "--quiet", "--dtype", "fp16", "--role", operand, spec, "-o", f"{operand}.npy"]
        machine.run(words).check_returncode()
    machine.run(["replay", "--arch", "h100", "--dtype", "fp16", "a.npy", "b.npy", "-o", "d.npy"]).check_returncode()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    machine.run(["check", "--quiet", "--arch", "h100", "--dtype", "fp16", "a.npy", "b.npy", "d.npy"]).check_returncode()
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = sum(getattr(after, key) - getattr(before, key) for key in ("ru_utime", "ru_stime"))
    return (
        f"A whole `check` of {size}³ Hopper FP16 from files, digests and comparison included: {wall:.1f} s "
        f"({processor:.1f} s of processor time), {size**3 / wall / 1e9:.0f} billion multiply-adds a second."
    )


def write(page, name, text, by="measure.py"):
    begin, end = f"<!-- begin {name}: written by benches/{by} -->", f"<!-- end {name} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
    if not pattern.search(page):
        sys.exit(f"the page has no {begin}")
    return pattern.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", page)


def arguments(description, page, out):
    """What a script that measures for a page is told."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("processor", help="what the tables say they were measured on")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/tcverify")
    parser.add_argument("--out", type=pathlib.Path, default=out)
    parser.add_argument("--page", type=pathlib.Path, default=page)
    parser.add_argument("--quick", action="store_true", help="small products, little time; the page stays as it is")
    return parser.parse_args()


def main():
    words = arguments(__doc__.splitlines()[0], PAGE, ROOT / "target/measured")
    machine = Machine(words)
    start = time.monotonic()
    parts = {"kernels": kernels, "schedules": schedules, "shapes": shapes, "check": check}
    texts = {name: measure(machine) for name, measure in parts.items()}
    guard(machine)
    print(f"measured in {time.monotonic() - start:.0f} s", file=sys.stderr)
    page = words.page.read_text()
    for name, text in texts.items():
        page = write(page, name, f"{words.processor}. {text}")
    if words.quick:
        print("\n\n".join(texts.values()))
    else:
        words.page.write_text(page)


if __name__ == "__main__":
    main()
