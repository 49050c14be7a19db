//! The page of an element: bits at their weights, units side by side, and where they part.

use crate::html::shown;
use crate::support::{Folder, Says, claims};
use tcverify::emu::Catalogue;

/// A row of A and a column of B.
fn folder(a: &[f32], b: &[f32]) -> Folder {
    let folder = Folder::new();
    folder.f16("a.npy", &[1, a.len()], a);
    folder.f16("b.npy", &[b.len(), 1], b);
    folder
}

fn page(folder: &Folder, arch: &str) -> String {
    claims! {folder, "explain --arch {arch} --dtype fp16 a.npy b.npy --at 0,0 --html e.html | 0"}
    folder.text("e.html")
}

/// `1 - 1 + 2^-24` in the first products of the second half of 32, which Volta's 23 fraction bits lose.
fn parting() -> Folder {
    let (mut a, mut b) = ([0.0; 32], [0.0; 32]);
    (a[0], b[0]) = (1.5, 0.5);
    (a[1], b[1]) = (-1.5, 0.5);
    (a[16], b[16]) = (1.0, 1.0);
    (a[17], b[17]) = (-1.0, 1.0);
    (a[18], b[18]) = (2f32.powi(-12), 2f32.powi(-12));
    folder(&a, &b)
}

#[test]
fn units_stand_side_by_side_and_part_where_they_part() {
    let folder = parting();
    let page_of = page(&folder, "h100,a100,v100");
    assert_eq!(page_of.matches(" data-parts>").count(), 1);
    page_of.says("data-name=\"k 16 to 31\" data-parts");
    page_of.says("The units diverge at k 16 to 31, and end with different bits.");
    // 2^-24 is the 1 that Volta cuts off: its drawing alone has no bit left of the line.
    assert_eq!(page_of.matches("k 18: 2^-24").count(), 3 + 3);
    assert_eq!(page_of.matches("class=\"bits off\"").count(), 1);
    for name in ["h100", "a100", "v100"] {
        assert!(page_of.contains(&format!("<h4>{name}")), "{name}");
    }
    // Those that keep it do not part.
    let page_of = page(&folder, "h100,a100");
    page_of.lacks(" data-parts>");
    page_of.says("All 2 units end with 0x33800000");
    let one = page(&folder, "v100");
    one.says("v100 computes 0x00000000 0.");
}

/// What cannot be read is told: NaN and infinities have no bits.
#[test]
fn a_title_begins_with_the_file() {
    let folder = parting();
    let product = "--arch v100 --dtype fp16 a.npy b.npy";
    folder.passes(&format!("replay {product} -o d.npy"));
    claims! {folder, "explain {product} d.npy --at 0,0 --html e.html | 0"}
    let page_of = folder.text("e.html");
    page_of.says("<title>d.npy: D[0, 0] on v100 - ");
}

#[test]
fn infinities_are_said() {
    let page_of = page(&folder(&[f32::INFINITY, 1.0], &[1.0, 1.0]), "a100");
    page_of.says("the result is +Inf");
}

/// Long chains are drawn in part, and which part is not is said.
#[test]
fn a_long_chain() {
    let folder = Folder::new();
    let explain = "explain --arch a100,v100 --dtype fp16 generate:1:normal:1x4096 generate:2:normal:4096x1 --at 0,0";
    folder.passes(&format!("{explain} --html e.html"));
    let page_of = folder.text("e.html");
    let frames = page_of.matches("<article class=\"frame\"").count();
    assert!((4..=16).contains(&frames), "{frames}");
    page_of.says(" are not drawn.");
    assert_eq!(page_of.matches("here they diverge</span>").count(), 1);
}

