//! What an array holds, counted: NaNs, infinities, zeros, subnormal numbers, the least and the
//! greatest number.

use rayon::prelude::*;

use crate::num::{Format, position};
use crate::tensor::Tensor;

/// Counts over the elements of a tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    pub nan: u64,
    pub infinite: u64,
    /// Of either sign.
    pub zero: u64,
    pub subnormal: u64,
    /// Codes of the least and the greatest element that is no NaN, -0 below +0.
    pub extremes: Option<[u64; 2]>,
}

impl Census {
    /// Counts the elements of a tensor.
    pub fn of(tensor: &Tensor) -> Census {
        let format = tensor.format();
        if format.bytes() > 2 {
            return each(tensor, Census::default, |census, code| {
                census.add(format, code, 1);
            })
            .into_iter()
            .fold(Census::default(), |one, other| one.join(format, &other));
        }
        // Few codes: each is looked at once, however often it occurs.
        let codes = 1 << (8 * format.bytes());
        let histograms = each(
            tensor,
            || vec![0u64; codes],
            |counts, code| {
                counts[code as usize] += 1;
            },
        );
        let mut census = Census::default();
        for code in 0..codes {
            let count = histograms.iter().map(|counts| counts[code]).sum();
            if count != 0 {
                census.add(format, code as u64, count);
            }
        }
        census
    }

    fn add(&mut self, format: Format, code: u64, count: u64) {
        let number = format.unpack(code);
        if number.is_nan() {
            self.nan += count;
            return;
        }
        if number.is_infinite() {
            self.infinite += count;
        } else if number.is_zero() {
            self.zero += count;
        } else if !format.is_integer() && number.significand >> format.fraction_bits() == 0 {
            self.subnormal += count;
        }
        self.reach(format, [code, code]);
    }

    fn reach(&mut self, format: Format, [low, high]: [u64; 2]) {
        let place = |code: u64| (position(format, code), code & format.sign_mask() == 0);
        self.extremes = Some(match self.extremes {
            None => [low, high],
            Some([least, greatest]) => [
                if place(low) < place(least) {
                    low
                } else {
                    least
                },
                if place(high) > place(greatest) {
                    high
                } else {
                    greatest
                },
            ],
        });
    }

    fn join(mut self, format: Format, other: &Census) -> Census {
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.zero += other.zero;
        self.subnormal += other.subnormal;
        if let Some(extremes) = other.extremes {
            self.reach(format, extremes);
        }
        self
    }
}

/// Elements that one worker takes at a time.
const SHARE: usize = 1 << 16;

/// Shows every code to one of several tallies.
fn each<T: Send>(
    tensor: &Tensor,
    start: impl Fn() -> T + Sync + Send,
    add: impl Fn(&mut T, u64) + Sync + Send,
) -> Vec<T> {
    let width = tensor.format().bytes();
    if let Some(payload) = tensor.as_payload() {
        let shares = payload.par_chunks(SHARE * width);
        return shares
            .fold(&start, |mut tally, share| {
                for bytes in share.chunks_exact(width) {
                    let mut code = [0; 8];
                    code[..width].copy_from_slice(bytes);
                    add(&mut tally, u64::from_le_bytes(code));
                }
                tally
            })
            .collect();
    }
    let planes = tensor.planes();
    let (rows, columns) = (planes.rows(), planes.columns());
    let share = (SHARE / columns.max(1)).max(1);
    (0..planes.batches() * rows)
        .into_par_iter()
        .with_min_len(share)
        .fold(&start, |mut tally, row| {
            let plane = planes.plane(row / rows);
            for column in 0..columns {
                add(&mut tally, plane.code(row % rows, column));
            }
            tally
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn census(format: Format, codes: &[u64]) -> Census {
        Census::of(&Tensor::from_codes(format, vec![codes.len()], codes))
    }

    #[test]
    fn every_kind_is_counted() {
        let half = [
            0x7e00, 0xfc00, 0x0000, 0x8000, 0x8000, 0x0001, 0x83ff, 0x3c00, 0x7bff,
        ];
        let found = Census {
            nan: 1,
            infinite: 1,
            zero: 3,
            subnormal: 2,
            extremes: Some([0xfc00, 0x7bff]),
        };
        assert_eq!(census(Format::Fp16, &half), found);
        let single = [
            0x7fc0_0000,
            0xff80_0000,
            0,
            1 << 31,
            1 << 31,
            1,
            0x807f_ffff,
        ];
        let found = Census {
            extremes: Some([0xff80_0000, 1]),
            ..found
        };
        assert_eq!(census(Format::Fp32, &single), found);
    }

    #[test]
    fn a_negative_zero_lies_below_a_positive_one() {
        for codes in [[0, 0x8000], [0x8000, 0]] {
            assert_eq!(census(Format::Fp16, &codes).extremes, Some([0x8000, 0]));
        }
        assert_eq!(census(Format::Fp16, &[0x7e00]).extremes, None);
    }

    #[test]
    fn formats_without_a_sign_or_a_fraction() {
        let scales = census(Format::Ue8m0, &[0, 127, 255]);
        assert_eq!((scales.nan, scales.zero, scales.subnormal), (1, 0, 0));
        assert_eq!(scales.extremes, Some([0, 127]));
        let integers = census(Format::Int8, &[0x80, 0, 0x7f]);
        assert_eq!((integers.zero, integers.subnormal), (1, 0));
        assert_eq!(integers.extremes, Some([0x80, 0x7f]));
    }
}
