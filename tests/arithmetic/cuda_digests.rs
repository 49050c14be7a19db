//! An H100's products by their published digests: operands that torch drew from a seed are made again, each digest is
//! reproduced, and wrong constants give others.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tcverify::emu::{Arithmetic, Catalogue, Engine, Problem, Replay};
use tcverify::generate::Spec;
use tcverify::kernels::Platform;
use tcverify::memory::Memory;
use tcverify::num::Format;
use tcverify::role::Role;
use tcverify::tensor::Tensor;

use crate::support::say;

const SMS: u64 = 132;
const K: u64 = 14336;
const N: u64 = 5376;

/// What one call of `randn` adds to the generator's offset.
fn growth(elements: u64) -> u64 {
    let threads = 256 * elements.div_ceil(256).min(SMS * 8);
    4 * elements.div_ceil(4 * threads)
}

/// x, w and dy of a case, as a command takes them.
fn operands(family: &str, rows: u64) -> [String; 3] {
    let (x, up) = (growth(rows * K), growth(rows * K) + growth(N * K));
    let dy = up + if family == "swiglu_like" { x } else { 0 };
    let (of_x, of_w) = match family {
        "swiglu_like" => (format!(":silu-times-{up}"), ""),
        "cancellation" => (":pairs-negated".to_owned(), ":pairs-plus-3727c5ac"),
        _ => (String::new(), ""),
    };
    let randn = "generate:torch-cuda-randn:420";
    [
        format!("{randn}:0:{SMS}:{rows}x{K}{of_x}"),
        format!("{randn}:{x}:{SMS}:{N}x{K}:times-3c08d677{of_w}"),
        format!("{randn}:{dy}:{SMS}:{rows}x{N}:times-3dcccccd"),
    ]
}

fn made(spec: &str) -> Tensor {
    let spec = Spec::read(spec).expect("a generated operand");
    let tensor = spec.tensor(Format::Bf16, Role::A, &Memory::default());
    tensor.expect("memory for an operand")
}

/// The digest of a product whose results are rounded to BF16.
fn digest(
    output: &str,
    [x, w, dy]: [&Tensor; 3],
    arithmetic: &Arithmetic,
    engine: Engine,
) -> String {
    let (x, w, dy) = (x.planes(), w.planes(), dy.planes());
    let problem = match output {
        "y" => Problem::new(x, w.transposed(), None),
        "dx" => Problem::new(dy, w, None),
        _ => Problem::new(dy.transposed(), x, None),
    };
    let replay = Replay {
        problem: problem.expect("shapes of a product"),
        arithmetic,
        convert_to: Some(Format::Bf16),
        engine,
        kernel: None,
    };
    let mut hash = Sha256::new();
    let done = replay.run(&|_| {}, |band| {
        hash.update(band.payload);
        Ok::<(), ()>(())
    });
    done.expect("nothing is refused");
    let bytes: Vec<String> = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    bytes.concat()
}

fn with(right: &Arithmetic, changes: &Value) -> Arithmetic {
    let mut step = serde_json::to_value(&right.step).expect("plain data");
    for (name, value) in changes.as_object().expect("constants") {
        step[name] = value.clone();
    }
    Arithmetic {
        step: serde_json::from_value(step).expect("constants of the step"),
        ..right.clone()
    }
}

/// The published digests by case.
fn published() -> BTreeMap<(String, u64, String), String> {
    let text = include_str!("../fixtures/cuda-digests/digests.txt");
    let cases = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [family, rows, output, digest] = words[..] else {
            panic!("{line:?} is no case");
        };
        let rows = rows.parse().expect("a number of rows");
        (
            (family.to_owned(), rows, output.to_owned()),
            digest.to_owned(),
        )
    });
    cases.collect()
}

/// A wrong constant, and how the digests of y and of dx begin with it; those that it leaves alone are the published ones.
type Wrong = (
    &'static str,
    fn() -> Value,
    &'static [(&'static str, &'static str)],
);

/// Of `cancellation`, one row.
const WRONG: [Wrong; 10] = [
    (
        "fraction_bits 24",
        || json!({"fraction_bits": 24}),
        &[("y", "daf87ac1")],
    ),
    (
        "fraction_bits 26",
        || json!({"fraction_bits": 26}),
        &[("y", "b4a3e9a2")],
    ),
    ("group 8", || json!({"group": 8}), &[("y", "87b30a63")]),
    ("group 32", || json!({"group": 32}), &[("y", "1f666e9d")]),
    (
        "alignment rd",
        || json!({"alignment": "rd"}),
        &[("y", "9385067f")],
    ),
    (
        "alignment rne",
        || json!({"alignment": "rne"}),
        &[("y", "ca475029")],
    ),
    // y is blind for the last rounding: its sums are small against the products.
    (
        "precision 23",
        || json!({"precision": 23}),
        &[("y", "7ffd3684"), ("dx", "e420a40b")],
    ),
    (
        "rounding rne",
        || json!({"rounding": "rne"}),
        &[("dx", "9eef79c6")],
    ),
    // No digest tells.
    (
        "zero_exponent -132",
        || json!({"zero_exponent": -132}),
        &[("y", "7ffd3684")],
    ),
    (
        "zero_exponent -126",
        || json!({"zero_exponent": -126}),
        &[("dx", "693f69f6")],
    ),
];

#[test]
fn an_h100_computed_these() {
    let fast = Platform::detect().expect("a platform").engine();
    let published = published();
    assert_eq!(published.len(), 45);
    let hopper = Catalogue::builtin()
        .find("hopper")
        .expect("in the catalogue");
    let choice = hopper.select(Some("wgmma"), [Format::Bf16; 2], None);
    let right = choice.expect("a rule").arithmetic;
    let mut reproduced = 0;
    for family in ["random", "cancellation"] {
        let [x1, w, dy1] = operands(family, 1).map(|spec| made(&spec));
        for output in ["y", "dx"] {
            let own = digest(output, [&x1, &w, &dy1], &right, fast);
            assert_eq!(
                own,
                published[&(family.to_owned(), 1, output.to_owned())],
                "{family} 1 {output}"
            );
            reproduced += 1;
        }
        if family == "cancellation" {
            for (what, changes, begins) in WRONG {
                let wrong = with(&right, &changes());
                for (output, begin) in begins {
                    let found = digest(output, [&x1, &w, &dy1], &wrong, fast);
                    assert!(found.starts_with(begin), "{what}, {output}: {found}");
                }
            }
        }
        let [x, _, dy] = operands(family, 31);
        let (x, dy) = (made(&x), made(&dy));
        let own = digest("dw", [&x, &w, &dy], &right, fast);
        assert_eq!(
            own,
            published[&(family.to_owned(), 31, "dw".to_owned())],
            "{family} 31 dw"
        );
        reproduced += 1;
    }
    say(format_args!(
        "cuda-digests: {reproduced} digests of an H100 reproduced, {} wrong constants as published",
        WRONG.len()
    ));
}
