//! Counts that others published of GPUs: how often the unit, and what libdevice makes of it, is how far from
//! the correctly rounded result.

use std::collections::BTreeMap;

use rayon::prelude::*;
use tcverify::ops::float32::{
    Arith, Exactly, Function, Natively, ex2_polynomial, exp2f, expf, mufu, tables, tanhf, with_fma,
};

/// How many results are how far from those of `correct`, in representable numbers.
fn distances(
    codes: impl IntoParallelIterator<Item = u32>,
    result: impl Fn(u32) -> u32 + Sync,
    correct: impl Fn(u32) -> f32 + Sync,
) -> BTreeMap<i64, u64> {
    let counted = codes
        .into_par_iter()
        .fold(BTreeMap::new, |mut counts, code| {
            let distance = i64::from(result(code)) - i64::from(correct(code).to_bits());
            *counts.entry(distance).or_insert(0) += 1;
            counts
        });
    counted.reduce(BTreeMap::new, joined)
}

fn joined(mut counts: BTreeMap<i64, u64>, others: BTreeMap<i64, u64>) -> BTreeMap<i64, u64> {
    for (distance, count) in others {
        *counts.entry(distance).or_insert(0) += count;
    }
    counts
}

/// By distance in either direction.
fn folded(counts: BTreeMap<i64, u64>) -> Vec<(u64, u64)> {
    let mut folded = BTreeMap::new();
    for (distance, count) in counts {
        *folded.entry(distance.unsigned_abs()).or_insert(0) += count;
    }
    folded.into_iter().collect()
}

fn reciprocal(code: u32) -> f32 {
    1.0 / f32::from_bits(code)
}

fn reciprocal_root(code: u32) -> f32 {
    (1.0 / f64::from(f32::from_bits(code)).sqrt()) as f32
}

/// All mantissas, as the notebooks of the hardware rounding error predictor print them of A100, H100 and L40S.
#[test]
fn reciprocals_and_roots_have_the_published_counts() {
    let rcp = |code| mufu(Function::Rcp, code);
    let rsq = |code| mufu(Function::Rsq, code);
    let one = 0x3f80_0000..0x4000_0000u32;
    let two = 0x4000_0000..0x4080_0000u32;
    let found = folded(distances(one.clone(), rcp, reciprocal));
    assert_eq!(found, [(0, 7_280_086), (1, 1_108_522)]);
    let found = folded(distances(one.clone(), rsq, reciprocal_root));
    assert_eq!(found, [(0, 6_505_163), (1, 1_883_437), (2, 8)]);
    let found = folded(distances(two, rsq, reciprocal_root));
    assert_eq!(found, [(0, 6_637_923), (1, 1_750_685)]);
    // A square that is not cut off partial product by partial product has other counts.
    let table = &tables().tables[0];
    let uncut = |code: u32| {
        let (row, x) = ((code >> 16 & 0x7f) as usize, i64::from(code & 0xffff));
        let [a, b, c] = table.rows[row];
        let square = ((x << 1) * (x << 1)) >> 19;
        let sum = (a << 13) + b * x + c * square + table.bias;
        let value = (sum >> table.out_shift) as u32;
        (126 << 23) + (value - (1 << 23))
    };
    let other = folded(distances(one, uncut, reciprocal));
    assert_ne!(other, [(0, 7_280_086), (1, 1_108_522)]);
}

