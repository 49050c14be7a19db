from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

#: The repository.
ROOT = Path(__file__).resolve().parents[2]

#: An environment in which text is as wide as it is.
WIDE = {name: value for name, value in os.environ.items() if name != "COLUMNS"}

Array = npt.NDArray[np.generic]


@pytest.fixture(scope="session")
def command() -> str:
    """The command that the wheel installs."""
    found = shutil.which("tcverify", path=sysconfig.get_path("scripts"))
    assert found is not None, "the wheel installs the command"
    return found


@pytest.fixture
def run(command: str, tmp_path: Path) -> Callable[[Sequence[str | os.PathLike[str]]], subprocess.CompletedProcess[str]]:
    def run(words: Sequence[str | os.PathLike[str]]) -> subprocess.CompletedProcess[str]:
        return subprocess.run([command, *words], capture_output=True, text=True, cwd=tmp_path, env=WIDE)

    return run


def normal(seed: int, shape: tuple[int, ...], dtype: object = ml_dtypes.bfloat16) -> Array:
    """Numbers that need rounding."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def product() -> tuple[Array, Array, Array]:
    """A and B in bfloat16 and the D of an H100."""
    import tcverify

    a, b = normal(1, (24, 96)), normal(2, (96, 40))
    return a, b, tcverify.replay(a, b, arch="h100")
