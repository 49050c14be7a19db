//! Vortex's fused dot-product units: predicted results, printed vectors and an independent model.
//!
//! Expected values are literals of the literature or derived by hand as said beside them; none was
//! computed by this crate.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tcverify::emu::step::{Addend, Code, Fused, PairRule, Step, StickyRne};
use tcverify::emu::{Arithmetic, Catalogue, Engine, Problem, Replay};
use tcverify::io::npy::NpyFile;
use tcverify::kernels::{self, Platform};
use tcverify::num::Format::{self, *};
use tcverify::num::{Rounding, Unpacked};
use tcverify::tensor::Tensor;

use crate::support::random::Random;
use crate::support::say;

fn arithmetic(arch: &str, instruction: &str, format: Format) -> Arithmetic {
    let arch = Catalogue::builtin().find(arch).unwrap();
    let choice = arch.select(Some(instruction), [format; 2], None).unwrap();
    choice.arithmetic
}

/// The arithmetic with one thing changed.
fn but(mut arithmetic: Arithmetic, change: impl FnOnce(&mut StickyRne)) -> Arithmetic {
    match &mut arithmetic.step {
        Step::StickyRne(step) => change(step),
        other => panic!("{other:?}"),
    }
    arithmetic
}

/// One dot product, k ascending.
fn dot(arithmetic: &Arithmetic, a: &[u64], b: &[u64], c: u64) -> u64 {
    let a = Tensor::from_codes(arithmetic.a, vec![1, a.len()], a);
    let b = Tensor::from_codes(arithmetic.b, vec![b.len(), 1], b);
    let c = Tensor::from_codes(Fp32, vec![1, 1], &[c]);
    let problem = Problem::new(a.planes(), b.planes(), Some(c.planes())).unwrap();
    let d = replay(problem, arithmetic);
    d.planes().plane(0).code(0, 0)
}

fn replay(problem: Problem, arithmetic: &Arithmetic) -> Tensor {
    let replay = Replay {
        problem,
        arithmetic,
        convert_to: None,
        engine: Engine::Exact,
        kernel: None,
    };
    replay.collect(&|_| {})
}

/// Codes as the literature prints them: `"b89a,bc31"`; TF32 in its 19 bits.
fn codes(format: Format, text: &str) -> Vec<u64> {
    text.split(',')
        .map(|code| u64::from_str_radix(code, 16).unwrap() << format.ignored_bits())
        .collect()
}

// ------------------------------------------------------------------------------ predicted results

const INPUTS: [&str; 4] = ["low", "near", "special", "wide"];

struct Case {
    name: String,
    format: Format,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    d: Tensor,
}

/// The predictions, or none and a line that says so.
fn cases() -> Option<Vec<Case>> {
    let directory = std::env::var_os("TCVERIFY_VECTORS").map(PathBuf::from);
    let directory = directory.map(|directory| directory.join("open-vectors"));
    let Some(directory) = directory.filter(|directory| directory.is_dir()) else {
        let why = "TCVERIFY_VECTORS names no directory with open-vectors";
        say(format_args!("SKIPPED: {why}"));
        return None;
    };
    let open = |path: &Path, file: &str, format| {
        let file = NpyFile::open(&path.join(file)).unwrap();
        file.tensor(format).unwrap()
    };
    let mut cases = Vec::new();
    for format in [Fp16, Bf16, Tf32, E4m3, E5m2] {
        for inputs in INPUTS {
            let name = format!("vortex-tfr-{format}-{inputs}");
            let path = directory.join(&name);
            cases.push(Case {
                a: open(&path, "a.npy", format),
                b: open(&path, "b.npy", format),
                c: open(&path, "c.npy", Fp32),
                d: open(&path, "d.npy", Fp32),
                name,
                format,
            });
        }
    }
    Some(cases)
}

impl Case {
    fn mismatches(&self, arithmetic: &Arithmetic) -> usize {
        let c = Some(self.c.planes());
        let problem = Problem::new(self.a.planes(), self.b.planes(), c).unwrap();
        let d = replay(problem, arithmetic);
        let (have, want) = (d.planes().plane(0), self.d.planes().plane(0));
        let places = (0..problem.m).flat_map(|i| (0..problem.n).map(move |j| (i, j)));
        places
            .filter(|&(i, j)| have.code(i, j) != want.code(i, j))
            .count()
    }
}

