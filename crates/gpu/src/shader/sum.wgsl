// The sum of two codes, to nearest even. The one with the larger exponent has three bits below its last; what the other
// loses beyond them only says that there is more.
fn sum_of(x_code: u32, y_code: u32) -> u32 {
    let one = addend(x_code);
    let other = addend(y_code);
    if (max(one.y, other.y) > SOME_SPECIAL) { return FLAG; }
    let swap = other.y > one.y;
    let x = select(one, other, swap);
    let y = select(other, one, swap);
    let shift = u32(min(x.y - y.y, 31));
    let whole = u32(abs(y.x)) << 3u;
    let shifted = whole >> shift;
    let kept = i32(shifted | select(0u, 1u, (shifted << shift) != whole));
    let sum = (x.x << 3u) + select(kept, -kept, y.x < 0);
    let fraction = i32(C_FRACTION);
    return rounded(sum < 0, u32(abs(sum)), x.y - fraction - 3, fraction + 1, true);
}
