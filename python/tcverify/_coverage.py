"""What ran, and how much of it was recorded: part of every verdict on a recording."""

from __future__ import annotations

import html
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tcverify._request import table


#: Of what was not recorded.
_COLUMNS = ("op", "module", "why", "calls", "on_request")


class NotRecordedError(RuntimeError):
    """Products ran that were not recorded: of a capture that is strict."""


@dataclass
class Coverage:
    """Counts of calls; one that may hold several products counts as one."""

    recorded: int = 0
    #: (operation, module, why): what nobody asked to leave out.
    missed: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    #: The same of ``select``, ``every``, ``only`` and ``max_bytes``.
    passed: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    #: Multiply-adds of what was ``recorded``, ``missed`` and ``passed``, as far as the work of calls is known.
    multiply_adds: Counter[str] = field(default_factory=Counter)
    #: Calls of ``missed`` whose work is not known, such as those of other threads and compiled kernels.
    unweighed: int = 0

    @property
    def share(self) -> float | None:
        """Of the multiply-adds that are known, the share that was recorded."""
        total = self.multiply_adds.total()
        return self.multiply_adds["recorded"] / total if total else None

    @property
    def seen(self) -> int:
        return self.recorded + self.missed.total() + self.passed.total()

    @property
    def complete(self) -> bool:
        """Whether every product that ran was recorded."""
        return not self.missed and not self.passed

    def document(self, recorded: int | None = None) -> dict[str, Any]:
        """As a manifest has it; of so many that are on disk."""
        recorded = self.recorded if recorded is None else recorded
        left = [(key, calls, False) for key, calls in self.missed.items()]
        left += [(key, calls, True) for key, calls in self.passed.items()]
        if recorded < self.recorded:
            left.append((("products", "", "not written yet, or lost with what stopped the recording"), self.recorded - recorded, False))
        return {
            "seen": self.seen,
            "recorded": recorded,
            "left_out": [
                {"op": op, "module": module, "why": why, "calls": calls, "on_request": asked}
                for (op, module, why), calls, asked in left
            ],
        }

    def sentence(self) -> str:
        """``24 of 25 products recorded; not recorded: ...``, the first few."""
        said = f"{self.recorded:,} of {self.seen:,} products recorded"
        if self.share is not None and self.share < 1:
            # Never rounded up to all of them.
            said += f" ({math.floor(1000 * self.share) / 10:.1f} % of the multiply-adds that are known)"
        parts = [
            f"{op}{f' x {calls:,}' if calls > 1 else ''}{f' in {module}' if module else ''} ({why})"
            for (op, module, why), calls in self.missed.most_common(5)
        ]
        more = len(self.missed) - len(parts)
        if parts:
            said += "; not recorded: " + "; ".join(parts) + (f"; and {more} more" if more else "")
        if self.passed:
            said += f"; left out on request: {self.passed.total():,}"
        return said

    def __str__(self) -> str:
        return self.sentence()

    def _rows(self) -> list[tuple[str, str, str, int, bool]]:
        left = self.document()["left_out"]
        return [(one["op"], one["module"], one["why"], one["calls"], one["on_request"]) for one in left]

    def to_dataframe(self) -> Any:
        """What was not recorded as a data frame of pandas, a row for each operation, module and reason.

        :raises ImportError: if pandas is not installed.
        """
        import pandas

        return pandas.DataFrame(self._rows(), columns=list(_COLUMNS))

    def _repr_html_(self) -> str:
        rows = self._rows()
        return f"<p>{html.escape(self.sentence())}</p>" + (table(_COLUMNS, rows) if rows else "")
