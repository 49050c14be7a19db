#!/usr/bin/env python3
"""Says which models became slower: compares a run of `tcverify bench` with a table of ratios.

    tcverify bench --json > run.json
    benches/compare.py run.json              compare with benches/ratios.json; exit code 1 if slower
    benches/compare.py run.json --write TEXT make it the table; TEXT names the processor

A ratio is a model's rate by that of a plain FP32 product in the same rounds, so that a busy machine,
or a slower one of the same kind, changes little. Tables of one kind of processor say nothing of
another: only what it names is compared.
"""

import argparse
import json
import pathlib
import sys

TABLE = pathlib.Path(__file__).with_name("ratios.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="output of `tcverify bench --json`")
    parser.add_argument("--table", type=pathlib.Path, default=TABLE)
    parser.add_argument("--noise", type=float, default=0.25, help="share that is no news (0.25)")
    parser.add_argument("--write", metavar="TEXT", help="write the table instead")
    words = parser.parse_args()

    rows = json.loads(pathlib.Path(words.run).read_text())
    ratios = {row["model"]: row["ratio"] for row in rows if row["engine"] == "fast"}
    if words.write is not None:
        table = {"processor": words.write, "ratios": {m: round(r, 3) for m, r in ratios.items()}}
        words.table.write_text(json.dumps(table, indent=2) + "\n")
        return 0

    table = json.loads(words.table.read_text())
    print(f"compared with {table['processor']}")
    slower = 0
    for model, before in table["ratios"].items():
        now = ratios.get(model)
        if now is None:
            print(f"missing  {model}")
            slower += 1
        elif now < before * (1 - words.noise):
            print(f"slower   {model}: {now:.3f}, was {before:.3f}")
            slower += 1
        elif now > before * (1 + words.noise):
            print(f"faster   {model}: {now:.3f}, was {before:.3f}")
    for model in ratios.keys() - table["ratios"].keys():
        print(f"new      {model}: {ratios[model]:.3f}")
    print(f"{len(ratios)} models, {slower} slower or missing")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