/// The sheet's predictions for EX2 against the correctly rounded power.
#[test]
fn powers_of_two_have_the_predicted_counts() {
    let grid = 0..1u32 << 23;
    let up = |i: u32| mufu(Function::Ex2, (i as f32 / 8_388_608.0).to_bits());
    let power = |i: u32| f64::from(i) / 8_388_608.0;
    let found = distances(grid.clone(), up, |i| power(i).exp2() as f32);
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        [(-1, 3_093), (0, 5_125_875), (1, 3_259_640)]
    );
    let below = |i: u32| {
        mufu(
            Function::Ex2,
            (-(f64::from(i + 1) / 8_388_608.0) as f32).to_bits(),
        )
    };
    let correct = |i: u32| (-(f64::from(i + 1) / 8_388_608.0)).exp2() as f32;
    let found = distances(grid.clone(), below, correct);
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        [(-2, 86_537), (-1, 4_959_061), (0, 3_342_935), (1, 75)]
    );
    // Two's complement below zero would be the table's own distribution, mirrored.
    let twos = |i: u32| {
        let n = i + 1;
        let fraction = (1u32 << 23) - n;
        let code = mufu(Function::Ex2, (fraction as f32 / 8_388_608.0).to_bits());
        code - (1 << 23)
    };
    let other = distances(grid, twos, correct);
    assert_ne!(other.get(&-1), Some(&4_959_061));
}

/// Patterns of 0 <= x < 2 that the test looks at: one in so many. All of them with TCVERIFY_ALL_PATTERNS=1.
fn stride() -> u32 {
    match std::env::var_os("TCVERIFY_ALL_PATTERNS") {
        Some(_) => 1,
        None => 61,
    }
}

/// The bin of a distance of 2^-23.
const ULP: i64 = 256;

/// Distances as multiples of 2^-31, which hold those that the histograms of libcperf (V100 and A100) bin.
fn bins(
    result: impl Fn(u32) -> u32 + Sync,
    host: impl Fn(f32) -> f32 + Sync,
) -> BTreeMap<i64, u64> {
    let stride = stride();
    let all = 0..(1u32 << 30).div_ceil(stride);
    let counted =
        all.into_par_iter()
            .map(|i| i * stride)
            .fold(BTreeMap::new, |mut counts, code| {
                let x = f32::from_bits(code);
                let error = (f64::from(f32::from_bits(result(code))) - f64::from(host(x))).abs();
                *counts
                    .entry((error * 8_388_608.0 * ULP as f64).round() as i64)
                    .or_insert(0) += 1;
                counts
            });
    counted.reduce(BTreeMap::new, joined)
}

/// A count of all patterns: exactly that, or what a sample of it can be.
fn agrees(found: &BTreeMap<i64, u64>, bin: i64, published: u64, off: u64) {
    let count = found.get(&bin).copied().unwrap_or(0);
    match stride() {
        1 => assert!(
            count.abs_diff(published) <= off,
            "{bin}: {count}, not {published}"
        ),
        stride => {
            let expected = published as f64 / f64::from(stride);
            let far = (count as f64 - expected).abs();
            assert!(
                far <= 6.0 * expected.sqrt() + 8.0,
                "{bin}: {count}, not {expected}"
            );
        }
    }
}

/// The histograms of libcperf: V100 and A100, 0 <= x < 2, which they count four times over.
#[test]
fn exponentials_have_the_published_counts() {
    with_fma(|| {
        let a = Natively::new();
        let power = |x: f32| f64::from(x).exp2() as f32;
        // The host's exp2f of then (glibc before 2.27) is off by an ulp now and then: so many counts more or fewer. With that
        // function in place of a correctly rounded one they are the published ones (docs/layers.md).
        let found = bins(|x| exp2f(a, x, false), power);
        agrees(&found, ULP, 175_161_264 / 4, 4_128);
        agrees(&found, 2 * ULP, 13_050_464 / 4, 117);
        // Against a host that is correctly rounded but for 3 of 2^30.
        let found = bins(|x| expf(a, x), |x| f64::from(x).exp() as f32);
        agrees(&found, ULP, 167_163_340 / 4, 3);
        agrees(&found, 2 * ULP, 9_377_492 / 4, 3);
        agrees(&found, 4 * ULP, 6_592_616 / 4, 3);
        agrees(&found, 8 * ULP, 34_320 / 4, 3);
        // With x rounded, not cut off, at 2^-23, which is not what the unit does, the counts are others.
        let rounded = |code: u32| {
            let x = f64::from(f32::from_bits(code));
            let grid = (x * 8_388_608.0).round() / 8_388_608.0;
            exp2f(a, (grid as f32).to_bits(), false)
        };
        let other = bins(rounded, power);
        let sampled = 175_161_264 / 4 / u64::from(stride());
        let found = other.get(&ULP).copied().unwrap_or(0);
        assert!(found.abs_diff(sampled) > sampled / 10, "{found}, {sampled}");
    });
}

