"""What the package is: typed, quick to import, documented by examples that run."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.metadata
import importlib.util
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import tcverify

HAS = {name: importlib.util.find_spec(name) is not None for name in ("torch", "jax")}


def checked(*words: str) -> subprocess.CompletedProcess[str]:
    words = (sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", *words)
    return subprocess.run(words, capture_output=True, text=True, cwd=ROOT / "python")


def test_types_are_checked_strictly() -> None:
    said = checked("tcverify")
    assert said.returncode == 0, said.stdout


def test_a_wrong_argument_is_found_by_types(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import tcverify\n"
        "tcverify.check('a', 'b', 'd', arch='h100', split_k='four', no_such=1)\n"
        "x: int = tcverify.digest('a')\n"
        "tcverify.check('a', 'b', 'd', arch='h100', split_k=4, rows=slice(3), engine='exact').verdict\n"
    )
    said = checked(str(wrong))
    assert said.returncode == 1
    assert all(word in said.stdout for word in ('"split_k"', '"no_such"', "wrong.py:3")), said.stdout
    assert "wrong.py:4" not in said.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a script for bash")
def test_a_release_links_to_its_repository(tmp_path: Path) -> None:
    tomllib = pytest.importorskip("tomllib")
    for name in ("pyproject.toml", "PACKAGE.md"):
        (tmp_path / name).write_text((ROOT / "python" / name).read_text())
    script = ROOT / "scripts" / "ci" / "package-urls.sh"
    subprocess.run(["bash", script, "https://host/owner/name/", "v1.2.3", tmp_path], check=True)
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]
    before = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["project"]
    assert "urls" not in before and {**before, "urls": project["urls"]} == project
    assert project["urls"]["Documentation"] == "https://host/owner/name/blob/v1.2.3/docs/python.md"
    for link in re.findall(r"\(https://host/owner/name/blob/v1.2.3/(.*?)\)", (tmp_path / "PACKAGE.md").read_text()):
        assert (ROOT / link).exists(), link
    for path in project["license-files"]:
        assert sorted(one.name for one in (ROOT / "python").glob(path)) == ["LICENSE-APACHE", "LICENSE-MIT"]
        assert all(one.read_text() == (ROOT / one.name).read_text() for one in (ROOT / "python").glob(path))


def test_stubs_are_those_of_the_library() -> None:
    from tcverify import _tcverify

    text = (Path(tcverify.__file__).parent / "_tcverify.pyi").read_text()
    stubs = set(re.findall(r"^(?:def|class) (\w+)", text, re.M)) | {"__version__"}
    there = {name for name in dir(_tcverify) if not name.startswith("__")} | {"__version__"}
    assert stubs == there
    for name in ("Judged", "BatchResult"):
        body = text.split(f"class {name}:")[1].split("\n\n")[0]
        own = {method for method in dir(getattr(_tcverify, name)) if not method.startswith("_")}
        assert set(re.findall(r"def (\w+)", body)) == own


def test_everything_public_is_documented() -> None:
    for name in tcverify.__all__:
        value = getattr(tcverify, name)
        if callable(value) and name != "ArrayLike":
            assert value.__doc__, name


def test_importing_takes_no_more_than_twice_numpy() -> None:
    def took(what: str) -> float:
        def once() -> float:
            begun = time.perf_counter()
            subprocess.run([sys.executable, "-c", f"import {what}"], check=True)
            return time.perf_counter() - begun

        return statistics.median(once() for _ in range(7))

    numpy, ours = took("numpy"), took("tcverify")
    assert ours < 2 * numpy, (ours, numpy)


def test_torch_and_jax_are_not_imported_unless_asked_for() -> None:
    loads = "import sys, tcverify; sys.exit(bool({'torch', 'jax', 'ml_dtypes'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", loads], check=True)


def test_examples_of_docstrings() -> None:
    # What is public belongs to the module that users import.
    public = doctest.testmod(tcverify)
    assert public.attempted > 10 and not public.failed
    for name in ("_groups", "_request", "_report", "testing"):
        result = doctest.testmod(importlib.import_module(f"tcverify.{name}"))
        assert result.failed == 0
    for name, least in (("torch", 5), ("jax", 2)):
        if HAS[name]:
            public = doctest.testmod(importlib.import_module(f"tcverify.{name}"))
            assert public.attempted > least and not public.failed


@pytest.mark.parametrize("page", ["docs/python.md", "README.md", "python/PACKAGE.md"])
def test_examples_of_pages(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks ``pycon`` and ``python``, in order; those that say ``torch`` or ``jax`` where it is."""
    text = (ROOT / page).read_text()
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    ran = 0
    for info, block in re.findall(r"^```(py[^\n]*)\n(.*?)^```", text, re.M | re.S):
        if "no-run" in info or any(name in info and not there for name, there in HAS.items()):
            continue
        if info.startswith("pycon"):
            test = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            said: list[str] = []
            runner.run(test, out=said.append, clear_globs=False)
            assert runner.summarize(verbose=False).failed == 0, "".join(said)
            names.update(test.globs)
        else:
            exec(compile(block, page, "exec"), names)
        ran += 1
    assert ran or page == "README.md"


