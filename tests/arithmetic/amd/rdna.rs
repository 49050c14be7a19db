//! AMD's RDNA units: worked examples, infinities and NaNs in their order, and a second program of both rules that
//! works with powers of two in big integers.

use num_bigint::{BigInt, Sign};
use proptest::prelude::*;
use serde_json::json;
use tcverify::emu::{Arithmetic, Catalogue};
use tcverify::num::{Format, Format::*};

use super::{dot, with};

fn rule(arch: &str, instruction: &str, operand: Format, accumulator: Format) -> Arithmetic {
    let arch = Catalogue::builtin().find(arch).unwrap();
    let choice = arch.select(Some(instruction), [operand; 2], Some(accumulator));
    choice.unwrap().arithmetic
}

#[test]
fn worked_examples() {
    let rdna3 = rule("rdna3", "dot2", Fp16, Fp32);
    let rdna4 = rule("rdna4", "wmma-wave32", Fp16, Fp32);
    let (one, zero, minus) = (0x3c00, 0, 0xbc00);
    // A zero product of the other sign counts -1; of C's sign, nothing.
    assert_eq!(dot(&rdna3, &[one, minus], &[one, zero], 0), 0x3f7f_ffff);
    assert_eq!(
        dot(&rdna3, &[one, minus], &[one, zero], 0x8000_0000),
        0x3f80_0000
    );
    assert_eq!(dot(&rdna4, &[one, minus], &[one, zero], 0), 0x3f80_0000);
    // -2^-40 beside 1 vanishes; RDNA 3 counts it as -1, too.
    assert_eq!(dot(&rdna4, &[one], &[one], 0xab80_0000), 0x3f80_0000);
    // -2^-30, of which a floor would leave -1, and -2^-24, which is one unit.
    assert_eq!(dot(&rdna4, &[one], &[one], 0xb080_0000), 0x3f80_0000);
    assert_eq!(dot(&rdna4, &[one], &[one], 0xb380_0000), 0x3f7f_ffff);
    // Beside 2^-10 the grid is finer and keeps it; a unit with fewer bits does not.
    let tenth = [0x1400, one];
    assert_eq!(dot(&rdna4, &tenth, &[one, zero], 0xb080_0000), 0x3a7f_fff0);
    let coarser = with(&rdna4, "product_bits", json!(14));
    assert_eq!(
        dot(&coarser, &tenth, &[one, zero], 0xb080_0000),
        0x3a80_0000
    );
    // RDNA 4's waves add k 8 to 11 before 4 to 7, or after: where 2^30 comes and goes, 0.5 may be lost.
    let other = rule("rdna4", "wmma-wave64", Fp16, Fp32);
    let mut a = [0u64; 16];
    (a[0], a[4], a[8]) = (0x6800, 0x3800, 0xe800); // 2^11, 0.5, -2^11
    let mut b = [0u64; 16];
    (b[0], b[4], b[8]) = (0x6800, one, 0x6800);
    let [first, second] = [&rdna4, &other].map(|model| dot(model, &a, &b, 0));
    assert_eq!((first, second), (0x3f00_0000, 0x3f00_0000));
    (a[0], a[8], b[0], b[8]) = (0x7800, 0xf800, 0x7800, 0x7800); // 2^15 * 2^15
    let [first, second] = [&rdna4, &other].map(|model| dot(model, &a, &b, 0));
    assert_eq!((first, second), (0x3f00_0000, 0));
}

