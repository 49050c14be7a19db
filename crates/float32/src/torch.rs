//! Operands that torch drew on a GPU, and what a program made of them.

use super::randn::{Randn, silu};
use super::{Arith, Natively, negated, with_fma};
use crate::num::{Format, Rounding, result_code};
use tcverify_io::generate::{Drawn, Pairs, Torch, TorchNumbers};

/// The numbers of torch's generator on a GPU.
pub const TORCH: Drawn<'static> = Some(&OnGpu);

/// Computed here as a GPU does.
#[derive(Debug)]
pub struct OnGpu;

impl TorchNumbers for OnGpu {
    fn fill(
        &self,
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
        let number = |index: usize| {
            let z = numbers.at(arith, index as u64);
            let z = torch.times.map_or(z, |factor| arith.mul(z, factor));
            match others {
                None => z,
                Some(others) => arith.mul(silu(z), others.at(arith, index as u64)),
            }
        };
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
                let code = rounded(number, format);
                bytes.copy_from_slice(&code.to_le_bytes()[..width]);
            }
        });
    }
}

/// As `Tensor.to` rounds it.
fn rounded(number: u32, format: Format) -> u64 {
    match format {
        Format::Bf16 => u64::from((number + 0x7fff + (number >> 16 & 1)) >> 16),
        Format::Fp32 => number.into(),
        _ => result_code(Format::Fp32, number.into(), format, Rounding::NearestEven),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcverify_common::role::Role;
    use tcverify_io::generate::Spec;
    use tcverify_io::memory::Memory;

    /// The numbers that an H100 drew, as programs published the digests of its products.
    #[test]
    fn torch_draws_these() {
        let codes = |text: &str, format| -> Vec<u64> {
            let spec = Spec::parse(text).unwrap().unwrap();
            assert_eq!(spec.to_string(), text);
            assert!(spec.takes(format, TORCH).is_ok() && spec.takes(format, None).is_err());
            assert!(spec.takes(Format::E4m3, TORCH).is_err());
            let tensor = spec
                .tensor(format, Role::B, &Memory::default(), TORCH)
                .unwrap();
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
}
