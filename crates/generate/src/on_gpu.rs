//! Operands that torch drew on a GPU, and what a program made of them.

use super::torch::{Law, Pairs, Torch};
use tcverify_float32::randn::{Randn, silu, uniform};
use tcverify_float32::{Natively, ONE, Ops, negated, with_fma};
use tcverify_num::{Format, Rounding, result_code};

/// Writes the codes of some rows of so many columns, from a row on, of a tensor of so many elements.
pub fn fill(
    torch: &Torch,
    format: Format,
    [row, columns]: [usize; 2],
    elements: usize,
    payload: &mut [u8],
) {
    let width = format.bytes();
    let draw = |offset| Randn::new(torch.seed, offset, torch.sms, elements);
    let (numbers, others) = (draw(torch.offset), torch.silu_times.map(draw));
    let arith = Natively::new();
    let [low, high] = torch.bounds.map(i32::from);
    let drawn = |numbers: Randn, index: usize| match torch.law {
        Law::Normal => numbers.at(arith, index as u64),
        Law::Uniform | Law::UniformOfFormat => uniform(arith, numbers.word(index as u64)),
        Law::Integers => {
            let more = numbers.word(index as u64) % (high - low) as u32;
            ((low + more as i32) as f32).to_bits()
        }
    };
    let number = |index: usize| {
        let z = drawn(numbers, index);
        let z = torch.times.map_or(z, |factor| arith.mul(z, factor));
        match others {
            None => z,
            Some(others) => arith.mul(silu(z), drawn(others, index)),
        }
    };
    // The code that a 1 would have.
    let never = (torch.law == Law::UniformOfFormat).then(|| rounded(ONE, format));
    with_fma(|| {
        for (at, bytes) in payload.chunks_exact_mut(width).enumerate() {
            let pairs = torch.pairs.filter(|_| at % columns % 2 == 1);
            // At one place, so that it is compiled for fused operations.
            let number = number(row * columns + at - usize::from(pairs.is_some()));
            let number = match pairs {
                None => number,
                Some(Pairs::Negated) => negated(number),
                Some(Pairs::Plus(more)) => arith.add(number, more),
            };
            let code = match rounded(number, format) {
                code if Some(code) == never => 0,
                code => code,
            };
            bytes.copy_from_slice(&code.to_le_bytes()[..width]);
        }
    });
}

