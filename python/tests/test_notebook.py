"""The example notebook runs, and what it shows is HTML."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT

pytest.importorskip("torch")
nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")


def test_both_sides_of_an_audit_are_one_notebook(tmp_path: Path) -> None:
    notebook = nbformat.read(ROOT / "python" / "examples" / "audit.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    last = [output["data"]["text/plain"] for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs if "data" in output]
    assert "'identical_in_part'" in last[2] and "'different'" in last[3], last
    # Of a run: what was drawn is judged, and another run is refused.
    assert "0 of 8 products recorded" in last[4] and last[6].count("'identical'") == 3 and "which was published" in last[7], last


def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(ROOT / "python" / "examples" / "from-model-to-verdict.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [
        output["data"]["text/html"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    ]
    assert any("tcverify-report" in html and " cases: " in html for html in shown)
    assert any("tcverify-report bad" in html and "<svg" in html for html in shown)
