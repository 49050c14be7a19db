//! What is opened belongs to the commitment and is replayed as the whole product is.

use std::process::Command;

use serde_json::{Value, json};
use tcverify::commit::{Along, Lines};

use tcverify::io::tree::Hash;
use tcverify::num::Format;
use tcverify::sample::{PublicDraw, Region};
use tcverify::tensor::Tensor;

use super::{BEACON, PLAIN, Product, VERIFY, challenge, json, tamper};
use crate::support::random::Random;
use crate::support::{Folder, Members, Npy, Says, claims, floats, sha256, table};

/// Every kind of line: transposes, batches, C, scales of the instruction and of kernels, biases, kernels whose sum
/// depends on where in D an element lies.
const PRODUCTS: [Product; 13] = table! {
    PLAIN,
    // Operands that are taken apart.
    of("--arch b200 --dtype fp32", "--schedule cutlass-bf16x9", "generate:1:normal:10x40 generate:2:normal:40x7", ""),
    of("--arch h100 --dtype fp64", "--schedule cublas-fp64-slices --slices 7 --alpha 1.1 --beta 0.9",
        "--c generate:3:normal:10x7 generate:1:normal:10x40 generate:2:normal:40x7", ""),
    // One B for both matrices of A.
    of("--arch h100 --dtype bf16", "", "generate:1:normal:2x8x16 generate:2:normal:16x8", ""),
    of("--arch a100 --dtype fp16 --acc f16", "", "--c generate:3:normal:2x3x6x5 --transpose-a --transpose-b \
        generate:1:normal:2x3x20x6 generate:2:normal:2x3x5x20", ""),
    of("--arch b200 --dtype e2m1 --scale-dtype ue4m3", "", "--scale-a generate:1:normal:2x10x6 --scale-b \
        generate:1:normal:2x7x6 --transpose-b generate:1:wide:2x10x96 generate:1:wide:2x7x96", "--d-dtype bf16"),
    of("--arch h100 --dtype e4m3", "--schedule deepgemm-sm90", "--scale-a generate:1:normal:10x3 --scale-b \
        generate:2:normal:3x2 generate:1:normal:10x300 generate:2:normal:300x200", "--d-dtype bf16"),
    of("--arch h100 --dtype e4m3", "--schedule torch-scaled-mm-rowwise", "--scale-a generate:1:normal:10x1 --scale-b \
        generate:2:normal:1x12 --bias generate:3:normal:1x12 generate:1:normal:10x160 generate:2:normal:160x12",
        "--d-dtype bf16"),
    of("--arch a100 --dtype bf16", "--schedule cublas-workspace --split-k 3 --alpha 0.5 --beta 2",
        "--c generate:3:normal:18x11 generate:1:normal:18x200 generate:2:normal:200x11", "--d-dtype bf16"),
    of("--arch h100 --dtype fp16", "--schedule cutlass-stream-k --set workers=5",
        "generate:1:normal:300x512 generate:2:normal:512x260", ""),
    of("--arch a100 --dtype int8", "", "generate:1:normal:10x40 generate:2:normal:40x7", ""),
    // Its model is of its blocks of K.
    of("--arch wormhole --dtype bf16 --instruction hifi2 --acc fp32", "--set in0_block_w=2 --set reload=exact",
        "generate:1:normal:10x128 generate:2:normal:128x7", ""),
    of("--arch ampere --dtype fp64", "", "generate:1:normal:10x40 generate:2:normal:40x7", ""),
};

const fn of(
    model: &'static str,
    schedule: &'static str,
    operands: &'static str,
    d: &'static str,
) -> Product {
    Product {
        model,
        schedule,
        operands,
        d,
    }
}

fn population(folder: &Folder) -> u64 {
    let shape = json(folder, "c.json")["d"]["shape"].clone();
    let axes = shape.as_array().unwrap().iter();
    axes.map(|axis| axis.as_u64().unwrap()).product()
}

