"""A gate in a training or serving loop: now and then one product of a step is kept, and judged beside the loop."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tcverify._errors import DifferentError
from tcverify._report import save
from tcverify._recorder import Captured
from tcverify.torch._capture import capture

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    import tcverify

SCHEMA = "tcverify.step-gate/1"
#: Steps from whose time the first watched step is planned.
WARM = 2
#: Kept products that may wait for their judgement; until there are fewer, no further step is watched.
WAITING = 4


@dataclass
class Judged:
    """A kept product and what the judge said of it."""

    step: int
    rank: int
    host: str
    #: The case of the manifest: module and operation.
    product: str
    #: ``identical``, ``different``, or why there is no verdict.
    verdict: str
    sentence: str
    #: Operands, D and the judge's report, if they are still there.
    folder: str


@dataclass
class Disagreement:
    """A product that several ranks computed from the same operands with different bits."""

    step: int
    product: str
    #: SHA-256 of D by rank, cut to 32 digits.
    d: dict[int, str]
    #: What each rank's judge said of its own D, as far as it is known.
    verdicts: dict[int, str] = field(default_factory=dict)

    @property
    def wrong(self) -> list[int]:
        """The ranks whose D is wrong: known once another rank's D of the same operands is right."""
        if "identical" not in self.verdicts.values():
            return []
        return sorted(rank for rank, verdict in self.verdicts.items() if verdict == "different")

    def __str__(self) -> str:
        ranks = ", ".join(str(rank) for rank in sorted(self.d))
        said = f"step {self.step}, {self.product}: ranks {ranks} have the same operands and different results"
        if self.wrong:
            return f"{said}; wrong on rank {', '.join(map(str, self.wrong))}"
        if len(self.verdicts) < len(self.d):
            return f"{said}; not all of them are judged yet"
        return f"{said}; no result is what the model computes, so the schedule may be another one"


