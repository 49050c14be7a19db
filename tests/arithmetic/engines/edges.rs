//! Sums at the edge of 32 bits, where the kernels must notice.

use serde_json::json;
use tcverify::emu::step::{Code, ExactDot, Fused, FusedHalves, Step};
use tcverify::emu::{Arithmetic, Engine};
use tcverify::kernels::{self, KernelConfig, Platform};
use tcverify::num::{Format, Rounding, convert_exact};

use super::case::{Case, Shape, product};
use super::models::{self, Model};
use super::operands::{Addend, Kind};
use crate::support::engines::engines;
use crate::systems::dot::Dot;

/// C about 2 from a first step, then 16 products of about 4: in units of the grid more than 2^31.
#[test]
fn an_accumulator_and_sixteen_large_products_on_hopper() {
    let model = models::named("hopper wgmma fp16*fp16->fp32");
    let shape = Shape::new(4, 8, 32);
    // 2047/1024 and one.
    let (large, one) = (0x3fff, 0x3c00);
    let mut row = vec![0; 15];
    row.push(one);
    row.extend([large; 16]);
    let a = row.repeat(shape.m);
    let b = vec![large; shape.k * shape.n];
    for engine in engines() {
        let d = product(&model, engine, shape, &a, &b, None);
        assert_eq!(d, [0x4283_df82; 32], "{engine:?}");
        // C from outside, and one step.
        let c = [0x3fff_e000; 32];
        let shape = Shape { k: 16, ..shape };
        let (a, b) = ([large; 64], [large; 128]);
        let d = product(&model, engine, shape, &a, &b, Some(&c));
        assert_eq!(d, [0x4283_df82; 32], "{engine:?}");
    }
}

/// Products of the largest significands and a C that brings the sum to 2^31 units of the grid, a
/// few more or less, of either sign.
#[test]
#[ignore = "long"]
fn sums_around_two_to_the_31st() {
    let mut sums = 0;
    for model in models::catalogue().into_iter().chain(models::made_up(2000)) {
        let checked = matches!(kernels::plan(&model.arithmetic), Some(KernelConfig::Group(plan)) if plan.checked);
        if let (Step::Fused(fused), true) = (&model.arithmetic.step, checked) {
            sums += around(&model, fused);
        }
    }
    assert!(sums > 500, "only {sums} sums");
}

/// Returns how many sums there are.
fn around(model: &Model, fused: &Fused) -> usize {
    let Arithmetic {
        a, b, accumulator, ..
    } = model.arithmetic;
    let product = ones(a).1 * ones(b).1;
    let grid = fused.fraction_bits as i32 - (a.fraction_bits() + b.fraction_bits()) as i32;
    let term = if grid >= 0 {
        product << grid
    } else {
        product >> -grid
    };
    let mut sums = 0;
    for count in 1..=fused.group {
        for delta in -2..=2 {
            let missing = (1i64 << 31) + delta - count as i64 * term;
            let Some(c) = units(missing, fused.fraction_bits, accumulator) else {
                continue;
            };
            sums += 1;
            for sign in [0, 1] {
                let shape = Shape::new(4, 40, count);
                let mut rows = vec![ones(a).0 | (sign * a.sign_mask()); 4 * count];
                // Not all rows: their neighbours must not mind.
                rows[count..2 * count].fill(0);
                let b = vec![ones(b).0; count * 40];
                let c = vec![c ^ (sign * accumulator.sign_mask()); 160];
                same(model, shape, &rows, &b, &c);
            }
        }
    }
    sums
}

/// The largest number below 2, and its significand.
fn ones(format: Format) -> (u64, i64) {
    let below = (format.bias() as u64 + 1) << format.fraction_bits();
    let significand = (2 << format.fraction_bits()) - 1;
    ((below - 1) << format.ignored_bits(), significand)
}

/// Compares all engines on a product of equal columns, of B and of C: the exact one computes the first.
fn same(model: &Model, shape: Shape, a: &[u64], b: &[u64], c: &[u64]) {
    let Shape { n, .. } = shape;
    for row in b.chunks(n).chain(c.chunks(n)) {
        assert!(row.iter().all(|code| *code == row[0]), "columns differ");
    }
    let first = |codes: &[u64]| codes.iter().copied().step_by(n).collect::<Vec<_>>();
    let one = Shape { n: 1, ..shape };
    let column = product(model, Engine::Exact, one, a, &first(b), Some(&first(c)));
    let expected: Vec<_> = column.iter().flat_map(|&code| vec![code; n]).collect();
    for engine in Platform::available().into_iter().map(Platform::engine) {
        let found = product(model, engine, shape, a, b, Some(c));
        let at = expected.iter().zip(&found).position(|(x, y)| x != y);
        let bits = at.map(|at| format!("[{at}] exact {:x}, fast {:x}", expected[at], found[at]));
        let json = model.arithmetic.canonical_json();
        let (a, b, c) = (&a[..shape.k], b[0], c[0]);
        assert_eq!(
            bits, None,
            "{engine:?} {json}\na {a:x?}\nb {b:x}..\nc {c:x}.."
        );
    }
}

