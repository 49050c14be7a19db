//! Kernels of weights of few bits: found by what they give, with the settings that nobody stated.

use serde_json::Value;

use crate::schedules::marlin::{KERNEL, product};
use crate::support::{Members, Npy, Says, claims, table};

/// The search names the kernel that gave D, with a number of multiprocessors; its commands judge D identical.
#[test]
fn the_kernel_of_weights_is_found() {
    let cases = table! {
        // Scales of groups before the product, in f32 and in D's format.
        (4, false, "u4b8", 8, "marlin-vllm", "vllm"),
        (4, true, "u4", 8, "marlin-vllm --set reduction=output_type", "vllm"),
        (4, false, "u4b8", 4, "marlin-original", "original"),
        // Scales of columns after it.
        (4, false, "u4b8", 1, "marlin-vllm", "vllm"),
        (8, false, "u8b128", 1, "marlin-vllm", "vllm"),
    };
    for (bits, zeros, kind, groups, kernel, name) in cases {
        let all = product(bits, zeros, [3, 128, 512], groups);
        let zero_b = if zeros { "--zero-b z.npy" } else { "" };
        let given = format!("--weights {kind} {zero_b}");
        let made = format!("{KERNEL} {kernel} --set multiprocessors=108 {given} a.npy b.npy");
        let d = all.replayed(&made);
        let folder = &all.folder;
        folder.write("d.npy", d.clone());
        let search =
            format!("identify --arch a100 --dtype fp16 --scale-b s.npy {given} a.npy b.npy d.npy");
        let found = folder.json(&format!("{search} --json -"));
        let fits = found["fits"].as_array().expect("a list");
        let is_it = |fit: &&Value| {
            let settings = fit["schedule"]["kernel"]["settings"].as_array();
            let has = |name: &str, value: &str| {
                let mut settings = settings.into_iter().flatten();
                settings.any(|one| one["name"] == name && one.string("value").starts_with(value))
            };
            has("multiprocessors", "108") && has("weights", name)
        };
        assert!(
            fits.iter().any(|fit| is_it(&fit)),
            "{kernel} {kind}: {found}"
        );
        for fit in fits.iter().take(4) {
            let command = fit["names"][0]["command"].as_str().expect("a command");
            let words = shlex::split(command).expect("words");
            folder
                .words(words[1..].iter().map(String::as_str))
                .expect(0);
        }
        // One wrong bit fits nothing, which is known only after all of the search.
        if kernel == "marlin-original" {
            let mut wrong = d;
            *wrong.last_mut().unwrap() ^= 2;
            folder.write("d.npy", wrong);
            folder.differs(&search);
        }
    }
}

#[test]
fn a_text_that_leaves_the_multiprocessors_open_is_completed() {
    let all = product(4, false, [5, 256, 1024], 8);
    let given = "--weights u4b8 a.npy b.npy";
    let made = format!("{KERNEL} marlin-vllm --set multiprocessors=108 {given}");
    let folder = &all.folder;
    folder.write("d.npy", all.replayed(&made));
    let search = format!("identify {KERNEL} marlin-vllm {given} d.npy");
    claims! {folder, "{search} | 0 | multiprocessors 108"}
    // So is the reduction, and the tile.
    let other = made.replace(
        "marlin-vllm",
        "marlin-vllm,64x128x128 --set reduction=output_type",
    );
    folder.write("e.npy", all.replayed(&other));
    let text = folder.stdout(&search.replace("d.npy", "e.npy"));
    text.says("--set reduction=OUTPUT_TYPE");
    text.says("marlin-vllm,64x128x128");
    // The command that a check suggests names the weights.
    let check = format!("check {KERNEL} marlin-vllm --set multiprocessors=1 {given} e.npy");
    let text = folder.differs(&check).stdout;
    text.says("tcverify identify --dtype fp16 --scale-b s.npy --weights u4b8");
    let two = check.replace("marlin-vllm", "marlin-vllm,u8b128");
    claims! {folder, "{two} | 2 | u8b128 | u4b8"}
    // The unit alone, too.
    claims! {folder, "check --arch auto --dtype fp16 --scale-b s.npy {given} d.npy | 0"}
    let one = &format!("{search} --arch h100");
    folder.passes(one);
    // What a check refuses, the search refuses: codes that are no bytes, for one.
    let words = (0..1024 * 256).flat_map(|i| [(i % 16) as u8, 0, 0, 0]);
    folder.save("i.npy", &Npy::new("<i4", &[1024, 256], words.collect()));
    let check = "check --arch h100 --dtype fp16 --scale-b s.npy --weights u4b8 a.npy i.npy d.npy";
    claims! {folder, "
        {check} | 2 | codes are bytes: give b.astype('u1')
        {search} | 0 | on other numbers of multiprocessors
    "}
    let base = "identify --dtype fp16 --scale-b s.npy";
    claims! {folder, "
        each {base} ~ | 2
        --weights u4 a.npy b.npy d.npy | --zero-b
        --weights u4b8 a.npy a.npy d.npy | unpack | a.npy
        --weights u4b8 --scale-a s.npy a.npy b.npy d.npy | --weights | --scale-a
        a.npy b.npy d.npy | --scale-b | --scale-a
        --weights u4b8 a.npy i.npy d.npy | i.npy | codes are bytes: give b.astype('u1')
    "}
}

#[test]
fn a_bias_and_scales_of_columns_come_together() {
    let all = product(8, false, [3, 128, 512], 1);
    let folder = &all.folder;
    let bias: Vec<f32> = (0..128).map(|i| i as f32 / 8.0 - 7.0).collect();
    folder.f16("bias.npy", &[128], &bias);
    let given = "--weights u8b128 --bias bias.npy a.npy b.npy";
    let made = format!("{KERNEL} marlin-vllm --set multiprocessors=108 {given}");
    folder.write("d.npy", all.replayed(&made));
    let search = format!("identify --arch a100 --dtype fp16 --scale-b s.npy {given} d.npy");
    claims! {folder, "{search} | 0 | --kernel marlin-vllm"}
}

#[test]
fn awqs_own_kernel_is_found() {
    let all = product(4, true, [5, 256, 1024], 8);
    let given = "--weights u4 --zero-b z.npy a.npy b.npy";
    let folder = &all.folder;
    claims! {folder, "replay --arch a100 --dtype fp16 --d-dtype fp16 --scale-b s.npy --schedule vllm-awq-gemm \
    {given} -q -o d.npy | 0"}
    let search = format!("identify --arch a100 --dtype fp16 --scale-b s.npy {given} d.npy");
    claims! {folder, "{search} | 0 | --schedule vllm-awq-gemm"}
}
