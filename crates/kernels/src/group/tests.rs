//! Tiles by chains that round down against tiles of floats: on what the machine has for them, or on lanes in plain Rust.

use super::pack::{Panel, ROWS};
use super::*;
use crate::platform::WithFmaDown;
use crate::vector::FmaDown;
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
                    assert!(plan.nudge.is_some());
                    plans.push(plan);
                }
            }
        }
    }
    plans
}

/// Where chains are computed.
fn platform() -> Platform {
    struct Has;
    impl WithFmaDown for Has {
        type Output = ();
        unsafe fn run<V: FmaDown>(self) {}
    }
    let mut available = Platform::available().into_iter();
    available
        .find(|platform| platform.fma_down(Has).is_some())
        .unwrap_or(Platform::portable_down())
}

/// An accumulator: FP32's have any fraction, as C has, near the products or as small as they come.
fn accumulator(kernel: &GroupKernel<GroupPlan>, i: usize, word: u64) -> i32 {
    let format = kernel.plan.accumulator;
    let sign = if word >> 63 == 1 {
        format.sign_mask()
    } else {
        0
    };
    let magnitude = match i % 5 {
        0 => 0,
        i if format == Format::Fp32 => (121 + word % (5 * i as u64)) << 23 | word >> 20 & 0x7f_ffff,
        i => format.max_finite(false) / 2 + (word >> 50 & 0x7ff) * i as u64,
    };
    kernel.start(magnitude | sign)
}

/// What a test changes.
#[derive(Clone, Copy)]
enum Change {
    Nothing,
    /// The `nudge` is so much too large.
    Wrong(i32),
    /// One accumulator.
    Addend(i32),
}

/// A tile by chains, if that went well, and by floats.
fn states(plan: &GroupPlan, drawn: Drawn, seed: u64, change: Change) -> [Option<Vec<i32>>; 2] {
    let platform = platform();
    let mut kernel = GroupKernel {
        plan: plan.clone(),
        platform,
    };
    if let Change::Wrong(wrong) = change {
        kernel.plan.nudge = plan.nudge.map(|nudge| nudge + wrong);
    }
    let plan = &kernel.plan;
    let wide = kernel.tile().1;
    let mut random = SplitMix64(seed);
    // Two strips, the first of which is computed.
    let a = operand(plan.a, drawn, [2 * ROWS, K], |i| i / K, &mut random);
    let b = operand(plan.b, drawn, [K, wide], |i| i % wide, &mut random);
    let of = |tensor: &'static Tensor| Operand {
        codes: tensor.planes().plane(0),
        scales: None,
    };
    let [a, b] = [a, b].map(|tensor| of(Box::leak(Box::new(tensor))));
    let panel = Panel::new(plan, 0, K);
    let rows = kernel.pack_a(&panel, a, 0..2 * ROWS);
    let mut columns = kernel.room();
    kernel.pack_b(&panel, b, 0..wide, &mut columns);
    let mut state: Vec<i32> = (0..ROWS * wide)
        .map(|i| accumulator(&kernel, i, random.word()))
        .collect();
    if let Change::Addend(addend) = change {
        state[0] = addend;
    }
    assert!(plan.suits(rows.ranges[0], columns.range, panel.padded()));
    [true, false].map(|by_chains| {
        let mut state = state.clone();
        let mut tile = tile_of(platform, plan, &panel, &rows, 0, &columns, &mut state);
        let mut run = RunTile {
            plan,
            tile: &mut tile,
        };
        let sound = if by_chains {
            platform.fma_down(&mut run) == Some(true)
        } else {
            platform.vectorized(run)
        };
        sound.then_some(state)
    })
}

/// How many of eight tiles of each kind chains compute, all of them as floats do.
fn computed(plan: &GroupPlan) -> [usize; 5] {
    let kinds = [
        Drawn::Near,
        Drawn::Over(8),
        Drawn::Over(30),
        Drawn::Any,
        Drawn::Apart,
    ];
    kinds.map(|kind| {
        let own = |seed: &u64| {
            let [found, floats] = states(plan, kind, *seed, Change::Nothing);
            let floats = floats.expect("floats take every tile of these formats");
            assert!(
                found.as_ref().is_none_or(|found| *found == floats),
                "{plan:?} {kind:?} {seed}"
            );
            found.is_some()
        };
        (0..8).filter(own).count()
    })
}

#[test]
fn chains_that_round_down_are_the_same() {
    for plan in plans() {
        assert_eq!(computed(&plan), [8; 5], "{plan:?}");
    }
}

/// A nudge of twice the size moves some product onto the grid, one that is too small is lost in B's last bit, and without one
/// every negative product on the grid is one too large.
#[test]
fn a_wrong_nudge_differs() {
    for plan in plans() {
        for wrong in [-1, 9, 100] {
            let differs = |seed| {
                let [found, floats] = states(&plan, Drawn::Near, seed, Change::Wrong(wrong));
                found != floats
            };
            assert!((0..8).any(differs), "{plan:?} {wrong}");
        }
    }
}

/// A C below the exponent of zeros is left to floats, unless it is only added in the end.
#[test]
fn an_addend_that_is_too_small_is_left_to_floats() {
    for plan in plans() {
        if plan.accumulator == Format::Fp16 {
            continue;
        }
        let (floor, bias) = plan.signed_floor();
        let least = (floor + bias + plan.down()) << 23;
        for (addend, small) in [(least, false), (least | i32::MIN, false), (least - 1, true)] {
            let change = Change::Addend(addend);
            let [found, floats] = states(&plan, Drawn::Near, 0, change);
            assert_eq!(found.is_none(), small && plan.halves.is_none(), "{plan:?}");
            assert!(found.is_none_or(|found| Some(found) == floats), "{plan:?}");
        }
    }
}