/// Every kind of step has a picture.
#[test]
fn every_unit_is_drawn() {
    let folder = Folder::new();
    let mut count = 0;
    for architecture in Catalogue::builtin().architectures() {
        for instruction in &architecture.instructions {
            let plain = |rule: &&tcverify::emu::Rule| rule.scale.is_none() && rule.addend.is_none();
            for rule in instruction.rules.iter().filter(plain) {
                let [a, b] = rule.operands[0];
                let explain = format!(
                    "explain --arch {} --instruction {} --acc {} --dtype {a} --dtype-b {b} generate:1:normal:2x40 \
                     generate:2:normal:40x2 --at 1,1 --html e.html",
                    architecture.name, instruction.name, rule.accumulator
                );
                folder.passes(&explain);
                let page_of = folder.text("e.html");
                assert!(page_of.contains("<svg class=\"drawing\""), "{explain}");
                assert!(page_of.contains("class=\"result\""), "{explain}");
                count += 1;
            }
        }
    }
    assert!(count > 30, "{count}");
}

#[test]
fn schedules_are_drawn_by_operations() {
    let folder = Folder::new();
    claims! {folder, "explain --arch a100,h100 --instruction mma --dtype bf16 --schedule cublas-workspace --split-k \
    3 generate:1:normal:2x192 generate:2:normal:192x2 --at 1,1 --html e.html | 0"}
    let page_of = folder.text("e.html");
    assert_eq!(page_of.matches("data-name=\"chain over ").count(), 3);
    page_of.says("<title>D[1, 1] on a100, h100 - ");
    page_of.says("class=\"result\"");
    page_of.says(": add");
}

#[test]
fn what_is_refused() {
    let folder = parting();
    let explain = "explain --dtype fp16 a.npy b.npy --at 0,0";
    claims! {folder, "
        each {explain} ~ | 2
        --arch h100,a100 | h100,a100
        --arch h100,nothing --html e.html | nothing
        --arch h100 --html a.npy | a.npy | overwrite
        --arch h100 --html e.html --json | --json
        --arch a100,a100,a100,a100,a100,a100,a100,a100,a100 --html e.html | 9 units | 8
    "}
    assert_eq!(folder.names(), ["a.npy", "b.npy"]);
}

/// The drawing of the docs is one of the page.
#[test]
fn the_drawing_of_the_docs() {
    let folder = Folder::new();
    let explain = "explain --arch a100 --dtype fp16 generate:1:normal:16x64 generate:2:normal:64x8 --at 12,7 --html e.html";
    folder.passes(explain);
    let page_of = folder.text("e.html");
    let second = page_of
        .match_indices("<svg class=\"drawing\"")
        .nth(1)
        .unwrap()
        .0;
    let svg = &page_of[second..];
    let svg = &svg[..svg.find("</svg>").unwrap() + 6];
    let colours = page_of.find(":root {").unwrap();
    let colours = &page_of[colours..page_of.find("* { box-sizing").unwrap()];
    let style = format!(
        "{colours}{}",
        include_str!("../../../crates/causes/src/explain/picture/drawing.css")
    );
    let style = style.replace(":root:not(.printing)", ":root");
    let svg = svg.replacen(
        '>',
        &format!(" xmlns=\"http://www.w3.org/2000/svg\"><style>\n{style}svg {{ background: var(--card); }}\n</style>"),
        1,
    );
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/images/element.svg");
    if std::env::var_os("TCVERIFY_BLESS").is_some() {
        std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/images")).unwrap();
        std::fs::write(path, &svg).unwrap();
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        there == svg,
        "docs/images/element.svg is another; TCVERIFY_BLESS=1 writes it"
    );
}

/// Without its script all of it is there; with it one step at a time, the one where units part first.
#[test]
fn a_browser_shows_one_step_at_a_time() {
    let folder = parting();
    let page_of = page(&folder, "h100,v100");
    page_of.lacks("<article class=\"frame\" hidden");
    let Some(run) = shown(&folder, "e.html") else {
        return;
    };
    run.stderr.lacks("CONSOLE");
    run.says("data-name=\"k 0 to 15\" hidden");
    run.says("<output>k 16 to 31, here they diverge</output>");
}
