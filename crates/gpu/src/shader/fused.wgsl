// One group of products and an accumulator.
fn fused(code: u32, row: u32, column: u32, quad: u32) -> u32 {
    let c = addend(code);
    let at = quad * 32u;
    each let p$ = a_numbers[at + $u * 32u + row] * b_numbers[at + $u * 32u + column];
    each let e$ = a_exponents[at + $u * 32u + row] + b_exponents[at + $u * 32u + column];
    var tops = e0;
    each tops = max(tops, e$);
    var top = max(largest(tops), c.y);
    if (top > SOME_SPECIAL) { return FLAG; }
    if (top < ZERO_EXPONENT) {
        // A zero among the terms counts with an exponent of its own.
        var lows = e0;
        each lows = min(lows, e$);
        if (min(smallest(lows), c.y) < SOME_ZERO) { top = ZERO_EXPONENT; }
    }
    var first = vec4<i32>(0);
    part0 first += aligned(p$, e$, top + PRODUCT_DOWN);
    var second = vec4<i32>(0);
    part1 second += aligned(p$, e$, top + PRODUCT_DOWN);
    let shift = u32(min(top + C_DOWN - c.y, 31));
    let kept = (abs(c.x) << C_UP) >> shift;
    let one = added(first) + select(kept, -kept, c.x < 0);
    let other = added(second);
    // Two numbers of one sign can need 32 bits beside it.
    let alike = (one < 0) == (other < 0);
    let sum = one + other;
    var magnitude = select(u32(abs(sum)), u32(abs(one)) + u32(abs(other)), alike);
    let lost = u32(max(32 - i32(countLeadingZeros(magnitude)) - SUM_BITS, 0));
    magnitude = (magnitude >> lost) << lost;
    let negative = select(sum < 0, one < 0, alike);
    return rounded(negative, magnitude, top - FRACTION_BITS, PRECISION, NEAREST);
}
