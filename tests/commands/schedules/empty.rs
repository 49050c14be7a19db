//! Products without products: K = 0 has a D by some schedules, and by every command; M = 0 and N = 0 have none.

use super::commands::PRESETS;
use crate::support::{Folder, Npy, Says, claims, le32};

/// A preset whose D for K = 0 is known: those of cuBLAS, but for two. One of these needs as many k as slices.
fn defines_it(preset: &str) -> bool {
    preset.starts_with("cublas-")
        && !["cublas-sliced", "cublas-nvjet-dropped-remainder"].contains(&preset)
}

fn arrays(options: &str, [m, n, k]: [usize; 3]) -> Folder {
    let folder = Folder::new();
    let (descr, width) = match options {
        _ if options.contains("e4m3") => ("|u1", 1),
        _ if options.contains("tf32") => ("<f4", 4),
        _ => ("<f2", 2),
    };
    let operand = |shape: [usize; 2]| Npy::new(descr, &shape, vec![0; shape[0] * shape[1] * width]);
    folder.save("a.npy", &operand([m, k]));
    folder.save("b.npy", &operand([k, n]));
    let d = |code: u32| Npy::new("<f4", &[m, n], le32(&vec![code; m * n]));
    folder.save("zeros.npy", &d(0));
    folder.save("d.npy", &d(0x3f80_0000));
    folder
}

#[test]
fn every_preset_has_an_answer_for_nothing() {
    let mut defined = 0;
    for (preset, options, more) in PRESETS {
        // Scales have the shapes of another K.
        let more = if more.starts_with("--scale") {
            ""
        } else {
            more
        };
        let request = format!("{options} --schedule {preset} {more} a.npy b.npy");
        for shape in [[3, 5, 0], [0, 5, 16], [3, 0, 16], [0, 0, 0]] {
            let folder = arrays(options, shape);
            let gemv = ["cublas-gemv", "cublas-dot"].contains(&preset);
            let expected = defines_it(preset) && shape == [3, 5, 0];
            for words in [
                format!("check {request} zeros.npy"),
                format!("check {request} d.npy"),
                format!("check --no-causes --sample 4 --seed 1 {request} d.npy"),
                format!("explain {request} d.npy --at 2,1"),
                format!("replay {request} -q -o out.npy"),
            ] {
                let run = folder.tcverify(&words);
                let code = match words.contains(" d.npy") {
                    _ if !expected => 2,
                    true => 1,
                    false => 0,
                };
                // A kernel for a row or a column may not be one for this D.
                let other = gemv && run.code == Some(2);
                assert!(run.code == Some(code) || other, "{words}: {run:#?}");
                defined += usize::from(run.code == Some(0));
            }
        }
    }
    assert!(defined > 20, "{defined}");
}

#[test]
fn nothing_was_computed_is_no_cause_but_a_reason() {
    let folder = arrays("", [3, 5, 0]);
    let request = "--arch a100 --dtype fp16 --schedule cublas-sm80 a.npy b.npy";
    claims! {folder, r"check {request} d.npy | 1 | because K is 0 | no cause\_"}
}

#[test]
fn a_search_for_nothing_names_schedules_that_define_it() {
    let folder = arrays("", [3, 5, 0]);
    for names in ["", "--arch a100", "--arch wormhole"] {
        let search = format!("identify --dtype fp16 {names} a.npy b.npy");
        let run = folder.tcverify(&format!("{search} zeros.npy"));
        if names.ends_with("wormhole") {
            run.refuses(&["K is 0"]);
            continue;
        }
        let run = run.expect(0);
        run.says("cublas-");
        claims! {folder, r"{search} d.npy | 1 | ^NONE\_"}
    }
    folder.fails("identify --dtype fp16 --schedules never a.npy b.npy zeros.npy");
    for shape in [[0, 5, 16], [3, 0, 16]] {
        let folder = arrays("", shape);
        claims! {folder, "identify --dtype fp16 a.npy b.npy zeros.npy | refused | M and N of at least 1"}
    }
}

#[test]
fn two_results_of_nothing_are_compared() {
    let folder = arrays("", [3, 5, 0]);
    for (left, right, code) in [
        ("zeros.npy", "d.npy", 1),
        ("d.npy", "zeros.npy", 1),
        ("d.npy", "d.npy", 0),
    ] {
        let words = format!("compare {left} {right} a.npy b.npy --dtype fp16");
        folder.tcverify(&words).expect(code);
    }
}

/// Workers that share tiles of no k have nothing to share, whether or not shares are rounded up.
#[test]
fn shares_of_nothing() {
    let folder = arrays("", [3, 5, 0]);
    let raw = folder.passes("schedules --raw cutlass-stream-k");
    let mut file = raw.json();
    let known = file["known_by"]["tile_k"].clone();
    file["known_by"]["without_products"] = known;
    file["spec"]["without_products"] = "zero".into();
    for grain in [None, Some(2)] {
        let shares = &mut file["spec"]["split"]["parts"]["groups"][0]["parts"];
        shares["workers"] = 3.into();
        shares["grain"] = grain.into();
        folder.write("shares.json", file.to_string());
        let check = "check --arch a100 --dtype fp16 --schedule-file shares.json a.npy b.npy";
        folder.passes(&format!("{check} zeros.npy"));
        folder.differs(&format!("{check} d.npy"));
    }
}
