//! A bias that is given: every candidate adds it, and a result without it is none's.

use crate::support::{Folder, Members, Npy, Says, claims, holds, ran, rows};

const A: &str = "generate:1:normal:17x160";
const B: &str = "generate:2:normal:160x24";
const BIAS: &str = "generate:3:normal:1x24";

/// Results with a bias, of two GPUs that round differently and in two formats.
fn made() -> Folder {
    let folder = Folder::new();
    for [name, arch, options] in rows! {"
        hopper | h100 | --d-dtype bf16
        ampere | a100 | --d-dtype bf16
        wide | h100 | --d-dtype fp32
        other | a100 | --d-dtype fp32
        sliced | a100 | --schedule cublas-workspace --split-k 5 --tile-k 32
    "}
    {
        let replay = format!("replay --arch {arch} --dtype bf16 {options} --bias {BIAS}");
        folder.passes(&format!("{replay} {A} {B} -o {name}.npy"));
    }
    claims! {folder, "replay --arch h100 --dtype bf16 --d-dtype bf16 {A} {B} -o none.npy | 0"}
    folder
}

#[test]
fn who_computed_a_product_and_a_bias() {
    let folder = made();
    let identify = |name: &str, options: &str| {
        ran! {folder, "identify --dtype bf16 {options} --json - {A} {B} {name}.npy"}
    };
    for (name, arch) in [
        ("hopper", "hopper"),
        ("ampere", "ampere"),
        ("wide", "hopper"),
        ("sliced", "ampere"),
    ] {
        let found = identify(name, &format!("--bias {BIAS}")).expect(0).json();
        let fits = found.list("fits");
        let fit = fits.iter().find(|fit| {
            let names = fit.list("names");
            fit["in_full"] == true && names.iter().any(|one| one["architecture"] == arch)
        });
        let fit = fit.unwrap_or_else(|| panic!("{name}: {found:#}"));
        let names = fit.list("names");
        let own = names
            .iter()
            .find(|one| one["architecture"] == arch)
            .unwrap();
        let check = own.string("command");
        check.says("--bias");
        let check = check.strip_prefix("tcverify ").unwrap();
        folder.passes(&format!("{check} -q"));
    }
    // Another bias, and a result to which none was added.
    identify("hopper", "--bias generate:4:normal:1x24").expect(1);
    identify("none", &format!("--bias {BIAS}")).expect(1);
    identify("none", "").expect(0);
    identify("hopper", "--schedules never --bias b.npy").refuses(&["--bias applies to kernels"]);
    identify("hopper", "--bias generate:3:normal:1x23").refuses(&["24 or 1x24"]);
    // A file is read as a check reads it.
    let bias = |descr: &str| folder.save("bias.npy", &Npy::new(descr, &[24], vec![0; 48]));
    bias("<V2");
    identify("none", "--bias bias.npy").expect(0);
    bias("<u2");
    identify("none", "--bias bias.npy").refuses(&["bias.npy", "give --bias-dtype"]);
    identify("none", "--bias bias.npy --bias-dtype fp16").expect(0);
}

#[test]
fn the_unit_is_chosen_beside_a_bias() {
    let folder = made();
    let check = format!("check --arch auto --dtype bf16 --bias {BIAS} {A} {B}");
    claims! {folder, "
        {check} ampere.npy | 0 | IDENTICAL | bias
        {check} none.npy | 1
    "}
}

#[test]
fn two_results_with_a_bias() {
    let folder = made();
    let compare = |options: &str| {
        let words = format!("compare wide.npy other.npy {A} {B} --dtype bf16 {options}");
        folder.differing(&format!("{words} --json -"))
    };
    let gpus = "--arch1 h100 --arch2 a100";
    holds! {compare(&format!("{gpus} --bias {BIAS}")), "explained = both"}
    assert_eq!(compare(gpus)["explained"], "neither");
}
