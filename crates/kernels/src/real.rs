//! The numbers that IEEE kernels compute with: FP32 or FP64, packed and in vectors.

use std::ops::Range;

use super::decode::Decoder;
use super::vector::{ACROSS, Vector};
use tcverify_num::Format;
use tcverify_tensor::Plane;

/// A number of the machine.
pub trait Real: Copy + Default + Send + Sync + 'static {
    type R<V: Vector>: Copy;

    /// Registers across a strip of columns.
    const ACROSS: usize;
    /// The exponent field of infinities and NaNs.
    const TOP_FIELD: i32;

    /// Rows and columns of a matrix as numbers, row by row. Infinities stay; a NaN becomes some NaN.
    fn read(format: Format, plane: Plane, block: [Range<usize>; 2], out: &mut [Self]);

    fn is_finite(self) -> bool;
    fn is_zero(self) -> bool;
    fn is_nan(self) -> bool;
    /// The zero of its sign.
    fn zero(self) -> Self;
    /// The biased exponent, that of a subnormal number is 0.
    fn exponent_field(self) -> i32;
    fn from_code(code: u64) -> Self;
    /// Any NaN has the code `nan`.
    fn to_code(self, nan: u64) -> u64;

    /// # Safety
    /// As of [`Vector`], as of the others.
    unsafe fn splat<V: Vector>(x: Self) -> Self::R<V>;
    /// # Safety
    /// As above.
    unsafe fn load<V: Vector>(from: *const Self) -> Self::R<V>;
    /// # Safety
    /// As above.
    unsafe fn store<V: Vector>(to: *mut Self, x: Self::R<V>);
    /// # Safety
    /// As above.
    unsafe fn add<V: Vector>(x: Self::R<V>, y: Self::R<V>) -> Self::R<V>;
    /// # Safety
    /// As above.
    unsafe fn mul<V: Vector>(x: Self::R<V>, y: Self::R<V>) -> Self::R<V>;
    /// # Safety
    /// As above.
    unsafe fn fma<V: Vector>(x: Self::R<V>, y: Self::R<V>, z: Self::R<V>) -> Self::R<V>;
}

impl Real for f32 {
    type R<V: Vector> = V::F;
    const ACROSS: usize = ACROSS;
    const TOP_FIELD: i32 = 255;

    #[inline(always)]
    fn read(format: Format, plane: Plane, [rows, columns]: [Range<usize>; 2], out: &mut [f32]) {
        let (height, width) = (rows.len(), columns.len());
        let mut codes = vec![0; height * width];
        plane.read_block(rows.start, height, columns.start, width, &mut codes);
        Decoder::new(format).floats(&codes, out);
    }
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
    #[inline(always)]
    fn is_zero(self) -> bool {
        self == 0.0
    }
    fn is_nan(self) -> bool {
        f32::is_nan(self)
    }
    #[inline(always)]
    fn zero(self) -> f32 {
        f32::copysign(0.0, self)
    }
    #[inline(always)]
    fn exponent_field(self) -> i32 {
        (self.to_bits() >> 23) as i32 & Self::TOP_FIELD
    }
    fn from_code(code: u64) -> f32 {
        f32::from_bits(code as u32)
    }
    fn to_code(self, nan: u64) -> u64 {
        if self.is_nan() {
            nan
        } else {
            self.to_bits().into()
        }
    }
    #[inline(always)]
    unsafe fn splat<V: Vector>(x: f32) -> V::F {
        // SAFETY: the caller's promise, here and below.
        unsafe { V::splat_f(x) }
    }
    #[inline(always)]
    unsafe fn load<V: Vector>(from: *const f32) -> V::F {
        // SAFETY: as above.
        unsafe { V::load_f(from) }
    }
    #[inline(always)]
    unsafe fn store<V: Vector>(to: *mut f32, x: V::F) {
        // SAFETY: as above.
        unsafe { V::store_f(to, x) }
    }
    #[inline(always)]
    unsafe fn add<V: Vector>(x: V::F, y: V::F) -> V::F {
        // SAFETY: as above.
        unsafe { V::add_f(x, y) }
    }
    #[inline(always)]
    unsafe fn mul<V: Vector>(x: V::F, y: V::F) -> V::F {
        // SAFETY: as above.
        unsafe { V::mul(x, y) }
    }
    #[inline(always)]
    unsafe fn fma<V: Vector>(x: V::F, y: V::F, z: V::F) -> V::F {
        // SAFETY: as above.
        unsafe { V::fma(x, y, z) }
    }
}

impl Real for f64 {
    type R<V: Vector> = V::D;
    const ACROSS: usize = ACROSS / 2;
    const TOP_FIELD: i32 = 2047;

    #[inline(always)]
    fn read(format: Format, plane: Plane, block: [Range<usize>; 2], out: &mut [f64]) {
        if format != Format::Fp64 {
            let mut narrow = vec![0.0; out.len()];
            f32::read(format, plane, block, &mut narrow);
            out.iter_mut()
                .zip(narrow)
                .for_each(|(out, x)| *out = x.into());
            return;
        }
        let [rows, columns] = block;
        let lines = plane.lines(rows.clone(), columns.clone());
        for (i, out) in out.chunks_mut(columns.len()).enumerate() {
            if let Some(lines) = lines {
                for (out, bytes) in out.iter_mut().zip(lines.of(i).as_chunks().0) {
                    *out = f64::from_le_bytes(*bytes);
                }
                continue;
            }
            for (j, out) in out.iter_mut().enumerate() {
                *out = f64::from_bits(plane.code(rows.start + i, columns.start + j));
            }
        }
    }
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    #[inline(always)]
    fn is_zero(self) -> bool {
        self == 0.0
    }
    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }
    #[inline(always)]
    fn zero(self) -> f64 {
        f64::copysign(0.0, self)
    }
    #[inline(always)]
    fn exponent_field(self) -> i32 {
        (self.to_bits() >> 52) as i32 & Self::TOP_FIELD
    }
    fn from_code(code: u64) -> f64 {
        f64::from_bits(code)
    }
    fn to_code(self, nan: u64) -> u64 {
        if self.is_nan() { nan } else { self.to_bits() }
    }
    #[inline(always)]
    unsafe fn splat<V: Vector>(x: f64) -> V::D {
        // SAFETY: the caller's promise, here and below.
        unsafe { V::splat_d(x) }
    }
    #[inline(always)]
    unsafe fn load<V: Vector>(from: *const f64) -> V::D {
        // SAFETY: as above.
        unsafe { V::load_d(from) }
    }
    #[inline(always)]
    unsafe fn store<V: Vector>(to: *mut f64, x: V::D) {
        // SAFETY: as above.
        unsafe { V::store_d(to, x) }
    }
    #[inline(always)]
    unsafe fn add<V: Vector>(x: V::D, y: V::D) -> V::D {
        // SAFETY: as above.
        unsafe { V::add_d(x, y) }
    }
    #[inline(always)]
    unsafe fn mul<V: Vector>(x: V::D, y: V::D) -> V::D {
        // SAFETY: as above.
        unsafe { V::mul_d(x, y) }
    }
    #[inline(always)]
    unsafe fn fma<V: Vector>(x: V::D, y: V::D, z: V::D) -> V::D {
        // SAFETY: as above.
        unsafe { V::fma_d(x, y, z) }
    }
}
