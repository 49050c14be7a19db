//! Zero points of INT8 operands, as a person gives them.

use crate::support::{Folder, Members, Npy, Says, claims, floats, holds, rows, words};

const ROWS: usize = 4;
const COLUMNS: usize = 6;
const PRODUCT: &str = "--arch a100 --dtype int8 --d-dtype fp32 a.npy b.npy";
const SCALES: &str = "--scale-a sa.npy --scale-b sb.npy";
const TOKEN: &str = "--scale-a sa.npy --scale-b sb.npy --schedule vllm-int8-azp-token --azp azp.npy --azp-adj adj.npy";

fn integers(count: usize, of: impl Fn(usize) -> i32) -> Vec<u8> {
    (0..count).flat_map(|i| of(i).to_le_bytes()).collect()
}

/// A product of K = 1: A is its row's number + 1, B its column's.
fn product() -> Folder {
    let folder = Folder::new();
    let bytes = |count: usize| (1..=count as u8).collect::<Vec<u8>>();
    folder.save("a.npy", &Npy::new("|i1", &[ROWS, 1], bytes(ROWS)));
    folder.save("b.npy", &Npy::new("|i1", &[1, COLUMNS], bytes(COLUMNS)));
    folder.f32("sa.npy", &[ROWS, 1], &[2.0; ROWS]);
    folder.f32("sb.npy", &[1, COLUMNS], &[0.5; COLUMNS]);
    let azp = integers(ROWS, |row| 10 * row as i32);
    folder.save("azp.npy", &Npy::new("<i4", &[ROWS, 1], azp));
    let adj = integers(COLUMNS, |column| column as i32 - 2);
    folder.save("adj.npy", &Npy::new("<i4", &[COLUMNS], adj));
    folder
}

