#!/usr/bin/env python3
"""Measures what docs/scaling.md says that audits cost, and writes its tables, in some five minutes.

    cargo build --release
    benches/scaling.py "AMD EPYC (Zen 5), two virtual cores"     the text says on what
    benches/scaling.py --quick "..."                             small products, to see whether it works; nothing is written

Files lie in --out (target/measured). Leave the machine alone meanwhile. Standard library only.
"""

import json
import hashlib
import os
import resource
import subprocess
import sys
import time

from measure import ROOT, arguments, table, write

PAGE = ROOT / "docs" / "scaling.md"

# Of one layer: rows of weights a token meets, K x N each; and of all layers, what else there is.
# Llama 3 70B: https://arxiv.org/abs/2407.21783, table 3. Mixtral 8x7B: https://arxiv.org/abs/2401.04088, table 1.
MODELS = [
    {
        "name": "dense, 70B (Llama 3)",
        "layers": 80,
        "width": 8192,
        "each": [(8192, 8192, 2), (8192, 1024, 2), (8192, 28672, 3)],
        "experts": [],
        "vocabulary": 128256,
    },
    {
        "name": "8 experts, 2 at a time (Mixtral 8x7B)",
        "layers": 32,
        "width": 4096,
        "each": [(4096, 4096, 2), (4096, 1024, 2), (4096, 8, 1)],
        "experts": [(4096, 14336, 3)],
        "vocabulary": 32000,
    },
]
EXPERTS, ACTIVE = 8, 2
TOKENS = 4096

# Name, what check is told, bits of an operand's element in memory and of D's.
KINDS = {
    "Hopper BF16": {"words": ["--arch", "hopper", "--dtype", "bf16"], "d": "bf16", "bytes": 2},
    "Hopper E4M3": {"words": ["--arch", "hopper", "--dtype", "e4m3"], "d": "bf16", "bytes": 1},
    "Ampere BF16": {"words": ["--arch", "ampere", "--dtype", "bf16"], "d": "bf16", "bytes": 2},
    "Blackwell NVFP4": {
        "words": ["--arch", "blackwell", "--instruction", "tcgen05-mxf4nvf4", "--dtype", "e2m1", "--scale-dtype", "ue4m3"],
        "d": "bf16",
        "bytes": 1,
        "scales": 16,
    },
}


class Machine:
    def __init__(self, words):
        self.binary, self.out, self.quick = words.binary.resolve(), words.out.resolve(), words.quick
        self.out.mkdir(parents=True, exist_ok=True)

    def run(self, *words):
        """Seconds of the clock and of all cores."""
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            [self.binary, *map(str, words)], cwd=self.out, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
        )
        wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr.decode()}")
        return wall, sum(getattr(after, key) - getattr(before, key) for key in ("ru_utime", "ru_stime"))

    def operand(self, role, dtype, rows, columns):
        name = f"{role}-{dtype}-{rows}x{columns}.npy"
        if not (self.out / name).exists():
            spec = f"generate:1:normal:{rows}x{columns}"
            self.run("generate", "--quiet", "--dtype", dtype, "--role", role, spec, "-o", name)
        return name

    def product(self, kind, m, n, k):
        """The words of a check whose answer is right."""
        of = KINDS[kind]
        dtype = of["words"][of["words"].index("--dtype") + 1]
        words = [*of["words"], "--d-dtype", of["d"]]
        if "scales" in of:
            block = k // of["scales"]
            words += ["--scale-a", self.operand("scale-a", "ue4m3", m, block)]
            words += ["--scale-b", self.operand("scale-b", "ue4m3", block, n)]
        files = [self.operand("a", dtype, m, k), self.operand("b", dtype, k, n)]
        d = f"d-{kind.replace(' ', '-')}-{m}x{n}x{k}.npy"
        if not (self.out / d).exists():
            self.run("replay", "--quiet", *words, *files, "-o", d)
        return ["check", "--quiet", "--no-ambiguity", *words, *files, d]

    def best(self, words, times=3, threads=None):
        """The fastest of some runs, by the clock."""
        if threads:
            words = ["--threads", threads, *words]
        return min(self.run(*words) for _ in range(1 if self.quick else times))


