"""Whatever holds the codes gives the same report."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from conftest import Array, normal

import tcverify
from tcverify import _arrays

FORMATS = [
    ("h100", np.float16, "fp16"),
    ("h100", ml_dtypes.bfloat16, "bf16"),
    ("h100", ml_dtypes.float8_e4m3fn, "e4m3"),
    ("h100", ml_dtypes.float8_e5m2, "e5m2"),
    ("mi300x", ml_dtypes.float8_e4m3fnuz, "e4m3fnuz"),
    ("mi300x", ml_dtypes.float8_e5m2fnuz, "e5m2fnuz"),
    ("rtx5090", ml_dtypes.float4_e2m1fn, "e2m1"),
    ("rtx5090", ml_dtypes.float6_e3m2fn, "e3m2"),
    ("a100", np.float64, "fp64"),
    ("a100", np.int8, "int8"),
    ("a100", ml_dtypes.int4, "int4"),
]


@pytest.mark.parametrize("arch, dtype, format", FORMATS, ids=[row[2] for row in FORMATS])
def test_formats_come_from_types(arch: str, dtype: type, format: str) -> None:
    a = (3 * normal(1, (8, 32), np.float64)).astype(dtype)
    b = (3 * normal(2, (32, 8), np.float64)).astype(dtype)
    d = tcverify.replay(a, b, arch=arch)
    report = tcverify.check(a, b, d, arch=arch)
    assert (report.verdict, report.model.a, report.model.b) == ("identical", format, format)
    codes = {1: np.uint8, 2: np.uint16, 8: np.uint64}[np.dtype(dtype).itemsize]
    # Integers in plain bytes are numbers, not codes.
    if not format.startswith("int"):
        same = tcverify.check(a.view(codes), b.view(codes), d, arch=arch, dtype=dtype)
        assert same.document["inputs"] == report.document["inputs"]


def test_two_formats() -> None:
    a, b = normal(1, (4, 32), ml_dtypes.float8_e5m2), normal(2, (32, 4), ml_dtypes.float8_e4m3fn)
    report = tcverify.check(a, b, tcverify.replay(a, b, arch="h100"), arch="h100")
    assert (report.model.a, report.model.b) == ("e5m2", "e4m3")


@pytest.mark.parametrize(
    "a, said",
    [
        (normal(1, (4, 8), np.float32), "float32"),
        (np.ones((4, 8), np.uint8), "codes of a format"),
        (np.ones((4, 8), np.int64), "codes of a format"),
    ],
)
def test_types_that_do_not_say_it_are_asked_about(a: Array, said: str) -> None:
    with pytest.raises(tcverify.CheckError, match=said) as caught:
        tcverify.replay(a, a.T, arch="h100")
    assert caught.value.argument == "dtype"


@pytest.mark.parametrize("a", [np.ones((2, 2), ml_dtypes.float8_e4m3), np.ones((2, 2), bool), np.ones((2, 2), complex)])
def test_types_that_no_model_multiplies_are_refused(a: Array) -> None:
    with pytest.raises(tcverify.CheckError) as caught:
        tcverify.replay(a, a, arch="h100")
    assert caught.value.argument == "a"


@pytest.mark.parametrize("value", [[[1.0], [2.0, 3.0]], 3, None, {"a": 1}])
def test_what_is_no_array_is_refused(value: object) -> None:
    with pytest.raises(tcverify.CheckError) as caught:
        tcverify.replay(value, value, arch="h100", dtype="fp16")
    assert caught.value.argument == "a"


def test_layouts_make_no_difference() -> None:
    a, b = normal(1, (16, 48)), normal(2, (48, 24))
    d = tcverify.replay(a, b, arch="h100")
    plain = tcverify.check(a, b, d, arch="h100").to_json()
    wide = np.zeros((32, 144), a.dtype)
    wide[::2, ::3] = a
    for other in (
        np.asfortranarray(a),
        wide[::2, ::3],
        a[::-1][::-1],
        np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    ):
        assert tcverify.check(other, b, d, arch="h100").to_json() == plain
    for other in (np.asfortranarray(b), b.T.copy().T, np.broadcast_to(b, (3, *b.shape))[1]):
        assert tcverify.check(a, other, d, arch="h100").to_json() == plain
    for other in (np.asfortranarray(d), d.astype(">f4"), np.repeat(d, 2, axis=0)[::2]):
        assert tcverify.check(a, b, other, arch="h100").to_json() == plain
    turned = tcverify.check(a.T, b.T, d, arch="h100", transpose_a=True, transpose_b=True)
    assert turned.verdict == "identical"


def test_memory_is_read_where_it_is() -> None:
    a = normal(1, (64, 64))
    for view in (a, a.T, a[::2], a[:, 3:5], np.broadcast_to(a, (5, 64, 64))):
        held, descr = _arrays.held("a", view)
        assert np.shares_memory(held, a) and descr == "bfloat16"
        assert held.strides == view.strides


def test_an_array_that_changes_gives_another_verdict(product: tuple[Array, Array, Array]) -> None:
    a, b, d = product
    assert tcverify.check(a, b, d, arch="h100").identical
    d.view(np.uint32)[3, 4] ^= 1
    assert not tcverify.check(a, b, d, arch="h100").identical


def test_a_matrix_beside_a_batch() -> None:
    a, b = normal(1, (2, 3, 8, 32)), normal(2, (32, 16))
    d = tcverify.replay(a, b, arch="h100")
    assert d.shape == (2, 3, 8, 16)
    one = np.stack([tcverify.replay(a[i, j], b, arch="h100") for i in range(2) for j in range(3)])
    assert (d.reshape(one.shape) == one).all()
    assert tcverify.check(a, b, d, arch="h100").product.batch == (2, 3)
    turned = tcverify.replay(a, np.ascontiguousarray(b.T), arch="h100", transpose_b=True)
    assert (turned == d).all()
    left = tcverify.replay(normal(3, (8, 32)), normal(4, (5, 32, 16)), arch="h100")
    assert left.shape == (5, 8, 16)


class Buffer:
    """Of a library that knows nothing but DLPack."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **arguments: object) -> object:
        return self.array.__dlpack__(**arguments)  # type: ignore[arg-type]

    def __dlpack_device__(self) -> object:
        return self.array.__dlpack_device__()