#[test]
fn they_are_taken_off_the_sums() {
    let folder = product();
    let token = format!("{PRODUCT} {TOKEN}");
    let tensor = format!("{PRODUCT} {SCALES} --schedule vllm-int8-azp --azp-adj adj.npy");
    let wanted = |of: fn(f32, f32) -> f32| {
        let at = |i: usize| ((i / COLUMNS) as f32, (i % COLUMNS) as f32);
        let elements = (0..ROWS * COLUMNS).map(at);
        let d = elements.map(|(row, column)| (row + 1.0) * (column + 1.0) - of(row, column));
        floats(&d.collect::<Vec<f32>>())
    };
    // The scales' product is 1.
    let by_token = wanted(|row, column| 10.0 * row * (column - 2.0));
    let by_tensor = wanted(|_, column| column - 2.0);
    folder.save("token.npy", &Npy::new("<f4", &[ROWS, COLUMNS], by_token));
    folder.save("tensor.npy", &Npy::new("<f4", &[ROWS, COLUMNS], by_tensor));
    claims! {folder, "
        check {token} token.npy --json report.json --html r.html | 0
        check {token} tensor.npy | 1
        check {tensor} tensor.npy | 0
        check {tensor} token.npy | 1
    "}
    let report: serde_json::Value = folder.document("report.json");
    holds! {report, "inputs.azp.shape = [4, 1] | inputs.azp_adj.format = int32 | request.azp = azp.npy"}
    folder.passes("verify-report report.json");
    // Whoever changes one of them is found out.
    let azp = integers(ROWS, |row| 10 * row as i32 + 1);
    folder.save("azp.npy", &Npy::new("<i4", &[ROWS, 1], azp));
    folder.differs("verify-report report.json");
    folder.differs(&format!("check {token} token.npy"));
}

/// Every step between the integer sum and D is told, in integers where it is one: what the products add up to by
/// hand is what each event says. Another order of them does not come to this D.
#[test]
fn they_are_explained_step_by_step() {
    let folder = product();
    // 3 * 5 = 15; azp = 20 and azp_adj = 2^30 + 2, whose product, 20 * 2^30 + 40, is 40 modulo 2^32; 15 - 40 = -25.
    let adj = integers(COLUMNS, |column| (1 << 30) + column as i32 - 2);
    folder.save("adj.npy", &Npy::new("<i4", &[COLUMNS], adj));
    let token = format!("{PRODUCT} {TOKEN}");
    folder.passes(&format!("replay {token} -o d.npy"));
    let explain = format!("explain {token} d.npy --at 2,4");
    let explanation = folder.json(&format!("{explain} --json"));
    let events = explanation["kernel"]["events"].as_array().expect("a list");
    let told = events.iter().map(|event| {
        let value = |name: &str| event[name]["value"].as_str().unwrap_or("").to_owned();
        let operands = event["operands"].as_array().into_iter().flatten();
        let operands: Vec<_> = operands.map(|x| x.string("value")).collect();
        let format = |name: &str| format!("{} {}", event[name].string("format"), value(name));
        match event.string("event") {
            "chain" => format!("chain {}", value("result")),
            "rounded" => format!("{} to {}", format("from"), format("to")),
            _ => {
                let [stage, operation, off] =
                    ["stage", "operation", "off"].map(|name| event.string(name));
                format!(
                    "{stage}: {operation} {} = {} off {off}",
                    operands.join(" "),
                    value("result")
                )
            }
        }
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        words! {"
        chain 15
        | zero point: mul 20 1073741826 = 40 off -21474836480
        | zero point: sub 15 40 = -25 off 0
        | int32 -25 to fp32 -25
        | scales: mul -25 0.5 = -12.5 off 0
        | scales: fma -12.5 2 0 = -25 off 0
    "}
    );
    assert_eq!(explanation["computed"]["value"], "-25");
    claims! {folder, "{explain} | 0 | 20 * 1073741826  ->  0x00000028 40  modulo 2^32: off by -21474836480
    | 15 - 40  ->  0xffffffe7 -25 | -25 to fp32  ->  0xc1c80000 -25"}
    // Without the integers' step the sum would be 15.
    let other = explain.replace("--azp azp.npy --azp-adj adj.npy", "--azp-adj zero.npy");
    let other = other.replace("-azp-token", "-azp");
    let zero = integers(COLUMNS, |_| 0);
    folder.save("zero.npy", &Npy::new("<i4", &[COLUMNS], zero));
    let other = folder.differs(&other).stdout;
    other.says("15 to fp32");
    other.lacks("0xffffffe7");
}

/// What integers lose as f32, and what a function does, is told too.
#[test]
fn roundings_of_integers_and_functions_are_explained() {
    let folder = product();
    let adj = integers(COLUMNS, |_| (1 << 24) + 16);
    folder.save("adj.npy", &Npy::new("<i4", &[COLUMNS], adj));
    let preset = folder.stdout("schedules --raw vllm-int8-azp");
    let mut schedule: serde_json::Value = serde_json::from_str(&preset).expect("a schedule");
    schedule["spec"]["epilogue"]["function"] = "relu".into();
    schedule["name"] = "mine".into();
    folder.write("relu.json", schedule.to_string());
    let how = format!("{PRODUCT} {SCALES} --schedule-file relu.json --azp-adj adj.npy --at 2,4");
    claims! {folder, "explain {how} | 0 | 15 - 16777232  ->  0xfeffffff -16777217
    | -16777217 to fp32  ->  0xcb800000 -16777216  off by +1 | relu(-16777216)  ->  0x00000000 0"}
    // Nothing without a rounding is to be compared with.
    let explained = folder.json(&format!("explain {how} --json"));
    assert!(explained.get("exact").is_none(), "{explained}");
}

/// vLLM takes one scale of A, of B, or of both, and repeats it.
#[test]
fn one_scale_stands_for_all_rows_or_columns() {
    let folder = product();
    folder.f32("one-a.npy", &[1], &[2.0]);
    folder.f32("one-b.npy", &[1, 1], &[0.5]);
    folder.f32("other.npy", &[], &[0.75]);
    folder.f32("three.npy", &[3], &[0.5; 3]);
    let how = format!("{PRODUCT} --schedule vllm-int8-azp --azp-adj adj.npy");
    claims! {folder, "replay {how} {SCALES} -o d.npy | 0"}
    for [scales, words] in rows! {"
        --scale-a one-a.npy --scale-b sb.npy | one scale for all rows of A
        --scale-a sa.npy --scale-b one-b.npy | one scale for all columns of B
        --scale-a one-a.npy --scale-b one-b.npy | one scale for all rows of A and one for all columns of B
    "}
    {
        let text = folder.stdout(&format!("check {how} {scales} d.npy"));
        let said: Vec<&str> = text.split_whitespace().collect();
        said.join(" ").says(words);
    }
    claims! {folder, "
        check {how} {SCALES} d.npy | 0 | !one scale for all
        # Another one gives another D.
        check {how} --scale-a one-a.npy --scale-b other.npy d.npy | 1
        check {how} --scale-a three.npy --scale-b sb.npy d.npy | refused | scales of A are 3
            | 4, 4x1 or a single number
        check {how} --scale-a sa.npy --scale-b three.npy d.npy | refused | scales of B are 3
            | 6, 1x6 or a single number
        # Where the library takes no single one, it is refused.
        replay --arch h100 --dtype e4m3 --schedule torch-scaled-mm-rowwise --scale-a one-a.npy --scale-b one-b.npy generate:1:normal:4x64 generate:2:normal:64x6 -o e.npy
            | refused | scales of A are 1 | 4 or 4x1
    "}
}

#[test]
fn parts_have_them_too() {
    let folder = product();
    let how = format!("{PRODUCT} {TOKEN}");
    claims! {folder, "
        replay {how} -o d.npy | 0
        shard plan -n 2 --block-rows 2 -o plan.json {how} d.npy | 0
        shard run plan.json 0 -o part0.json | 0
        shard run plan.json 1 -o part1.json | 0
        shard merge plan.json part0.json part1.json | 0
    "}
}

#[test]
fn what_has_no_place_is_refused() {
    let folder = product();
    claims! {folder, "
        each replay {PRODUCT} ~ -o e.npy | refused
        {SCALES} --schedule vllm-int8-azp-token | --azp | one int32 per row of D | --azp-adj
        {SCALES} --schedule vllm-int8-azp | --azp-adj | one int32 per column of D
        {SCALES} --schedule vllm-int8-azp-token --azp-adj adj.npy | --azp | one int32 per row of D
        {SCALES} --schedule vllm-int8-azp --azp azp.npy --azp-adj adj.npy | no --azp
        {SCALES} --schedule vllm-int8-azp-token --azp adj.npy --azp-adj adj.npy | zero points of the rows are 6
            | must be one int32 per row of D: 4
        --schedule cutlass-sm80 --azp-adj adj.npy | cutlass-sm80 | no zero points
        {SCALES} --schedule vllm-int8-azp --azp-adj sb.npy | sb.npy | int32
        {SCALES} --schedule vllm-int8-azp --azp-adj adj.npy --alpha 2 | bias is fused
        each ~
        replay {PRODUCT} {SCALES} --schedule vllm-int8-azp --azp-adj adj.npy -o d.npy | 0
    "}
}

/// A commitment fixes zero points as it does other operands: D is then drawn by it, opened and replayed, and nobody can
/// have had others.
#[test]
fn they_are_committed_to() {
    let folder = product();
    let how = format!("{PRODUCT} {TOKEN}");
    claims! {folder, "
        replay {how} -o d.npy | 0
        commit {how} d.npy -o c.json | 0
    "}
    holds! {folder.document("c.json"), "
        inputs.azp.format = int32 | inputs.azp.lines = whole | inputs.azp.shape = [4, 1]
        | inputs.azp_adj.format = int32 | inputs.azp_adj.lines = whole | inputs.azp_adj.shape = [6]
    "}
    let model = "--arch a100 --dtype int8 --d-dtype fp32 --schedule vllm-int8-azp-token --own-challenge challenge.json \
                 opening";
    claims! {folder, "
        check {how} d.npy --against c.json | 0
        audit challenge c.json --beacon drand-1 --elements 3 -o challenge.json | 0
        audit open {how} d.npy --commitment c.json --challenge challenge.json -o opening | 0

        each audit verify {model} --commitment c.json --with ~
        # All of them are the auditor's to state.
        scale_a,scale_b | 1 | &--with azp, | &--with azp_adj,
        azp,azp_adj | 1 | &--with scale_a, | &--with scale_b,
        scale_a,scale_b,azp,azp_adj | 0
        # The own copy of an array is compared with what was committed to.
        scale_a,scale_b --azp azp.npy --azp-adj adj.npy | 0
    "}
    // Another zero point of a row, for which no D was asked: the commitment is not to it.
    let azp = integers(ROWS, |row| 10 * row as i32 + i32::from(row == 2));
    folder.save("other.npy", &Npy::new("<i4", &[ROWS, 1], azp));
    let wrong = how.replace("azp.npy --azp-adj", "other.npy --azp-adj");
    claims! {folder, "
        replay {wrong} -o wrong.npy | 0
        check {wrong} d.npy --against c.json | 1 | &the root of zero points is
        audit verify {model} --commitment c.json --with scale_a,scale_b --azp other.npy --azp-adj adj.npy | 1
        # A D of other zero points under the commitment's: what was opened does not compute it.
        commit {how} wrong.npy -o wrong.json | 0
        audit challenge wrong.json --beacon drand-1 --elements 24 -o challenge.json | 0
        audit open {how} wrong.npy --commitment wrong.json --challenge challenge.json -o opening | 0
        audit verify {model} --commitment wrong.json --with scale_a,scale_b,azp,azp_adj | 1
    "}
    assert_ne!(folder.read("wrong.npy"), folder.read("d.npy"));
}