def test_lines_that_unpack_checkpoints() -> None:
    page = (ROOT / "docs/weights.md").read_text()
    block = page.split("```python\n")[1].split("```")[0]
    lines = dict(line.split(" = ", 1) for line in block.splitlines() if " = " in line)
    random = np.random.default_rng(5)
    k, n = 64, 24
    codes = random.integers(0, 16, (k, n)).astype(np.uint32)

    def words(parts: list[Any]) -> Any:
        shifted = [part << np.uint32(4 * i) for i, part in enumerate(parts)]
        return np.bitwise_or.reduce(shifted).view(np.int32)

    scope: dict[str, Any] = {"np": np, "n": n, "k": k, "s": eval(lines["s"].split("#")[0], {"np": np})}
    stored = {
        "gptq": ("qweight", words([codes[i::8] for i in range(8)]), codes),
        # AutoAWQ's order of columns in a word.
        "awq": ("qweight", words([codes[:, i::8] for i in (0, 2, 4, 6, 1, 3, 5, 7)]), codes),
        "packed": ("weight_packed", words([codes.T[:, i::8] for i in range(8)]), codes.T),
    }
    for name, (source, packed, wanted) in stored.items():
        assert np.array_equal(eval(lines[name].split("#")[0], {**scope, source: packed}), wanted), name
    scales = random.random((n, k // 32)).astype("<f2")
    signed = random.integers(-127, 128, (n, k)).astype("i1")
    halves = codes.T.astype("u1").reshape(n, k // 32, 2, 16)
    blocks = {
        "q8_0": (signed.view("u1").reshape(n, k // 32, 32), signed),
        "q4_0": (halves[:, :, 0] | halves[:, :, 1] << 4, codes.T),
    }
    for name, (body, wanted) in blocks.items():
        data = np.concatenate([scales.view("u1").reshape(n, k // 32, 2), body], -1).reshape(n, -1)
        here = {**scope, "tensor": SimpleNamespace(data=data)}
        here["b"] = eval(lines["b"].split("#")[0], here)
        assert np.array_equal(eval(lines["d"], here), scales)
        assert np.array_equal(eval(lines[name], here), wanted), name


def test_modules_are_small() -> None:
    """One idea each. (The module for nodes is one file, because it is copied there.)"""
    files = [file for file in (ROOT / "python/tcverify").rglob("*.py") if file.name != "screen.py"]
    long = {file.name: lines for file in files if (lines := len(file.read_text().splitlines())) > 450}
    assert len(files) > 40 and not long, long


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Inside functions, too; only what type checkers alone read is left out."""
    package = Path(tcverify.__file__).parent
    modules = {path: ".".join(("tcverify", *path.relative_to(package).with_suffix("").parts)).removesuffix(".__init__") for path in package.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for path, name in modules.items():
        found = graph.setdefault(name, set())
        queue: list[ast.AST] = [ast.parse(path.read_text())]
        while queue:
            node = queue.pop()
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                continue
            queue.extend(ast.iter_child_nodes(node))
            if isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                # A package is what it has inside; what stands in it by that name, too.
                inside = {f"{node.module}.{one.name}" for one in node.names}
                found |= inside & set(modules.values()) or {node.module}
    # Whoever is inside a package may name it: it is there by then.
    packages = {name for name in graph if any(other.startswith(name + ".") for other in graph)}
    for name in graph:
        graph[name] = {other for other in graph[name] if other in graph and not (other in packages and name.startswith(other))}
    assert sum(map(len, graph.values())) > 60
    for start in graph:
        queue_, seen = list(graph[start]), set()
        while queue_:
            one = queue_.pop()
            assert one != start, f"{start} imports itself"
            if one not in seen:
                seen.add(one)
                queue_ += graph[one]
