// The accumulators of a chain.
fn finished(row: u32, column: u32, code: u32) {
    if (row < size.rows && column < size.columns) { accumulators[row * size.columns + column] = code; }
}
