"""Long work: interrupted, watched, beside other threads."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import normal

import tcverify

#: Minutes of work for the exact engine.
LONG = """
import signal, sys, numpy as np, tcverify
# Whoever runs the tests in the background may have Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
a = np.ones((2048, 2048), np.float16)
d = np.zeros((2048, 2048), np.float32)
print("begun", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    # What was interrupted is over, and nothing else is.
    assert tcverify.check(a[:4], a[:, :4], d[:4, :4] + 2048, arch="h100").identical
    print("alive", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    "call",
    [
        "tcverify.check(a, a, d, arch='h100', engine='exact')",
        "tcverify.replay(a, a, arch='h100', engine='exact')",
        # One band, and tiles of it that take seconds.
        "tcverify.replay(np.ones((64, 1 << 17), np.float16), np.ones((1 << 17, 64), np.float16), arch='h100', engine='exact')",
        "tcverify.check(a, a, d, arch='h100', engine='exact', rows=slice(0, 2000))",
        "tcverify.check(a, a, d, arch='h100', engine='exact', sample=2000000, seed=7)",
        "tcverify.identify(a, a, d, schedules='always', budget=10**6)",
        "tcverify.batch({'schema': 'tcverify.manifest/1', 'cases': [{'name': 'x', 'arch': 'h100', 'dtype': 'fp16', "
        "'a': 'generate:1:normal:2048x2048', 'b': 'generate:2:normal:2048x2048', 'd_digest': '0' * 64, "
        "'engine': 'exact'}]})",
    ],
)
def test_an_interrupt_ends_it_within_half_a_second(call: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", LONG.format(call=call)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        time.sleep(0.7)
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        begun = time.monotonic()
        assert child.stdout.readline() == "interrupted\n"
        took = time.monotonic() - begun
        assert child.stdout.readline() == "alive\n"
        assert child.wait() == 0
    assert took < 0.5, took
    assert not list(tmp_path.iterdir())


def test_progress_is_told_in_multiply_adds() -> None:
    a = np.ones((512, 512), np.float16)
    told: list[tuple[int, int]] = []
    tcverify.replay(a, a, arch="h100", engine="exact", progress=lambda done, work: told.append((done, work)))
    assert told[-1] == (512**3, 512**3)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_progress_is_told_inside_of_a_band() -> None:
    a = np.ones((8, 1 << 18), np.float16)
    told: list[int] = []
    tcverify.replay(a, a.T, arch="h100", engine="exact", progress=lambda done, work: told.append(done))
    assert told[-1] == 64 << 18 and len({done for done in told if 0 < done < 64 << 18}) > 1


def test_progress_may_be_a_bar() -> None:
    class Bar:
        total = 0
        n = 0

        def update(self, more: int) -> None:
            self.n += more

    a, bar = normal(1, (64, 64)), Bar()
    d = tcverify.replay(a, a, arch="h100", progress=bar)
    assert bar.n == bar.total == 64**3
    tcverify.check(a, a, d, arch="h100", progress=Bar())


def test_what_progress_raises_ends_it() -> None:
    def enough(done: int, work: int) -> None:
        raise RuntimeError("enough")

    a = np.ones((1024, 1024), np.float16)
    begun = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        tcverify.replay(a, a, arch="h100", engine="exact", progress=enough)
    assert time.monotonic() - begun < 5


def test_a_small_check_is_quick() -> None:
    """Once a check of 16 x 16 took 54 ms, seven times as long as its replay; now it takes about one."""
    a = normal(1, (16, 16), np.float16)
    d = tcverify.replay(a, a, arch="h100")

    def least(work: Any) -> float:
        times = []
        for _ in range(40):
            begun = time.perf_counter()
            work()
            times.append(time.perf_counter() - begun)
        return min(times)

    took = least(lambda: tcverify.check(a, a, d, arch="h100"))
    assert took < 0.015, took


def test_other_threads_go_on() -> None:
    a = np.ones((768, 768), np.float16)
    beats: list[float] = []
    over = threading.Event()

    def beat() -> None:
        while not over.wait(0.005):
            beats.append(time.monotonic())

    thread = threading.Thread(target=beat)
    thread.start()
    begun = time.monotonic()
    tcverify.replay(a, a, arch="h100", engine="exact")
    took = time.monotonic() - begun
    over.set()
    thread.join()
    gaps = [after - before for before, after in zip(beats, beats[1:])]
    assert took > 0.3 and max(gaps) < took / 2, (took, max(gaps))


def test_threads_may_ask_at_the_same_time() -> None:
    a, b = normal(1, (32, 64)), normal(2, (64, 32))
    expected = tcverify.replay(a, b, arch="h100")
    found: list[Any] = []
    ask = [threading.Thread(target=lambda: found.append(tcverify.replay(a, b, arch="h100"))) for _ in range(8)]
    for thread in ask:
        thread.start()
    for thread in ask:
        thread.join()
    assert len(found) == 8 and all((one == expected).all() for one in found)