/// The closing add of two halves cancels all but the last bits, where results are subnormal
/// numbers, or would be relative to the scale of their row and column.
#[test]
#[ignore = "long"]
fn closing_adds_that_cancel() {
    for fraction_bits in [8, 12, 25] {
        let fused = Fused {
            group: 2,
            fraction_bits,
            alignment: Rounding::TowardZero,
            zero_exponent: -126,
            precision: 24,
            rounding: Rounding::TowardZero,
            nan: Code(0x7fff_ffff),
            sum_bits: None,
            minus_zero: false,
        };
        let model = halves(fused);
        // A step with one product, then one that only shows other scales of row and column.
        for scale in [-30, 0, 40] {
            for exponent in -126..=-70 {
                let (half, rest) = (exponent / 2, exponent - exponent / 2);
                let row = [0, power(half), 0, 0, power(scale), 0, 0, 0];
                let column = [0, power(rest) | 0x8000, 0, 0, 0, power(scale), 0, 0];
                let shape = Shape::new(4, 32, 8);
                let b: Vec<_> = column.iter().flat_map(|&code| [code; 32]).collect();
                for beyond in [0, 1, 2, 3, 1 << 22] {
                    let c = vec![((exponent + 127) as u64) << 23 | beyond; 128];
                    same(&model, shape, &row.repeat(4), &b, &c);
                }
            }
        }
    }
}

/// BF16 in two halves of even and odd k.
fn halves(half: Fused) -> Model {
    let step = FusedHalves {
        span: 2 * half.group,
        period: 2,
        first: vec![0],
        half,
        closing: Rounding::NearestEven,
    };
    Model {
        name: "BF16 in halves".into(),
        arithmetic: Arithmetic::plain([Format::Bf16; 2], Format::Fp32, Step::FusedHalves(step)),
    }
}

/// A power of two in BF16.
fn power(exponent: i32) -> u64 {
    ((exponent + 127) as u64) << 7
}

/// The code of `units` of the grid, if it has one and its exponent is at most 0.
fn units(units: i64, fraction_bits: u32, accumulator: Format) -> Option<u64> {
    if units.unsigned_abs() >= 2 << fraction_bits {
        return None;
    }
    let exact = units as f64 * (-f64::from(fraction_bits)).exp2();
    convert_exact(Format::Fp64, exact.to_bits(), accumulator).ok()
}

/// Two products and C, of which the larger product makes a tie and the smaller one decides it, the further
/// apart the smaller: from sums of products that FP64 holds to those that it does not.
#[test]
fn exact_sums_that_a_far_product_decides() {
    let model = models::named("cdna1 mfma bf16*bf16->fp32");
    let mut ties = 0;
    for exponent in -120..=-26 {
        for sign in [0, 1] {
            // 2^-24 is half a unit of a C of 1 or more.
            let far = (exponent / 2, exponent - exponent / 2);
            let row = [power(-12), power(far.0) | sign << 15];
            let column = [power(-12), power(far.1)];
            let shape = Shape::new(4, 40, 2);
            let b: Vec<_> = column.iter().flat_map(|&code| [code; 40]).collect();
            for c in [0x3f80_0000, 0x3f80_0001] {
                let expected = c + u64::from(sign == 0);
                let found = product(
                    &model,
                    Engine::Exact,
                    shape,
                    &row.repeat(4),
                    &b,
                    Some(&[c; 160]),
                );
                assert_eq!(found[0], expected, "2^{exponent}");
                // What a sum that lost the far product would give.
                ties += usize::from(expected != c + (c & 1));
                same(&model, shape, &row.repeat(4), &b, &[c; 160]);
            }
        }
    }
    assert_eq!(ties, 190);
}

