// A code of the accumulator: significand with its sign, exponent.
fn addend(code: u32) -> vec2<i32> {
    let field = (code >> C_FRACTION) & C_TOP;
    let fraction = code & ((1u << C_FRACTION) - 1u);
    let significand = i32(select(fraction | (1u << C_FRACTION), fraction, field == 0u));
    var exponent = i32(max(field, 1u)) - C_BIAS;
    if (significand == 0) { exponent = ZERO; }
    if (field == C_TOP) { exponent = SPECIAL; }
    return vec2<i32>(select(significand, -significand, (code & C_SIGN) != 0u), exponent);
}

// Terms in units of the grid, cut toward zero.
fn aligned(terms: vec4<i32>, exponents: vec4<i32>, top: i32) -> vec4<i32> {
    let shift = min(vec4<i32>(top) - exponents, vec4<i32>(31));
    let kept = abs(terms) >> vec4<u32>(shift);
    return select(kept, -kept, terms < vec4<i32>(0));
}

fn added(terms: vec4<i32>) -> i32 { return (terms.x + terms.y) + (terms.z + terms.w); }
fn largest(x: vec4<i32>) -> i32 { return max(max(x.x, x.y), max(x.z, x.w)); }
fn smallest(x: vec4<i32>) -> i32 { return min(min(x.x, x.y), min(x.z, x.w)); }

// The code of a number of units of 2^lsb, rounded to so many bits: to nearest even, or else toward zero.
fn rounded(negative: bool, magnitude: u32, lsb: i32, bits: i32, nearest: bool) -> u32 {
    if (magnitude == 0u) { return 0u; }
    let leading = max(lsb + 31 - i32(countLeadingZeros(magnitude)), C_MIN_EXPONENT);
    if (leading > C_MAX_EXPONENT) { return FLAG; }
    let right = leading - (bits - 1) - lsb;
    var kept = 0u;
    if (right <= 0) {
        kept = magnitude << u32(-right);
    } else if (right < 32) {
        kept = magnitude >> u32(right);
        let rest = magnitude << u32(32 - right);
        let up = rest > 0x80000000u || (rest == 0x80000000u && (kept & 1u) == 1u);
        kept += select(0u, 1u, nearest && up);
    } else if (right == 32) {
        kept = select(0u, 1u, nearest && magnitude > 0x80000000u);
    }
    let sign = select(0u, C_SIGN, negative);
    if (kept == 0u) { return select(0u, sign, MINUS_ZERO); }
    // The leading bit counts one up in the field of the exponent.
    let code = (u32(leading + C_BIAS - 1) << C_FRACTION) + (kept << u32(i32(C_FRACTION) + 1 - bits));
    if (code >= (C_TOP << C_FRACTION)) { return FLAG; }
    return sign | code;
}

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
