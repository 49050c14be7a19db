"""A gate beside a loop: what it keeps, what it costs, and whom it finds."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import tcverify  # noqa: E402
from test_torch import gpt2, llama, tokens  # noqa: E402
from tcverify.torch import capture, simulate, step_gate  # noqa: E402


def train(model: Any, steps: int, gate: Any, width: int = 64) -> None:
    """Forward, backward and an update."""
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)
    for number in range(steps):
        with gate.step():
            loss = model(tokens(width, number)).float().square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


def broken(monkeypatch: pytest.MonkeyPatch, every: int = 1) -> None:
    """A GPU one of whose products in so many has a wrong bit."""
    right, calls = tcverify.replay, 0

    def replay(*arrays: Any, **fields: Any) -> Any:
        nonlocal calls
        d = right(*arrays, **fields)
        calls += 1
        if calls % every == 0:
            d.view(torch.int16).view(-1)[0] ^= 4
        return d

    monkeypatch.setattr(tcverify, "replay", replay)


def test_a_right_training_step_passes(tmp_path: Path) -> None:
    with simulate("h100"), step_gate(tmp_path / "gate", share=0.5, keep=True) as gate:
        train(llama().train(), 8, gate)
    assert gate.steps == 8 and gate.watched >= 2
    assert {one.verdict for one in gate.judged} == {"identical"}
    assert len(gate.judged) == gate.watched
    gate.raise_for_difference()
    written = json.loads((tmp_path / "gate" / "gate.json").read_text())
    assert written["schema"] == "tcverify.step-gate/1" and written["watched"] == gate.watched
    # Drawn, from the backward pass as well: not the same product of every step.
    assert len({one.product.split(" ", 1)[1] for one in gate.judged}) > 1 or gate.watched < 4


def test_a_wrong_product_is_found_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    heard: list[Any] = []
    with simulate("h100"), step_gate(tmp_path / "gate", share=0.5, found=heard.append) as gate:
        train(gpt2().train(), 8, gate, 48)
    assert gate.different and heard == gate.different
    first = gate.different[0]
    assert "1 of " in first.sentence
    with pytest.raises(tcverify.DifferentError, match=f"step {first.step}, rank 0"):
        gate.raise_for_difference()
    # The few operands that show it stay.
    monkeypatch.undo()
    again = tcverify.batch(Path(first.folder) / "manifest.json")
    assert again.verdict == "different"


def test_identical_products_do_not_stay(tmp_path: Path) -> None:
    with simulate("h100"), step_gate(tmp_path / "gate", share=0.5) as gate:
        train(gpt2().train(), 6, gate, 48)
    assert gate.judged and not gate.different
    assert [path.name for path in (tmp_path / "gate").iterdir()] == ["gate.json"]


def test_the_share_of_time_is_kept(tmp_path: Path) -> None:
    model, x = gpt2(), tokens(48)
    with torch.no_grad(), step_gate(tmp_path / "gate", arch="h100", share=0.05) as gate:
        begun = time.monotonic()
        while time.monotonic() - begun < 4 or gate.watched < 2 and time.monotonic() - begun < 90:
            before, cost, seconds = gate.watched, gate.cost, gate.seconds
            with gate.step():
                model(x)
                time.sleep(0.002)
            # Nothing is watched before what was spent is within the share, and one more step of the same kind, too.
            assert gate.watched == before or cost + cost / max(1, before) <= 0.05 * seconds
    assert gate.watched >= 2 and gate.cost > 0
    assert gate.document()["share"] == gate.share


def test_a_failing_step_fails_as_without(tmp_path: Path) -> None:
    with step_gate(tmp_path / "gate", arch="h100", share=1) as gate:
        for number in range(6):
            try:
                with gate.step():
                    torch.ones(2, 2) @ torch.ones(2, 2)
                    if number == 2:
                        raise ZeroDivisionError
            except ZeroDivisionError:
                assert number == 2
    assert gate.watched >= 2
    assert (tmp_path / "gate" / "gate.json").exists()


def test_only_some_products(tmp_path: Path) -> None:
    with torch.no_grad(), simulate("h100"), capture(tmp_path / "c", only={0, 4}) as captured:
        llama()(tokens(64))
    assert captured.products == 2 and captured.offered == 18 and captured.skipped["only"] == 16
    assert captured.batch().identical


@pytest.mark.parametrize(("arguments", "wrong"), [({"share": 0}, ValueError), ({"neighbours": True}, ValueError), ({"share": 2}, ValueError)])
def test_what_is_refused(arguments: dict[str, Any], wrong: type[Exception], tmp_path: Path) -> None:
    with pytest.raises(wrong):
        step_gate(tmp_path, **arguments)
    (tmp_path / "other").write_text("")
    with pytest.raises(FileExistsError):
        step_gate(tmp_path).__enter__()


RANK = """
import sys
import torch, tcverify
from tcverify.torch import simulate, step_gate
sys.path.insert(0, {tests!r})
from test_torch import gpt2, tokens

rank, faulty = int(sys.argv[1]), sys.argv[2] == "faulty"
torch.distributed.init_process_group("gloo", init_method="file://{folder}/meet", rank=rank, world_size=2)
right = tcverify.replay
def replay(*arrays, **fields):
    d = right(*arrays, **fields)
    if faulty and rank == 1:
        d.view(torch.int16).view(-1)[0] ^= 4
    return d
tcverify.replay = replay
with simulate("h100"), step_gate("{folder}/gate" + str(rank), share=0.5, neighbours=True) as gate:
    for number in range(8):
        with torch.no_grad(), gate.step():
            gpt2()(tokens(48, number))
print(gate)
"""


@pytest.mark.parametrize("faulty", [True, False])
def test_neighbours_find_which_of_them_is_wrong(faulty: bool, tmp_path: Path) -> None:
    program = RANK.format(tests=str(Path(__file__).parent), folder=tmp_path)
    words = [sys.executable, "-c", program]
    ranks = [
        subprocess.Popen([*words, str(rank), "faulty" if faulty else "right"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for rank in range(2)
    ]
    said = [rank.communicate(timeout=300)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
    for rank in range(2):
        gate = json.loads((tmp_path / f"gate{rank}" / "gate.json").read_text())
        assert gate["watched"] >= 1
        if not faulty:
            # Nothing had to be replayed.
            assert gate["agreed"] == gate["watched"] and not gate["judged"] and not gate["disagreements"]
            continue
        first = gate["disagreements"][0]
        assert first["wrong"] == [1], gate
        assert first["verdicts"] == {"0": "identical", "1": "different"}
        assert "wrong on rank 1" in said[rank]
