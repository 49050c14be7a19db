//! The page as text.

use serde_json::Value;

use super::{CHECK, folder, page};
use crate::support::{Folder, Members, Says, claims, words};

/// The JSON that the script draws.
fn data(page: &str) -> Value {
    let (_, rest) = page
        .split_once("<script type=\"application/json\" id=\"map-data\">")
        .expect("a map");
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn unrolled(runs: &Value) -> Vec<u64> {
    let numbers: Vec<u64> = serde_json::from_value(runs.clone()).unwrap();
    let pairs = numbers.chunks(2);
    pairs
        .flat_map(|pair| vec![pair[0]; pair[1] as usize])
        .collect()
}

#[test]
fn the_map_counts_every_mismatch_where_it_is() {
    let wrong = |i: usize, j: usize| i % 128 == 5 || (i < 64 && j >= 320);
    let page = page(&folder(&wrong), 1);
    let data = data(&page);
    assert_eq!(
        (&data["rows"], &data["columns"]),
        (&512.into(), &384.into())
    );
    assert_eq!(data["bin"], serde_json::json!([2, 2]));
    let count = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| {
        let all = rows.flat_map(|i| columns.clone().map(move |j| (i, j)));
        all.filter(|&(i, j)| wrong(i, j)).count() as u64
    };
    let bins = unrolled(&data["bins"]);
    assert_eq!(bins.len(), 256 * 192);
    for (index, found) in bins.into_iter().enumerate() {
        let (i, j) = (2 * (index / 192), 2 * (index % 192));
        assert_eq!(found, count(i..i + 2, j..j + 2), "{i} {j}");
    }
    let rows: Vec<_> = (0..512).map(|i| count(i..i + 1, 0..384)).collect();
    assert_eq!(unrolled(&data["by_row"]["counts"]), rows);
    let columns: Vec<_> = (0..384).map(|j| count(0..512, j..j + 1)).collect();
    assert_eq!(unrolled(&data["by_column"]["counts"]), columns);
    assert_eq!(data["compared"], Value::Null);
}

#[test]
fn a_period_of_the_rows_is_named() {
    let page = page(&folder(&|i, _| i % 128 == 5), 1);
    page.says("1,536 of 1,536 mismatches lie at row mod 128 = 5.");
    page.lacks("column mod");
}

#[test]
fn a_sample_says_what_was_compared() {
    let folder = folder(&|_, _| true);
    folder.differs(&format!("{CHECK} --rows 256..258 --cols 0..3"));
    let page = folder.text("page.html");
    let compared = unrolled(&data(&page)["compared"]);
    let at = 128 * 192;
    assert_eq!(compared[at..at + 3], [4, 2, 0]);
    assert_eq!(compared.iter().sum::<u64>(), 6);
    page.says("6 of 6 elements of rows 256 to 257, columns 0 to 2");
}

#[test]
fn bits_are_marked_and_the_trace_is_there_without_colours() {
    let page = page(&folder(&|i, j| (i, j) == (3, 2)), 1);
    // 3 is 0x40400000, -1.5 is 0xbfc00000.
    page.says_all(words! {r#"
        [3, 2]
        | <code>0x40400000</code> <span class="bits"><span class="s"><b>0</b></span><span class="e"><b>10000000</b></span><span class="f">10000000000000000000000</span></span>
        | <code>0xbfc00000</code> <span class="bits"><span class="s"><b>1</b></span><span class="e"><b>01111111</b></span>
        | <details><summary>What <code>tcverify explain</code> says of it</summary>
        | DIFFERENT  D[3, 2] differs from the model&#39;s result
    "#});
    assert!(!page.contains('\u{1b}'));
}

#[test]
fn the_verdict_and_its_sources_are_there() {
    let folder = folder(&|_, _| false);
    let page = page(&folder, 0);
    let report = folder.tcverify(&CHECK.replace("--html page.html", "--json -"));
    let report = report.expect(0).json();
    let mut said = vec![
        report["rule"]["model"]["sha256"].clone(),
        report["rule"]["model"]["summary"].clone(),
        report["reproduced"]["payload_sha256"].clone(),
    ];
    for name in ["a", "b", "d"] {
        let input = &report["inputs"][name];
        said.extend(["path", "file_sha256", "payload_sha256"].map(|key| input[key].clone()));
    }
    said.extend(
        report["rule"]["model"]
            .list("constants")
            .iter()
            .map(|c| c["name"].clone()),
    );
    for text in said {
        assert!(page.contains(text.as_str().unwrap()), "{text}");
    }
    page.says("All 196,608 elements of D are reproduced, bit for bit.");
    // Nothing to show, nothing shown.
    for absent in
        words! {r#"id="map" | map-data | How they differ | The first mismatches | Likely cause"#}
    {
        assert!(!page.contains(absent), "{absent}");
    }
}

#[test]
fn a_digest_has_a_page_too() {
    let folder = folder(&|_, _| false);
    let wanted = "0".repeat(64);
    claims! {folder, "check --arch ampere --dtype fp16 --d-digest {wanted} a.npy b.npy -q --html page.html | 1"}
    let page = folder.text("page.html");
    assert!(page.contains(&wanted) && page.contains("The reproduced D has a different digest."));
}

#[test]
fn names_of_files_are_text() {
    let folder = folder(&|i, _| i == 0);
    let name = "<script>alert(1)<";
    folder.create(name);
    let evil = format!("{name}/script>\"'&\u{202e}.npy");
    folder.copy("a.npy", &evil);
    let check = CHECK.replace(" a.npy", &format!(" {evil}"));
    folder.differs(&check);
    let page = folder.text("page.html");
    assert!(!page.contains("<script>alert") && !page.contains('\u{202e}'));
    page.says("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\\u{202e}.npy");
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
}

/// A model of one's own brings names, notes and citations.
#[test]
fn what_a_model_says_is_text() {
    let folder = folder(&|i, _| i == 0);
    let run = folder.passes("archs ampere --json");
    let evil = "<img src=x onerror=alert(1)>";
    let mut model = run.json();
    if let Some(list) = model.as_array() {
        model = list[0].clone();
    }
    model["title"] = evil.into();
    for (_, citation) in model["sources"].as_object_mut().unwrap() {
        *citation = evil.into();
    }
    for instruction in model["instructions"].as_array_mut().unwrap() {
        for rule in instruction["rules"].as_array_mut().unwrap() {
            rule["note"] = evil.into();
        }
    }
    folder.write("model.json", model.to_string());
    let check = CHECK.replace("--arch ampere", "--model model.json");
    folder.differs(&check);
    let page = folder.text("page.html");
    page.lacks("<img");
    assert!(page.matches("&lt;img src=x onerror=alert(1)&gt;").count() > 2);
}

#[test]
fn nothing_comes_from_elsewhere() {
    for code in [0, 1] {
        let page = page(&folder(&|_, _| code == 1), code);
        page.says("content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\"");
        page.says("name=\"viewport\"");
        // But for the citations, which are text.
        for word in words! {"
            src= | href= | @import | url( | fetch( | XMLHttpRequest | <link | <iframe | innerHTML
        "}
        {
            assert!(!page.contains(word), "{word}");
        }
    }
}

#[test]
fn two_runs_and_any_number_of_threads_give_the_same_page() {
    let folder = folder(&|i, j| (i * j) % 7 == 3);
    let first = page(&folder, 1);
    for threads in 1..4 {
        folder.differs(&format!("{CHECK} --threads {threads}"));
        assert!(
            folder.read("page.html") == first.as_bytes(),
            "{threads} threads"
        );
    }
}

#[test]
fn the_page_stays_small_whatever_d_is() {
    let folder = Folder::new();
    let a = vec![1.0; 3000];
    folder.f16("a.npy", &[3000, 1], &a);
    folder.f16("b.npy", &[1, 3000], &a);
    // Two of three elements differ, in no order.
    let d: Vec<f32> = (0..9_000_000_u64)
        .map(|i| ((i * i / 7) % 3) as f32)
        .collect();
    folder.f32("d.npy", &[3000, 3000], &d);
    let page = page(&folder, 1);
    assert!(page.len() < 1_000_000, "{}", page.len());
}

/// Its own section, its constants, and the first mismatch chain by chain.
#[test]
fn a_schedule_is_shown_and_traced() {
    let folder = folder(&|row, _| row == 3);
    let check = "check --arch ampere --dtype fp16 --schedule cutlass-splitk-serial --split-k 2";
    folder.differs(&format!("{check} a.npy b.npy d.npy -q --html page.html"));
    let page = folder.text("page.html");
    page.says_all(words! {"
        The kernel&#39;s schedule | cutlass-splitk-serial | split_k 2 | partial sum 2 of 2
        | added to D as it is stored
    "});
}

#[test]
fn a_page_never_replaces_an_input_nor_another_report() {
    let folder = folder(&|_, _| false);
    let check = CHECK.replace(" --html page.html", "");
    claims! {folder, "
        {check} --html d.npy | refused | d.npy | would overwrite
        {check} --html x --json x | refused
            | x: the page and the JSON report cannot go to the same place
        {check} --html - --json - | refused | cannot go to the same place
        {check} --html nowhere/x.html | refused | nowhere/x.html
    "}
    assert_eq!(folder.names(), ["a.npy", "b.npy", "d.npy"]);
}

#[test]
fn a_page_on_standard_output_is_all_there_is() {
    let folder = folder(&|_, _| false);
    let run = folder.passes(&CHECK.replace("-q --html page.html", "--html -"));
    assert!(run.stdout.starts_with("<!DOCTYPE html>") && run.stdout.ends_with("</html>\n"));
}
