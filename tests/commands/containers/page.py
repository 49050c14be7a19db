"""Files of the section "Containers" of docs/inputs.md: x.npy, model.safetensors and y.npz, without NumPy."""

import json
import struct
import subprocess
import zipfile


def run(*words: str) -> None:
    subprocess.run(["tcverify", *words], check=True, stdout=subprocess.DEVNULL)


run(*"generate generate:1:normal:12x40 --dtype bf16 --role a -o x.npy".split())
run(*"generate generate:2:normal:8x40 --dtype bf16 --role b -o b.npy".split())
run(*"replay --arch h100 --dtype bf16 --transpose-b x.npy b.npy -o y.npy".split())
with open("b.npy", "rb") as file:
    npy = file.read()
codes = npy[10 + struct.unpack("<H", npy[8:10])[0] :]
about = {"dtype": "BF16", "shape": [8, 40], "data_offsets": [0, len(codes)]}
header = json.dumps({"layers.0.q_proj.weight": about}).encode()
with open("model.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + codes)
with zipfile.ZipFile("y.npz", "w") as archive:
    archive.write("y.npy")