class Named:
    """Of a library whose DLPack NumPy cannot read."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **arguments: object) -> object:
        raise BufferError("bfloat16 is none of NumPy's types")

    def __array__(self, dtype: object = None, copy: object = None) -> Array:
        return self.array


def test_other_libraries() -> None:
    a, b = normal(1, (4, 16), np.float16), normal(2, (16, 4), np.float16)
    d = tcverify.replay(a, b, arch="h100")
    for wrap in (Buffer, Named, memoryview):
        assert tcverify.check(wrap(a), wrap(b), wrap(d), arch="h100").identical  # type: ignore[operator]
    c = normal(1, (4, 16))
    assert tcverify.check(Named(c), Named(c.T), tcverify.replay(c, c.T, arch="h100"), arch="h100").identical


def test_results_are_of_the_type_that_is_asked_for() -> None:
    a, b = normal(1, (4, 16)), normal(2, (16, 4))
    assert tcverify.replay(a, b, arch="h100").dtype == np.float32
    half = tcverify.replay(a, b, arch="h100", d_dtype=ml_dtypes.bfloat16)
    assert half.dtype == ml_dtypes.bfloat16
    codes = tcverify.replay(a, b, arch="h100", d_dtype="bf16", codes=True)
    assert codes.dtype == np.uint16 and (codes == half.view(np.uint16)).all()
    whole = tcverify.replay(np.ones((2, 3), np.int8), np.ones((3, 2), np.int8), arch="a100")
    assert whole.dtype == np.int32 and (whole == 3).all()


def test_values_of_a_wider_type_are_taken_if_they_are_exact() -> None:
    a, b = normal(1, (4, 16)), normal(2, (16, 4))
    d = tcverify.replay(a, b, arch="h100")
    wide = a.astype(np.float32)
    assert tcverify.check(wide, b, d, arch="h100", dtype="bf16").identical
    wide[2, 3] = 0.1
    with pytest.raises(tcverify.CheckError, match=r"\[2, 3\] is 0.1 .*tcverify never rounds its inputs"):
        tcverify.check(wide, b, d, arch="h100", dtype="bf16")
    # An FP16 C of a unit whose C is FP32, as a file's would be.
    c = normal(3, (4, 4), np.float16)
    same = tcverify.replay(a, b, arch="h100", c=c.astype(np.float32))
    assert (tcverify.replay(a, b, arch="h100", c=c) == same).all()


def test_scales() -> None:
    a, b = normal(1, (8, 64), ml_dtypes.float4_e2m1fn), normal(2, (64, 8), ml_dtypes.float4_e2m1fn)
    scales = np.abs(normal(3, (8, 4), ml_dtypes.float8_e4m3fn))
    arguments = {"arch": "b200", "scale_dtype": "ue4m3", "scale_a": scales, "scale_b": scales.T}
    d = tcverify.replay(a, b, **arguments)  # type: ignore[arg-type]
    raw = {**arguments, "scale_a": scales.view(np.uint8), "scale_b": scales.view(np.uint8).T}
    assert (tcverify.replay(a, b, **raw) == d).all()  # type: ignore[arg-type]
    assert tcverify.check(a, b, d, **arguments).identical  # type: ignore[arg-type]
    blocks = np.ones((8, 2), ml_dtypes.float8_e8m0fnu)
    plain = tcverify.replay(a, b, arch="b200", scale_a=blocks, scale_b=blocks.T, scale_block=32)
    assert plain.shape == (8, 8)


def test_digests() -> None:
    a = normal(1, (4, 8))
    assert tcverify.digest(a) == tcverify.digest(np.asfortranarray(a)) == tcverify.digest(a.view(np.uint16), "bf16")
    report = tcverify.check(a, a.T, tcverify.replay(a, a.T, arch="h100"), arch="h100")
    assert tcverify.digest(a) == report.document["inputs"]["a"]["payload_sha256"]
