//! What a library says of its kernel, in place of a schedule.

mod descriptions;
mod files;
mod refusals;
mod texts;

use crate::support::Folder;

/// 32x64x4096 in BF16, three slices; the library's A is the row-major B, stored NxK.
const LOG: &str = "[2025-11-03 19:02:38][cublasLt][1][Trace][cublasLtMatmul] A=0X1 Adesc=[type=R_16BF rows=4096 cols=64 ld=4096] B=0X2 Bdesc=[type=R_16BF rows=4096 cols=32 ld=4096] C=0X3 Cdesc=[type=R_16BF rows=64 cols=32 ld=64] D=0X3 Ddesc=[type=R_16BF rows=64 cols=32 ld=64] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transa=OP_T] algo=[algoId=66 tile=MATMUL_TILE_64x32 stages=MATMUL_STAGES_64xAUTO reductionScheme=REDUCTION_SCHEME_COMPUTE_TYPE numSplitsK=3] workSpace=0X4 workSpaceSizeInBytes=24576 beta=0 outOfPlace=0 stream=0X0";

const NVJET: &str = "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT";

/// A folder with a.npy (32x4096), b.npy (4096x64), and d.npy as the order of the text gives it.
fn product() -> Folder {
    let folder = Folder::new();
    folder.generate("a bf16 1:normal:32x4096 | b bf16 2:normal:4096x64");
    folder.replay("--arch hopper --dtype bf16 --schedule cublas-nvjet-splitk --split-k 3 --d-dtype bf16 a.npy b.npy", "d.npy");
    folder
}

const FILES: &str = "a.npy b.npy d.npy";