/// RDNA 4: a negative C of less than one unit counts as zero on every grid, and in FP16 as minus one on fine ones.
#[test]
fn a_negative_c_that_vanishes() {
    // By a, b and C: the result, and that of an older text, which has a floor of -126 for all.
    let rows = [
        // 2^-106 is 2^24 units of 2^-130, of which C is far less than one.
        (0x2500, 0x2500, 0x8000_0001, 0x0a80_0000, 0x0a7f_ffff),
        (0x2500, 0x2480, 0x8000_0001, 0x0a00_0000, 0x09ff_ffff),
        (0x2500, 0x2480, 0x8000_00ff, 0x0a00_0000, 0x09ff_ffff),
        // These do not tell: a tie goes to even, and a positive C is floored to nothing.
        (0xa500, 0x2500, 0x8000_0001, 0x8a80_0000, 0x8a80_0000),
        (0x2500, 0x2500, 0x0000_0001, 0x0a80_0000, 0x0a80_0000),
    ];
    for instruction in ["dot2", "wmma-wave32", "wmma-wave64"] {
        let wide = rule("rdna4", instruction, Bf16, Fp32);
        let older = with(&wide, "vanishing_c", json!(-126));
        for (a, b, c, new, old) in rows {
            let place = format!("{instruction} {a:x} {b:x} {c:x}");
            assert_eq!(dot(&wide, &[a], &[b], c), new, "{place}");
            assert_eq!(dot(&older, &[a], &[b], c), old, "{place}");
        }
        // A BF16 C of 2^-133 is the 2^-149 of FP32 sixteen bits up; D is cut to the upper half.
        let narrow = rule("rdna4", instruction, Bf16, Bf16);
        let older = with(&narrow, "vanishing_c", json!(-126));
        let (a, b) = ([0x2700], [0x2700]); // 2^-49 each: units of 2^-122
        assert_eq!(dot(&narrow, &a, &b, 0x8001), 0x0e80);
        assert_eq!(dot(&older, &a, &b, 0x8001), 0x0e80);
        let (a, b) = ([0x2500], [0x2500]); // Units of 2^-130
        assert_eq!(dot(&narrow, &a, &b, 0x8001), 0x0a80);
        assert_eq!(dot(&older, &a, &b, 0x8001), 0x0a7f);
        // FP16: 2^10 - 2^10 on a grid of 2^-14 leaves C's -1, which zero on all grids would not. On a coarser one it vanishes.
        let half = rule("rdna4", instruction, Fp16, Fp16);
        let never = with(&half, "vanishing_c", json!(null));
        for (factor, kept) in [(0x5000, 0x8400), (0x5400, 0)] {
            let (a, b) = ([factor, factor], [0x5000, 0xd000]); // 2^5 or 2^6, times 2^5 and -2^5
            assert_eq!(dot(&half, &a, &b, 0x8001), kept, "{instruction} {factor:x}");
            assert_eq!(dot(&never, &a, &b, 0x8001), 0, "{instruction} {factor:x}");
        }
    }
}

/// RDNA 4 narrows the FP32 result to BF16 as it is: its sign stays where its upper half is zero. RDNA 3 flushes it.
#[test]
fn a_small_negative_bf16_result() {
    // -2^-70 * 2^-70, and a lowest product, so that no group comes after it.
    let (a, b) = (0x9c80, 0x1c80);
    let mut row = [0u64; 16];
    let mut column = [0u64; 16];
    (row[15], column[15]) = (a, b);
    for wave in ["wmma-wave32", "wmma-wave64"] {
        let unit = rule("rdna4", wave, Bf16, Bf16);
        assert_eq!(dot(&unit, &row, &column, 0), 0x8000, "{wave}");
        let wide = rule("rdna4", wave, Bf16, Fp32);
        assert_eq!(dot(&wide, &row, &column, 0), 0x8000_0200, "{wave}");
        // A later group of zeros makes +0 of it, and a product that is missing is such a zero.
        assert_eq!(dot(&unit, &[a], &[b], 0), 0, "{wave}");
    }
    let flushed = rule("rdna3", "wmma", Bf16, Bf16);
    assert_eq!(dot(&flushed, &row, &column, 0), 0);
}