#[test]
fn predicted_results_are_reproduced() {
    let Some(cases) = cases() else { return };
    let mut elements = 0;
    for case in &cases {
        let fedp = arithmetic("vortex-tfr", "fedp", case.format);
        assert_eq!(case.mismatches(&fedp), 0, "{}", case.name);
        elements += case.d.len();
    }
    say(format_args!(
        "open-vectors: {} Vortex cases, {elements} elements",
        cases.len()
    ));
}

/// An arithmetic that is not the one of the predictions.
type Wrong<'a> = &'a dyn Fn(Format) -> Arithmetic;

#[test]
fn other_arithmetic_does_not_reproduce_them() {
    let Some(cases) = cases() else { return };
    let fedp = |format| arithmetic("vortex-tfr", "fedp", format);
    let differ = |name: &str, wrong: Wrong| -> usize {
        let case = cases.iter().find(|case| case.name == name).unwrap();
        case.mismatches(&wrong(case.format))
    };
    let wrong: [(&str, Wrong, &[&str]); 7] = [
        (
            "C's hidden bit",
            &|format| but(fedp(format), |s| s.addend = Addend::HiddenBit),
            &["bf16-near"],
        ),
        (
            "4 lanes",
            &|format| arithmetic("vortex-tfr", "fedp-nt8", format),
            &[
                "fp16-near",
                "bf16-near",
                "tf32-near",
                "e4m3-wide",
                "e5m2-wide",
            ],
        ),
        (
            "no sticky bit",
            &no_sticky,
            &["fp16-near", "fp16-low", "bf16-near", "tf32-near"],
        ),
        (
            "one bit fewer",
            &|format| but(fedp(format), |s| s.fraction_bits = 23),
            &[
                "fp16-near",
                "bf16-near",
                "tf32-near",
                "e4m3-wide",
                "e5m2-wide",
            ],
        ),
        (
            "zero elements masked",
            &|format| arithmetic("vortex-tfr", "fedp-dsm", format),
            &["e4m3-special"],
        ),
        (
            "DRL's pairs",
            &|format| but(fedp(format), |s| s.pair = Some(PairRule::Drl)),
            &["e4m3-wide", "e5m2-wide"],
        ),
        (
            "E4M3 as IEEE 754",
            &|format| but(fedp(format), |s| s.ieee_top = true),
            &["e4m3-special"],
        ),
    ];
    for (what, wrong, fails) in wrong {
        for name in fails {
            let differing = differ(&format!("vortex-tfr-{name}"), wrong);
            assert!(differing > 0, "{what} reproduces {name}");
        }
    }
}

/// The same rounding without sticky bit, wrapping and flushing.
fn no_sticky(format: Format) -> Arithmetic {
    let mut arithmetic = arithmetic("vortex-tfr", "fedp", format);
    arithmetic.step = Step::Fused(Fused {
        group: arithmetic.step.span(),
        fraction_bits: 24,
        alignment: Rounding::TowardZero,
        zero_exponent: -260,
        precision: 24,
        rounding: Rounding::NearestEven,
        nan: Code(0x7fc0_0000),
        sum_bits: None,
        minus_zero: false,
    });
    arithmetic
}

// ------------------------------------------------------------------------------ printed vectors

/// Architecture, instruction, format, A, B, C and D.
type Vector = (
    &'static str,
    &'static str,
    Format,
    &'static str,
    &'static str,
    u64,
    u64,
);

