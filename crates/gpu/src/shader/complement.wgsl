// Two products and C on one grid, cut off; a term whose sign C does not have enters as a one's complement. Exponents
// are four times themselves, with the sign of the product as the last bit.
fn group(code: u32, products: vec2<i32>, marked: vec2<i32>) -> u32 {
    let c = addend(code);
    let exponents = marked >> vec2<u32>(2u);
    let most = max(exponents.x, exponents.y);
    if (max(most, c.y) > SOME_SPECIAL) { return FLAG; }
    if (c.x == 0 && most < SOME_ZERO) { return 0u; }
    let grid = grid_of(c, most);
    let down = vec2<i32>(grid + PRODUCT_BITS + PRODUCT_DOWN) - exponents;
    let units = abs(products) >> vec2<u32>(min(down, vec2<i32>(31)));
    let c_negative = (code & C_SIGN) != 0u;
    // All ones where the sign is not C's.
    let unlike = -((marked & vec2<i32>(1)) ^ vec2<i32>(select(0, 1, c_negative)));
    let terms = units ^ unlike;
    let total = terms.x + terms.y + units_of(abs(c.x), c.y, grid);
    return closed((total < 0) != c_negative, u32(abs(total)), grid);
}

fn four(code: u32, products: vec4<i32>, marked: vec4<i32>) -> u32 {
    return group(group(code, products.xy, marked.xy), products.zw, marked.zw);
}
