// Sums of chains: -0, which adds nothing, or +0 before the first.
@group(0) @binding(4) var<storage, read_write> totals: array<u32>;

// At its end a chain is added, and the next one starts from zero.
fn finished(row: u32, column: u32, code: u32) {
    if (row >= size.rows || column >= size.columns) { return; }
    let at = row * size.columns + column;
    accumulators[at] = select(code, 0u, size.ends == 1u);
    if (size.ends == 0u) { return; }
    let total = totals[at];
    totals[at] = select(sum_of(total, code), C_SIGN, total == C_SIGN && code == C_SIGN);
}
