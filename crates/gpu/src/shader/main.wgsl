// Elements of D, four a thread: a workgroup brings 32 k of 32 rows of A and 32 columns of B into its memory, taken apart,
// and adds their products. All arithmetic is that of 32-bit integers.
struct Size {
    rows: u32,
    columns: u32,
    // Fours of k, up to the end of the last step; lines are as long as whole runs of 32 k.
    quads: u32,
    // Scales of a line.
    scales: u32,
    // Whether chains end here: 1, or else 0.
    ends: u32,
}
@group(0) @binding(0) var<uniform> size: Size;
// Codes, each row of A and each column of B together.
@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read> b: array<u32>;
// Accumulators: C before the first run, D after the last.
@group(0) @binding(3) var<storage, read_write> accumulators: array<u32>;

// Four k of each line; a number is its significand with its sign.
var<workgroup> a_numbers: array<vec4<i32>, 256>;
var<workgroup> b_numbers: array<vec4<i32>, 256>;
var<workgroup> a_exponents: array<vec4<i32>, 256>;
var<workgroup> b_exponents: array<vec4<i32>, 256>;

fn started(row: u32, column: u32) -> u32 {
    if (row >= size.rows || column >= size.columns) { return 0u; }
    return accumulators[row * size.columns + column];
}

fn chunks() -> u32 { return (size.quads + 7u) / 8u; }

@compute @workgroup_size(16, 16)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let rows = vec2<u32>(local.y, local.y + 16u);
    let columns = vec2<u32>(local.x, local.x + 16u);
    let up = group.y * 32u;
    let left = group.x * 32u;
    var c00 = started(up + rows.x, left + columns.x);
    var c01 = started(up + rows.x, left + columns.y);
    var c10 = started(up + rows.y, left + columns.x);
    var c11 = started(up + rows.y, left + columns.y);
    // Each thread takes four k of one row and of one column apart.
    let line = thread / 8u;
    let mine = thread % 8u;
    let place = mine * 32u + line;
    for (var chunk = 0u; chunk < chunks(); chunk++) {
        let quad = chunk * 8u + mine;
        take_apart_a(up + line, quad, place);
        take_apart_b(left + line, quad, place);
        workgroupBarrier();
        // A step of zeros alone can change an accumulator: it has fewer bits on its grid.
        let end = min(size.quads - chunk * 8u, 8u);
        for (var first = 0u; first < end; first += STEP_QUADS) {
            c00 = step(c00, rows.x, columns.x, first);
            c01 = step(c01, rows.x, columns.y, first);
            c10 = step(c10, rows.y, columns.x, first);
            c11 = step(c11, rows.y, columns.y, first);
        }
        workgroupBarrier();
    }
    finished(up + rows.x, left + columns.x, c00);
    finished(up + rows.x, left + columns.y, c01);
    finished(up + rows.y, left + columns.x, c10);
    finished(up + rows.y, left + columns.y, c11);
}