def linear(machine):
    """M, N and K one by one, cubes, threads."""
    print("linearity ...", file=sys.stderr, flush=True)
    cubes = (128, 256) if machine.quick else (512, 1024, 2048, 4096, 8192)
    base = cubes[1]
    shapes = [(size,) * 3 for size in cubes]
    shapes += [(8 * base, base, base), (base, 8 * base, base), (base, base, 8 * base)]
    cores = len(os.sched_getaffinity(0))
    lines = []
    for m, n, k in shapes:
        words = machine.product("Hopper BF16", m, n, k)
        times = 1 if m * n * k > 4096**3 else 3
        every, one = machine.best(words, times), machine.best(words, times, threads=1)
        work = m * n * k / 1e9
        line = [f"{m} × {n} × {k}", f"{every[0]:.2f}", f"{work / every[0]:.1f}", f"{one[0]:.2f}", f"{one[0] / every[0]:.2f}"]
        lines.append(line)
    for path in machine.out.glob("*8192x8192*"):
        path.unlink()
    head = ["M × N × K", f"s, {cores} threads", "10^9 multiply-adds a second", "s, one thread", "gain of threads"]
    return "Whole `check` commands of Hopper BF16 from files, the best of three.\n\n" + table(head, lines)


def rates(machine):
    """Core-seconds of multiply-adds and of bytes of weights."""
    print("rates ...", file=sys.stderr, flush=True)
    size = 256 if machine.quick else 8192
    found, lines = {}, []
    for kind, of in KINDS.items():
        rows = size // 8
        many = machine.best(machine.product(kind, rows, size, size))[1]
        one = machine.best(machine.product(kind, 1, size, size))[1]
        weights = size * size * of["bytes"] * (1 + (1 / of["scales"] if "scales" in of else 0)) / 1e9
        found[kind] = {"rate": rows * size * size / many / 1e9, "gigabyte": one / weights}
        lines.append([kind, f"{found[kind]['rate']:.1f}", f"{found[kind]['gigabyte']:.2f}"])
    text = (
        f"`check` of {size // 8} rows by weights of {size} × {size}, and of one row, whole commands from files: processor "
        "seconds of all cores together, the best of three."
    )
    head = ["model", "10^9 multiply-adds a core-second", "core-seconds a gigabyte of weights, one row"]
    return text + "\n\n" + table(head, lines), found


def model(of):
    """Multiply-adds of a token and of attention for all tokens, weights, elements of A and D."""
    count = lambda layers: sum(k * n * times for k, n, times in layers)
    vocabulary = of["width"] * of["vocabulary"]
    attention = 2 * TOKENS * TOKENS * of["width"] * of["layers"]
    met = [(of["each"], 1), (of["experts"], ACTIVE)]
    elements = lambda side: sum(side(k, n) * times * share for layers, share in met for k, n, times in layers)
    return {
        "token": of["layers"] * (count(of["each"]) + ACTIVE * count(of["experts"])) + vocabulary,
        "weights": of["layers"] * (count(of["each"]) + EXPERTS * count(of["experts"])) + vocabulary,
        "attention": attention,
        # Of A, by what meets it, and of D: elements a token.
        "a": of["layers"] * elements(lambda k, n: k) + of["width"],
        "d": of["layers"] * elements(lambda k, n: n) + of["vocabulary"],
    }


