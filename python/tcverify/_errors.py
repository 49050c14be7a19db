"""Why there is no verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class CheckError(ValueError):
    """A request that cannot be answered: arguments contradict each other, do not multiply, or cannot be read.

    ``argument`` is the one to mend, where it is one; ``reason`` the sentence.
    """

    argument: str | None
    reason: str

    def __init__(self, argument: str | None, reason: str) -> None:
        super().__init__(reason)
        self.argument = argument
        self.reason = reason

    def __reduce__(self) -> tuple[type[CheckError], tuple[str | None, str]]:
        return type(self), (self.argument, self.reason)


class NotCommittedError(Exception):
    """Something is not what was committed to; ``differences`` says what, a phrase each."""

    differences: tuple[str, ...]

    def __init__(self, reason: str, differences: Sequence[str]) -> None:
        super().__init__(reason)
        self.differences = tuple(differences)

    def __reduce__(self) -> tuple[type[NotCommittedError], tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.differences)


class NoModelError(Exception):
    """No model of the catalogue gives a D whose unit nobody named; ``tested`` says how many were tried."""

    tested: int

    def __init__(self, tested: int) -> None:
        super().__init__(f"none of the {tested} tested models gives this D; identify(a, b, d) shows how close each one is")
        self.tested = tested

    def __reduce__(self) -> tuple[type[NoModelError], tuple[int]]:
        return type(self), (self.tested,)


class DifferentError(AssertionError):
    """A D that differs; its message is the text of the report, and ``report`` the report or the batch."""

    report: Any = None

    def of(self, report: Any) -> DifferentError:
        """The same, with what it is about."""
        self.report = report
        return self
