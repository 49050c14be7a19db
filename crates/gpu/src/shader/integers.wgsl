fn added(terms: vec4<i32>) -> i32 { return (terms.x + terms.y) + (terms.z + terms.w); }

// Products of some k, and an accumulator; sums wrap around, or stay at the largest and smallest number.
fn step(code: u32, row: u32, column: u32, quad: u32) -> u32 {
    let at = quad * 32u;
    var sums = vec4<i32>(0);
    each sums += a_numbers[at + $u * 32u + row] * b_numbers[at + $u * 32u + column];
    let c = i32(code);
    let more = added(sums);
    let sum = c + more;
    let left = ((c ^ sum) & (more ^ sum)) < 0;
    return u32(select(sum, select(0x7fffffff, i32(0x80000000u), c < 0), CLAMPED && left));
}
