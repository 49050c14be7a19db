// Two products in units below the larger of their exponents, toward minus infinity; and that exponent.
fn pair(products: vec2<i32>, exponents: vec2<i32>) -> vec2<i32> {
    let top = max(exponents.x, exponents.y);
    let down = vec2<i32>(top + PRODUCT_DOWN) - exponents;
    let kept = products >> vec2<u32>(min(down, vec2<i32>(31)));
    return vec2<i32>(kept.x + kept.y, top);
}

// Pairs and C on one grid.
fn group(code: u32, one: vec2<i32>, other: vec2<i32>) -> u32 {
    let c = addend(code);
    if (max(max(one.y, other.y), c.y) > SOME_SPECIAL) { return FLAG; }
    let grid = grid_of(c, max(one.y, other.y));
    let top = grid + PRODUCT_BITS;
    var units = units_of(c.x, c.y, grid);
    // A C of less than one unit.
    if (lead_of(c) < grid && grid > VANISHING) { units = 0; }
    let total = units + (one.x >> u32(min(top - one.y, 31))) + (other.x >> u32(min(top - other.y, 31)));
    return closed(total < 0, u32(abs(total)), grid);
}

fn four(code: u32, products: vec4<i32>, exponents: vec4<i32>) -> u32 {
    let one = pair(products.xy, exponents.xy);
    let other = pair(products.zw, exponents.zw);
    if (SIZE == 4u) {
        return group(code, one, other);
    } else {
        let none = vec2<i32>(0, 2 * ZERO);
        return group(group(code, one, none), other, none);
    }
}
