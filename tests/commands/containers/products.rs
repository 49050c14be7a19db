//! Products whose operands and D lie in containers.

use super::write::{Member, safetensors, zip, zip_as};
use super::{A, B, D, product};
use crate::support::{Folder, Run, claims, floats, halves, le16, ran, sha256, words};

/// The product also in every kind of container.
fn everywhere() -> Folder {
    let folder = product();
    let [a, b, d] = ["a.npy", "b.npy", "d.npy"].map(|name| folder.read(name));
    let members =
        |make: fn(&str, &[u8]) -> Member| [make("a.npy", &a), make("b.npy", &b), make("d.npy", &d)];
    folder.write("stored.npz", zip(&members(Member::stored)));
    folder.write("deflated.npz", zip(&members(Member::deflated)));
    let large = members(Member::stored).map(|m| Member { zip64: true, ..m });
    folder.write("large.npz", zip_as(&large, true));
    let model = safetensors(&[
        ("a", "F16", &[2, 3], &halves(&A)),
        ("b", "F16", &[3, 2], &halves(&B)),
        ("d", "F32", &[2, 2], &floats(&D)),
    ]);
    folder.write("model.safetensors", model);
    folder
}

const KINDS: [&str; 4] = [
    "stored.npz",
    "deflated.npz",
    "large.npz",
    "model.safetensors",
];

fn check(folder: &Folder, a: &str, b: &str, d: &str, rest: &str) -> Run {
    ran! {folder, "check --arch ampere --dtype fp16 {a} {b} {d} {rest}"}
}

#[test]
fn the_verdict_and_the_digests_are_those_of_npy() {
    let folder = everywhere();
    let plain = check(&folder, "a.npy", "b.npy", "d.npy", "--json -").expect(0);
    let plain = plain.json();
    for kind in KINDS {
        let name = |x: &str| format!("{kind}#{x}");
        let run = check(&folder, &name("a"), &name("b"), &name("d"), "--json -").expect(0);
        let report = run.json();
        assert_eq!(report["reproduced"], plain["reproduced"], "{kind}");
        for operand in ["a", "b", "d"] {
            let (one, other) = (&report["inputs"][operand], &plain["inputs"][operand]);
            assert_eq!(one["payload_sha256"], other["payload_sha256"], "{kind}");
            assert_eq!(one["shape"], other["shape"], "{kind}");
            assert_eq!(one["path"], name(operand));
            assert_eq!(one["file_sha256"], sha256(folder.read(kind)), "{kind}");
        }
        let descr = match kind {
            "model.safetensors" => "safetensors F32",
            _ => "<f4",
        };
        assert_eq!(report["inputs"]["d"]["descr"], descr);
    }
}

#[test]
fn a_wrong_d_in_a_container_differs() {
    let folder = everywhere();
    let mut wrong = D;
    wrong[3] = 25.0;
    let model = safetensors(&[("d", "F32", &[2, 2], &floats(&wrong))]);
    folder.write("wrong.safetensors", model);
    claims! {folder, "check --arch ampere --dtype fp16 stored.npz#a model.safetensors#b wrong.safetensors#d | 1"}
}

#[test]
fn every_command_takes_them() {
    let folder = everywhere();
    let model = "--arch ampere --dtype fp16 model.safetensors#a deflated.npz#b";
    folder.passes(&format!("replay {model} -o again.npy"));
    assert_eq!(folder.read("again.npy").len(), folder.read("d.npy").len());
    folder.passes(&format!("explain {model} stored.npz#d --at 1,1"));
    folder.passes("identify --dtype fp16 stored.npz#a model.safetensors#b large.npz#d --quiet");
    let c = "--c model.safetensors#d";
    folder.differs(&format!("check {model} stored.npz#d {c}"));
}

#[test]
fn the_type_in_the_file_must_fit_what_is_wanted() {
    let folder = everywhere();
    let brain = le16(&[0x3f80; 6]);
    let model = safetensors(&[
        ("bf16", "BF16", &[2, 3], &brain),
        ("wide", "F32", &[2, 3], &floats(&A)),
        ("fine", "F32", &[2, 3], &floats(&[1.0 + 1.0 / 65536.0; 6])),
        ("codes", "U16", &[2, 3], &halves(&A)),
        ("bytes", "U8", &[2, 3], &[0x38; 6]),
        ("d16", "BF16", &[2, 2], &brain[..8]),
    ]);
    folder.write("x.safetensors", model);
    let a = |name: &str| {
        check(
            &folder,
            &format!("x.safetensors#{name}"),
            "b.npy",
            "d.npy",
            "",
        )
    };
    a("wide").expect(0);
    a("codes").expect(0);
    a("bf16").refuses(&words! {"x.safetensors#bf16 | declares bf16 | the request says fp16"});
    a("fine").refuses(&["x.safetensors#fine", "[0, 0]", "fp16 cannot represent"]);
    a("bytes").refuses(&["x.safetensors#bytes", "1 byte wide", "fp16 codes need 2"]);
    // BF16 as D is understood as one rounding of the result; another wish is refused.
    let d = |rest: &str| check(&folder, "a.npy", "b.npy", "x.safetensors#d16", rest);
    d("").expect(1);
    d("--d-dtype fp32")
        .refuses(&words! {"x.safetensors#d16 | declares bf16 | the request says fp32"});
}

#[test]
fn a_report_does_not_overwrite_a_container() {
    let folder = everywhere();
    let before = folder.read("stored.npz");
    claims! {folder, "check --arch ampere --dtype fp16 stored.npz#a b.npy d.npy --json stored.npz | refused
    | stored.npz | would overwrite"}
    claims! {folder, "replay --arch ampere --dtype fp16 stored.npz#a b.npy -o stored.npz | refused
    | stored.npz | .npy file"}
    assert_eq!(folder.read("stored.npz"), before);
}

#[test]
fn files_that_other_programs_wrote() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new();
    for name in ["stored.npz", "compressed.npz", "model.safetensors"] {
        let from = root.join("tests/fixtures/containers").join(name);
        folder.write(name, std::fs::read(from).unwrap());
    }
    claims! {folder, "check --arch ampere --dtype fp16 stored.npz#a compressed.npz#b model.safetensors#d | 0"}
    claims! {folder, "check --arch ampere --dtype fp16 model.safetensors#a model.safetensors#layer.b stored.npz#d | 0"}
    let digest = |path: &str| {
        let run = folder.passes(&format!("digest --json {path}"));
        run.json()[0]["payload_sha256"].clone()
    };
    for path in ["stored.npz#a", "compressed.npz#a", "model.safetensors#a"] {
        assert_eq!(digest(path), sha256(halves(&A)), "{path}");
    }
    let nan_and_more = [0x3f80, 0xc020, 0x7f80, 0x7fc0];
    assert_eq!(
        digest("model.safetensors#x.bf16"),
        sha256(le16(&nan_and_more))
    );
    assert_eq!(digest("model.safetensors#x.e4m3"), sha256([0x38, 0xc2]));
    assert_eq!(
        digest("model.safetensors#x.e5m2"),
        sha256([0x3c, 0xc1, 0x7c, 0x7e])
    );
    assert_eq!(digest("model.safetensors#codes"), sha256([0, 1, 2, 3]));
}