class step_gate:
    """Keeps one drawn product of a step now and then, and has a process of its own judge it.

    >>> with step_gate("gate", arch="h100", share=1e-3) as gate:   # doctest: +SKIP
    ...     for batch in batches:
    ...         with gate.step():
    ...             train(batch)

    :param share: the time that watching may take, as a share of all time inside. The first watched step comes when that share
        has grown to what one costs. ``gate.share`` is what it really was.
    :param neighbours: ranks that compute the same steps on the same operands (replicas): a process group, or ``True`` for all.
        They exchange digests of the drawn product; only where results differ they are judged, each rank its own.
        All ranks of the group must enter the same steps.
    :param arch: the GPU, as of :class:`capture`; so are the other fields.
    :param found: called with a :class:`Judged` for each product that differs.
    :param threads: of the judging process; it runs at the lowest priority.
    :param keep: keep identical products as well. Products that differ, or have no verdict, are always kept.
    :param seed_of_draws: by default nobody knows it before.

    Nothing is judged in the step: a watched step copies operands and result of one product to the host and writes them.
    At the end of ``with`` the judge has finished, and ``gate.json`` (``tcverify.step-gate/1``) is in the folder.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        share: float = 1e-3,
        neighbours: Any = None,
        arch: str | None = None,
        found: Callable[[Judged], object] | None = None,
        threads: int = 1,
        keep: bool = False,
        seed_of_draws: int | None = None,
        **fields: Unpack[tcverify.CheckFields],
    ) -> None:
        if not 0 < share <= 1:
            raise ValueError("share: more than 0, at most 1")
        self._directory = Path(directory)
        self._asked = share
        self._ranks = _Ranks(neighbours)
        self._recording: dict[str, Any] = {"arch": arch, **fields}
        self._found, self._keep = found, keep
        self._seed = self._ranks.same(secrets.randbits(64) if seed_of_draws is None else seed_of_draws)
        self._judge = _Judge(threads)
        self._next: int | None = None
        self._begun = 0.0
        self._in_watched = 0.0
        #: How many products the last watched step had.
        self._products = 1
        #: Steps that began, and those of them that were watched.
        self.steps = self.watched = 0
        #: Seconds inside, and those of them that watching took.
        self.seconds = self.cost = 0.0
        self.judged: list[Judged] = []
        self.disagreements: list[Disagreement] = []
        #: Products that had the same bits on every rank that had the same operands.
        self.agreed = 0
        #: Calls that hide their products, in the steps that were watched.
        self.not_seen: Counter[str] = Counter()
        #: Why no more is recorded, if something broke.
        self.failed: str | None = None

    @property
    def share(self) -> float:
        """The share of all time that watching took."""
        return self.cost / self.seconds if self.seconds else 0.0

    @property
    def different(self) -> list[Judged]:
        return [one for one in self.judged if one.verdict == "different"]

    def __enter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        if any(self._directory.iterdir()):
            raise FileExistsError(f"{self._directory} is not empty; a gate writes into a folder of its own")
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._hear(self._judge.rest())
        if error is None:
            self._exchange(None, self.steps)
        save(self._directory / "gate.json", json.dumps(self.document(), indent=1) + "\n")

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """Around a step. It runs as without; now and then one product of it is kept."""
        number = self.steps
        self.steps += 1
        self._hear(self._judge.done())
        now = time.monotonic()
        self._begun = self._begun or now
        if number == self._next and not self._ranks.several and self._missing > 0:
            # Steps became faster than they were when this one was planned.
            self._next = number + 1
        if number != self._next:
            yield
        else:
            _finish()
            started = time.monotonic()
            # If the step fails, the one after it is watched.
            self._next = number + 1
            with self._watch(number) as captured:
                begun = time.monotonic()
                yield
                _finish()
                inside = time.monotonic() - begun
            self._next = number
            self._kept(number, captured)
            took = time.monotonic() - started
            # Steps are not alike: what we did before and after this one counts in any case.
            self.cost += max(took - inside, took - self._typical)
            self._in_watched += took
        self.seconds = time.monotonic() - self._begun
        if number == self._next or number + 1 == WARM:
            self._next = self._planned(number)

    @contextlib.contextmanager
    def _watch(self, number: int) -> Iterator[Captured]:
        self.watched += 1
        folder = self._directory / f"step-{number:08d}-rank{self._ranks.rank}"
        draw = hashlib.sha256(f"{self._seed} {number}".encode()).digest()
        drawn = int.from_bytes(draw[:8], "big") * self._products >> 64
        recording = capture(folder, only={drawn}, **self._recording)
        captured = recording.captured
        if self.failed is not None:
            yield captured
            return
        recording.__enter__()
        try:
            yield captured
        except BaseException:
            recording.__exit__(*sys.exc_info())
            raise
        try:
            recording.__exit__(None, None, None)
        except OSError as error:
            # The loop goes on without us.
            self.failed = f"step {number}: {error}"

    def _kept(self, number: int, captured: Captured) -> None:
        """What becomes of a watched step's product."""
        self._products = max(1, captured.offered)
        for (op, _, why), calls in captured.coverage.missed.items():
            self.not_seen[f"{op}: {why}"] += calls
        case: dict[str, Any] | None = None
        if captured.products and self.failed is None:
            case = json.loads(captured.manifest.read_text())["cases"][0]
        alike = self._exchange(case, number)
        if case is None or alike:
            self.agreed += alike
            if not self._keep:
                shutil.rmtree(captured.directory, ignore_errors=True)
            return
        self._judge.add(number, case["name"], captured.directory)

    def _exchange(self, case: dict[str, Any] | None, number: int) -> bool:
        """Tells neighbours what was kept and judged; whether some have this product, too, and all of those its D."""
        if not self._ranks.several:
            return False
        stored = {name: str(value).partition(".safetensors#")[2] for name, value in (case or {}).items()}
        tensors = {name: digest for name, digest in stored.items() if digest}
        mine = {
            "name": (case or {}).get("name", ""),
            "d": tensors.pop("d", ""),
            "operands": tensors,
            "judged": [(one.step, one.verdict) for one in self.judged],
        }
        everyone = self._ranks.gathered(mine)
        for rank, other in enumerate(everyone):
            for step, verdict in other["judged"]:
                for one in self.disagreements:
                    if one.step == step and rank in one.d:
                        one.verdicts[rank] = verdict
        if case is None:
            return False
        same = {rank: one["d"] for rank, one in enumerate(everyone) if one["operands"] == tensors}
        if len(set(same.values())) > 1:
            self.disagreements.append(Disagreement(number, mine["name"], same))
        return len(same) > 1 and len(set(same.values())) == 1

    @property
    def _typical(self) -> float:
        """Seconds of a step that is not watched, as far as they are counted."""
        return max(1e-9, (self.seconds - self._in_watched) / max(1, self.steps - self.watched))

    @property
    def _missing(self) -> float:
        """Seconds until the share of time is there that one more watched step would cost."""
        expected = self.cost / self.watched if self.watched else self._typical
        return (self.cost + expected) / self._asked - self.seconds

    def _planned(self, number: int) -> int:
        """The next step to be watched."""
        wish = number + max(1, math.ceil(self._missing / self._typical))
        if self._judge.waiting >= WAITING:
            wish = max(wish, 2 * number + 1)
        return int(max(self._ranks.gathered(wish)))

    def _hear(self, done: list[tuple[int, str, Path, str, str]]) -> None:
        for number, product, folder, verdict, sentence in done:
            one = Judged(number, self._ranks.rank, socket.gethostname(), product, verdict, sentence, str(folder))
            self.judged.append(one)
            for disagreement in self.disagreements:
                if disagreement.step == number:
                    disagreement.verdicts[self._ranks.rank] = verdict
            if verdict == "identical" and not self._keep:
                shutil.rmtree(folder, ignore_errors=True)
            if verdict == "different" and self._found is not None:
                self._found(one)

    def document(self) -> dict[str, Any]:
        """As ``gate.json`` has it."""
        return {
            "schema": SCHEMA,
            "rank": self._ranks.rank,
            "ranks": self._ranks.count,
            "host": socket.gethostname(),
            "seed": self._seed,
            "steps": self.steps,
            "watched": self.watched,
            "seconds": self.seconds,
            "cost_seconds": self.cost,
            "share": self.share,
            "share_asked": self._asked,
            "agreed": self.agreed,
            "judged": [asdict(one) for one in self.judged],
            "disagreements": [{**asdict(one), "wrong": one.wrong} for one in self.disagreements],
            "not_seen": dict(self.not_seen),
            "failed": self.failed,
        }

    def __str__(self) -> str:
        verdicts = Counter(one.verdict for one in self.judged)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())) or "none judged"
        lines = [
            f"{self.steps:,} steps, {self.watched:,} watched; products: {counts}"
            + (f", {self.agreed} the same as a neighbour's" if self._ranks.several else ""),
            f"watching took {100 * self.share:.3g} % of the time, {100 * self._asked:.3g} % were allowed",
            *(f"step {one.step}, rank {one.rank}, {one.product}: {one.sentence}" for one in self.different),
            *map(str, self.disagreements),
        ]
        if self.not_seen:
            lines.append("not seen: " + "; ".join(f"{why} ({calls})" for why, calls in self.not_seen.most_common(5)))
        if self.failed:
            lines.append(f"the recording ended: {self.failed}")
        return "\n".join(lines)

    def raise_for_difference(self) -> None:
        """Raises if a product differs, ranks disagree, or a kept product has no verdict.

        :raises DifferentError: with what was found.
        """
        wrong = [one for one in self.judged if one.verdict != "identical"]
        if wrong or self.disagreements or self.failed:
            raise DifferentError(str(self))


