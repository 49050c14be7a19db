//! D is another computation's.

use crate::support::{Members, Says};

use super::{causes, floats_of, folder, names, save};

const CHECK: &str = "--arch a100 --dtype fp16 a.npy b.npy d.npy";
const WITH_C: &str = "--arch a100 --dtype fp16 --c c.npy a.npy b.npy d.npy";

/// D as `tcverify replay` makes it with these options.
fn replayed(folder: &crate::support::Folder, options: &str) {
    folder.passes(&format!("replay {options} -q -o d.npy"));
}

#[test]
fn operands_the_other_way_round() {
    let folder = folder("fp16", [48, 48, 48]);
    for (options, kind) in [
        ("--transpose-a", "a_transposed"),
        ("--transpose-b", "b_transposed"),
        ("--transpose-a --transpose-b", "a_and_b_transposed"),
    ] {
        replayed(
            &folder,
            &format!("--arch a100 --dtype fp16 {options} a.npy b.npy"),
        );
        let sentence = names(&folder, CHECK, kind, true);
        assert!(
            sentence.contains("all 64 tested elements") || sentence.contains("all 128 tested"),
            "{sentence}"
        );
        // The same question from the other end.
        let check = format!("{CHECK} {options}").replace("d.npy ", "d.npy ");
        replayed(&folder, "--arch a100 --dtype fp16 a.npy b.npy");
        names(&folder, &check, kind, true);
    }
    replayed(&folder, "--arch a100 --dtype fp16 b.npy a.npy");
    names(&folder, CHECK, "exchanged", true);
}

#[test]
fn d_the_other_way_round() {
    let folder = folder("fp16", [40, 40, 24]);
    replayed(&folder, "--arch a100 --dtype fp16 a.npy b.npy");
    let d = floats_of(&folder, "d.npy");
    let turned: Vec<_> = (0..1600).map(|i| d[i % 40 * 40 + i / 40]).collect();
    save(&folder, "d.npy", [40, 40], &turned);
    names(&folder, CHECK, "d_transposed", true);
    // With C there is no product that could be asked for.
    replayed(&folder, "--arch a100 --dtype fp16 --c c.npy a.npy b.npy");
    let d = floats_of(&folder, "d.npy");
    let turned: Vec<_> = (0..1600).map(|i| d[i % 40 * 40 + i / 40]).collect();
    save(&folder, "d.npy", [40, 40], &turned);
    names(&folder, WITH_C, "d_transposed", false);
}

#[test]
fn c_forgotten_added_twice_or_last() {
    let folder = folder("fp16", [32, 40, 24]);
    let number = |codes: &[u32]| {
        codes
            .iter()
            .map(|&code| f32::from_bits(code))
            .collect::<Vec<_>>()
    };
    let c = number(&floats_of(&folder, "c.npy"));
    let add =
        |d: &[f32]| -> Vec<u32> { d.iter().zip(&c).map(|(d, c)| (d + c).to_bits()).collect() };
    replayed(&folder, "--arch a100 --dtype fp16 a.npy b.npy");
    names(&folder, WITH_C, "c_omitted", true);

    let product = number(&floats_of(&folder, "d.npy"));
    save(&folder, "d.npy", [32, 40], &add(&product));
    names(&folder, WITH_C, "c_added_last", false);

    replayed(&folder, "--arch a100 --dtype fp16 --c c.npy a.npy b.npy");
    let sum = number(&floats_of(&folder, "d.npy"));
    save(&folder, "d.npy", [32, 40], &add(&sum));
    let sentence = names(&folder, WITH_C, "c_twice", false);
    sentence.says("to the finished chain");

    let doubled: Vec<_> = c.iter().map(|c| (2.0 * c).to_bits()).collect();
    save(&folder, "twice.npy", [32, 40], &doubled);
    replayed(
        &folder,
        "--arch a100 --dtype fp16 --c twice.npy a.npy b.npy",
    );
    let sentence = names(&folder, WITH_C, "c_twice", false);
    sentence.says("before the products");
}