/// All elements, or so many of a large D, of every product: each alone gives what the whole gives, and the one that
/// is wrong is found.
#[test]
fn lines_give_what_the_whole_gives() {
    for product in &PRODUCTS {
        let folder = product.committed("");
        let all = population(&folder);
        let drawn = all.min(2000);
        product.opened(&folder, drawn, "");
        let words = if drawn == all {
            format!("IDENTICAL  all {all} elements of D were drawn")
        } else {
            "IDENTICAL IN PART  all 2,000 drawn elements".to_owned()
        };
        let run = product.verify(&folder, "").expect(0);
        let said = product.said();
        assert!(
            run.stdout
                .replace(',', "")
                .contains(&words.replace(',', "")),
            "{said}: {run:?}"
        );
        // A committed D that is wrong in one element, which is drawn.
        let element = &json(&folder, "ch.json")["elements"][drawn as usize / 2];
        let index: Vec<_> = (0..3).map(|i| element[i].as_u64().unwrap()).collect();
        let d = &json(&folder, "c.json")["d"];
        let axes: Vec<_> = d.list("shape").iter().rev().take(2).collect();
        let [n, m] = [0, 1].map(|i| axes[i].as_u64().unwrap());
        let width = Format::from_name(d.string("format")).unwrap().bytes();
        if drawn < all {
            continue;
        }
        tamper(
            &folder,
            ((index[0] * m + index[1]) * n + index[2]) as usize,
            width,
        );
        product.commit(&folder, "");
        product.opened(&folder, drawn, "");
        let report = product.verify(&folder, "--json -").expect(1).json();
        assert_eq!(report["verdict"], "different");
        assert_eq!(report["mismatches"], 1, "{said}");
        assert_eq!(report["wrong"][0]["index"], json!(index), "{said}");
    }
}

/// The same by a program that shares no code with this one.
#[test]
fn another_program_finds_the_same_lines() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/verify_opening.py");
    let python = |folder: &Folder| {
        let mut command = Command::new("python3");
        command.arg(script).args(["c.json", "ch.json", "o.bin"]);
        command.current_dir(folder.path("."));
        command.output()
    };
    for product in &PRODUCTS[..7] {
        let folder = product.committed("--block-rows 4");
        product.opened(&folder, 30, "");
        let Ok(output) = python(&folder) else {
            println!("not checked: there is no python3");
            return;
        };
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {said}", product.said());
        let mut bytes = folder.read("o.bin");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        folder.write("o.bin", bytes);
        assert_eq!(python(&folder).unwrap().status.code(), Some(1));
        product.verify(&folder, "").expect(1);
    }
    // Documents of another form have no answer.
    let folder = PLAIN.committed("");
    PLAIN.opened(&folder, 5, "");
    let commitment = json!({"schema": "tcverify.commitment/1", "inputs": [], "d": {},
        "product": {"batch": [], "m": 1, "n": 1}});
    folder.write("c.json", commitment.to_string());
    let digest = sha256(commitment.to_string());
    let drawn = sha256(format!("tcverify.draw/1\ncommitment={digest}\nbeacon=x\n"));
    let challenge = json!({"commitment_sha256": digest, "beacon": "x", "draw_sha256": drawn,
        "population": 1, "elements": [], "opened": []});
    for text in ["[]", "{}", "3", "[", &challenge.to_string()] {
        folder.write("ch.json", text);
        let code = python(&folder).unwrap().status.code();
        assert_eq!(code, Some(2), "{text}");
    }
}

#[test]
fn what_an_audit_says() {
    let folder = PLAIN.committed("");
    PLAIN.opened(&folder, 20, "");
    let run = PLAIN.verify(&folder, "--json a.json").expect(0);
    run.says_all([
        "IDENTICAL IN PART  all 20 drawn elements, of the 216 of D (9.26 %)",
        "misses wrong elements: 1 90.7407 %, 10 ",
        "or more wrong elements of D with at least 99 %",
        "the commitment was published before anyone could know the beacon's value",
        "evidence  captured",
    ]);
    let report = json(&folder, "a.json");
    let digest = sha256(folder.read("c.json"));
    assert_eq!(report["schema"], "tcverify.audit/1");
    assert_eq!(report["commitment_sha256"], json!(digest));
    assert_eq!(report["elements"], 20);
    let text = format!("tcverify.draw/1\ncommitment={digest}\nbeacon={BEACON}\n");
    assert_eq!(report["draw_sha256"], json!(sha256(text)));
    let challenge = json(&folder, "ch.json");
    assert_eq!(challenge["opened"][0]["array"], "a");
    assert!(challenge["opened"][0].list("lines").len() <= 20);
    // Rows of A and D, columns of B: no more than was drawn.
    let rows = challenge["opened"][0].list("lines").len();
    let columns = challenge["opened"][1].list("lines").len();
    let size = folder.read("o.bin").len();
    assert!(
        size < (rows + columns) * (140 + 32 * 5) + 24 * 9 * 4 + 400,
        "{size}"
    );
}