/// By the unit, the format of C, and its codes: a NaN operand, an invalid operation, a C of NaN, infinities.
#[test]
fn special_values() {
    let inf = |format| if format == Fp16 { 0x7c00u64 } else { 0x7f80 };
    let one = |format| if format == Fp16 { 0x3c00u64 } else { 0x3f80 };
    for (arch, instruction) in [
        ("rdna3", "wmma"),
        ("rdna3.5", "dot2"),
        ("rdna4", "wmma-wave64"),
    ] {
        for (operand, acc, nan, invalid, c_nan, quiet) in [
            (
                Fp16,
                Fp32,
                0xffc0_0a3d,
                0xffc0_0000,
                0x7f80_0001,
                0x7fc0_0001,
            ),
            (
                Bf16,
                Fp32,
                0xffc0_0a3d,
                0xffc0_0000,
                0xff80_1234,
                0xffc0_1234,
            ),
            (Fp16, Fp16, 0xfe3d, 0xfe00, 0x7c01, 0x7e01),
            (Bf16, Bf16, 0xfffd, 0xffc0, 0xff81, 0xffc1),
        ] {
            let model = rule(arch, instruction, operand, acc);
            let (one, inf) = (one(operand), inf(operand));
            let (minus, snan) = (inf | 0x8000, inf | 1);
            let run = |a: [u64; 2], b: [u64; 2], c| dot(&model, &a, &b, c);
            let infinity = acc.infinity(false).unwrap();
            let negative = acc.infinity(true).unwrap();
            let place = format!("{arch} {operand} {acc}");
            assert_eq!(run([snan, one], [0, one], c_nan), nan, "{place}");
            assert_eq!(run([inf, one], [0, one], c_nan), invalid, "{place}");
            assert_eq!(run([inf, minus], [one, one], c_nan), invalid, "{place}");
            assert_eq!(run([inf, one], [one, one], c_nan), quiet, "{place}");
            assert_eq!(run([inf, one], [one, one], negative), invalid, "{place}");
            assert_eq!(run([inf, one], [one, one], infinity), infinity, "{place}");
            assert_eq!(run([one, one], [one, one], negative), negative, "{place}");
            // A NaN of an earlier group is C's of the next, which a NaN operand replaces.
            if instruction != "dot2" {
                let mut a = [0; 16];
                (a[0], a[15]) = (inf, snan);
                assert_eq!(dot(&model, &a, &[one; 16], 0), nan, "{place}");
                a[15] = 0;
                assert_eq!(dot(&model, &a, &[one; 16], negative), invalid, "{place}");
            }
        }
    }
    // Subnormal BF16 numbers are zeros to RDNA 3, so that infinity times one is invalid.
    for (arch, expected) in [("rdna3", 0xffc0_0000), ("rdna4", 0x7f80_0000)] {
        let model = rule(arch, "dot2", Bf16, Fp32);
        assert_eq!(dot(&model, &[0x7f80], &[1], 0), expected, "{arch}");
    }
}

/// `n * 2^lsb`.
#[derive(Clone)]
struct Number(BigInt, i64);

impl Number {
    fn of(format: Format, code: u64) -> Number {
        let x = format.unpack(code);
        let lsb = i64::from(x.exponent) - i64::from(format.fraction_bits());
        let sign = if x.negative { Sign::Minus } else { Sign::Plus };
        Number(BigInt::from_biguint(sign, x.significand.into()), lsb)
    }

    fn lead(&self) -> Option<i64> {
        let bits = self.0.magnitude().bits() as i64;
        (bits > 0).then_some(bits - 1 + self.1)
    }

    /// Units of 2^grid, toward minus infinity.
    fn floored(&self, grid: i64) -> BigInt {
        let scale = BigInt::from(1) << (grid - self.1).unsigned_abs();
        if grid > self.1 {
            let down = &self.0 / &scale;
            let exact = &down * &scale == self.0;
            if exact || self.0.sign() != Sign::Minus {
                down
            } else {
                down - 1
            }
        } else {
            &self.0 * scale
        }
    }
}

