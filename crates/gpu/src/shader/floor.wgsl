// The products of one sum in units below their own largest exponent, cut toward zero; and that exponent.
fn products(row: u32, column: u32, quad: u32) -> vec2<i32> {
    let at = quad * 32u;
    each let p$ = a_numbers[at + $u * 32u + row] * b_numbers[at + $u * 32u + column];
    each let e$ = a_exponents[at + $u * 32u + row] + b_exponents[at + $u * 32u + column];
    var tops = e0;
    each tops = max(tops, e$);
    let top = largest(tops);
    var terms = vec4<i32>(0);
    each terms += aligned(p$, e$, top + PRODUCT_DOWN);
    return vec2<i32>(added(terms), top);
}

// Toward minus infinity, by any number of bits.
fn floored(value: i32, down: i32) -> i32 { return value >> u32(clamp(down, 0, 31)); }

// Both sums on the grid of the larger exponent.
fn joined(one: vec2<i32>, other: vec2<i32>) -> vec2<i32> {
    let top = max(one.y, other.y);
    return vec2<i32>(floored(one.x, top - one.y) + floored(other.x, top - other.y), top);
}

// A total of `high` units of C's grid and `low` of one that is `MORE` bits finer: floored, then rounded.
fn closed(high: i32, low: u32, lsb: i32) -> u32 {
    let negative = high < 0;
    let finer = (1u << u32(MORE)) - 1u;
    let few = select(low, (0u - low) & finer, negative);
    let many = select(u32(high), u32(-high) - select(0u, 1u, low != 0u), negative);
    let width = select(32 - i32(countLeadingZeros(few)), MORE + 32 - i32(countLeadingZeros(many)), many != 0u);
    if (width == 0) { return 0u; }
    let leading = max(lsb + width - 1, C_MIN_EXPONENT);
    let down = max(leading - RESULT_BITS - lsb, 0);
    var kept: u32;
    var lost: u32;
    if (down <= MORE) {
        kept = (many << u32(MORE - down)) | (few >> u32(down));
        lost = few & ((1u << u32(down)) - 1u);
    } else {
        let rest = u32(min(down - MORE, 31));
        kept = many >> rest;
        lost = few | (many & ((1u << rest) - 1u));
    }
    // One more than 32 ones would be rounded to the same number.
    if (negative && lost != 0u && kept != 0xffffffffu) { kept += 1u; }
    return rounded(negative, kept, lsb + down, i32(C_FRACTION) + 1, true);
}

fn step(code: u32, row: u32, column: u32, quad: u32) -> u32 {
    let c = addend(code);
    var sum = products(row, column, quad);
    if (SUMS == 2u) { sum = joined(sum, products(row, column, quad + SUM_QUADS)); }
    // A product of that exponent can be an infinity.
    if (sum.y >= C_MAX_EXPONENT || c.y > SOME_SPECIAL) { return FLAG; }
    let c_exponent = select(c.y, ZERO_EXPONENT, c.x == 0);
    let top = max(sum.y, c_exponent);
    let down = top - sum.y;
    let finer = select(u32(floored(sum.x, down - MORE)), u32(sum.x) << u32(clamp(MORE - down, 0, 31)), down <= MORE);
    let low = finer & ((1u << u32(MORE)) - 1u);
    let units = floored(c.x << C_UP, top + C_DOWN - c_exponent);
    let high = floored(sum.x, down) + select(0, units, c_exponent >= top - WINDOW);
    return closed(high, low, top - FRACTION_BITS - MORE);
}
