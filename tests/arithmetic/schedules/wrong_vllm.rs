//! Zero points, and scales: loops that are off by one decision differ from the library.

use tcverify::emu::schedule::BiasAdded;
use tcverify::num::Format::{Bf16, E4m3, Fp32, Int8, Int32};

use super::operands::Kind;
use super::own::{add, fma, from_int, mul, narrow, sub};
use super::product::{Dot, Product, Unit, Wish, preset, shape};
use super::wrong::differs;
use crate::support::engines::engines;
use crate::support::random::Random;

const TENSOR: &str = "vllm-int8-azp";
const TOKEN: &str = "vllm-int8-azp-token";

fn sum(dot: &Dot) -> u32 {
    dot.unit.mma(0, &dot.a, &dot.b)
}

fn points(dot: &Dot) -> [u32; 2] {
    dot.zero_points.expect("drawn")
}

/// What follows the integers, as it is.
fn rest(dot: &Dot, x: u32) -> u64 {
    let x = mul(dot.scale_b[0], x);
    narrow(fma(dot.scale_a[0], x, dot.bias.unwrap_or(0)), dot.result)
}

#[test]
fn zero_points_are_taken_off_the_integers() {
    differs(TENSOR, Int8, "in f32", |dot, _| {
        let [_, column] = points(dot);
        rest(dot, sub(from_int(sum(dot)), from_int(column)))
    });
    differs(TENSOR, Int8, "added", |dot, _| {
        let [_, column] = points(dot);
        rest(dot, from_int(sum(dot).wrapping_add(column)))
    });
    differs(TENSOR, Int8, "not at all", |dot, _| {
        rest(dot, from_int(sum(dot)))
    });
    differs(TENSOR, Int8, "those of rows, too", |dot, _| {
        let [row, column] = points(dot);
        rest(
            dot,
            from_int(sum(dot).wrapping_sub(row.wrapping_mul(column))),
        )
    });
    differs(TOKEN, Int8, "saturated, not modulo 2^32", |dot, _| {
        let [row, column] = points(dot).map(|x| i64::from(x as i32));
        let off = (row * column).clamp(i32::MIN.into(), i32::MAX.into());
        rest(dot, from_int(sum(dot).wrapping_sub(off as u32)))
    });
    differs(TOKEN, Int8, "those of columns alone", |dot, _| {
        let [_, column] = points(dot);
        rest(dot, from_int(sum(dot).wrapping_sub(column)))
    });
}

#[test]
fn scales_and_bias_follow_in_one_order() {
    let x = |dot: &Dot| from_int(sum(dot).wrapping_sub(points(dot)[1]));
    differs(TENSOR, Int8, "the scale of A first", |dot, _| {
        let x = mul(dot.scale_a[0], x(dot));
        narrow(fma(dot.scale_b[0], x, dot.bias.unwrap_or(0)), dot.result)
    });
    differs(TENSOR, Int8, "the bias after a rounding", |dot, _| {
        let x = mul(dot.scale_a[0], mul(dot.scale_b[0], x(dot)));
        narrow(add(x, dot.bias.unwrap_or(0)), dot.result)
    });
}

#[test]
fn scales_of_floats_follow_in_one_order() {
    let scaled = "vllm-scaled-mm";
    differs(scaled, E4m3, "the scale of A first", |dot, _| {
        let (x, scale) = (mul(dot.scale_a[0], sum(dot)), dot.scale_b[0]);
        let x = dot
            .bias
            .map_or_else(|| mul(scale, x), |bias| fma(scale, x, bias));
        narrow(x, dot.result)
    });
    differs(scaled, E4m3, "the bias after a rounding", |dot, _| {
        let x = mul(dot.scale_a[0], mul(dot.scale_b[0], sum(dot)));
        narrow(dot.bias.map_or(x, |bias| add(x, bias)), dot.result)
    });
}

/// A bias that is not given is +0 in the fma: of a sum of 0 and a negative scale, +0 is left, not -0.
#[test]
fn no_bias_is_plus_zero() {
    let mut floats = preset("vllm-scaled-mm");
    floats.epilogue.bias = BiasAdded::FusedOrZero;
    for (unit, right) in [
        (Unit::new("ampere", "mma", Int8, Int32), preset(TENSOR)),
        (Unit::new("hopper", "wgmma", E4m3, Fp32), floats),
    ] {
        let wish = Wish {
            per: right.scales.as_ref().map(|scaling| scaling.per),
            zero_point: right.zero_point,
            result: Bf16,
            ..Wish::plain(shape(2, 3, 40), Kind::Normal)
        };
        let mut product = Product::draw(&unit, wish, &mut Random::named("no bias"));
        product.a.fill(0);
        product.zero_points = right.zero_point.map(|_| [vec![0; 2], vec![0; 3]]);
        product.scales = Some([vec![(-1f32).to_bits(); 2], vec![1f32.to_bits(); 3]]);
        let mut other = right.clone();
        other.epilogue.bias = BiasAdded::Fused;
        for engine in engines() {
            assert_eq!(product.replay(&unit, &right, engine), [0; 6]);
            assert_eq!(product.replay(&unit, &other, engine), [0x8000; 6]);
        }
    }
}