/// To nearest even with the bits of a format, by looking at both neighbours.
fn rounded(value: &BigInt, grid: i64, format: Format, flush: bool) -> u64 {
    let through = if format == Bf16 { Fp32 } else { format };
    let Some(top) = Number(value.clone(), grid).lead() else {
        return 0;
    };
    let quantum = |top: i64| top - i64::from(through.fraction_bits());
    let magnitude = value.magnitude();
    let to = |quantum: i64| -> num_bigint::BigUint {
        if quantum <= grid {
            return magnitude << (grid - quantum);
        }
        let unit = num_bigint::BigUint::from(1u8) << (quantum - grid);
        let (down, rest) = (magnitude / &unit, magnitude % &unit);
        let twice = rest * 2u8;
        let up = twice > unit || twice == unit && down.bit(0);
        down + u8::from(up)
    };
    let least = i64::from(through.min_exponent());
    let free = to(quantum(top));
    let leads = free.bits() as i64 - 1 + quantum(top);
    if flush && leads < least {
        return 0;
    }
    let steps = to(quantum(top.max(least)));
    // Codes of one sign are in order, and so are numbers: each binade has as many.
    let width = i64::from(through.fraction_bits());
    let code = (top.max(least) - least) << width;
    let code = (BigInt::from(code) + BigInt::from(steps)).to_string();
    let infinity = through.infinity(false).unwrap();
    let code = code.parse::<u64>().unwrap().min(infinity);
    let code = match (code, value.sign()) {
        (0, _) => 0,
        (code, Sign::Minus) => through.sign(true) | code,
        (code, _) => code,
    };
    if through == format { code } else { code >> 16 }
}

/// One group of finite numbers, as the sheet of either generation says it.
fn group(generation: u8, operand: Format, acc: Format, pairs: &[(u64, u64)], c: u64) -> u64 {
    let bf16 = operand == Bf16;
    let floor = if acc == Fp16 { Some(-14) } else { None };
    let tiny =
        |format: Format, code: u64| format.unpack(code).significand >> format.fraction_bits() == 0;
    let flush_sums = generation == 3 && acc != Fp16;
    let operand_of = |code: u64| {
        let x = operand.unpack(code);
        let zero = generation == 3 && bf16 && tiny(operand, code);
        let number = Number::of(operand, code);
        (
            x.negative,
            if zero { BigInt::ZERO } else { number.0 },
            i64::from(x.exponent),
        )
    };
    let fraction = 2 * i64::from(operand.fraction_bits());
    let products = pairs.iter().map(|&(a, b)| {
        let ((na, a, ea), (nb, b, eb)) = (operand_of(a), operand_of(b));
        (na != nb, Number(a * b, ea + eb - fraction), ea + eb)
    });
    let products: Vec<_> = products.collect();
    let addend = if flush_sums && tiny(acc, c) {
        Number(BigInt::ZERO, 0)
    } else {
        Number::of(acc, c)
    };
    let negative = acc.unpack(c).negative;
    let largest = |some: &[(bool, Number, i64)]| {
        let nonzero = some
            .iter()
            .filter(|(_, number, _)| number.0 != BigInt::ZERO);
        nonzero.map(|&(_, _, sum)| sum).max()
    };
    if generation == 3 {
        if largest(&products).is_none() && addend.lead().is_none() {
            return 0;
        }
        let leads = products.iter().filter_map(|(_, number, _)| number.lead());
        let lead = leads.chain(addend.lead()).chain(floor).max().unwrap();
        let grid = largest(&products).map_or(lead - 26, |sum| (sum - 24).max(lead - 26));
        let units =
            |number: &Number| Number(number.0.magnitude().clone().into(), number.1).floored(grid);
        let mut total = units(&addend);
        for (sign, number, _) in &products {
            total += if *sign == negative {
                units(number)
            } else {
                -units(number) - 1
            };
        }
        return rounded(
            &if negative { -total } else { total },
            grid,
            acc,
            flush_sums,
        );
    }
    let least = floor.unwrap_or(-126);
    let lead = addend.lead().map_or(least, |lead| lead.max(least));
    let grid = largest(&products).map_or(lead - 26, |sum| (sum - 24).max(lead - 26));
    let mut total = BigInt::ZERO;
    for pair in products.chunks(2) {
        if let Some(sum) = largest(pair) {
            let own: BigInt = pair
                .iter()
                .map(|(_, number, _)| number.floored(sum - 24))
                .sum();
            total += Number(own, sum - 24).floored(grid);
        }
    }
    let magnitude = Number(addend.0.magnitude().clone().into(), addend.1);
    if magnitude.floored(grid) != BigInt::ZERO || acc == Fp16 && grid <= -14 {
        total += addend.floored(grid);
    }
    rounded(&total, grid, acc, false)
}