/// Of public arrays the auditor has copies, which need not be sent.
#[test]
fn copies_of_ones_own() {
    let product = Product {
        operands: "a.npy b.npy",
        ..PLAIN
    };
    let folder = Folder::new();
    folder.generate("a bf16 1:normal:24x70 | b bf16 2:normal:70x9");
    folder.replay(&product.said(), "d.npy");
    product.commit(&folder, "");
    product.opened(&folder, 20, "");
    let whole = folder.read("o.bin").len();
    product.opened(&folder, 20, "--without b");
    assert!(folder.read("o.bin").len() < whole);
    // Another copy, one of another shape, and one of what is not there.
    folder.flip("b.npy", "x.npy", 1, 1);
    claims! {folder, "
        {VERIFY} | 1 | &o.bin: proves nothing: it omits b, and you gave no copy of it | &--b
        {VERIFY} --b b.npy | 0 | your copies match the committed roots: b
        {VERIFY} --b x.npy | 1 | &your b is not the committed array
        {VERIFY} --b a.npy | 1 | &your b is bf16 [24, 70], but the commitment has bf16 [70, 9]
        {VERIFY} --b b.npy --c b.npy | 1 | &the commitment has no c (C), which you stated
    "}
    let wrong = product.open(&folder, "--without b,d");
    wrong.refuses(&["there is no \"d\" to omit; there are a, b"]);
    let wrong = product.open(&folder, "--without c");
    wrong.refuses(&["there is no \"c\""]);
}

/// A copy of operands that were rounded before they were committed is rounded alike.
#[test]
fn own_copies_of_rounded_operands() {
    let product = Product {
        model: "--arch ampere --dtype tf32",
        schedule: "",
        operands: "--tf32-input nearest a.npy generate:2:normal:20x7",
        d: "",
    };
    let folder = Folder::new();
    let numbers = (0..6 * 20).map(|i| 1.0 + i as f32 / 1000.0);
    let numbers = floats(&numbers.collect::<Vec<_>>());
    folder.save("a.npy", &Npy::new("<f4", &[6, 20], numbers));
    let said = product.said();
    folder.passes(&format!("replay {said} -o d.npy"));
    product.commit(&folder, "");
    product.opened(&folder, 20, "--without a");
    product
        .verify(&folder, "--a a.npy --tf32-input nearest")
        .expect(0);
    product
        .verify(&folder, "--a a.npy")
        .expect(1)
        .mentions(&["your a is not the committed array"]);
}

/// Lines, draws and roots as Python computes them.
#[test]
fn lines_and_draws_of_another_implementation() {
    let text = include_str!("../../fixtures/commitment/vectors.json");
    let vectors: Value = serde_json::from_str(text).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let numbers = |value: &Value| -> Vec<u64> {
        let all = value.as_array().unwrap().iter();
        all.map(|n| n.as_u64().unwrap()).collect()
    };
    let mut roots = Vec::new();
    for vector in vectors.list("lines") {
        let format = Format::from_name(&text(&vector["format"])).unwrap();
        let shape: Vec<_> = numbers(&vector["shape"])
            .iter()
            .map(|&n| n as usize)
            .collect();
        let along: Along = serde_json::from_value(vector["lines"].clone()).unwrap();
        let hex = text(&vector["payload"]);
        let byte = |i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
        let payload: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
        let tensor = Tensor::from_payload(format, shape.clone(), payload);
        let lines = Lines::new(format, shape, along).unwrap();
        let tree = lines.tree(&tensor).root();
        assert_eq!(Some(tree), Hash::parse(&text(&vector["tree"])));
        let root = lines.root(&text(&vector["operand"]), tree);
        assert_eq!(Some(root), Hash::parse(&text(&vector["root"])));
        assert_ne!(lines.root("d", tree), root, "another operand");
        roots.push(root.0);
    }
    roots.sort_unstable();
    roots.dedup();
    assert_eq!(roots.len(), 8);
    for vector in vectors.list("draws") {
        let draw = PublicDraw::new(
            &text(&vector["commitment_sha256"]),
            &text(&vector["beacon"]),
        );
        let draw = draw.unwrap();
        assert_eq!(Hash(draw.sha256).to_string(), text(&vector["draw_sha256"]));
        assert_eq!(format!("{:016x}", draw.seed), text(&vector["seed"]));
        let shape: Vec<_> = numbers(&vector["shape"])
            .iter()
            .map(|&n| n as usize)
            .collect();
        let region = Region {
            batches: shape[0],
            rows: 0..shape[1],
            columns: 0..shape[2],
        };
        let expected = vector.list("elements");
        let found = region.sample(expected.len() as u64, draw.seed);
        let found: Vec<_> = found
            .iter()
            .map(|e| vec![e.batch, e.row, e.column])
            .collect();
        assert_eq!(json!(found), vector["elements"]);
        assert_ne!(
            found,
            region
                .sample(expected.len() as u64, draw.seed ^ 1)
                .iter()
                .map(|e| vec![e.batch, e.row, e.column])
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn beacons_and_numbers_that_cannot_be() {
    let folder = PLAIN.committed("");
    challenge(&folder, BEACON, 217).refuses(&["c.json", "216 elements", "1 to 216"]);
    for beacon in ["a\u{e9}b", &"1".repeat(257)] {
        challenge(&folder, beacon, 3).refuses(&["1 to 256 ASCII characters without spaces"]);
    }
    challenge(&folder, "-1", 3).expect(0);
    claims! {folder, "audit challenge c.json --beacon 1 --elements 3 -o c.json | refused | would overwrite"}
}

/// Weights of 4 and 8 bits are opened as codes, and dequantised by the auditor.
#[test]
fn weights_are_opened_as_codes() {
    let [m, n, k] = [6, 16, 256];
    for (kind, zeros, turned) in table! {
        ("u4b8", false, false),
        ("u4", true, false),
        ("u8b128", false, true),
        ("u8", true, true),
    } {
        let folder = Folder::new();
        let mut random = Random::named(kind);
        let most = if kind.starts_with("u4") { 16 } else { 256 };
        let [b, s] = [[k, n], [4, n]].map(|[k, n]| if turned { [n, k] } else { [k, n] });
        for (name, shape) in [("b.npy", b), ("z.npy", s)] {
            let codes = (0..shape[0] * shape[1]).map(|_| random.below(most) as u8);
            folder.save(name, &Npy::new("<u1", &shape, codes.collect()));
        }
        for (name, shape, largest) in [("a.npy", [m, k], 2047), ("s.npy", s, 99)] {
            let number = |_| random.between(-largest, largest) as f32 / 1024.0;
            let numbers: Vec<f32> = (0..shape[0] * shape[1]).map(number).collect();
            folder.f16(name, &shape, &numbers);
        }
        let turned = if turned { " --transpose-b" } else { "" };
        let of = format!("--arch h100 --dtype fp16 --weights {kind}{turned}");
        let [mut arrays, mut with] = ["--scale-b s.npy", "--with scale_b"];
        if zeros {
            [arrays, with] = ["--scale-b s.npy --zero-b z.npy", "--with scale_b,zero_b"];
        }
        let all = format!("{of} {arrays} a.npy b.npy");
        folder.replay(&all, "d.npy");
        let elements = m * n;
        let audit = |own: &str, outcome: &str| {
            claims! {folder, "
                commit {all} d.npy -o c.json | 0
                audit challenge c.json --beacon {BEACON} --elements {elements} -o ch.json | 0
                audit open {all} d.npy --commitment c.json --challenge ch.json -o o.bin | 0
                audit verify {own} --commitment c.json --own-challenge ch.json o.bin | {outcome}
            "}
        };
        let right = format!(
            "0 | ^IDENTICAL  all {elements} elements of D were drawn | B of {kind} weights"
        );
        audit(&format!("{of} {with}"), &right);
        audit(&format!("{of} {arrays} --b b.npy"), &right);
        // Codes that stand for other numbers are another product.
        let other = of.replace(kind, if zeros { "u8" } else { "u8b128" });
        if other != of {
            audit(&format!("{other} {with}"), "1");
            let files = "--commitment c.json --own-challenge ch.json o.bin";
            let run = folder.differs(&format!("audit verify {other} {with} {files}"));
            (run.stdout + &run.stderr).says("weights");
        }
        tamper(&folder, n + 3, 4);
        audit(&format!("{of} {with}"), "1 | 1, 3]");
    }
}