/// The same of tanhf, against a host's library of before 2018: the first and the last of its twelve bins are public.
#[test]
fn hyperbolic_tangents_have_the_published_counts() {
    with_fma(|| {
        let a = Natively::new();
        let found = bins(|x| tanhf(a, x), old_tanh);
        agrees(&found, ULP / 64, 10_445_480 / 4, 0);
        agrees(&found, 3 * ULP / 2, 72 / 4, 0);
        let held = found.keys().filter(|bin| **bin == 0 || **bin >= ULP / 64);
        assert!(stride() > 1 || held.count() == 12);
        // A division in place of the unit's reciprocal is another function.
        let divided = |code: u32| {
            let x = f32::from_bits(code);
            if x < 0.6 || code >= 0x4110_2cb4 {
                return tanhf(a, code);
            }
            let scaled = (x * f32::from_bits(0x4038_aa3b)).to_bits();
            let sum = 1.0 + f32::from_bits(mufu(Function::Ex2, scaled));
            (1.0 / sum).mul_add(-2.0, 1.0).to_bits()
        };
        let other = bins(divided, old_tanh);
        let [two, half] =
            [ULP, ULP / 2].map(|bin| [&found, &other].map(|of| of.get(&bin).copied()));
        assert!(two[0] != two[1] && half[0] != half[1], "{two:?} {half:?}");
    });
}

/// tanh as Sun's fdlibm computes it in FP32, and glibc did until 2.27: by exp(2|x|) - 1.
fn old_tanh(x: f32) -> f32 {
    match x.abs() {
        small if small < 2f32.powi(-55) => x * (1.0 + x),
        large if large >= 1.0 => 1.0 - 2.0 / (old_expm1(2.0 * large) + 2.0),
        x => {
            let t = old_expm1(-2.0 * x);
            -t / (t + 2.0)
        }
    }
}

/// exp(x) - 1: x without k ln 2, a rational approximation, and 2^k. Here |x| is below 4.
fn old_expm1(x: f32) -> f32 {
    let (high, low) = (f32::from_bits(0x3f31_7180), f32::from_bits(0x3717_f7d1));
    let magnitude = x.abs().to_bits();
    let sign = 1f32.copysign(x);
    let (k, upper, lower) = match magnitude {
        ..0x3300_0000 => return x,
        0x3300_0000..=0x3eb1_7218 => (0, x, 0.0),
        0x3eb1_7219..0x3f85_1592 => (sign as i32, x - sign * high, sign * low),
        _ => {
            let k = (f32::from_bits(0x3fb8_aa3b) * x + 0.5 * sign) as i32;
            (k, x - k as f32 * high, k as f32 * low)
        }
    };
    let x = upper - lower;
    let left = (upper - x) - lower;
    let half = 0.5 * x;
    let square = x * half;
    let coefficients = [
        0xb457_edbb,
        0x3686_7e54,
        0xb8a6_70cd,
        0x3ad0_0d01,
        0xbd08_8889u32,
    ];
    let coefficients = coefficients.map(f32::from_bits);
    let polynomial = coefficients[1..]
        .iter()
        .fold(coefficients[0], |sum, c| c + square * sum);
    let r = 1.0 + square * polynomial;
    let t = 3.0 - r * half;
    let e = square * ((r - t) / (6.0 - x * t));
    if k == 0 {
        return x - (x * e - square);
    }
    let e = (x * (e - left) - left) - square;
    let times = |y: f32| f32::from_bits(y.to_bits().wrapping_add((k << 23) as u32));
    match k {
        -1 => 0.5 * (x - e) - 0.5,
        1 if x < -0.25 => -2.0 * (e - (x + 0.5)),
        1 => 1.0 + 2.0 * (x - e),
        ..=-2 => times(1.0 - (e - x)) - 1.0,
        _ => times(f32::from_bits(0x3f80_0000 - (0x0100_0000 >> k)) - (e - x)),
    }
}

