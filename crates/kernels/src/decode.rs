//! Codes as floats, without branches, so that it becomes vector code.

use super::vector::Vector;
use tcverify_num::{Format, Specials};

/// Takes codes of a format of at most 32 bits apart; an f32 holds all of its numbers.
pub struct Decoder {
    fraction_bits: u32,
    sign_bit: u32,
    ignored: u32,
    bias: i32,
    /// Magnitudes from here on are infinities and NaNs.
    first_special: u32,
    /// FNUZ has its NaN where others have -0; others have no such code.
    lonely_nan: u32,
    /// Magnitude bits, moved to where an f32 has them, are the number divided by this.
    scale: f32,
}

impl Decoder {
    pub fn new(format: Format) -> Decoder {
        let fraction_bits = format.fraction_bits();
        let sign_bit = format.width() - 1;
        let ones = (1u32 << sign_bit) - 1;
        let top = (1u32 << format.exponent_bits()) - 1;
        Decoder {
            fraction_bits,
            sign_bit,
            ignored: format.ignored_bits(),
            bias: format.bias(),
            first_special: match format.specials() {
                Specials::Ieee => top << fraction_bits,
                Specials::NanOnly => ones,
                Specials::None | Specials::Fnuz => ones + 1,
            },
            lonely_nan: match format.specials() {
                Specials::Fnuz => 1 << sign_bit,
                _ => u32::MAX,
            },
            scale: f32::from_bits(((127 + 127 - format.bias()) as u32) << 23),
        }
    }

    /// Numbers as they are. Infinities stay, and a NaN becomes some NaN; says whether there are any of these.
    #[inline(always)]
    pub fn floats(&self, codes: &[u32], out: &mut [f32]) -> bool {
        let Decoder {
            fraction_bits,
            sign_bit,
            ignored,
            first_special,
            lonely_nan,
            scale,
            ..
        } = *self;
        let ones = (1u32 << sign_bit) - 1;
        let mut special = false;
        for (out, &code) in out.iter_mut().zip(codes) {
            let code = code >> ignored;
            let magnitude = code & ones;
            let sign = (code >> sign_bit) << 31;
            let bits = magnitude << (23 - fraction_bits);
            let number = (f32::from_bits(bits) * scale).to_bits();
            let lonely = code == lonely_nan;
            let is_special = (magnitude >= first_special) | lonely;
            special |= is_special;
            let nan = if lonely { 1 << 22 } else { 0 };
            let number = if is_special {
                // The fraction decides between infinity and NaN.
                0x7f80_0000 | bits & 0x007f_ffff | nan
            } else {
                number
            };
            *out = f32::from_bits(number | sign);
        }
        special
    }

    /// Magnitudes of codes in lanes, those of specials zero: the larger a number, the larger. Of formats
    /// that ignore low bits only if `IGNORING`.
    ///
    /// # Safety
    /// The machine must have the features that `V` needs.
    #[inline(always)]
    pub unsafe fn magnitudes<V: Vector, const IGNORING: bool>(&self, codes: V::I) -> V::I {
        // SAFETY: the caller's promise.
        unsafe { self.apart::<V, IGNORING>(codes).magnitude }
    }

    /// Whether codes can be taken apart in 16-bit halves: see the methods that do.
    pub fn has_halves(&self) -> bool {
        self.sign_bit < 16 && self.ignored == 0 && self.lonely_nan == u32::MAX
    }

    /// Magnitudes from this on are infinities and NaNs.
    pub fn first_special(&self) -> u32 {
        self.first_special
    }

    /// Magnitudes of codes in 16-bit halves, specials among them.
    ///
    /// # Safety
    /// The machine must have the features that `V` needs.
    #[inline(always)]
    pub unsafe fn magnitudes_in_halves<V: Vector>(&self, codes: V::I) -> V::I {
        // SAFETY: the caller's promise.
        unsafe { V::and(codes, in_halves::<V>((1 << self.sign_bit) - 1)) }
    }

    /// The exponents of such magnitudes, plus the format's bias; that of subnormal numbers is 1.
    ///
    /// # Safety
    /// The machine must have the features that `V` needs.
    #[inline(always)]
    pub unsafe fn fields_in_halves<V: Vector>(&self, magnitudes: V::I) -> V::I {
        // SAFETY: the caller's promise.
        unsafe {
            let fields =
                V::shift_right_halves(magnitudes, in_halves::<V>(self.fraction_bits as u16));
            V::max_halves(fields, in_halves::<V>(1))
        }
    }

    /// IEEE halves of the same fields: numbers that are as many binades too low as the halves' bias is larger. For formats
    /// of at most a byte.
    ///
    /// # Safety
    /// The machine must have the features that `V` needs.
    #[inline(always)]
    pub unsafe fn as_halves<V: Vector>(&self, codes: V::I, magnitudes: V::I) -> V::I {
        // SAFETY: the caller's promise.
        unsafe {
            let up = in_halves::<V>(10 - self.fraction_bits as u16);
            let signs = V::xor(codes, magnitudes);
            let signs = V::shift_left_halves(signs, in_halves::<V>(15 - self.sign_bit as u16));
            V::or(V::shift_left_halves(magnitudes, up), signs)
        }
    }