#[rustfmt::skip]
const PRINTED: &[Vector] = &[
    // Random operands in the exponent range where the terms meet.
    ("vortex-tfr", "fedp", Fp16, "b89a,bc31,aa24,2a54,a607,3058,3c47,3234",
        "3f4e,4bca,b282,c83f,c996,a4e2,a76f,2dad", 0xc236_2433, 0xc27c_4a91),
    ("vortex-tfr", "fedp", Fp16, "a93b,c6ba,2e53,c8c0,3a30,5241,a4d2,c220",
        "bd41,c3b1,4132,b0b8,d0f9,a933,4780,b9cb", 0xc1d9_26d8, 0xc1f2_4ed3),
    ("vortex-tfr", "fedp", Bf16, "3d41,3fe0,3f77,4005,41e1,c0e5,3f58,bf3f",
        "c13a,bd0b,3ed9,4187,c227,c1ff,c1b9,beb1", 0x4246_2a25, 0xc45c_3d2d),
    ("vortex-tfr", "fedp", E4m3, "8c,ad,96,aa,1e,a4,ea,5c,ef,e9,6e,be,24,45,88,6b",
        "2d,d2,c7,e2,31,13,21,c7,d0,c5,b5,95,93,ee,27,1e", 0x418b_1a39, 0x442a_69b1),
    ("vortex-tfr", "fedp", E5m2, "52,26,c6,c3,aa,24,37,a9,47,29,ca,c8,51,c7,c3,b2",
        "b6,b1,2c,3d,a8,3c,4f,ab,ae,cd,2f,ad,b3,2b,43,cc", 0xc22d_5452, 0xc294_a631),
    ("vortex-tfr", "fedp", Tf32, "1ebf0,217e3,1e90f,1f79f", "21514,21747,5ffa5,60fc8",
        0xc1f7_2f33, 0x4664_f0ca),
    // 2^-70 * 2^-60 is flushed to zero.
    ("vortex-tfr", "fedp", Bf16, "1c80", "2180", 0, 0),
    // A subnormal C is read, and flushed on the way out with its sign; all -0 is +0.
    ("vortex-tfr", "fedp", Fp16, "0", "0", 1, 0),
    ("vortex-tfr", "fedp", Fp16, "0", "0", 0x8000_0001, 0x8000_0000),
    ("vortex-tfr", "fedp", Fp16, "8000,8000,8000,8000,8000,8000,8000,8000",
        "0,0,0,0,0,0,0,0", 0x8000_0000, 0),
    // A subnormal operand is not normalised, and so hides what a normal one would not.
    ("vortex-tfr", "fedp", Fp16, "1", "7800", 0x2f80_0000, 0x3b00_0000),
    // 1 + 2^-24 is a tie; with C = 0 the older revisions always have the sticky bit.
    ("vortex-tfr", "fedp", Fp16, "3c00,c00", "3c00,c00", 0, 0x3f80_0000),
    ("vortex-tfr", "fedp-old-c", Fp16, "3c00,c00", "3c00,c00", 0, 0x3f80_0001),
    ("vortex-drl", "fedp", Fp16, "3c00,c00", "3c00,c00", 0, 0x3f80_0001),
    // 1 + 2^-24 - 2^-27: the sticky bit does not know that what was cut off is negative.
    ("vortex-tfr", "fedp", Fp16, "3c00,c00,8800", "3c00,c00,400", 0, 0x3f80_0001),
    // Unit tests of the repository for 4 lanes.
    ("vortex-tfr", "fedp-nt8", Fp16, "fbff,fbff,0,0", "83ff,7bff,0,0", 0x4f7f_8000, 0xca80_0800),
    ("vortex-tfr", "fedp-nt8", Fp16, "e150,f4d7,4bcc,f3c1", "83ff,da97,83ff,7ac6",
        0x4e51_ad09, 0x4a17_1780),
    // The accumulator wraps: sums of 32.97 with 8 lanes and 16.98 with 4; BF16 likewise.
    ("vortex-tfr", "fedp", Fp16, "3fff,3fff,3fff,3fff,3fff,3fff,3fff,3fff",
        "3fff,3fff,3fff,3fff,3fff,3fff,3fff,3fff", 0x3f80_0000, 0xc1f8_3ffc),
    ("vortex-tfr", "fedp-nt8", Fp16, "3fff,3fff,3fff,3fff", "3fff,3fff,3fff,3fff",
        0x3f80_0000, 0xc170_3ffc),
    ("vortex-tfr", "fedp", Bf16, "3fff,3fff,3fff,3fff,3fff,3fff,3fff,3fff",
        "3fff,3fff,3fff,3fff,3fff,3fff,3fff,3fff", 0x3f80_0000, 0xc1f9_ff00),
    // BF8 pairs 0 * 57344 + 2^-14 * 2^-14: the zero product leads if it comes first.
    ("vortex-tfr", "fedp", E5m2, "0,4", "7b,4", 0, 0),
    ("vortex-tfr", "fedp", E5m2, "4,0", "4,7b", 0, 0x3180_0000),
    ("vortex-tfr", "fedp", E5m2, "0,4", "7b,4", 0x3f80_0001, 0x3f80_0000),
];