def forwards(found):
    lines = []
    for of in MODELS:
        cost = model(of)
        for kind, rate in found.items():
            width = KINDS[kind]["bytes"]
            arithmetic = lambda work: work / rate["rate"] / 1e9 / 3600
            whole = arithmetic(cost["token"] * TOKENS)
            attention = arithmetic(cost["attention"])
            gigabytes = cost["weights"] * width / 1e9
            # Every weight that a token meets is one multiply-add.
            one = cost["token"] * width / 1e9 * rate["gigabyte"] / 3600
            files = gigabytes + (cost["a"] * width + cost["d"] * 2) * TOKENS / 1e9
            cells = [of["name"], kind, f"{gigabytes:.0f} GB", f"{one:.3f}", f"{whole:.2f}", f"{attention:.2f}"]
            lines.append([*cells, f"{whole + attention:.1f}", f"{files:.0f} GB"])
    text = (
        f"From these rates: core-hours of one token alone, which meets the weights of two experts of each layer, and of a prompt "
        f"of {TOKENS} tokens, which meets all. Bytes are those of weights, of A and of D."
    )
    head = ["model", "arithmetic", "weights", "one token", "products with weights", "attention", "a prompt", "bytes read"]
    return text + "\n\n" + table(head, lines)


def partly(machine, found):
    """Samples and opened rows."""
    print("samples ...", file=sys.stderr, flush=True)
    m, size = (64, 256) if machine.quick else (4096, 8192)
    check = machine.product("Hopper BF16", m, size, size)
    files = check[-3:]
    whole = machine.best(check, times=1)
    lines = []
    gigabytes = (m * size + size * size + m * size) * 2 / 1e9
    for count in (459, 4603):
        cost = machine.best([*check, "--sample", count, "--seed", 7], times=2)
        lines.append([f"`--sample {count}`", share(count), f"{gigabytes:.2f} GB", f"{cost[1]:.2f}"])
    opened = ["--arch", "hopper", "--dtype", "bf16", "--d-dtype", "bf16"]
    commit = machine.run("commit", *opened, *files, "-o", "commitment.json")[1]
    who = ["--commitment", "commitment.json", "--challenge", "challenge.json"]
    digest = hashlib.sha256((machine.out / "commitment.json").read_bytes()).hexdigest()
    published = ["--commitment-sha256", digest]
    for count in (459, 4603):
        name = f"opening-{count}"
        words = ["commitment.json", "--beacon", "5f1d9c7e", "--elements", count]
        machine.run("audit", "challenge", *words, "-o", "challenge.json")
        prover = machine.run("audit", "open", *who, *opened, *files, "-o", name)[1]
        drawn = [*published, "--beacon", "5f1d9c7e", "--elements", count]
        auditor = machine.run("audit", "verify", *opened, "--commitment", "commitment.json", *drawn, name)[1]
        read = (machine.out / name).stat().st_size / 1e9
        lines.append([f"{count} opened", share(count), f"{read:.2f} GB", f"{auditor:.2f} (the prover {commit + prover:.1f})"])
        (machine.out / name).unlink()
    lines.append(["all", "one element", f"{gigabytes:.2f} GB", f"{whole[1]:.2f}"])
    text = f"Hopper BF16, D of {m} × {size} with K = {size}, that is {m * size / 1e6:.1f} million elements."
    head = ["what", "catches with 99 %", "bytes read", "core-seconds"]
    return text + "\n\n" + table(head, lines)


def share(count):
    return {459: "1 % of the elements", 4603: "0.1 % of the elements"}[count]


def main():
    words = arguments(__doc__.splitlines()[0], PAGE, ROOT / "target/measured/scaling")
    machine = Machine(words)
    texts = {"linear": linear(machine)}
    texts["rates"], found = rates(machine)
    (machine.out / "rates.json").write_text(json.dumps(found))
    texts["partly"] = partly(machine, found)
    texts = {name: f"{words.processor}. {text}" for name, text in texts.items()}
    texts["forwards"] = forwards(found)
    page = words.page.read_text()
    for name, text in texts.items():
        page = write(page, name, text, "scaling.py")
    if words.quick:
        print("\n\n".join(texts.values()))
    else:
        words.page.write_text(page)


if __name__ == "__main__":
    main()