    /// The exponents of magnitudes that are not zero.
    ///
    /// # Safety
    /// The machine must have the features that `V` needs.
    #[inline(always)]
    pub unsafe fn exponents<V: Vector>(&self, magnitudes: V::I) -> V::I {
        // SAFETY: the caller's promise.
        unsafe { V::sub(self.fields::<V>(magnitudes), V::splat(self.bias)) }
    }

    /// Their fields, 1 of subnormal numbers.
    #[inline(always)]
    unsafe fn fields<V: Vector>(&self, magnitudes: V::I) -> V::I {
        // SAFETY: the caller's promise.
        unsafe {
            let field = V::shift_right(magnitudes, V::splat(self.fraction_bits as i32));
            V::max(field, V::splat(1))
        }
    }

    #[inline(always)]
    unsafe fn apart<V: Vector, const IGNORING: bool>(&self, codes: V::I) -> Apart<V> {
        debug_assert!(IGNORING || self.ignored == 0);
        // SAFETY: the caller's promise.
        unsafe {
            // Signs that are shifted in are masked away.
            let code = if IGNORING {
                V::shift_right(codes, V::splat(self.ignored as i32))
            } else {
                codes
            };
            let magnitude = V::and(code, V::splat((1 << self.sign_bit) - 1));
            let special = V::greater(magnitude, V::splat(self.first_special as i32 - 1));
            Apart {
                code,
                magnitude: V::clear(magnitude, special),
                special,
            }
        }
    }

    /// Numbers and their exponents, of codes in lanes; of formats that ignore low bits only if `IGNORING`.
    ///
    /// # Safety
    /// The machine must have the features that `V` needs.
    #[inline(always)]
    pub unsafe fn numbers<V: Vector, const IGNORING: bool>(&self, codes: V::I) -> Numbers<V> {
        let splat = |x: u32| {
            // SAFETY: the caller's promise, here and below.
            unsafe { V::splat(x as i32) }
        };
        // SAFETY: as above.
        unsafe {
            let Apart {
                code,
                magnitude,
                special,
            } = self.apart::<V, IGNORING>(codes);
            let sign = V::and(
                V::shift_left(code, splat(31 - self.sign_bit)),
                V::splat(i32::MIN),
            );
            let number = V::shift_left(magnitude, splat(23 - self.fraction_bits));
            let number = V::mul(V::from_bits(number), V::splat_f(self.scale));
            let zeros = V::equal(magnitude, splat(0));
            let fields = self.fields::<V>(magnitude);
            // Fields of normal numbers count from 1, which is the hidden bit.
            let above = V::shift_left(V::sub(fields, splat(1)), splat(self.fraction_bits));
            let lonely = match self.lonely_nan {
                u32::MAX => 0,
                _ => i32::MIN,
            };
            let lonely = V::and(V::and(sign, zeros), V::splat(lonely));
            Numbers {
                values: V::from_bits(V::or(V::bits(number), sign)),
                significands: V::sub(magnitude, above),
                fields,
                zeros,
                specials: V::or(special, lonely),
            }
        }
    }
}

/// Both halves of every lane.
///
/// # Safety
/// The machine must have the features that `V` needs.
#[inline(always)]
pub unsafe fn in_halves<V: Vector>(x: u16) -> V::I {
    // SAFETY: the caller's promise.
    unsafe { V::splat((u32::from(x) * 0x1_0001) as i32) }
}

/// Lanes of codes; magnitudes of specials are zero.
struct Apart<V: Vector> {
    code: V::I,
    magnitude: V::I,
    special: V::I,
}

/// Lanes of numbers.
pub struct Numbers<V: Vector> {
    /// Specials are zeros here.
    pub values: V::F,
    /// In units of their last bit.
    pub significands: V::I,
    /// Exponents, plus the format's bias; that of subnormal numbers is 1.
    pub fields: V::I,
    /// All ones where a number is zero, specials included, else zero.
    pub zeros: V::I,
    /// Negative where a code is an infinity or NaN, else zero.
    pub specials: V::I,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{Platform, Vectorized};
    use crate::vector::WIDEST;
    use tcverify_num::convert_exact;

    /// A code in every lane.
    struct One(Format, u32);

    struct Taken {
        value: f32,
        exponent: i32,
        significand: i32,
        zero: bool,
        special: bool,
    }

    impl Vectorized for One {
        type Output = Taken;

