//! Tiles with two products a lane against tiles of floats: on the machine's lanes of two halves, or on some in plain Rust.

use super::pack::{Panel, ROWS};
use super::tile::Half2Tile;
use super::*;
use crate::platform::WithHalf2;
use crate::vector::Half2;
use tcverify_num::Formats;
use tcverify_num::random::SplitMix64;
use tcverify_tensor::Tensor;

const OPERANDS: [Format; 3] = [Format::E4m3, Format::E5m2, Format::E2m3];

/// The last group is not full.
const K: usize = 104;

/// How exponents of operands are drawn: near the bias, over so many binades below the largest, near the bias in the first row or
/// column and next to the smallest in others, or any code.
#[derive(Clone, Copy, Debug)]
enum Drawn {
    Near,
    Over(u64),
    Apart,
    Any,
}

/// An operand whose element `i` is in the row or column that `line_of` says.
fn operand(
    format: Format,
    drawn: Drawn,
    shape: [usize; 2],
    line_of: impl Fn(usize) -> usize,
    random: &mut SplitMix64,
) -> Tensor {
    let mut code = |line: usize| {
        let word = random.word();
        let top = format.max_finite(false) >> format.fraction_bits();
        let below = match drawn {
            Drawn::Any => return word & format.max_code(),
            Drawn::Near => top - (format.bias() as u64).min(top) + word % 4,
            Drawn::Over(binades) => word % binades,
            Drawn::Apart if line == 0 => top - (format.bias() as u64).min(top),
            Drawn::Apart => top - (word % 5).min(top),
        };
        let fraction = word >> 32 & ((1 << format.fraction_bits()) - 1);
        let magnitude = top.saturating_sub(below) << format.fraction_bits() | fraction;
        let sign = if word >> 63 == 1 {
            format.sign_mask()
        } else {
            0
        };
        magnitude.min(format.max_finite(false)) | sign
    };
    let payload: Vec<u8> = (0..shape[0] * shape[1])
        .map(|i| code(line_of(i)) as u8)
        .collect();
    Tensor::from_payload(format, shape.to_vec(), payload)
}

fn plans() -> Vec<GroupPlan> {
    let mut plans = Vec::new();
    for a in OPERANDS {
        for b in OPERANDS {
            for accumulator in [Format::Fp32, Format::Fp16] {
                let (precision, rounding, nan, zero_exponent) = match accumulator {
                    Format::Fp16 => (11, Rounding::NearestEven, 0x7fff, -21),
                    _ => (14, Rounding::TowardZero, 0x7fff_ffff, -133),
                };
                for (group, halves) in [(32, false), (16, false), (16, true)] {
                    let step = DotAdd {
                        group,
                        fraction_bits: 13,
                        alignment: Rounding::TowardZero,
                        zero_exponent,
                        precision,
                        rounding,
                        nan,
                    };
                    let formats = Formats {
                        a,
                        b,
                        accumulator,
                        addend: accumulator,
                        scale: None,
                    };
                    let order = halves.then(|| (0..32).map(|k| k % 16 * 2 + k / 16).collect());
                    let plan = GroupPlan::new(step, formats, order).expect("the kernel takes it");
                    assert!(plan.has_half2_products());
                    plans.push(plan);
                }
            }
        }
    }
    plans
}

fn platform() -> Platform {
    struct Has;
    impl WithHalf2 for Has {
        type Output = ();
        unsafe fn run<V: Half2>(self) {}
    }
    let mut available = Platform::available().into_iter();
    let own = available.find(|platform| platform.half2(Has).is_some());
    own.unwrap_or(Platform::portable_fp16())
}

/// A tile by halves, if that went well, with their products so many binades too large; and by floats.
fn states(plan: &GroupPlan, drawn: Drawn, seed: u64, wrong: i32) -> [Option<Vec<i32>>; 2] {
    let platform = platform();
    let kernel = GroupKernel {
        plan: plan.clone(),
        platform,
    };
    let wide = kernel.tile().1;
    let mut random = SplitMix64(seed);
    let a = operand(plan.a, drawn, [ROWS, K], |i| i / K, &mut random);
    let b = operand(plan.b, drawn, [K, wide], |i| i % wide, &mut random);
    let of = |tensor: &'static Tensor| Operand {
        codes: tensor.planes().plane(0),
        scales: None,
    };
    let [a, b] = [a, b].map(|tensor| of(Box::leak(Box::new(tensor))));
    let panel = Panel::new(plan, 0, K);
    let rows = kernel.pack_a(&panel, a, 0..ROWS);
    let mut columns = kernel.room();
    kernel.pack_b(&panel, b, 0..wide, &mut columns);
    let state: Vec<i32> = (0..ROWS * wide)
        .map(|i| match i % 5 {
            0 => 0,
            i => kernel
                .start(plan.accumulator.max_finite(false) / 2 + (random.word() >> 50) * i as u64),
        })
        .collect();
    assert!(plan.suits(rows.ranges[0], columns.range, panel.padded()));
    [true, false].map(|half2| {
        let mut state = state.clone();
        let mut tile = tile_of(platform, plan, &panel, &rows, 0, &columns, &mut state);
        if let Some(Half2Tile { lift, .. }) = &mut tile.half2 {
            *lift += wrong;
        }
        let mut run = RunTile {
            plan,
            tile: &mut tile,
        };
        let sound = if half2 {
            run.tile.half2.is_some() && platform.half2(&mut run) == Some(true)
        } else {
            platform.vectorized(run)
        };
        sound.then_some(state)
    })
}

#[test]
fn two_products_a_lane_are_the_same() {
    for plan in plans() {
        let mut own = [0; 5];
        let kinds = [
            Drawn::Near,
            Drawn::Over(8),
            Drawn::Over(30),
            Drawn::Any,
            Drawn::Apart,
        ];
        for (kind, own) in kinds.into_iter().zip(&mut own) {
            for seed in 0..8 {
                let [half2, floats] = states(&plan, kind, seed, 0);
                let floats = floats.expect("floats take every tile of these formats");
                if let Some(half2) = half2 {
                    assert!(half2 == floats, "{plan:?} {kind:?} {seed}");
                    *own += 1;
                }
            }
        }
        assert!(own[0] == 8 && own[1] == 8, "{plan:?}: {own:?}");
    }
}

#[test]
fn a_wrong_scale_differs() {
    for plan in plans() {
        for wrong in [-1, 1] {
            let [half2, floats] = states(&plan, Drawn::Near, 0, wrong);
            assert!(half2.is_none_or(|half2| Some(half2) != floats), "{plan:?}");
        }
    }
}

/// Groups far below the largest product are not computed by halves.
#[test]
fn products_that_are_too_small_are_left_to_floats() {
    let given_up =
        |plan: &GroupPlan| (0..8).any(|seed| states(plan, Drawn::Over(30), seed, 0)[0].is_none());
    let wide = |plan: &GroupPlan| plan.a == Format::E5m2 && plan.b == Format::E5m2;
    assert!(plans().iter().filter(|plan| wide(plan)).all(given_up));
}
