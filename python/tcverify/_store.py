"""Arrays by digest, in files of safetensors."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcverify import _arrays

#: What safetensors calls types of torch, NumPy and ml_dtypes.
NAMES = {
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "int8": "I8",
    "uint8": "U8",
    "int32": "I32",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
}


def type_name(array: Any) -> str:
    """The type of an array's elements, as its library calls it."""
    return str(array.dtype).removeprefix("torch.")


class Snapshot(NamedTuple):
    """The codes of an array as they were, in C order: the program may go on writing to it."""

    dtype: str
    shape: tuple[int, ...]
    data: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, array: Any) -> Snapshot:
        held = _arrays.held("tensor", array)[0]
        # One copy, of whatever layout.
        data = np.array(held, order="C", copy=True).reshape(-1).view(np.uint8)
        return cls(NAMES[type_name(array)], tuple(array.shape), data)

    @property
    def held(self) -> _arrays.Held:
        """As the library takes it."""
        name = next(name for name, stored in NAMES.items() if stored == self.dtype)
        known = not name.startswith(("bfloat", "float8"))
        array = self.data.view(name if known else f"<u{2 if name == 'bfloat16' else 1}").reshape(self.shape)
        return array, array.dtype.str if known else name

    @property
    def bytes(self) -> int:
        return int(self.data.nbytes)


class Store:
    """Arrays by digest, in files of about a size that appear whole."""

    def __init__(self, directory: Path, shard_bytes: int) -> None:
        self._directory = directory
        self._limit = shard_bytes
        self._addresses: dict[str, str] = {}
        self._waiting: dict[str, Snapshot] = {}
        self._bytes = 0
        self._shards = 0

    @property
    def full(self) -> bool:
        return self._bytes >= self._limit

    def key(self, snapshot: Snapshot) -> str:
        about = f"{snapshot.dtype} {list(snapshot.shape)} ".encode()
        return hashlib.sha256(about + hashlib.sha256(snapshot.data.data).digest()).hexdigest()[:32]

    def has(self, key: str) -> bool:
        return key in self._addresses

    def put(self, key: str, snapshot: Snapshot) -> None:
        if key not in self._addresses:
            self._addresses[key] = f"shard-{self._shards:05d}.safetensors#{key}"
            self._waiting[key] = snapshot
            self._bytes += snapshot.bytes

    def address(self, key: str) -> str:
        return self._addresses[key]

    def flush(self) -> None:
        if not self._waiting:
            return
        header, end = {}, 0
        for key, (dtype, shape, data) in self._waiting.items():
            header[key] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + data.nbytes]}
            end += data.nbytes
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        handle, temporary = tempfile.mkstemp(dir=self._directory, prefix=".tcverify-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(len(text).to_bytes(8, "little") + text)
                for _, _, data in self._waiting.values():
                    file.write(data.data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._directory / f"shard-{self._shards:05d}.safetensors")
        except BaseException:
            os.unlink(temporary)
            raise
        self._waiting.clear()
        self._bytes = 0
        self._shards += 1