class _Ranks:
    """Those who compute the same; alone if nobody was named."""

    def __init__(self, group: Any) -> None:
        self.several = group is not None and group is not False
        self._group = None if group is True else group
        self.rank, self.count = 0, 1
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            self.rank = torch.distributed.get_rank(self._group)
            self.count = torch.distributed.get_world_size(self._group)
        elif self.several:
            raise ValueError("neighbours: torch.distributed is not initialised")
        self.several = self.several and self.count > 1

    def gathered(self, mine: Any) -> list[Any]:
        """What every rank says, by rank."""
        if not self.several:
            return [mine]
        everyone: list[Any] = [None] * self.count
        torch.distributed.all_gather_object(everyone, mine, group=self._group)
        return everyone

    def same(self, mine: int) -> int:
        """What the first rank says."""
        return int(self.gathered(mine)[0])


class _Judge:
    """One process at a time, at the lowest priority: ``tcverify batch`` of a kept product."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._queue: list[tuple[int, str, Path]] = []
        self._running: tuple[subprocess.Popen[bytes], int, str, Path] | None = None

    @property
    def waiting(self) -> int:
        return len(self._queue) + (self._running is not None)

    def add(self, number: int, product: str, folder: Path) -> None:
        self._queue.append((number, product, folder))
        self._start()

    def _start(self) -> None:
        if self._running is not None or not self._queue:
            return
        number, product, folder = self._queue.pop(0)
        polite = ["nice", "-n", "19"] if shutil.which("nice") else []
        words = [*polite, sys.executable, "-m", "tcverify", "batch", "manifest.json", "--json", "batch.json", "--quiet"]
        words += ["--threads", str(self._threads)]
        with (folder / "judge.log").open("wb") as log:
            process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._running = process, number, product, folder

    def done(self) -> list[tuple[int, str, Path, str, str]]:
        """What has been judged since the last call: step, product, folder, verdict, sentence."""
        if self._running is None or self._running[0].poll() is None:
            return []
        _, number, product, folder = self._running
        self._running = None
        self._start()
        try:
            case = json.loads((folder / "batch.json").read_text())["cases"][0]
            verdict = str(case["verdict"])
            sentence = case.get("error") or (case.get("summary") or {}).get("sentence") or verdict
        except (OSError, ValueError, LookupError):
            log = (folder / "judge.log").read_text(errors="replace").strip()
            verdict, sentence = "no verdict", log.splitlines()[-1] if log else "the judge has written nothing"
        return [(number, product, folder, verdict, str(sentence))]

    def rest(self) -> list[tuple[int, str, Path, str, str]]:
        """Waits for all of them."""
        done = self.done()
        while self._running is not None:
            self._running[0].wait()
            done += self.done()
        return done


def _finish() -> None:
    """Waits for what a GPU still computes, so that times are of the step."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
