#!/usr/bin/env python3
"""Run the parts of a tcverify.plan/1 on the workers of a Dask cluster, and merge them.

Usage: distribute_dask.py PLAN.json -o REPORT.json --parts DIR
                          [--scheduler ADDRESS | --scheduler-file FILE | --local N]
                          [--tcverify PROGRAM] [--sign PRIVATE.pem] [--tries N]

Every worker needs the program and the files that the plan names, under the same paths: parts run in the
directory that this script was started in. What a part found travels back through Dask and is kept in
DIR as part-I.json, so that the same command goes on where it was. A part that is lost with its worker runs
again elsewhere, --tries times at most; one that the program refuses ends everything.

Exit codes: those of 'tcverify shard merge': 0 identical, 1 different, 2 anything else.
Needs Python 3.10 and dask.distributed.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

try:
    from distributed import Client, LocalCluster, as_completed, get_worker
except ImportError as missing:
    # What did not run is not different.
    print(f"error: {missing}; this script needs dask.distributed", file=sys.stderr)
    sys.exit(2)


def run_part(program: str, plan: str, part: int, folder: str, key: str | None) -> tuple[int, bytes, str]:
    """On a worker: the exit code, what was found, and what was said."""
    threads = str(get_worker().state.nthreads)
    sign = ["--sign", key] if key else []
    done = subprocess.run(
        [program, "--threads", threads, "shard", "run", plan, str(part), *sign, "-o", "-"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    if done.returncode < 0:
        # Killed, say for memory: not the program's verdict on the part.
        raise ChildProcessError(f"part {part}: ended by signal {-done.returncode}")
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def is_part(content: bytes, digest: str, part: int) -> bool:
    """Whether this was found for that part of the plan; the merge looks closer."""
    try:
        found = json.loads(content)["content"]
        return found["plan"] == digest and found["shard"] == part
    except (ValueError, KeyError, TypeError):
        return False


def keep(content: bytes, path: Path):
    """Whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with beside.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    beside.replace(path)


def run_all(client: Client, options, digest: str, missing: list[int]):
    """Runs what is missing and keeps what is found."""
    tries = Counter()
    futures = {}
    waiting = as_completed()

    def submit(part: int):
        tries[part] += 1
        future = client.submit(
            run_part, options.tcverify, str(options.plan), part, os.getcwd(), options.sign,
            key=f"{digest}-{part}-{tries[part]}", pure=False,
        )
        futures[future.key] = part
        waiting.add(future)

    for part in missing:
        submit(part)
    done = 0
    for future in waiting:
        part = futures.pop(future.key)
        if future.status != "finished":
            # Dask has moved it to other workers several times, or the program was killed.
            why = future.exception() if future.status == "error" else future.status
            print(f"part {part}: lost ({why!r})", file=sys.stderr)
            if tries[part] >= options.tries:
                raise SystemExit(f"error: part {part} was lost {options.tries} times")
            submit(part)
            continue
        code, content, said = future.result()
        if code != 0:
            raise SystemExit(f"error: part {part}: exit code {code}: {said.strip()}")
        if not is_part(content, digest, part):
            raise SystemExit(f"error: part {part}: a worker has another plan under this name")
        keep(content, options.parts / f"part-{part}.json")
        done += 1
        print(f"part {part}: done ({done} of {len(missing)})", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan", type=Path, metavar="PLAN.json")
    parser.add_argument("-o", "--output", required=True, metavar="REPORT.json")
    parser.add_argument("--parts", type=Path, required=True, metavar="DIR")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scheduler", metavar="ADDRESS")
    where.add_argument("--scheduler-file", metavar="FILE")
    where.add_argument("--local", type=int, metavar="N", help="workers on this machine")
    parser.add_argument("--tcverify", default="tcverify", metavar="PROGRAM")
    parser.add_argument("--sign", metavar="PRIVATE.pem", help="key of a signer of the plan, on the workers")
    parser.add_argument("--tries", type=int, default=5, metavar="N")
    options = parser.parse_args()

    text = options.plan.read_bytes()
    digest = hashlib.sha256(text).hexdigest()
    plan = json.loads(text)
    if plan.get("schema") != "tcverify.plan/1":
        raise SystemExit(f"error: {options.plan}: is no tcverify.plan/1")
    count = len(plan["content"]["shards"])
    options.parts.mkdir(parents=True, exist_ok=True)
    paths = [options.parts / f"part-{i}.json" for i in range(count)]
    missing = [
        i for i, path in enumerate(paths)
        if not (path.exists() and is_part(path.read_bytes(), digest, i))
    ]
    if missing:
        if options.scheduler_file:
            client = Client(scheduler_file=options.scheduler_file)
        elif options.scheduler:
            client = Client(options.scheduler)
        else:
            cluster = LocalCluster(n_workers=options.local, threads_per_worker=1)
            client = Client(cluster)
        with client:
            run_all(client, options, digest, missing)
    merge = [options.tcverify, "shard", "merge", str(options.plan), *map(str, paths)]
    code = subprocess.run([*merge, "-o", options.output], check=False).returncode
    # Killed is no verdict.
    return code if code in (0, 1) else 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            sys.exit(2)
        raise
    except Exception as error:  # a cluster fails in many ways; none of them is a verdict
        print(f"error: {error!r}", file=sys.stderr)
        sys.exit(2)