/// Derived by hand from the source's rules.
#[rustfmt::skip]
const DERIVED: &[Vector] = &[
    // A zero C with the hidden bit is all there is: too small, and its sign remains.
    ("vortex-tfr", "fedp-old-c", Fp16, "0", "0", 0x8000_0000, 0x8000_0000),
    ("vortex-drl", "fedp", Fp16, "0", "0", 0x8000_0000, 0x8000_0000),
    // 2 * 1.125 - 1.5 * 1.5 cancels once aligned. The lane counts with exponent 2 in newer
    // revisions and hides C's last bit; in 565bd0f1 it is dead.
    ("vortex-tfr", "fedp", E4m3, "40,bc", "39,3c", 0x3f80_0001, 0x3f80_0000),
    ("vortex-tfr", "fedp-old-c", E4m3, "40,bc", "39,3c", 0x3f80_0001, 0x3f80_0001),
    // 0 * 57344 + 1 * 1 + C, C = 1 + 3 * 2^-23: the zero leads with exponent 16 - 15 (its field read
    // as 1) in newer revisions: the lane has exponent 2 and C loses its last bit. In 565bd0f1 and DRL
    // its field is 0, the lane's exponent is 1, C is whole, and the tie goes to even.
    ("vortex-tfr", "fedp", E5m2, "0,3c", "7b,3c", 0x3f80_0003, 0x4000_0001),
    ("vortex-tfr", "fedp-old-c", E5m2, "0,3c", "7b,3c", 0x3f80_0003, 0x4000_0002),
    ("vortex-drl", "fedp", E5m2, "0,3c", "7b,3c", 0x3f80_0003, 0x4000_0002),
    // DRL shifts a pair's other product by the difference of exponents modulo 32:
    // 57344^2 + 0.5 * 0.5 is (49/16 + 1) * 2^30 instead of 49/16 * 2^30.
    ("vortex-drl", "fedp", E5m2, "7b,38", "7b,38", 0, 0x4f82_0000),
    ("vortex-tfr", "fedp", E5m2, "7b,38", "7b,38", 0, 0x4f44_0000),
    // DRL: 0 * 57344 leads 0.5 * 1, so the lane is lost; one exponent higher it is not.
    ("vortex-drl", "fedp", E5m2, "0,38", "7b,3c", 0x3f80_0000, 0x3f80_0000),
    ("vortex-drl", "fedp", E5m2, "38,0", "3c,7b", 0x3f80_0000, 0x3f80_0000),
    ("vortex-tfr", "fedp", E5m2, "0,38", "7b,3c", 0x3f80_0000, 0x3fc0_0000),
    // E4M3's largest exponent: numbers in TFR, Inf and NaN in DRL.
    ("vortex-tfr", "fedp", E4m3, "78", "38", 0, 0x4380_0000),
    ("vortex-drl", "fedp", E4m3, "78", "38", 0, 0x7f80_0000),
    ("vortex-drl", "fedp", E4m3, "f8", "38", 0, 0xff80_0000),
    ("vortex-drl", "fedp", E4m3, "79", "38", 0, 0x7fc0_0000),
    ("vortex-drl", "fedp", E4m3, "78", "0", 0, 0x7fc0_0000),
    // Special values: Inf * 0, Inf - Inf, NaN, Inf * subnormal, E5M2's Inf.
    ("vortex-tfr", "fedp", Fp16, "7c00", "0", 0x3f80_0000, 0x7fc0_0000),
    ("vortex-tfr", "fedp", Fp16, "7c00,fc00", "3c00,3c00", 0x3f80_0000, 0x7fc0_0000),
    ("vortex-tfr", "fedp", Fp16, "7c00", "3c00", 0xff80_0000, 0x7fc0_0000),
    ("vortex-tfr", "fedp", Bf16, "3f80", "3f80", 0xffc0_1234, 0x7fc0_0000),
    ("vortex-tfr", "fedp", Fp16, "7c00", "8001", 0x3f80_0000, 0xff80_0000),
    ("vortex-tfr", "fedp", E5m2, "3c,7c", "3c,bc", 0x3f80_0000, 0xff80_0000),
    ("vortex-tfr", "fedp", E4m3, "ff", "38", 0x3f80_0000, 0x7fc0_0000),
    // A masked element has no special values; with eight bits, -0 does not mask.
    ("vortex-tfr", "fedp-dsm", Fp16, "7c00", "0", 0x3f80_0000, 0x3f80_0000),
    ("vortex-tfr", "fedp-dsm", Fp16, "7e00", "8000", 0x3f80_0000, 0x3f80_0000),
    ("vortex-tfr", "fedp-dsm", E4m3, "7f", "0", 0x3f80_0000, 0x3f80_0000),
    ("vortex-tfr", "fedp-dsm", E4m3, "7f", "80", 0x3f80_0000, 0x7fc0_0000),
    // 0 * NaN, masked, leads 1 * 1 with the exponent field 31: the lane's exponent is 3.
    ("vortex-tfr", "fedp-dsm", E5m2, "0,3c", "7f,3c", 0x3f80_0003, 0x4000_0000),
    // Overflow: 2^127 * 1 + 2^127.
    ("vortex-tfr", "fedp", Bf16, "7f00", "3f80", 0x7f00_0000, 0x7f80_0000),
    // 2^-126 - 2^-150 needs no rounding and is flushed; 2^-127 + 2^-127 - 2^-151 is rounded to 2^-126
    // first and stays.
    ("vortex-tfr", "fedp", Bf16, "8e80", "2580", 0x0080_0000, 0),
    ("vortex-tfr", "fedp", Bf16, "2000,2000,8e80", "1f80,1f80,2500", 0, 0x0080_0000),
];

