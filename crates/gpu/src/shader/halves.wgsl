fn step(code: u32, row: u32, column: u32, quad: u32) -> u32 {
    let half = fused(0u, row, column, quad);
    return sum_of(fused(half, row, column, quad + STEP_QUADS / 2u), code);
}