/// As `Tensor.to` rounds it.
fn rounded(number: u32, format: Format) -> u64 {
    match format {
        Format::Bf16 => u64::from((number + 0x7fff + (number >> 16 & 1)) >> 16),
        Format::Fp32 => number.into(),
        Format::Int8 => u64::from(f32::from_bits(number) as i8 as u8),
        _ => result_code(Format::Fp32, number.into(), format, Rounding::NearestEven),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;
    use tcverify_common::role::Role;
    use tcverify_io::Generated;
    use tcverify_io::memory::Memory;

    /// The numbers that an H100 drew, as programs published the digests of its products.
    #[test]
    fn torch_draws_these() {
        let codes = |text: &str, format| -> Vec<u64> {
            let spec = Spec::read(text).unwrap();
            assert_eq!(spec.to_string(), text);
            assert!(spec.takes(format).is_ok() && spec.takes(Format::E4m3).is_err());
            let tensor = spec.tensor(format, Role::B, &Memory::default()).unwrap();
            let planes = tensor.planes();
            (0..8)
                .map(|column| planes.plane(0).code(0, column))
                .collect()
        };
        let whole = "generate:torch-cuda-randn:420:0:132:31x14336";
        for (text, bf16) in [
            (
                whole,
                [
                    0x3e8e, 0x3e97, 0x3f7c, 0xbed0, 0x3f9c, 0xbf6f, 0xbea2, 0x3e89,
                ],
            ),
            (
                "generate:torch-cuda-randn:420:292:132:31x5376:times-3dcccccd",
                [
                    0xbc36, 0xbda9, 0x3e70, 0xbdcb, 0xbd1f, 0x3de7, 0x3da6, 0x3d1e,
                ],
            ),
        ] {
            assert_eq!(codes(text, Format::Bf16), bf16, "{text}");
        }
        let negated = format!("{whole}:pairs-negated");
        let [first, second] = [0x3e8e_303a, 0x3f7c_685b];
        let expected = [first, first | 1 << 31, second, second | 1 << 31];
        assert_eq!(codes(&negated, Format::Fp32)[..4], expected);
        let gated = format!("{whole}:silu-times-292");
        let expected = [
            0xbc90_20f2,
            0xbe0e_3dc2,
            0x3fd7_da87,
            0x3e24_854e,
            0xbeba_d4e2,
            0xbe97_fffa,
            0xbdde_4795,
            0x3d6f_2f38,
        ];
        assert_eq!(codes(&gated, Format::Fp32), expected);
        // The first rows of w; a single one would have fewer threads.
        let w = "generate:torch-cuda-randn:420:4:132:76x14336:times-3c08d677";
        let expected = [
            0xbb92, 0xbc4e, 0x3b93, 0x3b6e, 0xbba2, 0xba9b, 0xbaea, 0x3b7d,
        ];
        assert_eq!(codes(w, Format::Bf16), expected);
        let plus = format!("{w}:pairs-plus-3727c5ac");
        let expected = [
            0xbb92, 0xbb92, 0x3b93, 0x3b93, 0xbba2, 0xbba1, 0xbaea, 0xbae9,
        ];
        assert_eq!(codes(&plus, Format::Bf16), expected);
    }

    fn all(text: &str, format: Format) -> Vec<u64> {
        let spec = Spec::read(text).unwrap();
        assert_eq!(spec.to_string(), text);
        let tensor = spec.tensor(format, Role::A, &Memory::default());
        let tensor = tensor.unwrap();
        let planes = tensor.planes();
        (0..4000)
            .map(|column| planes.plane(0).code(0, column))
            .collect()
    }

    /// A tensor of BF16 is drawn without ones; one of FP32 has some once it is rounded.
    #[test]
    fn a_tensor_of_the_format_has_no_ones() {
        let text = "generate:torch-cuda-rand:420:0:132:31x14336";
        let rounded = all(text, Format::Bf16);
        let drawn = all(
            "generate:torch-cuda-rand-of-format:420:0:132:31x14336",
            Format::Bf16,
        );
        assert_eq!(rounded[0], 0x3f70);
        let ones = rounded.iter().zip(&drawn).filter(|(one, zero)| {
            assert!(one == zero || (**one, **zero) == (0x3f80, 0));
            one != zero
        });
        assert!(ones.count() > 0);
    }

    /// Remainders, of INT8 and of BF16; not the words' upper parts.
    #[test]
    fn integers_are_remainders() {
        let text = "generate:torch-cuda-randint:-128:127:420:0:132:31x14336";
        let (bytes, floats) = (all(text, Format::Int8), all(text, Format::Fp32));
        let words = Randn::new(420, 0, 132, 31 * 14336);
        let mut upper = 0;
        for (index, (byte, float)) in bytes.into_iter().zip(floats).enumerate() {
            let word = words.word(index as u64);
            let value = i64::from(word) % 255 - 128;
            assert_eq!((byte as u8).cast_signed(), value as i8);
            assert_eq!(f32::from_bits(float as u32), value as f32);
            upper += u32::from(((i64::from(word) * 255) >> 32) - 128 == value);
        }
        assert!(upper < 100, "{upper}");
        let spec = |text: &str| Spec::read(text).unwrap();
        let wide = spec("generate:torch-cuda-randint:-129:5:420:0:132:2x2");
        assert!(wide.takes(Format::Int8).is_err());
        let steps = spec("generate:torch-cuda-randint:0:5:420:0:132:2x2:times-3f000000");
        assert!(steps.takes(Format::Int8).is_err());
        assert!(steps.takes(Format::Bf16).is_ok());
    }
}
