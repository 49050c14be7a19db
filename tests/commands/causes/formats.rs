//! A wrong D of any result format under any preset ends in a report: whatever the search for causes tries, nothing
//! panics.

use rayon::prelude::*;

use crate::schedules::commands::PRESETS;
use crate::support::{Folder, Npy};

const RESULTS: [&str; 5] = ["fp32", "bf16", "fp16", "e4m3", "e5m2"];

/// Operands whose sums are small, saturate, and are infinite or NaN.
const CLASSES: [&str; 3] = ["normal", "wide", "special"];

/// What is wrong with D: every element has another code, the last one has, all are the code of all ones.
const DAMAGES: usize = 3;

fn damage(which: usize, width: usize, payload: &mut [u8]) {
    let count = payload.len() / width;
    for (i, code) in payload.chunks_exact_mut(width).enumerate() {
        match which {
            0 => code[width - 1] = code[width - 1].wrapping_add(1 + (i * 11 % 255) as u8),
            1 if i + 1 == count => code[0] ^= 3,
            1 => {}
            _ => code.fill(0xff),
        }
    }
}

/// Whether the preset computes such a result at all. If it does, a wrong D is checked and explained.
fn reports(case: usize, class: &str, which: usize) -> bool {
    let (name, model, more) = PRESETS[case / RESULTS.len()];
    let result = RESULTS[case % RESULTS.len()];
    let folder = Folder::new();
    let product = format!(
        "{model} --schedule {name} {more} --d-dtype {result} generate:1:{class}:4x300 generate:2:{class}:300x6"
    );
    let replay = folder.tcverify(&format!("replay {product} -q -o d.npy"));
    if replay.code == Some(2) {
        return false;
    }
    replay.expect(0);
    let mut d = folder.read("d.npy");
    let start = 10 + usize::from(u16::from_le_bytes([d[8], d[9]]));
    let width = (d.len() - start) / 24;
    damage(which, width, &mut d[start..]);
    folder.write("d.npy", d);
    // All ones may be what it is: a NaN.
    let check = folder.tcverify(&format!("check {product} d.npy"));
    assert!(
        check.code == Some(1) || which == 2 && check.code == Some(0),
        "{product}: {check:?}"
    );
    let explain = folder.tcverify(&format!("explain {product} d.npy --at 3,5"));
    assert!(
        matches!(explain.code, Some(0 | 1)),
        "{product}: {explain:?}"
    );
    true
}

/// Some of them in a run, every preset and every format among them; with `TCVERIFY_WRONG_RESULTS=all` each.
#[test]
fn wrong_results_of_every_format_are_reported() {
    let all = std::env::var("TCVERIFY_WRONG_RESULTS").is_ok_and(|which| which == "all");
    let ways = CLASSES.len() * DAMAGES;
    let cases: Vec<(usize, usize)> = (0..PRESETS.len() * RESULTS.len())
        .flat_map(|case| (0..ways).map(move |way| (case, way)))
        .filter(|(case, way)| all || (7 * case + way) % (3 * ways) == 0)
        .collect();
    let reported = cases
        .par_iter()
        .filter(|(case, way)| reports(*case, CLASSES[way / DAMAGES], way % DAMAGES))
        .count();
    assert!(
        2 * reported > cases.len(),
        "{reported} of {} were possible",
        cases.len()
    );
}

/// FP8 results saturate, whatever else is tried of them: 1024 is stored as 448.
#[test]
fn a_sum_beyond_fp8() {
    let folder = Folder::new();
    for name in ["a.npy", "b.npy"] {
        folder.f16(name, &[1, 1], &[32.0]);
    }
    let check = "--arch a100 --dtype fp16 --schedule cutlass-sm80 --d-dtype e4m3 a.npy b.npy d.npy";
    for (code, exit) in [(0x7e, 0), (0x7d, 1), (0x7f, 1), (0xfe, 1), (0x00, 1)] {
        folder.save("d.npy", &Npy::new("|u1", &[1, 1], vec![code]));
        folder.tcverify(&format!("check {check}")).expect(exit);
    }
}
