"""Models that are spread over processes: the program runs as without a capture, and each rank records its own products."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

#: Two layers on two ranks; what each rank recorded, and whether its bits are those of the GPU.
SCRIPT = """
import sys, torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from tcverify.torch import capture, simulate

rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
mesh = init_device_mesh("cpu", (2,))

def ddp(net):
    return torch.nn.parallel.DistributedDataParallel(net)

def fsdp2(net):
    from torch.distributed.fsdp import fully_shard
    for layer in (net[0], net[2], net):
        fully_shard(layer, mesh=mesh)
    return net

def tensor_parallel(net):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    return parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})

def built():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 16))

x = torch.randn(4, 16, generator=torch.Generator().manual_seed(2))
with simulate("h100"):
    plain = built()(x)
for spread in (ddp, fsdp2, tensor_parallel):
    net = spread(built())
    for number in range(2):
        with simulate("h100") as simulation, capture(f"{folder}/{spread.__name__}{rank}{number}") as captured:
            y = net(x)
            y.square().sum().backward()
        same = torch.equal(y, plain) or spread is tensor_parallel and torch.allclose(y, plain, atol=1e-5)
        batch = captured.batch()
        print(spread.__name__, same, simulation.products, captured.products, captured.coverage.seen, batch.verdict, flush=True)
dist.destroy_process_group()
"""


@pytest.mark.skipif(sys.platform != "linux" or not torch.distributed.is_available(), reason="processes of gloo")
def test_ranks_record_their_own_products(tmp_path: Path) -> None:
    (tmp_path / "ranks.py").write_text(SCRIPT)
    words = [sys.executable, str(tmp_path / "ranks.py")]
    ranks = [subprocess.Popen([*words, str(n), str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for n in range(2)]
    for rank in ranks:
        try:
            said, errors = rank.communicate(timeout=120)
        finally:
            rank.kill()
        # Two products forward; backward those of both weights, and of what the second layer was given.
        expected = [f"{how} True 5 5 5 identical" for how in ("ddp", "fsdp2", "tensor_parallel") for _ in range(2)]
        assert said.splitlines() == expected, errors
