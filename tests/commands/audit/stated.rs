//! Nothing that decides D is the prover's choice: what a commitment has and the auditor did not state is refused, and
//! every verdict says what D is made of.

use std::collections::BTreeSet;

use serde_json::json;
use tcverify::check::RequestFields;
use tcverify::role::Role;

use super::{BEACON, PLAIN, VERIFY, challenge};
use crate::support::{Folder, Members, Says, claims, rows};

/// A field of a request, a product that is committed with it, what else the auditor has to state of that product, and
/// the statement; how verdicts say it.
struct Row {
    field: String,
    committed: String,
    beside: String,
    statement: String,
    says: String,
}

/// Every field that a commitment fixes by itself.
fn fields() -> Vec<Row> {
    let c = "--c generate:3:normal:16x16";
    let bias = "--bias generate:3:normal:1x16";
    let row = |[field, committed, beside, statement, says]: [&str; 5]| Row {
        field: field.into(),
        committed: committed.into(),
        beside: beside.trim_matches('.').into(),
        statement: statement.into(),
        says: says.into(),
    };
    rows! {"
        c | {c} | . | --with c | plus C
        c_dtype | {c} --beta 2 --c-dtype bf16 | --with c --beta 2 | --c-dtype bf16 | plus C, beta 2
        bias | {bias} | . | --with bias | with the bias
        bias_dtype | {bias} --bias-dtype bf16 | --with bias | --bias-dtype bf16 | with the bias
        transpose_a | --transpose-a | . | --transpose-a | A transposed
        transpose_b | --transpose-b | . | --transpose-b | B transposed
        d_dtype | --d-dtype bf16 | . | --d-dtype bf16 | D bf16
        alpha | --alpha 0 | . | --alpha 0 | alpha 0
        beta | {c} --beta -2 | --with c | --beta -2 | plus C, beta -2
        activation | --activation relu | . | --activation relu | activation relu
    "}
    .map(row)
    .collect()
}

#[test]
fn what_was_not_stated_is_refused() {
    for Row {
        field,
        committed,
        beside,
        statement,
        says,
    } in fields()
    {
        let folder = Folder::new();
        let operands = "generate:1:normal:16x16 generate:2:normal:16x16";
        let said = format!("--arch h100 --dtype bf16 {committed} {operands}");
        let option = statement.split(' ').next().unwrap_or_default();
        claims! {folder, "
            replay {said} -o d.npy | 0
            commit {said} d.npy -o c.json | 0
            audit challenge c.json --beacon {BEACON} --elements 20 -o ch.json | 0
            audit open {said} d.npy --commitment c.json --challenge ch.json -o o.bin | 0
            {VERIFY} {beside} | 1 | &c.json: proves nothing | &{option}
        "}
        assert_eq!(
            folder.differs(&format!("{VERIFY} {beside}")).stdout,
            "",
            "{field}"
        );
        for form in [
            "",
            "--brief",
            "--markdown -",
            "--junit -",
            "--html -",
            "--github",
        ] {
            let audited = format!("{VERIFY} {beside} {statement} {form}");
            for command in [audited, format!("check {said} d.npy {form}")] {
                let text = folder
                    .stdout(&command)
                    .replace("%2C", ",")
                    .replace('\n', " ");
                text.split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
                    .says(&says);
            }
        }
        let report = folder.json(&format!("{VERIFY} {beside} {statement} --json -"));
        let committed = folder.document("c.json");
        assert_eq!(report["result"], committed["d"]);
        for (name, input) in report.object("inputs") {
            assert_eq!(*input, committed["inputs"][name], "{field}");
        }
        // What is stated and was not committed to is another product, too.
        let plain = PLAIN.committed("");
        PLAIN.opened(&plain, 5, "");
        if !["c_dtype", "bias_dtype"].contains(&&*field) {
            claims! {plain, "{VERIFY} {beside} {statement} | 1"}
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
    let fields = fields();
    known.extend(fields.iter().map(|row| &*row.field));
    let all: BTreeSet<&str> = known.iter().copied().collect();
    assert_eq!(all.len(), known.len());
    assert_eq!(all, RequestFields::NAMES.iter().copied().collect());
}

/// Every array that a product or an operation may have.
#[test]
fn every_role_is_stated() {
    let folder = PLAIN.committed("");
    PLAIN.opened(&folder, 5, "");
    let honest = folder.document("c.json");
    let root = &honest["d"]["root"];
    let stated = [Role::A, Role::B];
    let beside = |role: &&Role| !role.is_result() && !stated.contains(role);
    for role in Role::PRODUCT.iter().filter(beside) {
        let (shape, lines) = match role {
            Role::C | Role::SparseA => ([24, 9], "rows"),
            _ => ([1, 9], "whole"),
        };
        let mut forged = honest.clone();
        let field = role.field();
        forged["inputs"][field] =
            json!({"format": "fp32", "shape": shape, "lines": lines, "root": root});
        folder.write("c.json", forged.to_string());
        challenge(&folder, BEACON, 5).expect(0);
        claims! {folder, "{VERIFY} | 1 | &--with {field}"}
    }
    for wrong in ["d", "q", "nothing"] {
        claims! {folder, "{VERIFY} --with {wrong} | refused | --with | {wrong}"}
    }
    let folder = Folder::new();
    let words = "layer_norm --eps 1e-5 --dtype fp32";
    let arrays = "x=generate:1:normal:6x32 weight=generate:2:normal:1x32";
    claims! {folder, "
        replay --op {words} {arrays} -o y.npy | 0
        commit --op {words} {arrays} y=y.npy -o c.json | 0
    "}
    let honest = folder.document("c.json");
    let stated = [Role::X, Role::Weight];
    let beside = |role: &&Role| !role.is_result() && !stated.contains(role);
    for role in Role::OPERATION.iter().filter(beside) {
        let mut forged = honest.clone();
        let field = role.field();
        forged["inputs"][field] = honest["inputs"]["weight"].clone();
        folder.write("c.json", forged.to_string());
        challenge(&folder, BEACON, 5).expect(0);
        claims! {folder, "audit verify --op {words} --with weight --commitment c.json --own-challenge ch.json c.json | 1
        | &--with {field}"}
    }
}

/// A prover who puts the wished D into an array that swamps the product.
#[test]
fn a_forged_result_in_an_array_that_nobody_named() {
    let wished: Vec<f32> = (0..24 * 9).map(|i| i as f32).collect();
    for (option, array) in [("--c", "c.npy"), ("--bias", "bias.npy")] {
        let folder = Folder::new();
        folder.f32("c.npy", &[24, 9], &wished);
        folder.f32("bias.npy", &[1, 9], &[3e38; 9]);
        folder.generate("b bf16 2:normal:70x9");
        let said = format!(
            "--arch h100 --dtype bf16 {option} {array} generate:1:normal:24x70 generate:2:normal:70x9"
        );
        claims! {folder, "
            replay {said} -o d.npy | 0
            commit {said} d.npy -o c.json | 0
            audit challenge c.json --beacon {BEACON} --elements 20 -o ch.json | 0
            audit open {said} d.npy --commitment c.json --challenge ch.json -o o.bin | 0
            {VERIFY} --b b.npy | 1 | &which you did not state | &{option}
            {VERIFY} --b b.npy {option} {array} | 0
        "}
    }
    // The bias of a norm.
    let folder = Folder::new();
    folder.f32("w.npy", &[1, 32], &[1.0; 32]);
    folder.f32("bias.npy", &[1, 32], &[1e30; 32]);
    let words = "layer_norm --eps 1e-5";
    let arrays = "x=generate:1:normal:6x32 weight=w.npy bias=bias.npy";
    claims! {folder, r"
        replay --op {words} --dtype fp32 {arrays} -o y.npy | 0
        commit --op {words} --dtype fp32 {arrays} y=y.npy -o c.json | 0
        audit challenge c.json --beacon {BEACON} --elements 5 -o ch.json | 0
        audit open --op {words} --dtype fp32 {arrays} y=y.npy --commitment c.json --challenge ch.json -o o.bin | 0
        each audit verify --op {words} --commitment c.json --own-challenge ch.json o.bin ~
        --dtype fp32 --own weight=w.npy | 1 | &the commitment has the bias, which you did not state
            | &--own bias=FILE
        --dtype fp32 --own weight=w.npy --with bias | 0 | with the bias | parameters dtype fp32, eps\_
        # Nor is the format the prover's.
        --with weight,bias | 1 | &--dtype
    "}
}
