// A code of the accumulator: significand with its sign, exponent.
fn addend(code: u32) -> vec2<i32> {
    let field = (code >> C_FRACTION) & C_TOP;
    let fraction = code & ((1u << C_FRACTION) - 1u);
    let small = select(fraction, 0u, C_FLUSH);
    let significand = i32(select(fraction | (1u << C_FRACTION), small, field == 0u));
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
