//! Zero points of INT8 operands, as a person gives them.

use crate::support::{Folder, Npy, floats};

const ROWS: usize = 4;
const COLUMNS: usize = 6;
const PRODUCT: &str = "--arch a100 --dtype int8 --d-dtype fp32 a.npy b.npy";
const SCALES: &str = "--scale-a sa.npy --scale-b sb.npy";

fn integers(count: usize, of: impl Fn(usize) -> i32) -> Vec<u8> {
    (0..count).flat_map(|i| of(i).to_le_bytes()).collect()
}

/// A product of K = 1: A is its row's number + 1, B its column's.
fn product() -> Folder {
    let folder = Folder::new();
    let bytes = |count: usize| (1..=count as u8).collect::<Vec<u8>>();
    folder.save("a.npy", &Npy::new("|i1", &[ROWS, 1], bytes(ROWS)));
    folder.save("b.npy", &Npy::new("|i1", &[1, COLUMNS], bytes(COLUMNS)));
    folder.save("sa.npy", &Npy::new("<f4", &[ROWS, 1], floats(&[2.0; ROWS])));
    folder.save(
        "sb.npy",
        &Npy::new("<f4", &[1, COLUMNS], floats(&[0.5; COLUMNS])),
    );
    let azp = integers(ROWS, |row| 10 * row as i32);
    folder.save("azp.npy", &Npy::new("<i4", &[ROWS, 1], azp));
    let adj = integers(COLUMNS, |column| column as i32 - 2);
    folder.save("adj.npy", &Npy::new("<i4", &[COLUMNS], adj));
    folder
}

#[test]
fn they_are_taken_off_the_sums() {
    let folder = product();
    let token = format!(
        "{PRODUCT} {SCALES} --schedule vllm-int8-azp-token --azp azp.npy --azp-adj adj.npy"
    );
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
    for (how, own, other) in [
        (&token, "token.npy", "tensor.npy"),
        (&tensor, "tensor.npy", "token.npy"),
    ] {
        folder.tcverify(&format!("check {how} {own}")).expect(0);
        folder.tcverify(&format!("check {how} {other}")).expect(1);
    }
    let report = folder.tcverify(&format!(
        "check {token} token.npy --json report.json --html r.html"
    ));
    report.expect(0);
    let report: serde_json::Value =
        serde_json::from_slice(&folder.read("report.json")).expect("a report");
    assert_eq!(report["inputs"]["azp"]["shape"], serde_json::json!([4, 1]));
    assert_eq!(report["inputs"]["azp_adj"]["format"], "int32");
    assert_eq!(report["request"]["azp"], "azp.npy");
    folder
        .tcverify("verify-report report.json --replay")
        .expect(0);
    // Whoever changes one of them is found out.
    let azp = integers(ROWS, |row| 10 * row as i32 + 1);
    folder.save("azp.npy", &Npy::new("<i4", &[ROWS, 1], azp));
    folder.tcverify("verify-report report.json").expect(1);
    folder
        .tcverify(&format!("check {token} token.npy"))
        .expect(1);
}

#[test]
fn parts_have_them_too() {
    let folder = product();
    let how = format!(
        "{PRODUCT} {SCALES} --schedule vllm-int8-azp-token --azp azp.npy --azp-adj adj.npy"
    );
    folder.tcverify(&format!("replay {how} -o d.npy")).expect(0);
    folder
        .tcverify(&format!(
            "shard plan -n 2 --block-rows 2 -o plan.json {how} d.npy"
        ))
        .expect(0);
    for part in 0..2 {
        folder
            .tcverify(&format!("shard run plan.json {part} -o part{part}.json"))
            .expect(0);
    }
    folder
        .tcverify("shard merge plan.json part0.json part1.json")
        .expect(0);
}

#[test]
fn what_has_no_place_is_refused() {
    let folder = product();
    let refused = |options: &str, words: &[&str]| {
        folder
            .tcverify(&format!("replay {PRODUCT} {options} -o e.npy"))
            .refuses(words);
    };
    let token = format!("{SCALES} --schedule vllm-int8-azp-token");
    let tensor = format!("{SCALES} --schedule vllm-int8-azp");
    refused(&token, &["--azp", "every row of D", "--azp-adj"]);
    refused(&tensor, &["--azp-adj", "every column of D"]);
    refused(
        &format!("{token} --azp-adj adj.npy"),
        &["--azp", "every row"],
    );
    refused(
        &format!("{tensor} --azp azp.npy --azp-adj adj.npy"),
        &["no --azp"],
    );
    refused(
        &format!("{token} --azp adj.npy --azp-adj adj.npy"),
        &["zero points of the rows are 6", "so 4"],
    );
    refused(
        "--schedule cutlass-sm80 --azp-adj adj.npy",
        &["cutlass-sm80", "no zero points"],
    );
    refused(&format!("{tensor} --azp-adj sb.npy"), &["sb.npy", "int32"]);
    refused(
        &format!("{tensor} --azp-adj adj.npy --alpha 2"),
        &["bias is fused"],
    );
    folder
        .tcverify(&format!(
            "replay {PRODUCT} {tensor} --azp-adj adj.npy -o d.npy"
        ))
        .expect(0);
    folder
        .tcverify(&format!(
            "commit {PRODUCT} {tensor} --azp-adj adj.npy d.npy -o c.json"
        ))
        .refuses(&["--azp-adj", "commitment"]);
}
