"""A plugin of pytest: which GPU tests are about, an assertion, and pages of what differs.

``pytest --tcverify-arch h100 --tcverify-reports pages`` has ``tcverify_bitwise`` judge by an H100, and writes of each
failure the page and the report for machines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tcverify", "bits of matrix products")
    group.addoption("--tcverify-arch", metavar="GPU", help="the GPU that tcverify_bitwise judges by (h100, a100, ...)")
    group.addoption("--tcverify-reports", metavar="FOLDER", help="write page (HTML) and report (JSON) of each product that differs")


@pytest.fixture
def tcverify_arch(request: pytest.FixtureRequest) -> str:
    """The GPU of ``--tcverify-arch``; a test that wants it is skipped without."""
    arch = request.config.getoption("--tcverify-arch")
    if arch is None:
        pytest.skip("--tcverify-arch does not say which GPU computed")
    return str(arch)


@pytest.fixture
def tcverify_bitwise(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """``tcverify_bitwise(actual, a, b)``: :func:`tcverify.testing.assert_bitwise`, by the GPU of ``--tcverify-arch``."""
    from tcverify.testing import assert_bitwise

    def judged(actual: Any, a: Any, b: Any, **fields: Any) -> Any:
        __tracebackhide__ = True
        if fields.get("arch") is None and "model" not in fields:
            fields["arch"] = request.getfixturevalue("tcverify_arch")
        return assert_bitwise(actual, a, b, **fields)

    return judged


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    outcome = yield
    option = item.config.getoption("--tcverify-reports")
    about = getattr(call.excinfo.value, "report", None) if call.excinfo is not None else None
    if option is None or about is None or not hasattr(about, "save_json"):
        return
    folder = Path(option)
    folder.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^\w.-]+", "_", item.nodeid).strip("_")[-150:]
    written = [folder / f"{stem}.json"]
    about.save_json(written[0])
    if hasattr(about, "save_html"):
        written.append(folder / f"{stem}.html")
        about.save_html(written[1])
    outcome.get_result().sections.append(("tcverify", "\n".join(map(str, written))))
