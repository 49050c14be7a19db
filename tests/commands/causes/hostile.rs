//! Data that could mislead.

use super::{causes, folder, names};
use crate::support::{Folder, Members, Npy, claims};

/// What every model computes alike tells none from another: nothing else gives a D that none gives.
#[test]
fn data_that_no_model_rounds_names_no_model() {
    let folder = Folder::new();
    let a: Vec<f32> = (0..64).map(|i| (i % 8) as f32).collect();
    folder.f16("a.npy", &[8, 8], &a);
    let one: Vec<f32> = (0..64).map(|i| f32::from(u8::from(i % 9 == 0))).collect();
    folder.f16("b.npy", &[8, 8], &one);
    let mut d = a.clone();
    for i in [3, 17, 20, 33, 42, 63] {
        d[i] += 1.0 + i as f32;
    }
    folder.f32("d.npy", &[8, 8], &d);
    let found = causes(&folder, "--arch a100 --dtype fp16 a.npy b.npy d.npy");
    assert_eq!(found, [serde_json::Value::Null; 0]);
}

/// A computation that fits the mismatches but not the rest is none.
#[test]
fn a_few_elements_of_another_unit_name_none() {
    let folder = folder("fp16", [64, 64, 64]);
    for (arch, name) in [("a100", "right.npy"), ("v100", "volta.npy")] {
        claims! {folder, "replay --arch {arch} --dtype fp16 a.npy b.npy -q -o {name} | 0"}
    }
    let (right, volta) = (folder.codes32("right.npy"), folder.codes32("volta.npy"));
    let mut d = right.clone();
    let apart: Vec<_> = (0..d.len()).filter(|&i| right[i] != volta[i]).collect();
    assert!(apart.len() > 200);
    for &i in apart.iter().step_by(apart.len() / 20) {
        d[i] = volta[i];
    }
    folder.f32_codes("d.npy", &[64, 64], &d);
    let found = causes(&folder, "--arch a100 --dtype fp16 a.npy b.npy d.npy");
    assert_eq!(found, [serde_json::Value::Null; 0]);
}

/// The work is bounded: with a K this long, few guesses or none are tried, and the check still ends.
#[test]
#[ignore = "long"]
fn a_long_k_ends() {
    let folder = Folder::new();
    for (role, shape) in [("a", "8x3000000"), ("b", "3000000x8")] {
        claims! {folder, "generate generate:3:normal:{shape} --dtype int8 --role {role} -q -o {role}.npy | 0"}
    }
    let wrong: Vec<u8> = (0..64i32).flat_map(|i| (7 * i + 1).to_le_bytes()).collect();
    folder.save("d.npy", &Npy::new("<i4", &[8, 8], wrong));
    let found = causes(&folder, "--arch a100 --dtype int8 a.npy b.npy d.npy");
    assert_eq!(found, [serde_json::Value::Null; 0]);
}

/// A command that a shell takes as it is meant.
#[test]
fn names_are_quoted() {
    let folder = folder("fp16", [16, 16, 16]);
    folder.rename("b.npy", "b'$(x).npy");
    folder.passes("replay --arch a100 --dtype fp16 --transpose-b a.npy b'$(x).npy -q -o d.npy");
    let found = causes(&folder, "--arch a100 --dtype fp16 a.npy b'$(x).npy d.npy");
    let command = found[0].string("command");
    let (_, arguments) = command.split_once(' ').unwrap();
    let mut shell = folder.shell("sh");
    let script = format!("exec \"$0\" {arguments}");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_tcverify")]);
    folder.run(&mut shell).expect(0);
    let _ = names;
}