/// To odd: sums that rounding to nearest takes for an infinity, and one that is one; sums just below the smallest normal
/// number, and that number.
#[test]
fn sums_to_odd_at_both_ends() {
    let model = models::named("arm bfdot bf16*bf16->fp32");
    let shape = Shape::new(4, 40, 2);
    for (c, exponents, expected) in [
        (0x7f7f_ffff, [102, -50], 0x7f7f_ffff),
        (0x7f7f_ffff, [103, 102], 0x7f7f_ffff),
        (0x7f7f_ffff, [104, -50], 0x7f80_0000),
        (0x7f00_0000, [126, 126], 0x7f80_0000),
        (0, [-127, -127], 0),
        (0, [-126, -127], 0x0080_0000),
        (0x8080_0001, [-126, -127], 0x8000_0000),
    ] {
        for sign in [0, 1] {
            let row = exponents.map(|e| power(e - e / 2) | sign << 15);
            let column = exponents.map(|e| power(e / 2));
            let b: Vec<_> = column.iter().flat_map(|&code| [code; 40]).collect();
            let c = [c ^ (sign << 31); 160];
            let found = product(&model, Engine::Exact, shape, &row.repeat(4), &b, Some(&c));
            assert_eq!(
                found[0],
                expected ^ (sign << 31),
                "{exponents:?} {:x}",
                c[0]
            );
            same(&model, shape, &row.repeat(4), &b, &c);
        }
    }
}

/// A tie in FP64 between two products that cancel, and a far product that decides it.
#[test]
fn sums_of_doubles_that_a_far_product_decides() {
    let model = models::named("exact dot fp64*fp64->fp64");
    let power = |exponent: i32| 2f64.powi(exponent);
    let mut ties = 0;
    for exponent in (-1000..=-54).step_by(43) {
        for large in [-10, 0, 30, 60, 300, 1000] {
            for sign in [1.0, -1.0] {
                // 1 + 2^-30 squared has a part that a double loses.
                let long = (1.0 + power(-30)) * power(large / 2);
                let (half, rest) = (exponent / 2, exponent - exponent / 2);
                let row = [long, power(-26), -long, sign * power(half)];
                let column = [long, power(-27), long, power(rest)];
                let shape = Shape::new(4, 40, 4);
                let row = row.map(f64::to_bits).repeat(4);
                let b: Vec<_> = column.iter().flat_map(|x| [x.to_bits(); 40]).collect();
                for c in [1.0, 1.0 + f64::EPSILON].map(f64::to_bits) {
                    let expected = c + u64::from(sign > 0.0);
                    let c = [c; 160];
                    let found = product(&model, Engine::Exact, shape, &row, &b, Some(&c));
                    assert_eq!(found[0], expected, "2^{exponent}");
                    // What a sum that lost the far product would give.
                    ties += usize::from(expected != c[0] + (c[0] & 1));
                    same(&model, shape, &row, &b, &c);
                }
            }
        }
    }
    assert_eq!(ties, 276);
}

/// Products of which a double loses a part that no double holds, as the exponent falls, and a C that cancels the rest.
#[test]
fn sums_of_doubles_with_a_part_below_all() {
    let model = models::named("exact dot fp64*fp64->fp64");
    let (mut lost, shape) = (0, Shape::new(4, 40, 4));
    for exponent in -1040..=-940 {
        for odd in [1, 3, 0x000a_bcde_1235] {
            let (half, rest) = (exponent / 2, exponent - exponent / 2);
            let number = |e: i32| f64::from_bits(((e + 1023) as u64) << 52 | odd);
            let (x, y) = (number(half), number(rest));
            let c = [(-4.0 * (x * y)).to_bits(); 160];
            let (a, b) = ([x.to_bits(); 16], [y.to_bits(); 160]);
            let found = product(&model, Engine::Exact, shape, &a, &b, Some(&c));
            // What an FMA gives of each product, added.
            let parts = 4.0 * x.mul_add(y, -(x * y));
            lost += usize::from(f64::from_bits(found[0]) != parts);
            same(&model, shape, &a, &b, &c);
        }
    }
    assert!(lost > 20, "only {lost}");
}

/// Operands of one and of two formats, of all exponents and none, into doubles.
#[test]
fn exact_sums_of_narrow_operands_in_doubles() {
    let step = ExactDot {
        rounding: Rounding::NearestEven,
        nan: Code(0x7ff8 << 48),
    };
    for operands in [
        [Format::Fp32, Format::Fp32],
        [Format::Fp64, Format::Bf16],
        [Format::E4m3, Format::E5m2],
    ] {
        let step = Step::ExactDot(step.clone());
        let model = Model {
            name: "into doubles".into(),
            arithmetic: Arithmetic::plain(operands, Format::Fp64, step),
        };
        assert!(kernels::plan(&model.arithmetic).is_some());
        for kind in [Kind::Ordinary, Kind::Wide, Kind::OneSpecial] {
            for c in [Addend::Missing, Addend::Ordinary] {
                let case = Case::new(&model, Shape::new(9, 70, 300), kind, c, 5);
                case.check().unwrap();
            }
        }
    }
}

