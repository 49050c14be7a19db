//! Weights of 4 and 8 bits as kernels dequantise them: codes, scales of groups of k, zero points.

use crate::num::{Format, Rounding, convert_exact, round_code};
use crate::role::Role;
use crate::tensor::{Plane, Planes, Tensor, parallel, shape_text};
use crate::words::words;

words! {
    /// What the codes of weights stand for.
    pub enum Weights {
        /// 0 to 15, minus 8 (GPTQ)
        U4b8 = "u4b8",
        /// 0 to 15, minus the group's zero point (AWQ)
        U4 = "u4",
        /// 0 to 255, minus 128
        U8b128 = "u8b128",
        /// 0 to 255, minus the group's zero point
        U8 = "u8",
    }
}

impl Weights {
    pub fn bits(self) -> usize {
        match self {
            Weights::U4b8 | Weights::U4 => 4,
            Weights::U8b128 | Weights::U8 => 8,
        }
    }

    /// What to do with codes that are no bytes, of this shape: they share words of 32 bits, as checkpoints have them, or
    /// there is one for each k and column of scales.
    pub fn unpacking(
        self,
        shape: &[usize],
        transposed: bool,
        k: usize,
        scales: &[usize],
    ) -> String {
        let rows = if transposed { &shape[1..] } else { shape };
        if rows.first() == Some(&k) && (transposed || shape.last() == scales.last()) {
            return "codes are bytes: give b.astype('u1')".into();
        }
        let bits = self.bits();
        let (each, mask) = (32 / bits, (1 << bits) - 1);
        let shifts = format!("{bits} * np.arange({each})");
        let line = match *shape {
            [_, columns] if transposed && columns * each == k => {
                format!("(b[..., None] >> {shifts} & {mask}).reshape(len(b), -1)")
            }
            [rows, _] if rows == k && bits == 4 => format!(
                "(b[..., None] >> {shifts} & {mask})[..., [0, 4, 1, 5, 2, 6, 3, 7]].reshape(len(b), -1)"
            ),
            _ => format!("(b[:, None] >> {shifts}[:, None] & {mask}).reshape(-1, b.shape[1])"),
        };
        format!("codes are packed in words; unpack them to bytes: {line}.astype('u1')")
    }

    /// What every code is less; none if that is the group's.
    fn bias(self) -> Option<i32> {
        match self {
            Weights::U4b8 => Some(8),
            Weights::U8b128 => Some(128),
            Weights::U4 | Weights::U8 => None,
        }
    }
}

/// The arrays of weights, as B lies: K x N codes, scales of groups x N, zero points likewise.
#[derive(Clone, Copy, Debug)]
pub struct Quantised<'a> {
    pub codes: Planes<'a>,
    pub scales: Planes<'a>,
    pub zeros: Option<Planes<'a>>,
}

impl Quantised<'_> {
    /// The operand that the tensor core multiplies, K x N, in the format of the scales: code minus zero point, exact.
    /// Where `scaled`, times the scale of its group, rounded to nearest even.
    ///
    /// # Errors
    /// Which array does not fit, and why.
    pub fn dequantised(&self, weights: Weights, scaled: bool) -> Result<Tensor, (Role, String)> {
        let format = self.scales.tensor().format();
        let [k, n] = [self.codes.rows(), self.codes.columns()];
        let groups = self.groups(weights)?;
        let (codes, scales) = (self.codes.plane(0), self.scales.plane(0));
        let zeros = self.zeros.map(|zeros| zeros.plane(0));
        let bytes = format.bytes();
        let mut payload = vec![0u8; k * n * bytes];
        parallel::chunks_mut(&mut payload, n * bytes, &|row, out: &mut [u8]| {
            let group = row / (k / groups);
            let zero = |column| match (weights.bias(), &zeros) {
                (Some(bias), _) => bias,
                (None, Some(zeros)) => zeros.code(group, column) as i32,
                (None, None) => unreachable!("refused beforehand"),
            };
            for (column, out) in out.chunks_exact_mut(bytes).enumerate() {
                let integer = codes.code(row, column) as i32 - zero(column);
                let scale = scaled.then(|| (format, scales.code(group, column)));
                let code = weight(integer, scale, format);
                out.copy_from_slice(&code.to_le_bytes()[..bytes]);
            }
        });
        Ok(Tensor::from_payload(format, vec![k, n], payload))
    }

    /// How many groups of k there are.
    fn groups(&self, weights: Weights) -> Result<usize, (Role, String)> {
        let [k, n] = [self.codes.rows(), self.codes.columns()];
        let fail = |role, reason: String| Err((role, reason));
        if self.codes.tensor().shape().len() != 2 {
            let shape = shape_text(self.codes.tensor().shape());
            return fail(
                Role::B,
                format!("it is {shape}; codes of weights are one matrix, not packed"),
            );
        }
        let groups = self.scales.rows();
        let fits = self.scales.columns() == n && groups > 0 && k.is_multiple_of(groups);
        if !fits || self.scales.tensor().shape().len() != 2 {
            let shape = shape_text(self.scales.tensor().shape());
            return fail(
                Role::ScaleB,
                format!(
                    "the scales of weights are {shape}; for {k}x{n} codes they are groups of k x {n}, and groups divide \
                     {k}"
                ),
            );
        }
        match (weights.bias(), &self.zeros) {
            (None, None) => {
                return fail(
                    Role::ZeroB,
                    "such weights have zero points of their own: give `zero_b`".into(),
                );
            }
            (Some(bias), Some(_)) => {
                let reason = format!("such weights have the zero point {bias}: leave `zero_b` out");
                return fail(Role::ZeroB, reason);
            }
            (None, Some(zeros)) if zeros.tensor().shape() != self.scales.tensor().shape() => {
                let shape = shape_text(zeros.tensor().shape());
                let wanted = shape_text(self.scales.tensor().shape());
                let reason =
                    format!("the zero points are {shape}; they are {wanted}, as the scales");
                return fail(Role::ZeroB, reason);
            }
            _ => {}
        }
        if weights.bits() == 4 {
            let all = [(Role::B, Some(self.codes)), (Role::ZeroB, self.zeros)];
            for (role, planes) in all {
                let largest = planes.map_or(0, |planes| largest(planes.plane(0)));
                if largest > 15 {
                    let reason = format!(
                        "it holds {largest}, which is no code of 4 bits; unpack it to one code an element"
                    );
                    return fail(role, reason);
                }
            }
        }
        Ok(groups)
    }
}

fn largest(plane: Plane) -> u64 {
    let rows = parallel::map(plane.rows, |row| {
        let mut codes = Vec::new();
        plane.read_codes(row, 0..plane.columns, &mut codes);
        codes.into_iter().max().unwrap_or(0)
    });
    rows.into_iter().max().unwrap_or(0)
}

/// A weight's code. An integer of 9 bits times a number of 16 is exact in f32, but for overflows, which stay ones.
fn weight(integer: i32, scale: Option<(Format, u64)>, format: Format) -> u64 {
    let integer = integer as f32;
    let product = scale.map_or(integer, |(of, code)| {
        let scale = convert_exact(of, code, Format::Fp32).expect("an f32 holds it");
        integer * f32::from_bits(scale as u32)
    });
    let nan = 0x7fff;
    round_code(
        Format::Fp32,
        product.to_bits().into(),
        format,
        Rounding::NearestEven,
        nan,
    )
}
