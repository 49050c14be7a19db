"""``torch._scaled_mm`` of a GPU, on any device."""

from __future__ import annotations

from typing import Any

import torch

import tcverify
from tcverify._recorder import Refused
from tcverify.torch import _products, _scaled_products
from tcverify.torch._product_request import ProductRequest

#: Which schedule cuBLAS has for slices of K, by what users of mmaemu call it.
_SPLITS = {"contiguous": "cublas-nvjet-fp8-splitk", "serial": "cublas-ada-fp8-serial", "pairwise": "cublas-ada-fp8-pairwise"}


#: Where cuBLASLt 12.8 never splits K on an H100 PCIe with torch's workspace of 1 MiB: none of 1,767,416 answers that mmaemu
#: recorded splits K below this, or with more elements of D.
_SPLIT_FROM_K, _SPLIT_UP_TO = 5760, 122_880


class SplitUnknown(tcverify.CheckError):
    """Whether, and into how many slices, cuBLAS cuts K is not known: ``splitk`` or ``kernel`` says it."""


def scaled_mm(
    input: torch.Tensor,
    mat2: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
    *,
    out: torch.Tensor | None = None,
    profile: str | None = None,
    splitk: int | tuple[int, str] | str = "auto",
    backend: str = "auto",
    **fields: Any,
) -> torch.Tensor:
    """What ``torch._scaled_mm`` gives on the GPU ``profile`` (an H100 without), computed by replay; the signature is mmaemu's.

    Scales are for tensors, for rows and columns, or for blocks (MXFP8, NVFP4). ``splitk`` is how many slices cuBLAS cuts K
    into, or that and how they are added: ``(4, "pairwise")``. ``"auto"`` is the library's choice, where it is known to be none
    (an H100 with K below 5,760 or more than 122,880 elements of D, no workspace, scales for rows): elsewhere :class:`SplitUnknown`
    is raised.
    ``backend="reference"`` computes exactly, step by step, any other fast; the bits are the same. Other arguments are fields
    of a request (docs/request.md): ``kernel=`` takes a line of cuBLASLt's log.
    """
    try:
        found = _scaled_products.scaled_mm(input, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum)
    except Refused as refused:
        raise tcverify.CheckError("scale_a", f"`scale_a`: {refused}") from None
    arch = (profile or "hopper").removesuffix("-te").removesuffix("-ws0")
    if splitk == "auto" and found.fields.get("schedule") == _scaled_products.SCALED and not {"kernel", "schedule"} & set(fields):
        _never_splits(profile or "hopper", arch, found)
    slices, scheme = splitk if isinstance(splitk, tuple) else (1 if splitk == "auto" else splitk, None)
    if isinstance(slices, str) or slices < 1:
        raise tcverify.CheckError("splitk", f'`splitk`: {splitk!r}; "auto", a number of slices, or both it and how they are added')
    said: dict[str, Any] = {**found.fields}
    if slices > 1:
        scheme = scheme or ("pairwise" if tcverify._tcverify.architecture(arch) == "ada" else "contiguous")
        if scheme not in _SPLITS or said.get("schedule") != _scaled_products.SCALED:
            raise tcverify.CheckError("splitk", f"`splitk`: {splitk!r}: slices are known of scales for tensors, added {', '.join(_SPLITS)}")
        said.update(schedule=_SPLITS[scheme], split_k=slices)
    if "kernel" in fields:
        said.pop("schedule", None)
        said.pop("promote", None)
    if backend == "reference":
        said["engine"] = "exact"
    with torch.utils._python_dispatch._disable_current_modes():
        request: Any = {"arch": arch, **_products.formats(found), **said, **fields, **found.arrays}
        d: torch.Tensor = found.returned(tcverify.replay(found.a, found.b, **request))
    return d if out is None else out.copy_(d)


def _never_splits(profile: str, arch: str, found: ProductRequest) -> None:
    """Does nothing where cuBLAS is known not to cut K.

    :raises SplitUnknown: elsewhere.
    """
    (m, n), k = found.shape, found.a.shape[-1]
    own_workspace = profile == arch and tcverify._tcverify.architecture(arch) == "hopper"
    if profile.endswith("-ws0") or own_workspace and (k < _SPLIT_FROM_K or m * n > _SPLIT_UP_TO):
        return
    raise SplitUnknown(
        "splitk",
        f"`splitk`: whether cuBLAS cuts K = {k} of a {m}x{n} product on {profile!r} is not known here: say the number of slices "
        "(1 for none), or give a line of cuBLASLt's log as `kernel`",
    )