#[test]
fn the_other_fp8() {
    let folder = folder("e4m3", [32, 32, 64]);
    // As PyTorch's are saved: codes without a type.
    for name in ["a.npy", "b.npy"] {
        let text = folder.read(name);
        let at = text
            .windows(4)
            .position(|w| w == b"'<f1" || w == b"'|V1" || w == b"'<V1");
        if let Some(at) = at {
            let mut bytes = text.clone();
            bytes[at + 1..at + 4].copy_from_slice(b"|u1");
            folder.write(name, bytes);
        }
    }
    for (a, b) in [("e5m2", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e5m2")] {
        replayed(
            &folder,
            &format!("--arch h100 --dtype {a} --dtype-b {b} a.npy b.npy"),
        );
        let sentence = names(
            &folder,
            "--arch h100 --dtype e4m3 a.npy b.npy d.npy",
            "formats",
            true,
        );
        sentence.says("e5m2");
    }
}

#[test]
fn d_rounded_otherwise() {
    let folder = folder("bf16", [32, 32, 64]);
    replayed(&folder, "--arch h100 --dtype bf16 a.npy b.npy");
    let cut: Vec<u8> = floats_of(&folder, "d.npy")
        .iter()
        .flat_map(|code| ((code >> 16) as u16).to_le_bytes())
        .collect();
    folder.save("d.npy", &crate::support::Npy::new("<V2", &[32, 32], cut));
    let sentence = names(
        &folder,
        "--arch h100 --dtype bf16 a.npy b.npy d.npy",
        "rounding",
        false,
    );
    sentence.says("RZ");
}

#[test]
fn another_unit() {
    let folder = folder("fp16", [32, 32, 96]);
    replayed(&folder, "--arch v100 --dtype fp16 a.npy b.npy");
    let sentence = names(&folder, CHECK, "other_model", true);
    sentence.says("volta mma");
    // The accumulator of the same unit.
    replayed(&folder, "--arch a100 --dtype fp16 --acc f16 a.npy b.npy");
    let check = "--arch a100 --dtype fp16 --d-dtype fp16 a.npy b.npy d.npy";
    let sentence = names(&folder, check, "other_model", true);
    sentence.says("ampere mma (-> fp16)");
    // A chain of multiply-adds, as a unit without tensor cores has it.
    replayed(&folder, "--arch ieee-fma --dtype fp16 a.npy b.npy");
    let sentence = names(&folder, CHECK, "other_model", true);
    // So has every NVIDIA GPU beside them.
    sentence.says("ampere ffma");
}

#[test]
fn a_batch_and_policies_and_names_that_a_shell_would_split() {
    let folder = crate::support::Folder::new();
    for (role, shape) in [("a", "3x16x16"), ("b", "3x16x16")] {
        let command = format!(
            "generate generate:5:normal:{shape} --dtype fp16 --role {role} -q -o {role}.npy"
        );
        folder.passes(&command);
    }
    replayed(
        &folder,
        "--arch a100 --dtype fp16 --transpose-b a.npy b.npy",
    );
    let check = format!("{CHECK} --nan any --zero any");
    names(&folder, &check, "b_transposed", true);
    let command = causes(&folder, &check)[0].string("command").to_owned();
    assert_eq!(
        command,
        "tcverify check --arch a100 --dtype fp16 --nan any --zero any --transpose-b a.npy b.npy d.npy"
    );
}

#[test]
fn a_cause_is_the_same_whatever_computes_it() {
    let folder = folder("fp16", [40, 40, 40]);
    replayed(&folder, "--arch v100 --dtype fp16 a.npy b.npy");
    let run = |rest: &str| {
        let run = folder.differs(&format!("check {CHECK} --json - {rest}"));
        run.json()["causes"].clone()
    };
    let first = run("");
    for rest in ["--threads 1", "--threads 3", "--engine exact"] {
        assert_eq!(run(rest), first, "{rest}");
    }
}

/// From part of D alone; its elements are tested, and no others claimed.
#[test]
fn a_sample_finds_the_unit_too() {
    let folder = folder("fp16", [32, 32, 96]);
    replayed(&folder, "--arch v100 --dtype fp16 a.npy b.npy");
    names(
        &folder,
        &format!("{CHECK} --sample 100 --seed 1"),
        "other_model",
        true,
    );
}
