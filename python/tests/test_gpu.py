"""A GPU as the engine. Mesa's software Vulkan does (`mesa-vulkan-drivers`)."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import Array, normal

import tcverify

#: Drivers of Vulkan that are not there.
NO_DRIVER = os.environ | {"VK_ICD_FILENAMES": "/nonexistent", "VK_DRIVER_FILES": "/nonexistent"}


def operands() -> tuple[Array, Array]:
    """More than the CPU keeps for itself."""
    return normal(1, (70, 96)), normal(2, (96, 45))


@pytest.fixture(scope="module")
def gpu() -> str:
    """The name of the first GPU."""
    found = tcverify.command("engines", json=True).document["gpus"]
    assert found is not None, "the package is built with GPUs"
    if not found:
        pytest.skip("no GPU was found: no driver of Vulkan, Metal or Direct3D 12 shows one")
    return str(found[0]["adapter"])


@pytest.mark.parametrize("how", [{"arch": "h100"}, {"arch": "rdna4", "instruction": "wmma-wave32"}, {"arch": "h100", "schedule": "cutlass-fp8-promote"}])
def test_a_gpu_gives_the_bits_of_the_other_engines(gpu: str, how: dict[str, str]) -> None:
    a, b = operands()
    if "schedule" in how:
        import ml_dtypes

        a, b = a.astype(ml_dtypes.float8_e4m3fn), b.astype(ml_dtypes.float8_e4m3fn)
    d = tcverify.replay(a, b, engine="exact", **how)  # type: ignore[arg-type]
    assert np.array_equal(d, tcverify.replay(a, b, engine="gpu", **how))  # type: ignore[arg-type]
    report = tcverify.check(a, b, d, engine="gpu", **how)  # type: ignore[arg-type]
    used = report.document["engine"]
    assert report.identical and used["adapter"] == gpu and used["multiply_adds"] > 0
    wrong = np.array(d)
    wrong[3, 4] += 1
    assert tcverify.check(a, b, wrong, engine="gpu", **how).mismatch_count == 1  # type: ignore[arg-type]


def test_auto_takes_the_cpu_for_small_products() -> None:
    a, b = operands()
    report = tcverify.check(a, b, tcverify.replay(a, b, arch="h100", engine="auto"), arch="h100", engine="auto")
    assert report.identical and "engine" not in report.document


def test_what_no_gpu_computes_is_refused(gpu: str) -> None:
    a, b = operands()
    with pytest.raises(tcverify.CheckError, match="there is no adapter 7: `tcverify engines` lists"):
        tcverify.replay(a, b, arch="h100", engine="gpu:7")
    with pytest.raises(tcverify.CheckError, match="engine`? gpu computes products of `check` and `replay` alone"):
        tcverify.check_operation("rms_norm", x=a, weight=a[0], y=a, eps=1e-6, engine="gpu")


@pytest.mark.skipif(sys.platform != "linux", reason="these variables hide drivers of Vulkan alone")
def test_a_machine_without_drivers_computes_on_the_cpu() -> None:
    lines = """
import numpy as np, tcverify
a = np.ones((64, 64), np.float16)
assert tcverify.check(a, a, tcverify.replay(a, a, arch="h100"), arch="h100", engine="auto").identical
try:
    tcverify.replay(a, a, arch="h100", engine="gpu")
except tcverify.CheckError as error:
    assert error.argument == "engine"
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, env=NO_DRIVER, timeout=120)
    assert run.returncode == 0 and "no GPU was found" in run.stdout, run


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_forked_child_opens_its_own_gpu(gpu: str) -> None:
    lines = """
import multiprocessing, numpy as np, tcverify
a = np.ones((64, 64), np.float16)
def replayed(_):
    return tcverify.replay(a, a, arch="h100", engine="gpu").tobytes()
own = replayed(0)
with multiprocessing.get_context("fork").Pool(1) as pool:
    assert pool.map_async(replayed, [0]).get(60) == [own]
"""
    run = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run
