//! What contradicts a text is refused in a sentence.

use crate::support::{claims, listed, rows};

use super::{FILES, LOG, NVJET, product, with};

#[test]
fn what_contradicts_a_text_is_said() {
    let folder = product();
    let refuses = |text: &str, more: &str, words: &[&str]| {
        with(
            &folder,
            "check",
            ["--kernel", text],
            &format!("{more} {FILES}"),
        )
        .refuses(words);
    };
    let other = LOG.replace("rows=4096", "rows=4097");
    refuses(
        &other,
        "--arch h100",
        &["--kernel", "32x64x4097", "32x64x4096", "another product"],
    );
    refuses(LOG, "--arch a100", &["sm_90 and later"]);
    let amd = "DepthU=32,GSU=1,LSU=1,SU=0,MatrixInstruction=16x16x16";
    for gpu in ["a100", "h100", "ieee-fma", "wormhole"] {
        refuses(
            amd,
            &format!("--arch {gpu} --dtype bf16"),
            &["AMD GPU's kernel"],
        );
    }
    refuses(LOG, "--arch mi300x", &["NVIDIA's kernels", "cdna3"]);
    refuses(NVJET, "--arch b200 --split-k 3", &["sm_90", "sm_100"]);
    for [given, said] in rows! {"
        --arch h100 --split-k 4 | slices is 3 | the request says 4
        --arch h100 --dtype fp16 | bf16 | fp16
        --arch h100 --d-dtype fp32 | D's format is bf16 | fp32
        --arch h100 --tile-k 32 | K of a tile is 64 | 32
    "}
    {
        refuses(LOG, given, &listed(said));
    }
    refuses(LOG, "", &["--arch"]);
    refuses(LOG, "--arch h100 --instruction mma", &["wgmma", "mma"]);
    refuses(
        &LOG.replace("rows=4096 cols=32", "rows=4096 cols=32 batchCount=2")
            .replace("rows=64 cols=32", "rows=64 cols=32 batchCount=2"),
        "--arch h100",
        &["batch of 2", "but the request has 1"],
    );
    let more = "--arch h100 --dtype bf16";
    refuses("algo=41", more, &["ALGO_ID 41", "identify"]);
    refuses(
        "algo=66,stages=35,splitK=5000,reduction=2",
        more,
        &["5000 parts", "K is 4096"],
    );
    let name = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn";
    refuses(name, "--arch a100", &["number of slices", "--split-k"]);
    refuses(
        name,
        "--arch a100 --split-k 2",
        &["INPLACE", "--set reduction"],
    );
    refuses(
        "no kernel",
        more,
        &["--kernel", "not a known cuBLASLt log line"],
    );
    refuses("algo=60,stages=16", more, &["Ada"]);
    for [given, said] in rows! {"
        --arch h100 --set grain=64 | --kernel | --set grain
        --arch h100 --schedule plain | --schedule | --kernel
    "}
    {
        refuses(LOG, given, &listed(said));
    }
    claims! {folder, "
        check {more} --set reduction=2 {FILES} | refused | --set reduction | --kernel
        check {more} --set workspace=2 {FILES} | refused | --set workspace | --kernel-table
    "}
}

/// D's file says another format than the text.
#[test]
fn d_is_what_the_text_says() {
    let folder = product();
    folder.passes("replay --arch h100 --dtype bf16 --d-dtype fp16 a.npy b.npy -o h.npy");
    with(
        &folder,
        "check",
        ["--kernel", LOG],
        "--arch h100 a.npy b.npy h.npy",
    )
    .refuses(&["h.npy", "fp16", "bf16"]);
}
