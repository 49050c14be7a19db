"""Multiplies a.npy and b.npy of every case folder by ttnn, at a Tenstorrent chip: docs/capturing-chips.md.

    python3 capture_ttnn.py FOLDER

Writes d.npy, and a case.json that says what the configurations do. No chip has run it.
"""

import json
import pathlib
import sys

import numpy as np
import torch
import ttnn

device = ttnn.open_device(device_id=0)
kernel = ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi2, fp32_dest_acc_en=True, packer_l1_acc=True)
program = ttnn.MatmulMultiCoreReuseProgramConfig(compute_with_storage_grid_size=(1, 1), in0_block_w=2, out_subblock_h=1,
                                                 out_subblock_w=1, per_core_M=1, per_core_N=1)
case = dict(arch="wormhole", kind="matmul", fidelity="HiFi2", fp32_dest_acc_en=True, packer_l1_acc=True, block_k=64,
            reload="exact", a_dtype="bf16", b_dtype="bf16", d_dtype="bf16")
for folder in filter(pathlib.Path.is_dir, pathlib.Path(sys.argv[1]).iterdir()):

    def load(name, folder=folder):
        codes = torch.from_numpy(np.load(folder / name).view(np.int16)).view(torch.bfloat16)
        return ttnn.from_torch(codes, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)

    d = ttnn.matmul(load("a.npy"), load("b.npy"), dtype=ttnn.bfloat16, program_config=program, compute_kernel_config=kernel)
    np.save(folder / "d.npy", ttnn.to_torch(d).view(torch.int16).numpy().view(np.uint16))
    (folder / "case.json").write_text(json.dumps(case))
