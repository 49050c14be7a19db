//! Packed operands once more as IEEE halves, two neighbouring positions a lane.

use crate::platform::{Platform, WithHalf2};
use crate::vector::{self, WIDEST};

/// The binades below which the largest magnitudes are moved: products then are below 2^15, and their sums of exponents
/// as low as halves allow.
pub const TOP_A: i32 = 0;
pub const TOP_B: i32 = 13;

/// Positions of a strip, two a lane.
#[derive(Debug)]
pub struct Half2 {
    pub codes: Vec<u32>,
    /// How many binades up the numbers were moved.
    pub lift: i32,
}

impl Half2 {
    /// Positions of `line` floats each, moved so that the largest magnitude has the exponent `top`. None if the machine
    /// has no such lanes, or a half does not hold a float.
    pub fn pack(platform: Platform, values: &[f32], line: usize, top: i32) -> Option<Half2> {
        platform.half2(Pack { values, line, top }).flatten()
    }
}

struct Pack<'a> {
    values: &'a [f32],
    line: usize,
    top: i32,
}

impl WithHalf2 for Pack<'_> {
    type Output = Option<Half2>;

    #[inline(always)]
    unsafe fn run<V: vector::Half2>(self) -> Option<Half2> {
        let two = 2 * self.line;
        assert!(two.is_multiple_of(V::LANES) && two <= 2 * WIDEST);
        assert!(self.values.len().is_multiple_of(two));
        let mut out = vec![0; self.values.len() / 2];
        // SAFETY: the same promise; whole registers lie within what was just asserted.
        unsafe {
            let mut most = V::splat(0);
            for values in self.values.chunks_exact(V::LANES) {
                let bits = V::bits(V::load_f(values.as_ptr()));
                most = V::max(most, V::and(bits, V::splat(i32::MAX)));
            }
            let mut largest = [0i32; WIDEST];
            V::store(largest.as_mut_ptr(), most);
            let lift = match largest.into_iter().fold(0, i32::max) >> 23 {
                0 => 0,
                field => self.top - (field - 127),
            };
            let factor = V::splat_f(f32::from_bits(((127 + lift) as u32) << 23));
            let mut inexact = V::splat(0);
            let lines = out.chunks_exact_mut(self.line);
            for (values, out) in self.values.chunks_exact(two).zip(lines) {
                let mut codes = [0i32; 2 * WIDEST];
                for at in (0..two).step_by(V::LANES) {
                    let value = V::mul(V::load_f(values.as_ptr().add(at)), factor);
                    let code = V::half_codes(value);
                    let back = V::bits(V::floats_of_lanes(code));
                    inexact = V::or(inexact, V::xor(V::bits(value), back));
                    V::store(codes.as_mut_ptr().add(at), code);
                }
                let (first, second) = codes.split_at(self.line);
                for (out, (&first, &second)) in out.iter_mut().zip(first.iter().zip(second)) {
                    *out = (first | second << 16) as u32;
                }
            }
            let exact = V::equal(inexact, V::splat(0));
            let exact = !V::any_negative(V::xor(exact, V::splat(-1)));
            exact.then_some(Half2 { codes: out, lift })
        }
    }
}
