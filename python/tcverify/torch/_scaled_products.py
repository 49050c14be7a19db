"""Products of FP8 and FP4 with scales."""

from __future__ import annotations

from typing import Any

import torch

from tcverify._recorder import Refused
from tcverify.torch._product_request import ProductRequest

#: FP8 with a scale for each operand, and with a scale for each row and column; promoted every 128 k.
SCALED, SCALED_ROWS = "cublas-ada-fp8", "torch-scaled-mm-rowwise"

FLOAT8 = {
    getattr(torch, name)
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
    if hasattr(torch, name)
}


def scaled_mm(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> ProductRequest:
    if scale_a.dtype in BLOCKS and scale_a.dtype == scale_b.dtype:
        request = block_scaled("_scaled_mm", a, b, scale_a, scale_b, out_dtype or torch.bfloat16)
        if bias is not None:
            request.arrays["bias"] = bias
        return request
    request = ProductRequest("_scaled_mm", a, b, out_dtype or a.dtype, (a.shape[0], b.shape[1]))
    (m, n), sizes = request.shape, (scale_a.numel(), scale_b.numel())
    if scale_a.dtype != torch.float32 or scale_b.dtype != torch.float32:
        raise Refused(f"scales in {scale_a.dtype} and {scale_b.dtype}: not recorded")
    if sizes == (1, 1):
        schedule = SCALED
    elif sizes == (m, n):
        schedule = SCALED_ROWS
    else:
        raise Refused(f"scales {tuple(scale_a.shape)} and {tuple(scale_b.shape)} of blocks: not recorded")
    # One-dimensional, they are the same however operands are stored.
    request.arrays.update(scale_a=scale_a.reshape(-1), scale_b=scale_b.reshape(-1))
    request.fields["schedule"] = schedule
    if use_fast_accum:
        request.fields["promote"] = "never"
    if bias is not None:
        request.arrays["bias"] = bias
    if scale_result is not None and request.result in FLOAT8:
        request.fields["scale_result"] = float(scale_result.item())
    return request


#: Formats of the scales of blocks, by their types: what they are called, and how many k share one.
BLOCKS: dict[torch.dtype, tuple[str, int]] = {torch.float8_e4m3fn: ("ue4m3", 16)}
if hasattr(torch, "float8_e8m0fnu"):
    BLOCKS[torch.float8_e8m0fnu] = ("ue8m0", 32)


def block_scaled(
    op: str, a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, result: torch.dtype
) -> ProductRequest:
    """A product of MXFP8, MXFP4 or NVFP4: ``b`` is stored N x K, scales as cuBLAS wants them, in tiles of 128 x 4."""
    scale_format, block = BLOCKS[scale_a.dtype]
    fields: dict[str, Any] = {"scale_dtype": scale_format, "scale_block": block}
    wide = a.dtype in FLOAT8
    if not wide:
        # Two codes a byte, the first in the low bits.
        a, b = _codes_of_four_bits(a), _codes_of_four_bits(b.t()).t()
        fields["dtype"] = "e2m1"
    elif scale_format != "ue8m0":
        raise Refused(f"scales of blocks in {scale_a.dtype} of {a.dtype}")
    request = ProductRequest(op, a, b, result, (a.shape[0], b.shape[1]), fields=fields)
    k = a.shape[1] // block
    request.arrays.update(
        scale_a=_out_of_tiles(scale_a, a.shape[0], k), scale_b=_out_of_tiles(scale_b, b.shape[1], k).t()
    )
    request.note = "scales of blocks are the instruction's, and K is one chain; cuBLAS's order is not published"
    return request


def _codes_of_four_bits(packed: torch.Tensor) -> torch.Tensor:
    seen = packed.contiguous().view(torch.uint8)
    return torch.stack((seen & 15, seen >> 4), -1).flatten(-2)


def _out_of_tiles(scales: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """Codes of scales as a matrix: of cuBLAS's tiles of 128 rows and 4 columns, in which row 32 * i + j is the i-th of j."""
    across, down = -(-columns // 4), -(-rows // 128)
    codes = scales.contiguous().view(torch.uint8)
    if codes.numel() != down * across * 512:
        raise Refused(f"{codes.numel()} scales of blocks: {down * across * 512} in tiles of 128 x 4 are expected")
    tiles = codes.reshape(down, across, 32, 4, 4).permute(0, 3, 2, 1, 4)
    return tiles.reshape(down * 128, across * 4)[:rows, :columns]
