// The grid on which products of this largest exponent and C are added.
fn grid_of(c: vec2<i32>, top: i32) -> i32 {
    return max(top - PRODUCT_BITS, max(lead_of(c), LEAST) - LEADING_BITS);
}

// The exponent of C's highest bit; of a zero, one below all others.
fn lead_of(c: vec2<i32>) -> i32 {
    return c.y - i32(C_FRACTION) + 31 - i32(countLeadingZeros(u32(abs(c.x))));
}

// A significand of C in units of the grid, toward minus infinity.
fn units_of(significand: i32, exponent: i32, grid: i32) -> i32 {
    let up = exponent - i32(C_FRACTION) - grid;
    return select(significand >> u32(clamp(-up, 0, 31)), significand << u32(clamp(up, 0, 31)), up > 0);
}

// A sum in units of the grid, to nearest even.
fn closed(negative: bool, magnitude: u32, grid: i32) -> u32 {
    if (C_FLUSH) {
        // Below the smallest normal number, even if it is rounded up to a power of two.
        let zeros = countLeadingZeros(magnitude);
        let carries = (magnitude << min(zeros, 31u)) >= ~(0xffffffffu >> (C_FRACTION + 2u));
        if (grid + 31 - i32(zeros) + select(0, 1, carries) < C_MIN_EXPONENT) { return 0u; }
    }
    let code = rounded(negative, magnitude, grid, i32(C_FRACTION) + 1, true);
    return select(code, code & 0xffff0000u, UPPER && code != FLAG);
}

fn step(code: u32, row: u32, column: u32, quad: u32) -> u32 {
    var c = select(code, code << 16u, UPPER);
    for (var i = 0u; i < STEP_QUADS; i++) {
        let at = (quad + i) * 32u;
        let products = a_numbers[at + row] * b_numbers[at + column];
        c = four(c, products, a_exponents[at + row] + b_exponents[at + column]);
    }
    return select(c, c >> 16u, UPPER && c != FLAG);
}
