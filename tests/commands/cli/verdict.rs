//! Identical, different, and what the text says of either.

use crate::support::{Folder, Members, Npy, Run, Says, claims, fixture, floats, ran};

fn check_fixture(name: &str, arch: &str, rest: &str) -> Run {
    let at = fixture(name);
    let at = at.display();
    ran! {Folder::new(), "check --arch {arch} {rest} --c {at}/c.npy {at}/a.npy {at}/b.npy {at}/d.npy"}
}

#[test]
fn every_worked_example_is_identical() {
    let root = fixture("");
    for entry in std::fs::read_dir(&root).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let about = std::fs::read_to_string(root.join(&name).join("provenance.json")).unwrap();
        let about: serde_json::Value = serde_json::from_str(&about).unwrap();
        let word = |key: &str| about[key].as_str().unwrap().to_owned();
        let rest = format!(
            "--dtype {} --dtype-b {} --acc {} --instruction {}",
            word("a_dtype"),
            word("b_dtype"),
            word("acc"),
            word("instruction")
        );
        let run = check_fixture(&name, &word("arch"), &rest).expect(0);
        assert!(run.stdout.starts_with("IDENTICAL  all "), "{name}: {run:?}");
        assert_eq!(run.stderr, "", "{name}");
    }
}

#[test]
fn another_generation_is_different() {
    let run = check_fixture("ampere-mma-fp16-f32", "volta", "--dtype fp16").expect(1);
    run.begins("DIFFERENT  ");
    assert_eq!(run.stderr, "");
}

#[test]
fn names_of_gpus_and_compute_capabilities_do() {
    for arch in ["a100", "A100", "sm_80", "SM80", "RTX-3080", "ampere"] {
        check_fixture("ampere-mma-fp16-f32", arch, "--dtype fp16 --quiet").expect(0);
    }
}

#[test]
fn names_of_formats_are_understood_in_any_case() {
    for dtype in ["fp16", "FP16", "f16", "float16", "half"] {
        let rest = format!("--acc F32 --dtype {dtype} --d-dtype f32 --quiet");
        check_fixture("ampere-mma-fp16-f32", "ampere", &rest).expect(0);
    }
}

/// D = A here, for B is 1.
fn one_of_four_differs() -> Folder {
    let folder = Folder::new();
    folder.f16("a.npy", &[4, 1], &[1.0, 2.0, 3.0, 4.0]);
    folder.f16("b.npy", &[1, 1], &[1.0]);
    let given = floats(&[1.0, 2.0, -3.0, 4.0]);
    folder.save("d.npy", &Npy::new("<f4", &[4, 1], given));
    folder
}

#[test]
fn the_text_says_what_differs_and_where() {
    let folder = one_of_four_differs();
    let run = folder.differs("check --arch ampere --dtype fp16 a.npy b.npy d.npy");
    let text = run.stdout;
    for line in [
        "DIFFERENT  1 of 4 elements of D differ (25 %)",
        "  model     ampere mma, fp16*fp16 -> fp32",
        "  product   4x1 by 1x1, no C",
        "  where     1 of 4 rows, 1 of 1 columns",
        "  how       1 in sign; largest 2^30 ulp or more (sign or zero crossed, or another magnitude) at [2, 0]",
        "  [2, 0]  0x40400000  0xc0400000  0x80000000  sign crossed  3 -> -3",
    ] {
        assert!(text.lines().any(|l| l == line), "{line:?} is not in {text}");
    }
    // The first seven lines answer what, how badly, why, where, and what to do next.
    let first: Vec<_> = text.lines().take(7).collect();
    for (line, start) in [
        (0, "DIFFERENT"),
        (2, "  how"),
        (3, "  cause"),
        (4, "  where"),
        (5, "  next"),
    ] {
        assert!(first[line].starts_with(start), "{line}: {text}");
    }
}

/// The digest that one cites stands in every report; two of them if the bits are others.
#[test]
fn the_text_has_the_digest_of_d() {
    let folder = one_of_four_differs();
    let digest = |file: &str| {
        let run = folder.passes(&format!("digest --json {file}"));
        let digest: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        digest[0].string("payload_sha256").to_owned()
    };
    let check = "check --arch ampere --dtype fp16 a.npy b.npy";
    folder.passes("replay --arch ampere --dtype fp16 a.npy b.npy -o own.npy");
    let (own, given) = (digest("own.npy"), digest("d.npy"));
    assert_ne!(own, given);
    claims! {folder, r"{check} own.npy | 0 | \_ sha256    {own}  reproduced D (= D given)\n"}
    claims! {folder, r"{check} d.npy | 1 | \_ sha256    {own}  reproduced D\n            {given}  D given\n"}
}

/// What was refuted is counted, and listed on request.
#[test]
fn refuted_hypotheses_are_listed_on_request() {
    let folder = one_of_four_differs();
    let noise = Npy::new("<f4", &[4, 1], floats(&[7.1, -3.3, 0.7, 9.9]));
    folder.save("noise.npy", &noise);
    let check = "check --arch ampere --dtype fp16 a.npy b.npy noise.npy";
    let short = folder.differs(check);
    let line = |text: &str| {
        text.lines()
            .find(|l| l.starts_with("  no cause"))
            .unwrap()
            .to_owned()
    };
    let counted = line(&short.stdout);
    counted.says("hypotheses tried gives this D");
    assert!(counted.ends_with("(--verbose lists them)"), "{counted}");
    assert!(counted.len() < 100, "{counted}");
    let all = line(&folder.differs(&format!("{check} --verbose")).stdout);
    all.says("none of the hypotheses tried gives this D: ");
    assert!(all.len() > 2 * counted.len(), "{all}");
}

/// Integers whose words are taken as codes are named: nothing else would tell.
#[test]
fn an_integer_file_of_codes_is_named() {
    let folder = one_of_four_differs();
    folder.passes("replay --arch ampere --dtype fp16 a.npy b.npy -o own.npy");
    let own = folder.read("own.npy");
    let at = own.windows(3).position(|bytes| bytes == b"<f4").unwrap();
    for (descr, named) in [("<i4", true), ("<u4", false)] {
        let mut file = own.clone();
        file[at..at + 3].copy_from_slice(descr.as_bytes());
        folder.write("i.npy", &file);
        let run =
            folder.passes("check --arch ampere --dtype fp16 --d-dtype fp32 a.npy b.npy i.npy");
        let said = "D is an int32 file; its words were read as FP32 codes";
        assert_eq!(run.stdout.contains(said), named, "{descr}: {}", run.stdout);
    }
}

#[test]
fn every_label_of_the_text_is_apart_from_what_follows() {
    let folder = one_of_four_differs();
    let digest = "0".repeat(64);
    for rest in ["d.npy".to_owned(), format!("--d-digest {digest}")] {
        let run = ran! {folder, "check --arch ampere --dtype fp16 a.npy b.npy {rest}"}.expect(1);
        for line in run.stdout.lines() {
            let words = line.split_whitespace();
            let widest = words.filter(|word| word.len() > 64).count();
            assert_eq!(widest, 0, "a digest runs into its label: {line}");
        }
    }
}