#[test]
fn printed_vectors() {
    check(PRINTED);
}

#[test]
fn derived_vectors() {
    check(DERIVED);
}

fn check(vectors: &[Vector]) {
    let mut wrong = Vec::new();
    for &(arch, instruction, format, a, b, c, d) in vectors {
        let arithmetic = arithmetic(arch, instruction, format);
        let have = dot(&arithmetic, &codes(format, a), &codes(format, b), c);
        if have != d {
            wrong.push(format!(
                "{arch} {instruction} {format} {a} * {b} + {c:08x} = {have:08x}, not {d:08x}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn printed_quirks_need_their_rule() {
    let fp16 = || arithmetic("vortex-tfr", "fedp", Fp16);
    let ones = [0x3fff; 8];
    // 8 * (2047/1024)^2 + 1 = 32.97 with a wider accumulator.
    let wide = but(fp16(), |s| s.width = 40);
    assert_eq!(dot(&wide, &ones, &ones, 0x3f80_0000), 0x4203_e002);
    // Without the sticky bit 1 + 2^-24 - (less than 2^-24) is a tie.
    let (a, b) = ([0x3c00, 0x0c00, 0x8800], [0x3c00, 0x0c00, 0x0400]);
    assert_eq!(dot(&no_sticky(Fp16), &a, &b, 0), 0x3f80_0000);
    // Gradual underflow, which the unit lacks.
    assert_eq!(dot(&no_sticky(Fp16), &[0], &[0], 1), 1);
}

#[test]
fn steps_follow_one_another() {
    // The first step's result is rounded before the second: 1 + 2^-24 (a tie) + 2^-24 (again one).
    let fp16 = arithmetic("vortex-tfr", "fedp", Fp16);
    let mut a = [0; 16];
    (a[0], a[1], a[8]) = (0x3c00, 0x0c00, 0x0c00);
    assert_eq!(dot(&fp16, &a, &a, 0), 0x3f80_0000);
    a[..3].copy_from_slice(&[0x3c00, 0x0c00, 0x0c00]);
    a[8] = 0;
    assert_eq!(dot(&fp16, &a, &a, 0), 0x3f80_0001);
}

// ------------------------------------------------------------------------------ constants

#[test]
fn every_unit_has_a_kernel() {
    for name in ["vortex-tfr", "vortex-drl"] {
        let arch = Catalogue::builtin().find(name).unwrap();
        for rule in arch.instructions.iter().flat_map(|i| &i.rules) {
            for &operands in &rule.operands {
                assert!(kernels::plan(&Arithmetic::of(rule, operands)).is_some());
            }
        }
    }
}

/// Zeros of both signs, pairs that cancel and exponents far apart are where the rules differ.
#[test]
fn kernels_pair_products_by_the_rule_of_the_unit() {
    let [m, n, k] = [20, 70, 50];
    for format in [E4m3, E5m2] {
        let mut random = Random::seeded(17);
        let mut code = || match random.below(6) {
            0 => format.sign_mask() * random.below(2) as u64,
            1 => (format.sign_mask() * random.below(2) as u64) | (1 << format.fraction_bits()),
            _ => loop {
                // Finite for every unit.
                let code = random.bits() & 0xff;
                if code & 0x7c != 0x7c && code & 0x78 != 0x78 {
                    break code;
                }
            },
        };
        let mut matrix = |shape: [usize; 2]| {
            let codes: Vec<u64> = (0..shape[0] * shape[1]).map(|_| code()).collect();
            Tensor::from_codes(format, shape.to_vec(), &codes)
        };
        let (a, b) = (matrix([m, k]), matrix([k, n]));
        let problem = Problem::new(a.planes(), b.planes(), None).unwrap();
        let unit = |rule: PairRule, addend: Addend| {
            but(arithmetic("vortex-tfr", "fedp", format), |step| {
                (step.pair, step.addend) = (Some(rule), addend);
            })
        };
        let rules = [PairRule::Tfr, PairRule::TfrAligned, PairRule::Drl];
        for addend in [Addend::Value, Addend::HiddenBit] {
            let exact = rules.map(|rule| d_codes(&replay(problem, &unit(rule, addend))));
            for (rule, right) in rules.iter().zip(&exact) {
                // The two of TFR differ where a zero leads, which decides little; DRL keeps a bit more.
                let alike = exact.iter().filter(|other| *other == right).count();
                assert!(alike <= 2, "{format} {rule:?} can be told from another");
                for platform in Platform::available() {
                    let arithmetic = unit(*rule, addend);
                    let replay = Replay {
                        problem,
                        arithmetic: &arithmetic,
                        convert_to: None,
                        engine: platform.engine(),
                        kernel: None,
                    };
                    assert!(replay.exact_share().exact < replay.work() / 10);
                    let found = d_codes(&replay.collect(&|_| {}));
                    assert!(found == *right, "{format} {rule:?} {}", platform.name());
                }
            }
        }
    }
}

fn d_codes(d: &Tensor) -> Vec<u64> {
    crate::support::case::codes(d)
}

#[test]
fn impossible_constants_are_refused() {
    let fp16 = || arithmetic("vortex-tfr", "fedp", Fp16);
    let fp8 = || arithmetic("vortex-tfr", "fedp", E4m3);
    fp16().check().unwrap();
    for (wrong, word) in [
        (but(fp16(), |s| s.lanes = 6), "lanes"),
        (but(fp16(), |s| s.lanes = 4), "group"),
        (but(fp16(), |s| s.group = 4), "group"),
        (but(fp16(), |s| s.width = 20), "width"),
        (but(fp16(), |s| s.fraction_bits = 22), "fraction_bits"),
        (but(fp16(), |s| s.zero_exponent = -100), "zero_exponent"),
        (but(fp16(), |s| s.pair = Some(PairRule::Tfr)), "pair"),
        (but(fp8(), |s| s.pair = None), "pair"),
        (but(fp16(), |s| s.nan = Code(0x7f80_0000)), "nan"),
        (Arithmetic { b: Bf16, ..fp16() }, "one format"),
        (
            Arithmetic {
                a: Fp64,
                b: Fp64,
                ..fp16()
            },
            "fp64",
        ),
        (
            Arithmetic {
                accumulator: Fp16,
                ..fp16()
            },
            "fp16",
        ),
    ] {
        let reason = wrong.check().unwrap_err();
        assert!(reason.contains(word), "{reason}");
    }
}

// ------------------------------------------------------------------------------ another way

/// The dot product in native floating point, where every operation is exact until the last: terms
/// on the common grid are f64 integers below 2^53. `None` where the accumulator could wrap.
fn native(a: &[Unpacked], b: &[Unpacked], fraction_bits: u32, c: u64) -> Option<u64> {
    let value = |x: &Unpacked, fraction: u32| {
        let sign = if x.negative { -1.0 } else { 1.0 };
        sign * x.significand as f64 * 2f64.powi(x.exponent - fraction as i32)
    };
    let c = Fp32.unpack(c);
    let mut terms = vec![(value(&c, 23), c.exponent)];
    for (a, b) in a.iter().zip(b) {
        let product = value(a, fraction_bits) * value(b, fraction_bits);
        terms.push((product, a.exponent + b.exponent));
    }
    terms.retain(|(x, _)| *x != 0.0);
    let Some(largest) = terms.iter().map(|(_, exponent)| *exponent).max() else {
        return Some(0);
    };
    let grid = 2f64.powi(largest - 24);
    let scaled: Vec<f64> = terms.iter().map(|(x, _)| x / grid).collect();
    if scaled.iter().map(|x| x.abs()).sum::<f64>() >= 2f64.powi(29) {
        return None;
    }
    let inexact = scaled.iter().any(|x| x.fract() != 0.0);
    let mut sum: f64 = scaled.iter().map(|x| x.trunc()).sum();
    if sum == 0.0 {
        return Some(0);
    }
    // The sticky bit can only matter where bits of the sum itself are rounded away.
    if inexact && sum.abs() >= 2f64.powi(24) {
        sum += sum.signum() * 2f64.powi(-10);
    }
    let rounded = f64::from(sum as f32) * grid;
    if rounded.abs() < f64::from(f32::MIN_POSITIVE) {
        return Some(if sum < 0.0 { 0x8000_0000 } else { 0 });
    }
    Some(u64::from((rounded as f32).to_bits()))
}

/// Finite codes of a format, exponents near the middle or anywhere.
fn code(format: Format) -> impl Strategy<Value = u64> {
    let fraction = 0..1u64 << format.fraction_bits();
    let bias = format.bias() as u64;
    let near = bias - 8..bias + 8;
    let field = prop_oneof![4 => near, 1 => 0..2 * bias + 1, 1 => 0..3u64];
    (any::<bool>(), field, fraction).prop_map(move |(negative, field, fraction)| {
        let code = field << format.fraction_bits() | fraction;
        format.zero(negative) | code << format.ignored_bits()
    })
}

fn operands(format: Format, group: usize) -> impl Strategy<Value = [Vec<u64>; 2]> {
    let side = move || prop::collection::vec(code(format), 1..=group);
    (side(), side()).prop_map(|(mut a, mut b)| {
        let len = a.len().min(b.len());
        a.truncate(len);
        b.truncate(len);
        [a, b]
    })
}

fn agrees(format: Format, [a, b]: [Vec<u64>; 2], c: u64) -> Result<(), TestCaseError> {
    let arithmetic = arithmetic("vortex-tfr", "fedp", format);
    let unpack = |codes: &[u64]| -> Vec<_> { codes.iter().map(|&x| format.unpack(x)).collect() };
    let (a, b) = (unpack(&a), unpack(&b));
    if let Some(expected) = native(&a, &b, format.fraction_bits(), c) {
        let formats = arithmetic.formats();
        let mut carried = arithmetic.step.start(formats, c);
        arithmetic.step.run(formats, &a, &b, &mut carried);
        prop_assert_eq!(arithmetic.step.finish(formats, &carried), expected);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn fp16_agrees_with_native_arithmetic(x in operands(Fp16, 8), c in code(Fp32)) {
        agrees(Fp16, x, c)?;
    }

    #[test]
    fn bf16_agrees_with_native_arithmetic(x in operands(Bf16, 8), c in code(Fp32)) {
        agrees(Bf16, x, c)?;
    }

    #[test]
    fn tf32_agrees_with_native_arithmetic(x in operands(Tf32, 4), c in code(Fp32)) {
        agrees(Tf32, x, c)?;
    }
}