/// A finite code, with exponents near each other as often as anywhere, and zeros.
fn finite(format: Format) -> impl Strategy<Value = u64> {
    let width = format.fraction_bits();
    let fields = (1u64 << format.exponent_bits()) - 1;
    let middle = fields / 2;
    let near = middle.saturating_sub(14)..(middle + 14).min(fields);
    let field = prop_oneof![4 => near, 2 => 0..fields, 1 => Just(0)];
    let fraction = prop_oneof![3 => 0..1u64 << width, 1 => Just(0), 1 => Just((1u64 << width) - 1)];
    let sign = format.sign(true);
    (any::<bool>(), field, fraction).prop_map(move |(negative, field, fraction)| {
        (u64::from(negative) * sign) | field << width | fraction
    })
}

fn product(operand: Format, acc: Format) -> impl Strategy<Value = (Vec<(u64, u64)>, u64)> {
    let pair = (finite(operand), finite(operand));
    (prop::collection::vec(pair, 1..34), finite(acc))
}

fn second(arch: &str, operand: Format, acc: Format, pairs: &[(u64, u64)], c: u64) -> u64 {
    let (generation, size, order): (u8, usize, &[usize]) = match arch {
        "wmma-wave32" => (4, 4, &[0, 2, 1, 3]),
        "wmma-wave64" => (4, 4, &[0, 1, 2, 3]),
        _ => (3, 2, &[0, 1, 2, 3, 4, 5, 6, 7]),
    };
    let mut code = c;
    for instruction in pairs.chunks(16) {
        for group_of in order {
            let at = |k| instruction.get(k).copied().unwrap_or((0, 0));
            let pairs: Vec<_> = (group_of * size..(group_of + 1) * size).map(at).collect();
            // An infinite C stays as it is: no operand here is infinite or a NaN.
            if !acc.unpack(code).is_infinite() {
                code = group(generation, operand, acc, &pairs, code);
            }
        }
    }
    code
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn both_generations_are_the_rules_in_big_integers(
        half in product(Fp16, Fp32),
        brain in product(Bf16, Fp32),
        short in product(Fp16, Fp16),
        narrow in product(Bf16, Bf16),
    ) {
        for (arch, instruction) in [
            ("rdna3", "wmma"), ("rdna3.5", "wmma"), ("rdna4", "wmma-wave32"), ("rdna4", "wmma-wave64"),
        ] {
            for (operand, acc, (pairs, c)) in [
                (Fp16, Fp32, &half), (Bf16, Fp32, &brain), (Fp16, Fp16, &short), (Bf16, Bf16, &narrow),
            ] {
                let model = rule(arch, instruction, operand, acc);
                let (a, b): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
                let ours = dot(&model, &a, &b, *c);
                let theirs = second(instruction, operand, acc, pairs, *c);
                prop_assert_eq!(ours, theirs, "{} {} {} {:?} {:x}", arch, operand, acc, pairs, c);
            }
        }
    }
}
