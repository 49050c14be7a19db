//! Results of Tenstorrent's simulator: every row of them, how many rows wrong rules fail on, and the single products that
//! people printed of silicon.

use std::path::PathBuf;

use serde_json::{Value, json};
use tcverify::batch;
use tcverify::check::Check;
use tcverify::compose::Request;
use tcverify::emu::step::{Reload, added_in_memory, packed};
use tcverify::emu::{Arithmetic, Catalogue, Engine, Problem, Replay};
use tcverify::engines::resources;
use tcverify::io::npy::NpyFile;
use tcverify::num::{Format, Rounding, round_code};
use tcverify::ops::{BoundOp, ExecContext, Inputs, Parameters};
use tcverify::report::Verdict;
use tcverify::tensor::Tensor;

use crate::rdna::with;
use crate::support::case::{Case, codes};
use crate::support::say;
use crate::support::vectors::{TENSTORRENT, replay_all, tenstorrent};

#[test]
fn every_row_is_reproduced() {
    if let Some(cases) = tenstorrent("products of Tenstorrent's simulator") {
        assert_eq!(replay_all(TENSTORRENT, &cases), 16356);
    }
}

/// A wrong rule: what it is, the rows it is tried on, its constants, how many rows fail, and of all rows, of which every
/// second is replayed, so many fail as the vectors' own description says.
type Control = (&'static str, fn(&Case) -> bool, fn() -> Value, usize, usize);

fn floats(case: &Case) -> bool {
    !case.accumulator.is_integer()
}

const CONTROLS: [Control; 13] = [
    (
        "one group of 16",
        floats,
        || json!({"group": 16, "groups": 1}),
        4600,
        9172,
    ),
    (
        "groups of 4",
        floats,
        || json!({"group": 4, "groups": 4}),
        5184,
        10286,
    ),
    (
        "products truncated",
        floats,
        || json!({"rounding.product": "rz"}),
        4948,
        9820,
    ),
    (
        "products to nearest even",
        floats,
        || json!({"rounding.product": "rne"}),
        3178,
        6258,
    ),
    (
        "sums of groups truncated",
        floats,
        || json!({"rounding.sum": "rz"}),
        1906,
        3850,
    ),
    (
        "sums of groups, ties away",
        floats,
        || json!({"rounding.sum": "rna"}),
        720,
        1496,
    ),
    (
        "Dst, ties up",
        floats,
        || json!({"rounding.addend": "rnu"}),
        164,
        328,
    ),
    (
        "result to nearest even",
        floats,
        || json!({"rounding.result": "rne"}),
        990,
        1942,
    ),
    (
        "result truncated",
        floats,
        || json!({"rounding.result": "rz"}),
        2810,
        5602,
    ),
    (
        "no floor of FP16's zero products",
        |case| floats(case) && case.a.format() == Format::Fp16,
        || json!({"zero_exponent": null}),
        66,
        120,
    ),
    (
        "whole significands in one phase",
        floats,
        || json!({"a_slice": 11, "b_slice": 11, "phases": [0]}),
        10978,
        21258,
    ),
    (
        "a 16-bit Dst rounded once",
        |case| case.accumulator.bytes() == 2,
        || json!({"narrow_bits": 0}),
        1408,
        2962,
    ),
    (
        "Wormhole without its fault",
        |case| case.arch == "wormhole" && case.accumulator == Format::Fp32,
        || json!({"minus_one": null}),
        126,
        264,
    ),
];

#[test]
fn wrong_rules_fail_as_often_as_they_should() {
    let Some(cases) = tenstorrent("wrong rules of Tenstorrent") else {
        return;
    };
    let mut wrong = Vec::new();
    for (what, concerns, changes, expected, of_all) in CONTROLS {
        let mut found = 0;
        for case in cases.iter().filter(|case| concerns(case)) {
            let right = case.choice().arithmetic;
            let step = with(&right.step, changes());
            found += case.mismatches(&Arithmetic { step, ..right });
        }
        if found != expected || (2 * found).abs_diff(of_all) > of_all / 10 {
            wrong.push(format!(
                "{what}: {found}, not {expected}; {of_all} of all rows"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    say(format_args!(
        "tenstorrent-vectors: {} wrong rules fail as often as they should",
        CONTROLS.len()
    ));
}

/// Left and right enter in slices of different widths.
#[test]
fn the_transposed_product_is_another() {
    let Some(cases) = tenstorrent("operands exchanged") else {
        return;
    };
    let mut differing = 0;
    for case in cases.iter().filter(|case| floats(case)) {
        let arithmetic = case.choice().arithmetic;
        let exchanged = Arithmetic {
            a: arithmetic.b,
            b: arithmetic.a,
            ..arithmetic
        };
        let k = case.b.len() / case.d.len();
        let turned =
            |tensor: &Tensor, shape| Tensor::from_codes(tensor.format(), shape, &codes(tensor));
        let case = Case {
            a: turned(&case.b, vec![case.d.len(), 1, k]),
            b: turned(&case.a, vec![case.d.len(), k, 1]),
            ..case.clone()
        };
        differing += case.mismatches(&exchanged);
    }
    // 20,336 of 30,310 rows, of which every second is here.
    assert_eq!(differing, 10158);
}

/// Products of two numbers that people printed of silicon, in issues of tt-metal: with the phases as they are, and exact.
#[test]
fn printed_products_of_silicon() {
    let printed = [
        ("12923", Format::Bf16, "hifi2", [1.3125, 7.96875], 10.4375),
        ("12923", Format::Bf16, "hifi4", [1.3125, 7.96875], 10.5),
        (
            "16448",
            Format::Bf16,
            "hifi4",
            [-3.640625, 0.298828125],
            -1.09375,
        ),
        (
            "16448",
            Format::Bf16,
            "hifi4",
            [-3.640625, 0.30078125],
            -1.1015625,
        ),
        ("35077", Format::Bf16, "hifi4", [508.0, 748.0], 378880.0),
        (
            "56553",
            Format::Fp16,
            "hifi4",
            [0.025390625, 0.00244140625],
            0.0,
        ),
    ];
    let mut exchanged = 0;
    for (issue, format, fidelity, [a, b], silicon) in printed {
        let code = |number: f64| {
            let code = round_code(
                Format::Fp64,
                number.to_bits(),
                format,
                Rounding::NearestEven,
                0,
            );
            let back = round_code(format, code, Format::Fp64, Rounding::NearestEven, 0);
            assert_eq!(f64::from_bits(back), number, "#{issue}");
            code
        };
        let wormhole = Catalogue::builtin().find("n150").expect("it is there");
        let choice = wormhole.select(Some(fidelity), [format; 2], Some(format));
        let arithmetic = choice.expect("a rule").arithmetic;
        let product = |a: f64, b: f64| {
            let [a, b] = [a, b].map(|x| Tensor::from_codes(format, vec![1, 1], &[code(x)]));
            let replay = Replay {
                problem: Problem::new(a.planes(), b.planes(), None).expect("a product"),
                arithmetic: &arithmetic,
                convert_to: None,
                engine: Engine::Exact,
                kernel: None,
            };
            codes(&replay.collect(&|_| {}))
        };
        // Element-wise multiplication has its first operand in SrcA, where products of matrices have the second.
        assert_eq!(product(b, a), [code(silicon)], "#{issue} {fidelity}");
        exchanged += usize::from(product(a, b) != [code(silicon)]);
    }
    assert!(exchanged > 0);
}

/// Blocks of K as tt-metal's kernel takes them: with other blocks, another way between them or another fidelity they differ.
#[test]
fn blocks_of_k_decide_bits() {
    let Some(vectors) = std::env::var_os("TCVERIFY_VECTORS") else {
        say(format_args!(
            "SKIPPED: blocks of K: TCVERIFY_VECTORS is not set"
        ));
        return;
    };
    let read = batch::read(&PathBuf::from(vectors).join(TENSTORRENT), None)
        .expect("cases")
        .whole()
        .expect("all usable");
    assert_eq!(read.no_products.len(), 13);
    let (mut kernels, mut wrong) = (0, [0; 4]);
    for case in read.cases {
        let Request::Product(check) = case.request else {
            panic!("{}: no product", case.name);
        };
        if check.model.ttnn.in0_block_w.is_none() {
            continue;
        }
        kernels += 1;
        let changes: [fn(&mut Check); 4] = [
            |check| check.model.ttnn.in0_block_w = Some(4),
            |check| check.model.ttnn.packer_l1_acc ^= true,
            |check| check.model.ttnn.reload = Some(Reload::Bf16),
            |check| check.model.instruction = Some("hifi3".into()),
        ];
        for (change, wrong) in changes.into_iter().zip(&mut wrong) {
            let mut check = (*check).clone();
            change(&mut check);
            let Ok(prepared) = check.prepare(&resources()) else {
                // A BF16 Dst is read again as it is.
                assert_eq!(check.model.acc, Some(Format::Bf16));
                continue;
            };
            let report = prepared.run(&()).expect("a report");
            *wrong += usize::from(report.verdict == Verdict::Different);
        }
    }
    assert_eq!((kernels, wrong), (16, [4, 8, 8, 14]));
}

/// What the packer does alone: a sum stored as BF16, and sums added in memory.
#[test]
fn packer_and_memory() {
    let Some(vectors) = std::env::var_os("TCVERIFY_VECTORS") else {
        say(format_args!(
            "SKIPPED: the packer: TCVERIFY_VECTORS is not set"
        ));
        return;
    };
    let root = PathBuf::from(vectors).join(TENSTORRENT);
    let mut rows = 0;
    for (case, format, added) in [
        ("both-pack-bf16-bf16", Format::Bf16, false),
        ("both-pack-fp32-bf16", Format::Fp32, false),
        ("both-l1acc-bf16", Format::Bf16, true),
        ("both-l1acc-fp32", Format::Fp32, true),
    ] {
        let read = |name: &str, format| {
            let file = NpyFile::open(&root.join(case).join(name)).expect("a file");
            codes(&file.tensor(format).expect("codes"))
        };
        let to = if added { format } else { Format::Bf16 };
        let (a, b, d) = (
            read("a.npy", format),
            read("b.npy", format),
            read("d.npy", to),
        );
        let mut truncated = 0;
        for ((a, b), d) in a.into_iter().zip(b).zip(d) {
            let got = if added {
                added_in_memory(format, a, b)
            } else {
                packed(format, a)
            };
            assert_eq!(got, d, "{case}: {a:x} {b:x}");
            truncated += usize::from(!added && a >> (format.width() - 16) == d);
            rows += 1;
        }
        // Cutting would be another rule.
        assert!(added || truncated < 790, "{case}: {truncated}");
    }
    assert_eq!(rows, 3197);
}

/// A code and its shared exponent as the unpacker reads them, told apart from how the tool does it.
fn unpacked(width: u32, code: u64, exponent: u64) -> u64 {
    let negative = code >> (width - 1) & 1;
    let mut magnitude = (code & ((1 << (width - 1)) - 1)) << (8 - width);
    if magnitude == 0 {
        return negative * 0xff80;
    }
    let mut field = exponent;
    while magnitude & 0x40 == 0 {
        (magnitude, field) = (magnitude << 1, field.wrapping_sub(1));
    }
    negative << 15 | (field & 0xff) << 7 | magnitude << 1 & 0x7f
}

/// What the packer stores as block floats, and what the unpacker makes of codes.
#[test]
fn block_floats() {
    let Some(vectors) = std::env::var_os("TCVERIFY_VECTORS") else {
        say(format_args!(
            "SKIPPED: block floats: TCVERIFY_VECTORS is not set"
        ));
        return;
    };
    let root = PathBuf::from(vectors).join(TENSTORRENT);
    let open = |case: &str, name: &str| NpyFile::open(&root.join(case).join(name)).expect("a file");
    let mut read = 0;
    for width in [2, 4, 8] {
        let case = format!("both-unpack-bfp{width}");
        let column = |name, format| codes(&open(&case, name).tensor(format).expect("codes"));
        let byte = Format::Uint8;
        let (code, exponent) = (column("a.npy", byte), column("b.npy", byte));
        for ((code, exponent), d) in code
            .into_iter()
            .zip(exponent)
            .zip(column("d.npy", Format::Bf16))
        {
            assert_eq!(
                unpacked(width, code, exponent),
                d,
                "{case}: {code:x} {exponent:x}"
            );
            read += 1;
        }
    }
    assert_eq!(read, 3672);
    let (mut groups, mut cut) = (0, [0; 3]);
    for (width, at) in [(8, 0), (4, 1), (2, 2)] {
        for format in [Format::Bf16, Format::Fp32] {
            let case = format!("both-pack-{format}-bfp{width}");
            let x = open(&case, "a.npy").tensor(format).expect("sums");
            let stored = codes(&open(&case, "d.npy").tensor(Format::Uint8).expect("bytes"));
            let wanted = stored.chunks(17).flat_map(|group| {
                let values = group[1..].iter();
                values.map(|&code| unpacked(width, code, group[0]))
            });
            let computed = |name: &str| {
                let variant = tcverify::ops::find("quantize_bfp", Some(name)).expect("a variant");
                let inputs = Inputs::from([("x", &x)]);
                let means = ExecContext {
                    arithmetic: None,
                    engine: Engine::Exact,
                };
                let job = BoundOp::new(&variant.rule, &inputs, &Parameters::default(), means);
                let job = job.expect("a job");
                (0..job.rows())
                    .flat_map(|row| job.row(row))
                    .collect::<Vec<_>>()
            };
            let got = computed(&format!("bfp{width}"));
            let other = computed(if width == 8 { "bfp4" } else { "bfp8" });
            for ((wanted, got), other) in wanted.zip(got).zip(other) {
                assert_eq!(u64::from(got), wanted, "{case}");
                cut[at] += usize::from(u64::from(other) != wanted);
            }
            groups += x.shape()[0];
        }
    }
    assert_eq!(groups, 1200);
    assert!(cut.iter().all(|&wrong| wrong > 1000), "{cut:?}");
}