        #[inline(always)]
        unsafe fn run<V: Vector>(self) -> Taken {
            let (mut values, mut words) = ([0.0; WIDEST], [[0; WIDEST]; 4]);
            // SAFETY: the same promise, and a register is not wider than a strip.
            unsafe {
                let numbers = Decoder::new(self.0).numbers::<V, true>(V::splat(self.1 as i32));
                V::store_f(values.as_mut_ptr(), numbers.values);
                V::store(words[0].as_mut_ptr(), numbers.fields);
                V::store(words[1].as_mut_ptr(), numbers.zeros);
                V::store(words[2].as_mut_ptr(), numbers.specials);
                V::store(words[3].as_mut_ptr(), numbers.significands);
            }
            Taken {
                value: values[0],
                exponent: words[0][0] - self.0.bias(),
                significand: words[3][0],
                zero: words[1][0] == -1,
                special: words[2][0] < 0,
            }
        }
    }

    /// A code in both halves of every lane: its magnitude and field, and the float of an IEEE half of the same fields.
    struct Halves(Format, u16);

    impl Vectorized for Halves {
        type Output = (i32, i32, [f32; 2]);

        #[inline(always)]
        unsafe fn run<V: Vector>(self) -> Self::Output {
            let (mut floats, mut words) = ([[0.0; WIDEST]; 2], [[0; WIDEST]; 2]);
            // SAFETY: the same promise, and a register is not wider than a strip.
            unsafe {
                let decoder = Decoder::new(self.0);
                let codes = in_halves::<V>(self.1);
                let magnitudes = decoder.magnitudes_in_halves::<V>(codes);
                V::store(words[0].as_mut_ptr(), magnitudes);
                V::store(
                    words[1].as_mut_ptr(),
                    decoder.fields_in_halves::<V>(magnitudes),
                );
                let halves = match self.0.bytes() {
                    1 => decoder.as_halves::<V>(codes, magnitudes),
                    _ => codes,
                };
                let [low, high] = V::floats_of_halves(halves);
                V::store_f(floats[0].as_mut_ptr(), low);
                V::store_f(floats[1].as_mut_ptr(), high);
            }
            let [magnitude, field] = words.map(|words| {
                assert_eq!(words[0] >> 16, words[0] & 0xffff);
                words[0] & 0xffff
            });
            (magnitude, field, floats.map(|floats| floats[0]))
        }
    }

    #[test]
    fn finite_codes_in_halves_are_what_they_are_in_lanes() {
        // A decoder is of codes of 32 bits at the most.
        for format in Format::FLOATS
            .into_iter()
            .filter(|format| format.width() <= 32)
        {
            let decoder = Decoder::new(format);
            if !decoder.has_halves() {
                continue;
            }
            for code in 0..=format.max_code() {
                let number = format.unpack(code);
                let special = number.is_nan() || number.is_infinite();
                for platform in Platform::with_emulated() {
                    let (magnitude, field, floats) =
                        platform.vectorized(Halves(format, code as u16));
                    let is_special = magnitude as u32 >= decoder.first_special();
                    assert_eq!(is_special, special, "{format} {code:x}");
                    let taken = platform.vectorized(One(format, code as u32));
                    if special {
                        continue;
                    }
                    assert_eq!(magnitude == 0, taken.zero, "{format} {code:x}");
                    if !taken.zero {
                        assert_eq!(field - format.bias(), taken.exponent, "{format} {code:x}");
                    }
                    if format == Format::Bf16 {
                        continue;
                    }
                    let up = 2f32.powi(Format::Fp16.bias() - format.bias());
                    let right = taken.value.to_bits();
                    assert_eq!(
                        floats.map(|x| (x * up).to_bits()),
                        [right; 2],
                        "{format} {code:x}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_narrow_code_is_the_float_it_means() {
        for format in Format::FLOATS {
            if format.bytes() > 2 {
                continue;
            }
            for code in 0..=format.max_code() {
                let mut out = [0.0];
                let special = Decoder::new(format).floats(&[code as u32], &mut out);
                let number = format.unpack(code);
                for platform in Platform::with_emulated() {
                    let taken = platform.vectorized(One(format, code as u32));
                    assert_eq!(taken.special, special);
                    assert_eq!(taken.zero, special || number.is_zero());
                    let significand = if special { 0 } else { number.significand };
                    let units = taken.significand as u64;
                    assert_eq!(units, significand, "{format} {code:x}");
                    if taken.zero {
                        assert_eq!(taken.value, 0.0, "{format} {code:x}");
                        continue;
                    }
                    // Subnormal numbers have the smallest exponent.
                    let field = (out[0].to_bits() >> 23 & 255) as i32 - 127;
                    let field = field.max(format.min_exponent());
                    let right = (out[0], field);
                    assert_eq!((taken.value, taken.exponent), right, "{format} {code:x}");
                }
                assert_eq!(special, number.is_nan() || number.is_infinite());
                if number.is_nan() {
                    assert!(out[0].is_nan(), "{format} {code:x}");
                } else {
                    let expected = convert_exact(format, code, Format::Fp32).expect("it fits");
                    assert_eq!(u64::from(out[0].to_bits()), expected, "{format} {code:x}");
                }
            }
        }
    }
}
