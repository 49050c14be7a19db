//! Integers with a sign, cut toward minus infinity.

#[inline]
pub(super) fn signed(negative: bool, magnitude: u128) -> i128 {
    if negative {
        -(magnitude as i128)
    } else {
        magnitude as i128
    }
}

/// `value * 2^from` in units of `2^to`, rounded toward minus infinity.
#[inline]
pub(super) fn floor_to(value: i128, from: i32, to: i32) -> i128 {
    match u32::try_from(to - from) {
        Ok(down) => value >> down.min(127),
        // Zeros may lie anywhere.
        Err(_) if value == 0 => 0,
        Err(_) => value << (from - to),
    }
}
