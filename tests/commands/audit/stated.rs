//! Nothing that decides D is the prover's choice: what a commitment has and the auditor did not state is refused, and
//! every verdict says what D is made of.

use std::collections::BTreeSet;

use serde_json::json;
use tcverify::check::RequestFields;
use tcverify::role::Role;

use super::{BEACON, PLAIN, Product, challenge, json};
use crate::support::{Folder, Members, Npy, Says, floats, words};

/// A field of a request, a product that is committed with it, what else the auditor has to state of that product, and
/// the statement; how verdicts say it.
struct Row {
    field: &'static str,
    committed: &'static str,
    beside: &'static str,
    statement: &'static str,
    says: &'static str,
}

const C: &str = "--c generate:3:normal:16x16";

/// Every field that a commitment fixes by itself.
fn rows() -> Vec<Row> {
    let row = |field, committed, beside, statement, says| Row {
        field,
        committed,
        beside,
        statement,
        says,
    };
    vec![
        row("c", C, "", "--with c", "plus C"),
        row(
            "c_dtype",
            "--c generate:3:normal:16x16 --beta 2 --c-dtype bf16",
            "--with c --beta 2",
            "--c-dtype bf16",
            "plus C, beta 2",
        ),
        row(
            "bias",
            "--bias generate:3:normal:1x16",
            "",
            "--with bias",
            "with the bias",
        ),
        row(
            "bias_dtype",
            "--bias generate:3:normal:1x16 --bias-dtype bf16",
            "--with bias",
            "--bias-dtype bf16",
            "with the bias",
        ),
        row(
            "transpose_a",
            "--transpose-a",
            "",
            "--transpose-a",
            "A transposed",
        ),
        row(
            "transpose_b",
            "--transpose-b",
            "",
            "--transpose-b",
            "B transposed",
        ),
        row("d_dtype", "--d-dtype bf16", "", "--d-dtype bf16", "D bf16"),
        row("alpha", "--alpha 0", "", "--alpha 0", "alpha 0"),
        row(
            "beta",
            "--c generate:3:normal:16x16 --beta -2",
            "--with c",
            "--beta -2",
            "plus C, beta -2",
        ),
        row(
            "activation",
            "--activation relu",
            "",
            "--activation relu",
            "activation relu",
        ),
    ]
}

fn product(committed: &'static str) -> Product {
    Product {
        operands: "generate:1:normal:16x16 generate:2:normal:16x16",
        d: committed,
        ..PLAIN
    }
}

const FORMS: [&str; 6] = [
    "",
    "--brief",
    "--markdown -",
    "--junit -",
    "--html -",
    "--github",
];

#[test]
fn what_was_not_stated_is_refused() {
    for Row {
        field,
        committed,
        beside,
        statement,
        says,
    } in rows()
    {
        let product = product(committed);
        let folder = product.committed("");
        product.opened(&folder, 20, "");
        let verify = |words: &str| {
            folder.tcverify(&format!(
                "audit verify {} --commitment c.json --own-challenge ch.json o.bin {words}",
                product.model
            ))
        };
        let option = statement.split(' ').next().unwrap_or_default();
        let run = verify(beside).expect(1);
        assert!(run.stdout.is_empty(), "{field}: {run:?}");
        run.mentions(&["c.json: proves nothing", option]);
        let all = format!("{beside} {statement}");
        let said = product.said();
        for form in FORMS {
            let audited = verify(&format!("{all} {form}")).expect(0);
            let checked = folder.passes(&format!("check {said} d.npy {form}"));
            for run in [audited, checked] {
                let text = run.stdout.replace("%2C", ",").replace('\n', " ");
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(text.contains(says), "{field} {form}: {run:?}");
            }
        }
        let report = verify(&format!("{all} --json -")).expect(0).json();
        let committed = json(&folder, "c.json");
        assert_eq!(report["result"], committed["d"]);
        for (name, input) in report.object("inputs") {
            assert_eq!(*input, committed["inputs"][name], "{field}");
        }
        // What is stated and was not committed to is another product, too.
        let plain = super::PLAIN.committed("");
        super::PLAIN.opened(&plain, 5, "");
        if !["c_dtype", "bias_dtype"].contains(&field) {
            super::PLAIN.verify(&plain, &all).expect(1);
        }
    }
}

/// A field that is added later is either here, or known to be fixed by a digest or to change no bit.
#[test]
fn every_field_is_stated_or_changes_nothing() {
    // By the model's SHA-256.
    const MODEL: &str = "arch model instruction dtype dtype_b acc scale_dtype scale_block lscale osm ttnn in0_block_w packer_l1_acc \
                         reload";
    // By the schedule's SHA-256; `audit verify` takes no kernel texts.
    const SCHEDULE: &str = "schedule schedule_file kernel kernel_log kernel_table workspace reduction partition custom \
                            accumulation multiprocessors rotation whole_remainder tile_k residue instruction_k slices split_k \
                            split grain partials sum_order workers promote";
    // As factors and arrays are, in other files.
    const ELSEWHERE: &str = "scale_result azp azp_adj scale_a scale_b";
    // Never committed to.
    const ALONE: &str = "sparse_a sparse_layout weights zero_b";
    const NEUTRAL: &str = "a b d d_digest tf32_input engine nan zero against sample seed seed_from beacon rows cols region \
                           max_mismatches tree block_rows no_causes no_ambiguity";
    let lists = [MODEL, SCHEDULE, ELSEWHERE, ALONE, NEUTRAL];
    let mut known: Vec<&str> = lists.iter().flat_map(|list| list.split(' ')).collect();
    known.retain(|name| !name.is_empty());
    known.extend(rows().iter().map(|row| row.field));
    let all: BTreeSet<&str> = known.iter().copied().collect();
    assert_eq!(all.len(), known.len());
    assert_eq!(all, RequestFields::NAMES.iter().copied().collect());
}

