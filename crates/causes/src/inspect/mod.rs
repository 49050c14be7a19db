//! Counts what an array holds: NaNs, infinities, zeros and subnormals, the least and the greatest number. Every element
//! of every array of a file is counted. It judges nothing and knows no product.

pub mod document;

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
    extremes: Option<[Extreme; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extreme {
    /// On the number line; of zeros the negative one first.
    place: (i128, bool),
    code: u64,
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
            .fold(Census::default(), |one, other| one.join(&other));
        }
        // Few codes: each is examined once, however often it occurs.
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

    /// Codes of the least and the greatest element that is not a NaN, -0 below +0.
    pub fn extremes(&self) -> Option<[u64; 2]> {
        self.extremes.map(|extremes| extremes.map(|one| one.code))
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
        let place = (position(format, code), code & format.sign_mask() == 0);
        self.reach([Extreme { place, code }; 2]);
    }

    fn reach(&mut self, [low, high]: [Extreme; 2]) {
        let [least, greatest] = self.extremes.get_or_insert([low, high]);
        if low.place < least.place {
            *least = low;
        }
        if high.place > greatest.place {
            *greatest = high;
        }
    }

    fn join(mut self, other: &Census) -> Census {
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.zero += other.zero;
        self.subnormal += other.subnormal;
        if let Some(extremes) = other.extremes {
            self.reach(extremes);
        }
        self
    }
}

/// Elements that one worker takes at a time.
const SHARE: usize = 1 << 16;

/// Adds every code to one of several tallies.
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
                let add = |code| add(&mut tally, code);
                match width {
                    1 => codes::<1>(share).for_each(add),
                    2 => codes::<2>(share).for_each(add),
                    4 => codes::<4>(share).for_each(add),
                    _ => codes::<8>(share).for_each(add),
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

/// Little-endian codes of a width known to the compiler.
fn codes<const WIDTH: usize>(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(WIDTH).map(|bytes| {
        let mut code = [0; 8];
        code[..WIDTH].copy_from_slice(bytes);
        u64::from_le_bytes(code)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn census(format: Format, codes: &[u64]) -> Census {
        Census::of(&Tensor::from_codes(format, vec![codes.len()], codes))
    }

    /// NaNs, infinities, zeros, subnormal numbers.
    fn counts(census: &Census) -> [u64; 4] {
        [census.nan, census.infinite, census.zero, census.subnormal]
    }

    #[test]
    fn every_kind_is_counted() {
        let half = [
            0x7e00, 0xfc00, 0x0000, 0x8000, 0x8000, 0x0001, 0x83ff, 0x3c00, 0x7bff,
        ];
        let found = census(Format::Fp16, &half);
        assert_eq!(counts(&found), [1, 1, 3, 2]);
        assert_eq!(found.extremes(), Some([0xfc00, 0x7bff]));
        let single = [
            0x7fc0_0000,
            0xff80_0000,
            0,
            1 << 31,
            1 << 31,
            1,
            0x807f_ffff,
        ];
        let found = census(Format::Fp32, &single);
        assert_eq!(counts(&found), [1, 1, 3, 2]);
        assert_eq!(found.extremes(), Some([0xff80_0000, 1]));
    }

    #[test]
    fn a_negative_zero_lies_below_a_positive_one() {
        for codes in [[0, 0x8000], [0x8000, 0]] {
            assert_eq!(census(Format::Fp16, &codes).extremes(), Some([0x8000, 0]));
        }
        assert_eq!(census(Format::Fp16, &[0x7e00]).extremes(), None);
    }

    #[test]
    fn formats_without_a_sign_or_a_fraction() {
        let scales = census(Format::Ue8m0, &[0, 127, 255]);
        assert_eq!((scales.nan, scales.zero, scales.subnormal), (1, 0, 0));
        assert_eq!(scales.extremes(), Some([0, 127]));
        let integers = census(Format::Int8, &[0x80, 0, 0x7f]);
        assert_eq!((integers.zero, integers.subnormal), (1, 0));
        assert_eq!(integers.extremes(), Some([0x80, 0x7f]));
    }
}