/// What every engine gives of a row of A and a column of B with scales, and C.
fn scaled(model: &serde_json::Value, lines: [&[u64]; 2], scales: [&[u64]; 2], c: u64) -> u64 {
    let unit: Arithmetic = serde_json::from_value(model.clone()).unwrap();
    unit.check().unwrap();
    let dot = Dot {
        scales: Some(scales.map(<[u64]>::to_vec)),
        ..Dot::plain(lines[0], lines[1], c)
    };
    let exact = dot.times(64, &unit, Engine::Exact);
    for engine in engines() {
        let d = dot.times(64, &unit, engine);
        assert!(
            d == exact,
            "{engine:?} {model}: {:x}, not {:x}",
            d[0],
            exact[0]
        );
    }
    exact[0]
}

/// A line of 32 codes that begins so.
fn line(first: &[u64]) -> [u64; 32] {
    std::array::from_fn(|k| first.get(k).copied().unwrap_or_default())
}

/// A block of zeros competes with an exponent above those of terms: C is cut away.
#[test]
fn blocks_beside_zeros_that_compete() {
    let (a, b) = (line(&[2; 16]), [2; 32]);
    let found = [-52, -139].map(|zero_exponent| {
        let unit = json!({
            "a": "e2m1", "b": "e2m1", "accumulator": "fp32",
            "scale": {"format": "ue8m0", "block": 16},
            "step": {
                "kind": "block_dot", "group": 32, "part": 16, "fraction_bits": 36, "alignment": "rz",
                "zero_exponent": zero_exponent, "precision": 24, "rounding": "rz", "nan": "7fffffff",
            },
        });
        scaled(&unit, [&a, &b], [&[87, 127], &[87; 2]], 0x117f_ffff)
    });
    assert_eq!(found, [0x1980_0000, 0x1980_007f]);
}

/// Exponents of lanes wrap at ten bits above a very small one of zero.
#[test]
fn lanes_far_above_zero() {
    let ones = line(&[0x38]);
    let found = [-2000, -260].map(|zero_exponent| {
        let unit = json!({
            "a": "e4m3", "b": "e4m3", "accumulator": "fp32",
            "scale": {"format": "ue8m0", "block": 32},
            "step": {
                "kind": "sticky_rne", "lanes": 8, "group": 16, "width": 25, "fraction_bits": 24,
                "zero_exponent": zero_exponent, "addend": "value", "pair": "tfr", "scaling": "lane_exponent",
                "sparse_mask": false, "ieee_top": false, "nan": "7fc00000",
            },
        });
        scaled(&unit, [&ones; 2], [&[127]; 2], 0)
    });
    assert_eq!(found, [0, 0x3f80_0000]);
}

/// The largest scale on a large element of A: it does not fit a byte, nor its value an FP32.
#[test]
fn scales_that_lead_out_of_range() {
    let (a, b) = (line(&[0x7f00]), line(&[0x0080]));
    let unit = json!({
        "a": "bf16", "b": "bf16", "accumulator": "fp32",
        "scale": {"format": "ue8m0", "block": 32},
        "step": {
            "kind": "fused", "group": 32, "fraction_bits": 24, "alignment": "rz", "zero_exponent": -133,
            "precision": 24, "rounding": "rz", "nan": "7fffffff",
        },
    });
    assert_eq!(scaled(&unit, [&a, &b], [&[0xfe], &[115]], 0), 0x7980_0000);
}

/// An instruction longer than K, of a unit that is given its scales: it is filled up with zeros of scale one.
#[test]
fn blocks_filled_up() {
    let unit = json!({
        "a": "e2m1", "b": "e2m1", "accumulator": "fp32", "instruction_k": 128,
        "scale": {"format": "ue8m0", "block": 16},
        "step": {
            "kind": "block_dot", "group": 32, "part": 16, "fraction_bits": 20, "alignment": "rz",
            "zero_exponent": -100, "precision": 24, "rounding": "rz", "nan": "7fffffff",
        },
    });
    // 1 + 2^-23 loses its last bit, not only to the products.
    let found = scaled(&unit, [&line(&[]); 2], [&[127, 127]; 2], 0x3f80_0001);
    assert_eq!(found, 0x3f80_0000);
}