/// Twenty values of `ex2.approx` that a GB200 printed, x to six decimals (flash-attention, issue 2263): some x that prints so
/// gives the code. Of the first eleven there is one such x.
#[test]
fn values_of_a_gb200() {
    let values = [
        (-10.221991, 0x3a5b_7d5c),
        (-12.691620, 0x391e_8128),
        (-12.472450, 0x3938_8261),
        (-5.655628, 0x3ca2_822f),
        (-18.084177, 0x3671_7d95),
        (-5.785695, 0x3c94_7fa3),
        (-4.114324, 0x3d6c_7f28),
        (-7.132768, 0x3be9_7e0e),
        (-8.411281, 0x3b40_8029),
        (-1.776008, 0x3e95_7fbe),
        (-0.536379, 0x3f30_8304),
        (-0.603303, 0x3f28_82c1),
        (-0.221923, 0x3f5b_7ffc),
        (-0.248459, 0x3f57_7fe0),
        (-0.189529, 0x3f60_7bfa),
        (0.791107, 0x3fdd_7dcf),
        (0.103163, 0x3f89_7cf8),
        (0.060684, 0x3f85_7fb7),
        (0.134344, 0x3f8c_7df3),
        (0.784531, 0x3fdc_7bf4),
    ];
    let near = |x: f64, result: u32, power: &dyn Fn(u32) -> u32| {
        let first = (x + 0.5e-6 * x.signum()) as f32;
        let codes = (0..400).map(|i| first.to_bits() - i);
        let mut codes = codes.filter(|&c| (f64::from(f32::from_bits(c)) - x).abs() <= 0.5001e-6);
        codes.any(|code| power(code) == result)
    };
    let unit = |code: u32| mufu(Function::Ex2, code);
    // Two's complement: one unit of 2^-23 more.
    let twos = |code: u32| {
        let fixed = (-f64::from(f32::from_bits(code)) * 8_388_608.0).trunc() as u32;
        let fraction = (1 << 23) - (fixed & 0x7f_ffff);
        let whole = fixed >> 23;
        let up = mufu(Function::Ex2, (fraction as f32 / 8_388_608.0).to_bits());
        up - ((whole + 1) << 23)
    };
    let correct = |code: u32| (f64::from(f32::from_bits(code)).exp2() as f32).to_bits();
    let count = |values: &[(f64, u32)], power: &dyn Fn(u32) -> u32| {
        let values = values.iter();
        values
            .filter(|(x, result)| near(*x, *result, power))
            .count()
    };
    assert_eq!(count(&values, &unit), 20);
    let unique = &values[..10];
    assert!(count(unique, &twos) < 5, "{}", count(unique, &twos));
    assert!(count(unique, &correct) < 7, "{}", count(unique, &correct));
    // And the integers.
    for n in 0..=20u32 {
        assert_eq!(unit((-(n as f32)).to_bits()), (127 - n) << 23);
    }
}

