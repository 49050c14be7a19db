"""Multiplies a.npy and b.npy of every case folder by bfdot.so, on an Arm processor: docs/capturing.md.

    python3 capture_arm.py FOLDER

Writes d.npy and case.json. No processor has run it.
"""

import ctypes
import json
import pathlib
import sys

import numpy as np

unit = ctypes.CDLL("./bfdot.so")
unit.fpcr.restype = ctypes.c_uint64
for folder in filter(pathlib.Path.is_dir, pathlib.Path(sys.argv[1]).iterdir()):
    a, b = np.ascontiguousarray(np.load(folder / "a.npy")), np.ascontiguousarray(np.load(folder / "b.npy").T)
    assert a.shape == b.shape == (64, 64) and a.dtype == b.dtype == np.uint16, f"{folder}: 64x64 codes of BF16 are expected"
    d = np.zeros((64, 64), np.float32)
    unit.product(*(x.ctypes.data_as(ctypes.c_void_p) for x in (a, b, d)), *map(ctypes.c_long, (64, 64, 64)))
    np.save(folder / "d.npy", d)
    case = dict(
        arch="arm", instruction="bfdot", a_dtype="bf16", b_dtype="bf16", d_dtype="fp32",
        note=f"FPCR {unit.fpcr():x}",
    )
    (folder / "case.json").write_text(json.dumps(case))
