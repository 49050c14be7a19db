//! The NEON intrinsics that the kernel uses, in plain Rust under their own names, types and
//! signatures, after the pseudocode of the Arm Architecture Reference Manual: they let every machine
//! test what `neon` does with them. `unsafe`, as the real ones are where NEON is not declared.

#![allow(non_camel_case_types)]

pub type float32x4_t = Lanes<f32, 4>;
pub type int16x8_t = Lanes<i16, 8>;
pub type int16x4_t = Lanes<i16, 4>;
pub type int32x4_t = Lanes<i32, 4>;
pub type uint32x4_t = Lanes<u32, 4>;
pub type uint16x4_t = Lanes<u16, 4>;
pub type uint16x8_t = Lanes<u16, 8>;
pub type uint8x8_t = Lanes<u8, 8>;
pub type uint8x16_t = Lanes<u8, 16>;

/// A register. No array, so that only these functions look inside.
#[derive(Clone, Copy)]
pub struct Lanes<T, const N: usize>([T; N]);

impl<T: Copy, const N: usize> Lanes<T, N> {
    fn map<U>(self, f: impl Fn(T) -> U) -> Lanes<U, N> {
        Lanes(self.0.map(f))
    }

    fn zip<T2: Copy, U>(self, other: Lanes<T2, N>, f: impl Fn(T, T2) -> U) -> Lanes<U, N> {
        Lanes(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

fn ones(yes: bool) -> u32 {
    if yes { u32::MAX } else { 0 }
}

/// One intrinsic a line: of one register, or of two.
macro_rules! intrinsics {
    ($($name:ident: $from:ident -> $to:ident = $f:expr;)*) => {
        $(pub unsafe fn $name(a: $from) -> $to { a.map($f) })*
    };
    ($($name:ident: $from:ident, $from2:ident -> $to:ident = $f:expr;)*) => {
        $(pub unsafe fn $name(a: $from, b: $from2) -> $to { a.zip(b, $f) })*
    };
}

intrinsics! {
    vreinterpretq_s32_f32: float32x4_t -> int32x4_t = |x| x.to_bits().cast_signed();
    vreinterpretq_f32_s32: int32x4_t -> float32x4_t = |x| f32::from_bits(x.cast_unsigned());
    vreinterpretq_u32_s32: int32x4_t -> uint32x4_t = i32::cast_unsigned;
    vreinterpretq_s32_u32: uint32x4_t -> int32x4_t = u32::cast_signed;
    // FCVTZS: toward zero, saturating, 0 for a NaN; as Rust's `as`.
    vcvtq_s32_f32: float32x4_t -> int32x4_t = |x| x as i32;
    // SCVTF: as FPCR says, to nearest even.
    vcvtq_f32_s32: int32x4_t -> float32x4_t = |x| x as f32;
    // ABS keeps -2^31 (SQABS would not).
    vabsq_s32: int32x4_t -> int32x4_t = i32::wrapping_abs;
    vnegq_s32: int32x4_t -> int32x4_t = i32::wrapping_neg;
    vmovl_u16: uint16x4_t -> uint32x4_t = u32::from;
    vmovl_u8: uint8x8_t -> uint16x8_t = u16::from;
    vnegq_s16: int16x8_t -> int16x8_t = i16::wrapping_neg;
    // UQXTN: saturates.
    vqmovn_u16: uint16x8_t -> uint8x8_t = |x| x.min(255) as u8;
}

intrinsics! {
    vmulq_f32: float32x4_t, float32x4_t -> float32x4_t = |x, y| x * y;
    vaddq_f32: float32x4_t, float32x4_t -> float32x4_t = |x, y| x + y;
    vsubq_f32: float32x4_t, float32x4_t -> float32x4_t = |x, y| x - y;
    vcgeq_f32: float32x4_t, float32x4_t -> uint32x4_t = |x, y| ones(x >= y);
    vaddq_s32: int32x4_t, int32x4_t -> int32x4_t = i32::wrapping_add;
    vsubq_s32: int32x4_t, int32x4_t -> int32x4_t = i32::wrapping_sub;
    vandq_s32: int32x4_t, int32x4_t -> int32x4_t = |x, y| x & y;
    vorrq_s32: int32x4_t, int32x4_t -> int32x4_t = |x, y| x | y;
    veorq_s32: int32x4_t, int32x4_t -> int32x4_t = |x, y| x ^ y;
    vbicq_s32: int32x4_t, int32x4_t -> int32x4_t = |x, y| x & !y;
    vmaxq_s32: int32x4_t, int32x4_t -> int32x4_t = i32::max;
    vminq_s32: int32x4_t, int32x4_t -> int32x4_t = i32::min;
    vminq_u32: uint32x4_t, uint32x4_t -> uint32x4_t = u32::min;
    vaddq_s16: int16x8_t, int16x8_t -> int16x8_t = i16::wrapping_add;
    // SQRDMULH: saturates where both are -2^15.
    vqrdmulhq_s16: int16x8_t, int16x8_t -> int16x8_t = |x, y| {
        let product = (2 * i64::from(x) * i64::from(y) + (1 << 15)) >> 16;
        product.min(i16::MAX.into()) as i16
    };
    vmull_s16: int16x4_t, int16x4_t -> int32x4_t = |x, y| i32::from(x) * i32::from(y);
    // SSHL: by the lowest byte, to the right where that is negative.
    vshlq_s32: int32x4_t, int32x4_t -> int32x4_t = |x, y| match y as i8 {
        left @ 0.. => x.checked_shl(left as u32).unwrap_or(0),
        right => x >> right.unsigned_abs().min(31),
    };
    // USHL: by the lowest byte, to the right where that is negative.
    vshlq_u16: uint16x8_t, int16x8_t -> uint16x8_t = |x, y| match y as i8 {
        left @ 0.. => x.checked_shl(left as u32).unwrap_or(0),
        right => x.checked_shr(right.unsigned_abs().into()).unwrap_or(0),
    };
    vsubq_u16: uint16x8_t, uint16x8_t -> uint16x8_t = u16::wrapping_sub;
    vminq_u16: uint16x8_t, uint16x8_t -> uint16x8_t = u16::min;
    vmaxq_u16: uint16x8_t, uint16x8_t -> uint16x8_t = u16::max;
    vceqq_u16: uint16x8_t, uint16x8_t -> uint16x8_t = |x, y| ones(x == y) as u16;
    vceqq_s32: int32x4_t, int32x4_t -> uint32x4_t = |x, y| ones(x == y);
    vcgtq_s32: int32x4_t, int32x4_t -> uint32x4_t = |x, y| ones(x > y);
    vqsubq_u8: uint8x16_t, uint8x16_t -> uint8x16_t = u8::saturating_sub;
    vmaxq_u8: uint8x16_t, uint8x16_t -> uint8x16_t = u8::max;
}

pub unsafe fn vdupq_n_f32(value: f32) -> float32x4_t {
    Lanes([value; 4])
}
pub unsafe fn vdupq_n_s32(value: i32) -> int32x4_t {
    Lanes([value; 4])
}
pub unsafe fn vdupq_n_u32(value: u32) -> uint32x4_t {
    Lanes([value; 4])
}

pub unsafe fn vld1q_f32(ptr: *const f32) -> float32x4_t {
    // SAFETY: four elements are the caller's promise, here and below.
    Lanes(unsafe { ptr.cast::<[f32; 4]>().read() })
}
pub unsafe fn vst1q_f32(ptr: *mut f32, a: float32x4_t) {
    // SAFETY: as above.
    unsafe { ptr.cast::<[f32; 4]>().write(a.0) }
}
pub unsafe fn vld1q_s32(ptr: *const i32) -> int32x4_t {
    // SAFETY: as above.
    Lanes(unsafe { ptr.cast::<[i32; 4]>().read() })
}
pub unsafe fn vst1q_s32(ptr: *mut i32, a: int32x4_t) {
    // SAFETY: as above.
    unsafe { ptr.cast::<[i32; 4]>().write(a.0) }
}
pub unsafe fn vld1q_u8(ptr: *const u8) -> uint8x16_t {
    // SAFETY: sixteen elements are the caller's promise, here and below.
    Lanes(unsafe { ptr.cast::<[u8; 16]>().read() })
}
pub unsafe fn vst1q_u8(ptr: *mut u8, a: uint8x16_t) {
    // SAFETY: as above.
    unsafe { ptr.cast::<[u8; 16]>().write(a.0) }
}

pub unsafe fn vst1_u8(ptr: *mut u8, a: uint8x8_t) {
    // SAFETY: eight elements are the caller's promise.
    unsafe { ptr.cast::<[u8; 8]>().write(a.0) }
}

pub unsafe fn vshrq_n_u32<const N: i32>(a: uint32x4_t) -> uint32x4_t {
    const { assert!(1 <= N && N <= 32) };
    a.map(|x| x.checked_shr(N as u32).unwrap_or(0))
}
pub unsafe fn vshrq_n_s32<const N: i32>(a: int32x4_t) -> int32x4_t {
    const { assert!(1 <= N && N <= 32) };
    a.map(|x| x >> (N as u32).min(31))
}

/// BSL: bits of `b` where `a` has ones, of `c` elsewhere.
pub unsafe fn vbslq_f32(a: uint32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
    let select = |i| {
        let (mask, b, c): (u32, f32, f32) = (a.0[i], b.0[i], c.0[i]);
        f32::from_bits(b.to_bits() & mask | c.to_bits() & !mask)
    };
    Lanes(std::array::from_fn(select))
}

pub unsafe fn vminvq_s32(a: int32x4_t) -> i32 {
    a.0.into_iter().fold(i32::MAX, i32::min)
}

/// Lane 0 in the lowest bits.
pub unsafe fn vreinterpretq_u8_u32(a: uint32x4_t) -> uint8x16_t {
    Lanes(std::array::from_fn(|i| a.0[i / 4].to_le_bytes()[i % 4]))
}
pub unsafe fn vcreate_u8(a: u64) -> uint8x8_t {
    Lanes(a.to_le_bytes())
}
pub unsafe fn vcreate_u16(a: u64) -> uint16x4_t {
    Lanes(std::array::from_fn(|i| (a >> (16 * i)) as u16))
}
pub unsafe fn vget_low_u16(a: uint16x8_t) -> uint16x4_t {
    Lanes(std::array::from_fn(|i| a.0[i]))
}

pub unsafe fn vget_high_u16(a: uint16x8_t) -> uint16x4_t {
    Lanes(std::array::from_fn(|i| a.0[4 + i]))
}

/// FMLA: `a + b * c`, rounded once.
pub unsafe fn vfmaq_f32(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
    Lanes(std::array::from_fn(|i| b.0[i].mul_add(c.0[i], a.0[i])))
}

/// Lane 0 in the lowest bits.
pub unsafe fn vreinterpretq_s16_s32(a: int32x4_t) -> int16x8_t {
    Lanes(std::array::from_fn(|i| {
        (a.0[i / 2] >> (16 * (i % 2))) as i16
    }))
}
pub unsafe fn vreinterpretq_s32_s16(a: int16x8_t) -> int32x4_t {
    Lanes(std::array::from_fn(|i| {
        let low = u32::from(a.0[2 * i] as u16);
        (low | u32::from(a.0[2 * i + 1] as u16) << 16) as i32
    }))
}
/// Lane 0 in the lowest bits.
pub unsafe fn vreinterpretq_u16_s32(a: int32x4_t) -> uint16x8_t {
    Lanes(std::array::from_fn(|i| {
        (a.0[i / 2] >> (16 * (i % 2))) as u16
    }))
}
pub unsafe fn vreinterpretq_s32_u16(a: uint16x8_t) -> int32x4_t {
    Lanes(std::array::from_fn(|i| {
        let [low, high] = [a.0[2 * i], a.0[2 * i + 1]].map(u32::from);
        (low | high << 16) as i32
    }))
}
pub unsafe fn vget_low_s16(a: int16x8_t) -> int16x4_t {
    Lanes(std::array::from_fn(|i| a.0[i]))
}
pub unsafe fn vget_high_s16(a: int16x8_t) -> int16x4_t {
    Lanes(std::array::from_fn(|i| a.0[4 + i]))
}
/// ADDP: neighbours of `a`, then of `b`.
pub unsafe fn vpaddq_s32(a: int32x4_t, b: int32x4_t) -> int32x4_t {
    let all = |i: usize| if i < 4 { a.0[i] } else { b.0[i - 4] };
    Lanes(std::array::from_fn(|i| {
        all(2 * i).wrapping_add(all(2 * i + 1))
    }))
}