/// The polynomial of FlashAttention-4 for the same x, as the GB200 printed it (the same issue): one x that prints so gives
/// both codes. Other roundings and other degrees do not.
#[test]
fn powers_by_a_polynomial() {
    let values = [
        (-10.221991, 0x3a5b_7d5c, 0x3a5b_8197),
        (-12.691620, 0x391e_8128, 0x391e_7fb1),
        (-12.472450, 0x3938_8261, 0x3938_7f25),
        (-5.655628, 0x3ca2_822f, 0x3ca2_7fd0),
        (-18.084177, 0x3671_7d95, 0x3671_807e),
        (-5.785695, 0x3c94_7fa3, 0x3c94_80e8),
        (-4.114324, 0x3d6c_7f28, 0x3d6c_8360),
        (-7.132768, 0x3be9_7e0e, 0x3be9_82ba),
        (-8.411281, 0x3b40_8029, 0x3b40_7e45),
        (-1.776008, 0x3e95_7fbe, 0x3e95_80bd),
        (-0.603303, 0x3f28_82c1, 0x3f28_7f68),
        (-0.221923, 0x3f5b_7ffc, 0x3f5b_8436),
        (-0.248459, 0x3f57_7fe0, 0x3f57_8369),
        (-0.189529, 0x3f60_7bfa, 0x3f60_80c6),
        (-0.536379, 0x3f30_8304, 0x3f30_7f3d),
        (0.791107, 0x3fdd_7dcf, 0x3fdd_824e),
        (0.103163, 0x3f89_7cf8, 0x3f89_800d),
        (0.060684, 0x3f85_7fb7, 0x3f85_8251),
        (0.134344, 0x3f8c_7df3, 0x3f8c_80df),
        (0.784531, 0x3fdc_7bf4, 0x3fdc_8052),
    ];
    let count = |power: &dyn Fn(u32) -> u32| {
        let both = |&&(x, unit, polynomial): &&(f64, u32, u32)| {
            let first = (x + 0.5e-6 * x.signum()) as f32;
            let codes = (0..400).map(|i| first.to_bits() - i);
            let near = |&c: &u32| (f64::from(f32::from_bits(c)) - x).abs() <= 0.5001e-6;
            let mut codes = codes.filter(near);
            codes.any(|c| mufu(Function::Ex2, c) == unit && power(c) == polynomial)
        };
        values.iter().filter(both).count()
    };
    let third = [0x3f31_f519, 0x3e69_06a4, 0x3d9d_f09d];
    let codes = |numbers: &[f32]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let fourth = codes(&[0.693_042_7, 0.241_291_25, 0.052_225_36, 0.013_434_938]);
    assert_eq!(count(&|x| ex2_polynomial(Exactly, &third, x)), 20);
    assert_eq!(count(&|x| ex2_polynomial(Natively::new(), &third, x)), 20);
    assert_eq!(count(&|x| ex2_polynomial(Exactly, &fourth, x)), 0);
    // Of the integer to nearest, and with every product rounded.
    let other = |x: u32, nearest: bool| {
        let x = f32::from_bits(x);
        let whole = if nearest {
            x.round_ties_even()
        } else {
            x.floor()
        };
        let fraction = x - whole;
        let mut power = f32::from_bits(third[2]);
        for c in [f32::from_bits(third[1]), f32::from_bits(third[0]), 1.0] {
            power = if nearest {
                power.mul_add(fraction, c)
            } else {
                power * fraction + c
            };
        }
        power.to_bits().wrapping_add((whole as i32 as u32) << 23)
    };
    assert_eq!(count(&|x| other(x, true)), 9);
    assert_eq!(count(&|x| other(x, false)), 17);
    // The ends: nothing is left of 2^-127 and below, bits as they come above it.
    let polynomial = |x: f32| ex2_polynomial(Exactly, &third, x.to_bits());
    for x in [-127.0, -1e9, f32::NEG_INFINITY, f32::NAN] {
        assert_eq!(polynomial(x), 0, "{x}");
    }
    assert_eq!(polynomial(-126.5) >> 23, 0);
    for n in -126..=8 {
        assert_eq!(polynomial(n as f32), ((127 + n) as u32) << 23);
    }
}

/// Whatever the pattern, tables and specification agree.
#[test]
fn the_tables_are_the_specification() {
    let native = Natively::new();
    for function in [Function::Rcp, Function::Rsq, Function::Ex2] {
        (0..1u32 << 22).into_par_iter().for_each(|i| {
            let x = i.wrapping_mul(1_021 << 1 | 1) ^ i << 11;
            assert_eq!(
                native.mufu(function, x),
                Exactly.mufu(function, x),
                "{x:08x}"
            );
        });
    }
}
