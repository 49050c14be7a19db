#!/usr/bin/env python3
"""Says what became slower: compares runs of `tcverify bench` with a table of ratios.

    tcverify bench --threads 1 --json > run.json
    benches/compare.py run.json                    compare with benches/ratios.json; exit code 1 if slower
    benches/compare.py --write TEXT run.json ...   make them this processor's table; TEXT describes it

A ratio is a rate by that of other work in the same rounds (a plain FP32 product, the bare chain, a square
product), so that a busy machine changes little. Something is slower if its median ratio is lower by more than the
noise and not even its best round came near the table. Of several runs of the same kind the median counts, which a busy
machine needs. Runs of benches/ratios.rs are compared as well. There is a table for each kind of processor (vendor,
family and model). Nothing is compared, exit code 2, where there is none for this one, or if it is of other vectors,
threads or sizes.
"""

import argparse
import json
import pathlib
import statistics
import sys

TABLE = pathlib.Path(__file__).with_name("ratios.json")
SETTINGS = ("processor", "kernels", "threads", "size")


def name_of(row):
    """What a row measures, in words, with all that a ratio depends on."""
    words = [row["model"]]
    if "schedule" in row:
        words.append("by " + row["schedule"])
    if "batch" in row:
        words.append(" x ".join(str(row[size]) for size in ("batch", "m", "n", "k")))
    return " ".join(words)


def kind_of(row):
    return "schedules" if "schedule" in row else "shapes" if "batch" in row else "kernels"


def read(paths):
    """Rows by kind, and the settings of each kind."""
    rows, settings = {}, {}
    for path in paths:
        for row in json.loads(pathlib.Path(path).read_text()):
            if row.get("engine", "fast") != "fast":
                continue
            kind = kind_of(row)
            mine = {key: row[key] for key in SETTINGS if key in row}
            if settings.setdefault(kind, mine) != mine:
                sys.exit(f"{path}: runs of {settings[kind]} and of {mine} cannot be compared at once")
            rows.setdefault(kind, {}).setdefault(name_of(row), []).append(row)
    for kind, found in rows.items():
        rows[kind] = {name: median(of_runs) for name, of_runs in found.items()}
    return rows, settings


def median(rows):
    """The same line of several runs as one."""
    ratio = statistics.median(row["ratio"] for row in rows)
    return {"ratio": ratio, "best": max(row["best"] for row in rows)}


def compare(kind, before, rows, noise):
    """How many rows are slower or missing."""
    slower = 0
    for name, ratio in before.items():
        row = rows.get(name)
        if row is None:
            print(f"missing  {name}")
            slower += 1
        elif row["ratio"] < ratio * (1 - noise) and row["best"] < ratio * (1 - noise / 2):
            print(f"slower   {name}: {row['ratio']:.3f} (best round {row['best']:.3f}), was {ratio:.3f}")
            slower += 1
        elif row["ratio"] > ratio * (1 + noise):
            print(f"faster   {name}: {row['ratio']:.3f}, was {ratio:.3f}")
    for name in rows:
        if name not in before:
            print(f"new      {name}: {rows[name]['ratio']:.3f}")
    print(f"{kind}: {len(rows)} measured, {slower} slower or missing")
    return slower


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", metavar="RUN", help="output of `tcverify bench --json`")
    parser.add_argument("--table", type=pathlib.Path, default=TABLE)
    parser.add_argument("--noise", type=float, default=0.25, help="share that is no news (0.25)")
    parser.add_argument("--write", metavar="TEXT", help="write the table instead")
    words = parser.parse_args()

    rows, settings = read(words.runs)
    if not settings:
        sys.exit("no run of the fast engine")
    processor = next(iter(settings.values())).pop("processor", "an unknown processor")
    if any(mine.pop("processor", processor) != processor for mine in settings.values()):
        sys.exit("runs of several processors cannot be compared at once")
    tables = json.loads(words.table.read_text()) if words.table.exists() else {}
    if words.write is not None:
        table = tables[processor] = {"processor": words.write}
        for kind, found in rows.items():
            # Four digits, also of what others slow down a thousand times.
            ratios = {name: float(f"{row['ratio']:.4g}") for name, row in found.items()}
            table[kind] = {"settings": settings[kind], "ratios": ratios}
        words.table.write_text(json.dumps(tables, indent=2) + "\n")
        return 0

    table = tables.get(processor)
    if table is None:
        print(f"no table of {processor}, but of {', '.join(tables) or 'none'}", file=sys.stderr)
        return 2
    print(f"compared with {table['processor']}")
    slower = 0
    for kind, found in rows.items():
        before = table.get(kind)
        if before is None:
            print(f"{kind}: the table has none")
        elif before["settings"] != settings[kind]:
            print(f"{kind}: the table is of {before['settings']}, the run of {settings[kind]}", file=sys.stderr)
            return 2
        else:
            slower += compare(kind, before["ratios"], found, words.noise)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
