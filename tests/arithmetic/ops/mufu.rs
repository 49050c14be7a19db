//! Counts that others published of GPUs: how often the unit, and what libdevice makes of it, is how far from
//! the correctly rounded result.

use std::collections::BTreeMap;

use rayon::prelude::*;
use tcverify::ops::float32::{
    Arith, Exactly, Function, Natively, exp2f, expf, mufu, tables, with_fma,
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

/// Distances as multiples of 2^-23, as the histograms of libcperf (V100 and A100) bin them.
fn bins(
    result: impl Fn(u32) -> u32 + Sync,
    host: impl Fn(f64) -> f64 + Sync,
) -> BTreeMap<i64, u64> {
    let stride = stride();
    let all = 0..(1u32 << 30).div_ceil(stride);
    let counted =
        all.into_par_iter()
            .map(|i| i * stride)
            .fold(BTreeMap::new, |mut counts, code| {
                let x = f32::from_bits(code);
                let correct = host(x.into()) as f32;
                let error = (f64::from(f32::from_bits(result(code))) - f64::from(correct)).abs();
                *counts
                    .entry((error * 8_388_608.0 * 16.0).round() as i64)
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
        let found = bins(|x| exp2f(a, x, false), f64::exp2);
        agrees(&found, 16, 175_161_264 / 4, 0);
        agrees(&found, 32, 13_050_464 / 4, 0);
        // Against a host that is correctly rounded but for 3 of 2^30.
        let found = bins(|x| expf(a, x), f64::exp);
        agrees(&found, 16, 167_163_340 / 4, 3);
        agrees(&found, 32, 9_377_492 / 4, 3);
        agrees(&found, 64, 6_592_616 / 4, 3);
        agrees(&found, 128, 34_320 / 4, 3);
        // With x rounded, not cut off, at 2^-23, which is not what the unit does, the counts are others.
        let rounded = |code: u32| {
            let x = f64::from(f32::from_bits(code));
            let grid = (x * 8_388_608.0).round() / 8_388_608.0;
            exp2f(a, (grid as f32).to_bits(), false)
        };
        let other = bins(rounded, f64::exp2);
        let sampled = 175_161_264 / 4 / u64::from(stride());
        let found = other.get(&16).copied().unwrap_or(0);
        assert!(found.abs_diff(sampled) > sampled / 10, "{found}, {sampled}");
    });
}

/// Ten values of ex2.approx on a GB200 (FlashAttention, issue 2263); x is printed to six decimals.
#[test]
fn values_of_a_gb200_below_zero() {
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
    ];
    let near = |x: f64, result: u32, power: &dyn Fn(u32) -> u32| {
        let first = (x - 0.5e-6) as f32;
        let codes = (0..20).map(|i| first.to_bits() - i);
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
    let count = |power: &dyn Fn(u32) -> u32| {
        values
            .iter()
            .filter(|(x, result)| near(*x, *result, power))
            .count()
    };
    assert_eq!(count(&unit), 10);
    assert!(count(&twos) < 5, "{}", count(&twos));
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
