//! Parts of D: random samples, rows, columns, rectangles.

use serde_json::Value;

use crate::support::{Folder, Members, Says, claims, holds, ran, sha256, table, words};

const MODEL: &str = "--arch h100 --dtype bf16 generate:1:normal:40x64 generate:1:normal:64x30";
const TWO: &str = "--arch h100 --dtype bf16 generate:1:normal:2x40x64 generate:1:normal:2x64x30";

/// D of the product.
fn folder(product: &str) -> Folder {
    let folder = Folder::new();
    folder.passes(&format!("replay {product} -o d.npy"));
    folder
}

fn tamper(folder: &Folder, element: usize) {
    folder.with_codes32("d.npy", "d.npy", |d| d[element] ^= 1);
}

fn check(folder: &Folder, options: &str, code: i32) -> Value {
    let run = folder.tcverify(&format!("check {MODEL} d.npy {options} --json -"));
    run.expect(code).json()
}

#[test]
fn a_sample_is_reported_with_what_it_proves() {
    let folder = folder(MODEL);
    let report = check(&folder, "--sample 300 --seed 9", 0);
    let sample = &report["reproduced"]["sample"];
    assert_eq!(report["reproduced"]["payload_sha256"], Value::Null);
    holds! {sample, "population = 1200 | elements = 300 | seed = 9"}
    assert_eq!(report["outcome"]["comparison"]["elements"], 300);
    let missed = sample.list("missed");
    assert_eq!(missed[0]["probability"].as_f64(), Some(0.75));
    // 0.75^16 is just above 1 %, 0.75^17 below; without replacement it takes no more than that.
    let caught = sample.number("caught_99_percent");
    assert!((15..=17).contains(&caught), "{caught}");

    claims! {folder, r"check {MODEL} d.npy --sample 300 --seed 9 | 0
        | IDENTICAL IN PART, 25.0 % of D compared  all 300 sampled elements of the 1,200 of D are reproduced
        | 300 of 1,200 elements of rows 0 to 39, columns 0 to 29, seed 9
        | misses tampered elements: 1 75.0000 %, 10\_"}
}

/// Whether a tampered element is found depends on the seed, in about the right share of cases.
#[test]
fn a_sample_finds_a_tampered_element_as_often_as_it_says() {
    let folder = folder(MODEL);
    tamper(&folder, 617);
    let mut found = 0;
    for seed in 0..60 {
        let run = ran! {folder, "check {MODEL} d.npy -q --sample 600 --seed {seed}"};
        found += u32::from(run.code == Some(1));
    }
    assert!((15..=45).contains(&found), "{found} of 60");
    let report = check(&folder, "--sample 1200 --seed 1", 1);
    holds! {report, "outcome.comparison.first.0.index = [20, 17] | outcome.comparison.rows_touched = 1"}
}

#[test]
fn rows_columns_and_rectangles() {
    let folder = folder(MODEL);
    tamper(&folder, 20 * 30 + 17);
    for (options, code, elements) in [
        ("--rows 20", 1, 30),
        ("--rows 0..20", 0, 600),
        ("--rows 21..", 0, 570),
        ("--cols 17", 1, 40),
        ("--cols ..17", 0, 680),
        ("--rows 10..30 --cols 10..20", 1, 200),
        ("--region 10..30,18..", 0, 240),
        ("--region 20,17", 1, 1),
        ("--engine exact --region 10..30,10..20", 1, 200),
    ] {
        let report = check(&folder, options, code);
        holds! {report, "outcome.comparison.elements = {elements}", "{options}"}
        let sample = &report["reproduced"]["sample"];
        assert_eq!(sample["seed"], Value::Null);
        holds! {sample, "caught_99_percent = null", "whoever chose the part knew what lies in it"}
    }
    let report = check(&folder, "--rows 10..30 --sample 50 --seed 3", 0);
    holds! {report, "reproduced.sample.rows = [10, 30] | reproduced.sample.population = 600"}
}

/// The digest of a part is that of the codes of D there, whoever computes it.
#[test]
fn the_digest_is_of_the_reproduced_elements() {
    let folder = folder(MODEL);
    let bytes = folder.payload("d.npy");
    let rows = bytes[4 * 30 * 5..4 * 30 * 8].to_vec();
    for engine in ["fast", "exact"] {
        let report = check(&folder, &format!("--engine {engine} --rows 5..8"), 0);
        assert_eq!(report["reproduced"]["sample"]["sha256"], sha256(&rows));
    }
    let full = sha256(&bytes);
    for options in ["--sample 1200 --seed 1", "--rows 0..40"] {
        let report = check(&folder, options, 0);
        assert_eq!(report["reproduced"]["sample"]["sha256"], full);
    }
}

#[test]
fn batches_count() {
    let folder = folder(TWO);
    tamper(&folder, 1200 + 20 * 30 + 17);
    let check = |options: &str, code| {
        let run = folder.tcverify(&format!("check {TWO} d.npy {options} --json -"));
        run.expect(code).json()
    };
    let report = check("--rows 20", 1);
    let comparison = &report["outcome"]["comparison"];
    holds! {comparison, "elements = 60 | first.0.index = [1, 20, 17]"}
    check("--rows 19", 0);
    holds! {check("--sample 2400 --seed 1", 1), "outcome.comparison.mismatches = 1"}
}

#[test]
fn mistakes_are_explained() {
    let folder = folder(MODEL);
    let refuses = |options: &str, words: &[&str]| {
        ran! {folder, "check {MODEL} d.npy {options}"}.refuses(words);
    };
    refuses("--rows 40", &["rows 40", "0 to 39"]);
    refuses("--rows 5..5", &["rows 5..5", "at least one"]);
    refuses("--cols x..3", &["\"x\"", "--cols", "128..256"]);
    refuses("--region 1..2", &["--region", "ROWS,COLUMNS"]);
    refuses("--sample 1201 --seed 1", &["1200 elements"]);
    for (options, words) in [
        ("--sample 0 --seed 1", "--sample"),
        ("--seed 3", "--sample"),
        ("--region 1,1 --rows 1", "--rows"),
    ] {
        let run = folder.fails(&format!("check {MODEL} d.npy {options}"));
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
}

/// A default would be known to everybody: D could be right where it is looked at, and nowhere else.
#[test]
fn there_is_no_seed_by_default() {
    let folder = folder(MODEL);
    let words = ["--sample needs --seed-from and --beacon", "--seed"];
    ran! {folder, "check {MODEL} d.npy --sample 3"}.refuses(&words);
    folder.write(
        "batch.json",
        r#"{"schema": "tcverify.manifest/1", "cases": [{"name": "one", "arch": "h100", "dtype": "bf16", "sample": 3,
            "a": "generate:1:normal:40x64", "b": "generate:1:normal:64x30", "d": "d.npy"}]}"#,
    );
    claims! {folder, "batch batch.json | 2 | `sample` needs `seed_from`"}
}

