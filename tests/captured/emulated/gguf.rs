//! llama.cpp's products of quantised rows, in a batch and by plain numbers, and their wrong rules.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tcverify::io::npy::NpyFile;
use tcverify::num::Format;

use crate::support::case::codes;
use crate::support::gguf::{Quantised, Rule};
use crate::support::{Folder, say};

fn read(root: &Path, file: &str, format: Format) -> (Vec<u64>, usize) {
    let array = NpyFile::open(&root.join(file)).expect("an array");
    let tensor = array.tensor(format).expect("of this format");
    let columns = tensor.shape()[1];
    (codes(&tensor), columns)
}

fn halves(root: &Path, file: &str) -> Vec<f32> {
    let (codes, _) = read(root, file, Format::Fp16);
    let number = |code| half::f16::from_bits(code as u16).to_f32();
    codes.into_iter().map(number).collect()
}

fn vectors(root: &Path, four_bits: bool) -> Quantised {
    let signed = |codes: Vec<u64>| codes.into_iter().map(|code| i32::from(code as u8 as i8));
    let (x, k) = read(root, "x_codes.npy", Format::Int8);
    let of_w = if four_bits {
        Format::Uint8
    } else {
        Format::Int8
    };
    let (w, _) = read(root, "w_codes.npy", of_w);
    Quantised {
        four_bits,
        k,
        w: signed(w).collect(),
        w_d: halves(root, "w_d.npy"),
        x: signed(x).collect(),
        x_d: halves(root, "x_d.npy"),
        x_s: halves(root, "x_s.npy"),
    }
}

#[test]
fn quantised_rows() {
    const NAME: &str = "gguf-vectors";
    let Some(vectors_at) = std::env::var_os("TCVERIFY_VECTORS") else {
        say(format_args!("SKIPPED: {NAME}: TCVERIFY_VECTORS is not set"));
        return;
    };
    let root = PathBuf::from(vectors_at).join(NAME);
    let folder = Folder::new();
    let words = ["batch", root.to_str().expect("a path"), "--json", "-"];
    let batch = folder.words(words).json();
    let (mut identical, mut differ) = (0, 0);
    for entry in batch["cases"].as_array().expect("cases") {
        let root = root.join(entry["name"].as_str().expect("a name"));
        assert_eq!(
            entry["verdict"], "identical",
            "{root:?}: {}",
            entry["error"]
        );
        let text = std::fs::read_to_string(root.join("case.json")).expect("a case");
        let about: Value = serde_json::from_str(&text).expect("a case");
        let compared = &entry["report"]["outcome"]["comparison"]["elements"];
        assert_eq!(*compared, about["elements"], "{root:?}");
        identical += 1;
        let model = vectors(&root, about["weights"] == "q4_0");
        let (d, _) = read(&root, "d.npy", Format::Fp32);
        let differing = |rule| {
            let found = model.by(rule).into_iter().zip(&d);
            let wrong = found.filter(|(found, given)| u64::from(*found) != **given);
            wrong.count() as u64
        };
        assert_eq!(differing(Rule::Right), 0, "{root:?}");
        for (what, count) in about["wrong_rules"].as_object().expect("wrong rules") {
            let rule = match what.as_str() {
                "the other number of warps" => Rule::OtherWarps,
                "no fma" => Rule::NoFma,
                "lanes added one after the other" => Rule::LanesInTurn,
                other => panic!("{other} is no rule that is known"),
            };
            assert_eq!(Some(differing(rule)), count.as_u64(), "{what} of {root:?}");
            differ += 1;
        }
    }
    say(format_args!(
        "{NAME}: {identical} of {identical} cases identical, {differ} wrong rules differ as stated"
    ));
    assert!(identical > 0 && differ > 0, "{NAME}: nothing was tried");
}