/// Every array that a product or an operation may have.
#[test]
fn every_role_is_stated() {
    let folder = PLAIN.committed("");
    PLAIN.opened(&folder, 5, "");
    let honest = json(&folder, "c.json");
    let root = honest["d"]["root"].clone();
    let stated = [Role::A, Role::B];
    let beside = |role: &&Role| !role.is_result() && !stated.contains(role);
    for role in Role::PRODUCT.iter().filter(beside) {
        let mut forged = honest.clone();
        forged["inputs"][role.field()] = match role {
            Role::C | Role::SparseA => {
                json!({"format": "fp32", "shape": [24, 9], "lines": "rows", "root": root})
            }
            _ => json!({"format": "fp32", "shape": [1, 9], "lines": "whole", "root": root}),
        };
        folder.write("c.json", forged.to_string());
        challenge(&folder, BEACON, 5).expect(0);
        let named = format!("--with {}", role.field());
        PLAIN.verify(&folder, "").expect(1).mentions(&[&named]);
    }
    let folder = Folder::new();
    let words = "layer_norm --eps 1e-5 --dtype fp32";
    let arrays = "x=generate:1:normal:6x32 weight=generate:2:normal:1x32";
    for line in [
        format!("replay --op {words} {arrays} -o y.npy"),
        format!("commit --op {words} {arrays} y=y.npy -o c.json"),
    ] {
        folder.passes(&line);
    }
    let honest = json(&folder, "c.json");
    let stated = [Role::X, Role::Weight];
    let beside = |role: &&Role| !role.is_result() && !stated.contains(role);
    for role in Role::OPERATION.iter().filter(beside) {
        let mut forged = honest.clone();
        forged["inputs"][role.field()] = honest["inputs"]["weight"].clone();
        folder.write("c.json", forged.to_string());
        challenge(&folder, BEACON, 5).expect(0);
        let run = folder.differs(&format!(
            "audit verify --op {words} --with weight --commitment c.json --own-challenge ch.json c.json"
        ));
        run.mentions(&[&format!("--with {}", role.field())]);
    }
    for wrong in ["d", "q", "nothing"] {
        PLAIN
            .verify(&folder, &format!("--with {wrong}"))
            .refuses(&["--with", wrong]);
    }
}

/// A prover who puts the wished D into an array that swamps the product.
#[test]
fn a_forged_result_in_an_array_that_nobody_named() {
    let (rows, columns) = (24, 9);
    let wished = floats(&(0..rows * columns).map(|i| i as f32).collect::<Vec<_>>());
    let huge = |n: usize, value: f32| Npy::new("<f4", &[1, n], floats(&vec![value; n]));
    for (array, words, option) in [
        ("c.npy", "--c c.npy", "--c"),
        ("bias.npy", "--bias bias.npy", "--bias"),
    ] {
        let product = Product { d: words, ..PLAIN };
        let folder = Folder::new();
        folder.save("c.npy", &Npy::new("<f4", &[rows, columns], wished.clone()));
        folder.save("bias.npy", &huge(columns, 3e38));
        let said = product.said();
        folder.passes(&format!("replay {said} -o d.npy"));
        product.commit(&folder, "");
        product.opened(&folder, 20, "");
        let b = "generate generate:2:normal:70x9 --dtype bf16 --role b -o b.npy";
        folder.passes(b);
        let run = PLAIN.verify(&folder, "--b b.npy").expect(1);
        run.mentions(&["which you did not state", option]);
        let own = format!("--b b.npy {option} {array}");
        PLAIN.verify(&folder, &own).expect(0);
    }
    // The bias of a norm.
    let folder = Folder::new();
    folder.save("w.npy", &huge(32, 1.0));
    folder.save("bias.npy", &huge(32, 1e30));
    let words = "layer_norm --eps 1e-5 --dtype fp32";
    let arrays = "x=generate:1:normal:6x32 weight=w.npy bias=bias.npy";
    for line in [
        format!("replay --op {words} {arrays} -o y.npy"),
        format!("commit --op {words} {arrays} y=y.npy -o c.json"),
    ] {
        folder.passes(&line);
    }
    challenge(&folder, BEACON, 5).expect(0);
    let open = "--commitment c.json --challenge ch.json -o o.bin";
    folder.passes(&format!("audit open --op {words} {arrays} y=y.npy {open}"));
    let verify = |rest: &str| {
        folder.tcverify(&format!(
            "audit verify --op {words} --commitment c.json --own-challenge ch.json o.bin {rest}"
        ))
    };
    let run = verify("--own weight=w.npy").expect(1);
    run.mentions(
        &words! {"the commitment has the bias, which you did not state | --own bias=FILE"},
    );
    let run = verify("--own weight=w.npy --with bias").expect(0);
    run.says("with the bias");
    run.says("parameters dtype fp32, eps ");
    // Nor is the format the prover's.
    let words = words.replace(" --dtype fp32", "");
    let verify = format!(
        "audit verify --op {words} --with weight,bias --commitment c.json --own-challenge ch.json o.bin"
    );
    folder.differs(&verify).mentions(&["--dtype"]);
}
