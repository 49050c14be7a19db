//! What contradicts a text is refused in a sentence.

use crate::support::claims;

use super::{FILES, LOG, NVJET, product};

#[test]
fn what_contradicts_a_text_is_said() {
    let folder = product();
    let other = LOG.replace("rows=4096", "rows=4097");
    let two = LOG
        .replace("rows=4096 cols=32", "rows=4096 cols=32 batchCount=2")
        .replace("rows=64 cols=32", "rows=64 cols=32 batchCount=2");
    let amd = "DepthU=32,GSU=1,LSU=1,SU=0,MatrixInstruction=16x16x16";
    let name = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn";
    claims! {folder, "
        each check --kernel ~ {FILES} | refused
        `{other}` --arch h100 | --kernel | 32x64x4097 | 32x64x4096 | another product
        `{LOG}` --arch a100 | sm_90 and later
        {amd} --arch a100 --dtype bf16 | AMD GPU's kernel
        {amd} --arch h100 --dtype bf16 | AMD GPU's kernel
        {amd} --arch ieee-fma --dtype bf16 | AMD GPU's kernel
        {amd} --arch wormhole --dtype bf16 | AMD GPU's kernel
        `{LOG}` --arch mi300x | NVIDIA's kernels | cdna3
        `{NVJET}` --arch b200 --split-k 3 | sm_90 | sm_100
        `{LOG}` --arch h100 --split-k 4 | slices is 3 | the request says 4
        `{LOG}` --arch h100 --dtype fp16 | bf16 | fp16
        `{LOG}` --arch h100 --d-dtype fp32 | D's format is bf16 | fp32
        `{LOG}` --arch h100 --tile-k 32 | K of a tile is 64 | 32
        `{LOG}` | --arch
        `{LOG}` --arch h100 --instruction mma | wgmma | mma
        `{two}` --arch h100 | batch of 2 | but the request has 1
        algo=41 --arch h100 --dtype bf16 | ALGO_ID 41 | identify
        algo=66,stages=35,splitK=5000,reduction=2 --arch h100 --dtype bf16 | 5000 parts | K is 4096
        {name} --arch a100 | number of slices | --split-k
        {name} --arch a100 --split-k 2 | INPLACE | --set reduction
        `no kernel` --arch h100 --dtype bf16 | --kernel | not a known cuBLASLt log line
        algo=60,stages=16 --arch h100 --dtype bf16 | Ada
        `{LOG}` --arch h100 --set grain=64 | --kernel | --set grain
        `{LOG}` --arch h100 --schedule plain | --schedule | --kernel

        each check --arch h100 --dtype bf16 ~ {FILES} | refused
        --set reduction=2 | --set reduction | --kernel
        --set workspace=2 | --set workspace | --kernel-table
    "}
}

/// D's file says another format than the text.
#[test]
fn d_is_what_the_text_says() {
    claims! {product(), "
        replay --arch h100 --dtype bf16 --d-dtype fp16 a.npy b.npy -o h.npy | 0
        check --kernel `{LOG}` --arch h100 a.npy b.npy h.npy | refused | h.npy | fp16 | bf16
    "}
}