fn draw(folder: &Folder, beacon: &str) -> (Vec<Value>, Value) {
    let options = format!("--sample 40 --seed-from c.json --beacon {beacon}");
    let report = check(folder, &options, 0);
    let sample = &report["reproduced"]["sample"];
    let all = ["seed", "sha256", "assumes"].map(|field| sample[field].clone());
    (all.to_vec(), sample["seed_from"].clone())
}

#[test]
fn a_beacon_and_a_commitment_draw() {
    let folder = folder(MODEL);
    let commit = || {
        folder.passes(&format!("commit {MODEL} d.npy -o c.json"));
    };
    commit();
    let digest = sha256(folder.read("c.json"));
    let (one, from) = draw(&folder, "8430af44");
    let text = format!("tcverify.draw/1\ncommitment={digest}\nbeacon=8430af44\n");
    let drawn = sha256(text);
    assert_eq!(
        from,
        serde_json::json!({"commitment_sha256": digest, "beacon": "8430af44", "draw_sha256": drawn})
    );
    let seed = u64::from_str_radix(&drawn[..16], 16).unwrap();
    assert_eq!(one[0].as_u64(), Some(seed));
    one[2]
        .as_str()
        .unwrap()
        .begins("the commitment was published before");
    let by_seed = check(&folder, &format!("--sample 40 --seed {seed}"), 0);
    let sample = &by_seed["reproduced"]["sample"];
    assert_eq!(sample["sha256"], one[1], "the same elements");
    holds! {sample, "assumes = nobody who could still change D knew the seed"}
    assert_ne!(draw(&folder, "8430af45").0[0], one[0]);
    let run = folder.tcverify(&format!(
        "check {MODEL} d.npy --sample 40 --seed-from c.json --beacon 8430af44 --markdown r.md --html r.html"
    ));
    let assumes = "the commitment was published before anyone could know the beacon";
    let text = run.expect(0).stdout;
    let pages = ["r.md", "r.html"].map(|name| folder.text(name));
    for text in [text].iter().chain(&pages) {
        text.says(assumes);
        text.says("8430af44");
    }
    // Only the D that was fixed is drawn from.
    tamper(&folder, 7);
    claims! {folder, "check {MODEL} d.npy --sample 40 --seed-from c.json --beacon 1 | 1
    | &differs from the commitment c.json: the root of D is"}
    commit();
    let other =
        "check --arch a100 --dtype bf16 generate:1:normal:40x64 generate:1:normal:64x30 d.npy";
    claims! {folder, "{other} --sample 40 --seed-from c.json --beacon 1 | 1 | &the model's SHA-256 is"}
}

#[test]
fn seeds_that_contradict_each_other() {
    let folder = folder(MODEL);
    for (options, words) in table! {
        ("--sample 3 --seed 1 --seed-from c.json --beacon 1", ["--seed", "--seed-from"]),
        ("--sample 3 --seed-from c.json", ["--seed-from", "--beacon"]),
        ("--sample 3 --seed 1 --beacon 1", ["--beacon", "--seed-from"]),
        ("--seed-from c.json --beacon 1", ["--seed-from", "--sample"]),
        ("--sample 3 --seed-from c.json --beacon 1 --against c.json", ["--against", "--seed-from"]),
        ("--sample 3 --seed-from c.json --beacon \u{e9}", ["--beacon", "ASCII"]),
        ("--sample 3 --seed-from missing.json --beacon 1", ["missing.json", "cannot be opened"]),
    } {
        ran! {folder, "check {MODEL} d.npy {options}"}.refuses(&words);
    }
}

/// Rows that lie apart are brought together, C and scales with them; every engine gives the same.
#[test]
fn engines_and_operands_agree_on_samples() {
    let scaled = "--arch b200 --dtype e4m3 --scale-a generate:1:normal:2x50x3 --scale-b generate:1:normal:2x70x3 \
                  --c generate:1:normal:2x50x70 --transpose-b generate:1:normal:2x50x96 generate:1:normal:2x70x96";
    let fp4 = "--arch b200 --dtype e2m1 --scale-dtype ue4m3 --scale-a generate:1:normal:50x6 \
               --scale-b generate:1:normal:6x70 generate:1:wide:50x96 generate:1:wide:96x70";
    let special = "--arch a100 --dtype fp16 --acc f16 --c generate:2:special:50x70 \
                   generate:1:special:50x96 generate:1:special:96x70";
    for product in [
        scaled,
        fp4,
        special,
        "--arch a100 --dtype int8 generate:1:normal:50x96 generate:1:normal:96x70",
    ] {
        let folder = folder(product);
        let mut digests = Vec::new();
        for options in words! {"--engine fast | --engine exact | --engine fast --threads 1"} {
            let report = folder.json(&format!(
                "check {product} d.npy {options} --sample 700 --seed 4 --json -"
            ));
            digests.push(report["reproduced"]["sample"]["sha256"].clone());
        }
        assert_eq!(digests[0], digests[1], "{product}");
        assert_eq!(digests[0], digests[2], "{product}");
    }
}

/// Every element that one lane of `mma` holds is wrong: the report says which.
#[test]
fn a_bad_lane_is_no_bad_row() {
    let product = "--arch a100 --dtype fp16 generate:1:normal:64x32 generate:1:normal:32x32";
    let folder = folder(product);
    for row in (0..64).filter(|row| row % 8 == 1) {
        for column in (0..32).filter(|column| column % 8 / 2 == 3) {
            tamper(&folder, row * 32 + column);
        }
    }
    claims! {folder, "check {product} d.npy --json report.json | 1
    | 1 of 32 lanes of the instruction (16x8 tiles), lane 7: 64"}
    let report: Value = folder.document("report.json");
    let units = &report["outcome"]["comparison"]["units"];
    holds! {units, "counts.7 = 64 | counts.6 = 0"}
}

/// The same of RDNA's lanes, which have half a column; of RDNA 3, whose wave nobody said, lanes of one column.
#[test]
fn a_bad_lane_of_wmma() {
    let operands = "generate:1:normal:64x32 generate:1:normal:32x32";
    for (unit, lower, words) in table! {
        ("--arch gfx1201 --instruction wmma-wave32", true,
            "1 of 32 lanes of the instruction (16x16 tiles), lane 21: 64"),
        ("--arch gfx1100", false, "1 of 16 lane columns of the instruction (16x16 tiles), lane column 5: 128"),
    } {
        let product = format!("{unit} --dtype fp16 {operands}");
        let folder = folder(&product);
        for row in (0..64).filter(|row| !lower || row % 16 > 7) {
            for column in (0..32).filter(|column| column % 16 == 5) {
                tamper(&folder, row * 32 + column);
            }
        }
        let run = folder.differs(&format!("check {product} d.npy"));
        assert!(run.stdout.contains(words), "{}", run.stdout);
    }
}
