#!/usr/bin/env python3
"""scripts/distribute_dask.py on a real scheduler and real workers, of which one is killed mid-way.

Usage: lost_worker.py TCVERIFY

Exits with 0 if nothing was lost, nothing was done twice in the result, and the merged report is that of the whole,
but for what it says of its parts.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = 24
WORKERS = 3


def wait(what: str, met, seconds: float = 120):
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def main() -> int:
    program = str(Path(sys.argv[1]).resolve())
    folder = Path(tempfile.mkdtemp(prefix="tcverify-dask-"))
    run = lambda *words: subprocess.run([program, *words], cwd=folder)
    product = ["--arch", "h100", "--dtype", "fp16", "--block-rows", "8",
               "generate:1:normal:192x256", "generate:2:normal:256x192"]
    replayed = [word for word in product if word not in ("--block-rows", "8")]
    assert run("replay", *replayed, "-o", "d.npy").returncode == 0
    # One bit, so that the report has something to merge.
    wrong = bytearray((folder / "d.npy").read_bytes())
    wrong[-70_001] ^= 2
    (folder / "d.npy").write_bytes(wrong)
    assert run("check", "--tree", *product, "d.npy", "-q", "--json", "whole.json").returncode == 1
    plan = ["shard", "plan", "-n", str(PARTS), "-o", "plan.json", *product, "d.npy"]
    assert run(*plan).returncode == 0

    # Notes who begins what, and takes its time, so that a worker can be killed while it is at work.
    slow = folder / "slow"
    slow.write_text(
        "#!/bin/sh\n"
        'if [ "$3 $4" = "shard run" ]; then echo "$6 $PPID" >> begun; sleep 0.4; fi\n'
        f"exec '{program}' \"$@\"\n"
    )
    slow.chmod(0o755)
    begun = lambda: [line.split() for line in (folder / "begun").read_text().splitlines()]

    dask = [sys.executable, "-m", "dask"]
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = []
    try:
        address = folder / "scheduler.json"
        started.append(subprocess.Popen(
            [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
             "--scheduler-file", str(address)], **quiet))
        wait("the scheduler", address.exists)
        workers = [subprocess.Popen(
            [*dask, "worker", "--scheduler-file", str(address), "--nthreads", "1", "--no-nanny",
             "--no-dashboard", "--host", "127.0.0.1"], **quiet) for _ in range(WORKERS)]
        started.extend(workers)
        driver = subprocess.Popen(
            [sys.executable, str(ROOT / "scripts/distribute_dask.py"), "plan.json", "-o", "merged.json",
             "--parts", "parts", "--scheduler-file", str(address), "--tcverify", str(slow)], cwd=folder)
        started.append(driver)
        done = lambda: len(list(folder.glob("parts/part-*.json")))
        wait("the first parts", lambda: done() >= WORKERS)
        # All workers are at work: the one that began the last part is killed in it.
        wait("a worker at work", lambda: (folder / "begun").exists() and len(begun()) > done() + 1)
        victim = int(begun()[-1][1])
        assert victim in [worker.pid for worker in workers], f"{victim} is no worker"
        before = done()
        os.kill(victim, signal.SIGKILL)
        assert before < PARTS, "all was done before a worker could be killed"
        code = driver.wait(timeout=180)
    finally:
        for process in started:
            process.kill()
            process.wait()

    assert code == 1, f"the driver exited with {code}, not 1"
    parts = [json.loads(path.read_text())["content"] for path in folder.glob("parts/*")]
    assert sorted(part["shard"] for part in parts) == list(range(PARTS)), "each part once"
    again = len(begun()) - PARTS
    assert again >= 1, "no part was begun again: the kill hit nobody at work"
    whole, merged = (json.loads((folder / name).read_text()) for name in ("whole.json", "merged.json"))
    assert merged.pop("merged")["trusted"], "nobody signed these parts"
    assert whole == merged, "the merged report is not that of the whole"
    print(f"distribute: {PARTS} parts on {WORKERS} workers, one killed after {before}, "
          f"{again} begun again, merged report identical to the whole one")
    return 0


if __name__ == "__main__":
    sys.exit(main())
