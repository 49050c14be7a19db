//! The published model's vectors.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tcverify::emu::Arithmetic;
use tcverify::io::npy::NpyFile;
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use super::{arithmetic, replay, with};
use crate::support::{case::codes, say};

struct Case {
    name: String,
    arithmetic: Arithmetic,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    d: Vec<u64>,
}

impl Case {
    fn read(folder: &Path) -> Case {
        let text = fs::read_to_string(folder.join("case.json")).unwrap();
        let case: Value = serde_json::from_str(&text).unwrap();
        let text = |key: &str| case[key].as_str().unwrap();
        let format = |key| Format::from_name(text(key)).unwrap();
        let operands = [format("a_dtype"), format("b_dtype")];
        // CDNA 2 has BF16 twice, without and with the suffix _1k.
        let instruction = match (text("arch"), text("instruction").ends_with("bf16")) {
            ("cdna2", true) => "mfma-bf16",
            _ => "mfma",
        };
        let arithmetic = arithmetic(text("arch"), Some(instruction), operands);
        let read = |name: &str, format| {
            let file = NpyFile::open(&folder.join(name)).unwrap();
            file.tensor(format).unwrap()
        };
        Case {
            name: folder.file_name().unwrap().to_string_lossy().into_owned(),
            a: read("a.npy", arithmetic.a),
            b: read("b.npy", arithmetic.b),
            c: read("c.npy", arithmetic.accumulator),
            d: codes(&read("d.npy", format("d_dtype"))),
            arithmetic,
        }
    }

    fn mismatches(&self, arithmetic: &Arithmetic) -> usize {
        let mine = replay(arithmetic, &self.a, &self.b, &self.c);
        assert_eq!(mine.len(), self.d.len());
        mine.iter().zip(&self.d).filter(|(x, y)| x != y).count()
    }
}

fn peer_vectors() -> Option<PathBuf> {
    let vectors = std::env::var_os("TCVERIFY_VECTORS");
    if vectors.is_none() {
        say(format_args!(
            "SKIPPED: TCVERIFY_VECTORS is not set; the published vectors of AMD's units are not replayed"
        ));
    }
    Some(Path::new(&vectors?).join("peer-vectors"))
}

/// A wrong model: a constant replaced, or an architecture that has the formats too.
enum Wrong {
    Constant(&'static str, Value),
    Architecture(&'static str),
}

/// Wrong models that a case refutes. No case depends on `sum_fraction_bits`,
/// `result_fraction_bits`, `addend_window`, the two sums of FP8, or `span`: tests below pin them to
/// what is published.
fn controls(case: &str) -> Vec<Wrong> {
    use Wrong::{Architecture, Constant};
    let both =
        |name, low: u64, high: u64| vec![Constant(name, json!(low)), Constant(name, json!(high))];
    match case {
        "cdna1-bf16-near" => both("group", 1, 4),
        "cdna1-f16-near" => both("group", 2, 8),
        "cdna2-bf16-near" => both("group", 1, 4),
        "cdna2-bf16-1k-near" | "cdna2-f16-near" | "cdna2-f16-low" => both("group", 2, 8),
        "cdna2-bf16-low" | "cdna2-bf16-1k-low" => {
            vec![Architecture("cdna1"), Architecture("cdna3")]
        }
        "cdna3-bf16-near" | "cdna3-f16-near" | "cdna3-f16-low" => {
            [both("fraction_bits", 23, 25), both("group", 4, 16)]
                .into_iter()
                .flatten()
                .collect()
        }
        "cdna3-xf32-near" => [both("fraction_bits", 23, 25), both("group", 2, 8)]
            .into_iter()
            .flatten()
            .collect(),
        "cdna3-fp8-near" | "cdna3-bf8-near" => {
            [both("fraction_bits", 23, 25), both("group", 8, 32)]
                .into_iter()
                .flatten()
                .collect()
        }
        "cdna3-bf16-low" => both("group", 4, 16),
        "cdna3-xf32-low" => both("group", 2, 8),
        "cdna3-bf8-low" => vec![Constant("fraction_bits", json!(12))],
        // Small integers on a common grid: every model of these products gives the same.
        "cdna3-fp8-low" => vec![Constant("fraction_bits", json!(4))],
        other => panic!("unknown case {other}"),
    }
}

#[test]
fn the_published_vectors_are_reproduced_and_wrong_models_are_not() {
    let Some(folder) = peer_vectors() else { return };
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("cdna"));
    let folders: Vec<_> = ours.map(|entry| entry.path()).collect();
    assert_eq!(folders.len(), 18);
    for folder in folders {
        let case = Case::read(&folder);
        assert_eq!(case.d.len(), 576, "{}", case.name);
        assert_eq!(case.mismatches(&case.arithmetic), 0, "{}", case.name);
        for wrong in controls(&case.name) {
            let (what, model) = match wrong {
                Wrong::Constant(name, value) => (
                    format!("{name} {value}"),
                    with(&case.arithmetic, name, value),
                ),
                Wrong::Architecture(name) => {
                    let operands = [case.arithmetic.a, case.arithmetic.b];
                    (name.to_owned(), arithmetic(name, None, operands))
                }
            };
            assert_ne!(case.mismatches(&model), 0, "{} with {what}", case.name);
        }
    }
}
