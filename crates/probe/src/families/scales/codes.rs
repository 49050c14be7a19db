//! Every code of a scale: powers of two, significands, subnormal ones, zero, NaN, bits that are ignored.

use crate::builder::{K, SuiteBuilder};
use crate::emu::Scale;
use crate::num::Class;

pub const TELLS: &str = "what codes of scales mean, NaN and zero among them";

pub fn write(set: &mut SuiteBuilder, scale: Scale) {
    specials(set, scale);
    let one = set.scale_code(0).expect("1 is a scale");
    let blocks = K / scale.block;
    for code in 0..=scale.format.max_code() {
        for [a, b] in [[code, one], [one, code], [code, code], [code, 255 - code]] {
            for (block, c) in [(0, None), (0, Some(0)), (blocks - 1, Some(-3))] {
                // Beside a C one code alone tells.
                if c.is_some() && a != one && b != one {
                    continue;
                }
                let case = set.case(format!(
                    "1 at the beginning of block {block}, whose scales are {a:02x} and {b:02x}"
                ));
                let case = case
                    .product(block * scale.block, false, 1, 0)
                    .scales(block, [a, b]);
                match c {
                    Some(e) => case.c(true, 1, e).done(),
                    None => case.done(),
                }
            }
        }
        // Scales of products that are all zero, alone and beside others: NaN's, zero's, and some.
        if code % 16 > 1 && code & 127 != 127 && code < 254 {
            continue;
        }
        for [a, b] in [[code, one], [one, code]] {
            for (block, beside) in [(0, None), (0, Some(1)), (1, Some(0)), (blocks - 1, Some(0))] {
                let case = set
                    .case(format!(
                        "zeros in block {block}, whose scales are {a:02x} and {b:02x}"
                    ))
                    .scales(block, [a, b]);
                match beside {
                    Some(other) => case.product(other * scale.block, false, 1, 0).done(),
                    None => case.done(),
                }
            }
        }
    }
}

/// Infinities and NaN, of operands and of C, beside scales at the ends.
fn specials(set: &mut SuiteBuilder, scale: Scale) {
    let one = set.scale_code(0).expect("1 is a scale");
    let acc = set.accumulator;
    let special = |code: &u64| set.a.unpack(*code).class != Class::Finite;
    let operands: Vec<u64> = (0..=set.a.max_code()).filter(special).collect();
    let (unit_b, infinity) = (crate::number::code(set.b, false, 1, 0), acc.infinity(false));
    let (Some(unit_b), Some(infinity)) = (unit_b, infinity) else {
        return;
    };
    let most = scale.format.max_code();
    for code in [0, 1, 2, 7, 8, one, 0x7e, 0x7f, 0x80, most - 1, most] {
        for [x, y] in [[code, one], [one, code], [code, code]] {
            for &operand in &operands {
                for (k, b) in [(0, unit_b), (scale.block, unit_b), (1, 0)] {
                    set.case(format!(
                        "the operand {operand:02x} at k = {k}, scales {x:02x} and {y:02x}"
                    ))
                    .codes(k, (operand, b))
                    .scales(k / scale.block, [x, y])
                    .done();
                }
            }
            for c in [
                infinity,
                infinity | acc.sign_mask(),
                infinity | 1,
                acc.zero(true),
                1,
            ] {
                for product in [0, 1] {
                    let case = set.case(format!(
                        "C = {c:x}, {product} in block 0, scales {x:02x} and {y:02x}"
                    ));
                    let case = case.c_code(c).scales(0, [x, y]);
                    match product {
                        0 => case.done(),
                        _ => case.product(0, true, 1, 0).done(),
                    }
                }
            }
        }
    }
}
