//! Parts that their signers alone can hand in.

use serde_json::Value;

use super::merging::of_the_whole;
use crate::support::{Folder, Members, claims, holds, listed, ran, rows, sha256};

/// `0.pem`.
const FIRST: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";

const PRODUCT: &str =
    "--block-rows 8 --arch h100 --dtype fp16 generate:1:normal:32x64 generate:2:normal:64x24 d.npy";

fn folder() -> Folder {
    let folder = Folder::new();
    crate::attest::keys_as(&folder, ["0", "1"], 1);
    claims! {folder, "
        replay --arch h100 --dtype fp16 generate:1:normal:32x64 generate:2:normal:64x24 -o d.npy
            | 0
        shard plan -n 2 {PRODUCT} -o open.json | 0
        shard plan -n 2 --signer 0.pub.pem {PRODUCT} -o plan.json | 0
    "}
    for part in 0..2 {
        claims! {folder, "shard run plan.json {part} --sign 0.pem -o {part}.json | 0"}
    }
    folder
}

fn json(folder: &Folder, name: &str) -> Value {
    folder.document(name)
}

#[test]
fn signed_parts_merge_as_others_do() {
    let folder = folder();
    folder.passes("shard merge plan.json 0.json 1.json -o merged.json");
    folder.passes(&format!("check --tree {PRODUCT} --json whole.json -q"));
    let merged = json(&folder, "merged.json");
    holds! {merged, "merged.trusted = [] | merged.signed.0.key = {FIRST} | verdict = identical", "nothing of it is believed:"}
    assert!(of_the_whole(merged) == json(&folder, "whole.json"));
    assert_eq!(json(&folder, "plan.json")["content"]["signers"][0], FIRST);
    folder.passes("shard audit plan.json --parts 2 --seed 4 0.json 1.json");
}

#[test]
fn parts_that_no_signer_signed_are_refused() {
    let folder = folder();
    let merge = |part: &str| folder.tcverify(&format!("shard merge plan.json 0.json {part}"));
    // What the part says, changed, its digest made to fit.
    let text = folder.text("1.json");
    let part = json(&folder, "1.json");
    let content = text.split_once("\"content\":").unwrap().1;
    let content = content.trim_end().strip_suffix('}').unwrap();
    let digest = sha256(content);
    assert_eq!(part["sha256"], digest.as_str());
    let other = content.replacen("\"shard\":1", "\"shard\":0", 1);
    assert_ne!(other, content);
    let forged = text.replace(content, &other);
    folder.write("forged.json", forged.replace(&digest, &sha256(&other)));
    merge("forged.json").refuses(&["forged.json", "did not make for it", FIRST]);
    // The signature of another part.
    let of = |part: &Value| part["signature"].string("ed25519").to_owned();
    let swapped = text.replace(&of(&part), &of(&json(&folder, "0.json")));
    folder.write("swapped.json", swapped);
    merge("swapped.json").refuses(&["swapped.json", "did not make for it"]);
    // None, and one of somebody else.
    let (before, after) = text.split_once("\"signature\":").unwrap();
    let bare = format!("{before}{}", after.split_once("},").unwrap().1);
    folder.write("bare.json", bare);
    merge("bare.json").refuses(&["bare.json", "is not signed"]);
    folder.passes("shard run open.json 1 -o unsigned.json");
    merge("unsigned.json").refuses(&["unsigned.json", "another plan"]);
    let zero = format!("\"key\":\"{}\"", "0".repeat(64));
    let weak = text.replace(&format!("\"key\":\"{FIRST}\""), &zero);
    folder.write("weak.json", weak);
    merge("weak.json").refuses(&["weak.json", "public Ed25519 key"]);
    merge("1.json").expect(0);
}

#[test]
fn what_nobody_would_look_at_is_not_signed() {
    let folder = folder();
    let refused = |words: &str, about: &[&str]| {
        ran! {folder, "shard {words} -o new.json"}.refuses(about);
        assert!(!folder.path("new.json").exists());
    };
    for [given, said] in rows! {"
        run plan.json 0 | is not signed | --sign
        run plan.json 0 --sign 1.pem | not a signer of the plan | abc145517d44be5a
        run open.json 0 --sign 0.pem | names no signers
        run plan.json 0 --sign 0.pub.pem | 0.pub.pem | openssl genpkey
    "}
    {
        refused(given, &listed(said));
    }
    let plan = |key: &str| format!("plan -n 2 --signer {key} {PRODUCT}");
    refused(&plan("0.pem"), &["0.pem", "-pubout"]);
    refused(&plan("d.npy"), &["d.npy", "is not text"]);
    #[cfg(unix)]
    refused(&plan("/dev/zero"), &["/dev/zero", "more than"]);
    claims! {folder, "shard run plan.json 0 --sign 0.pem -o 0.pem | refused | 0.pem | key"}
    // Other documents are not signed.
    let signature = &json(&folder, "0.json")["signature"];
    let plan = folder.text("plan.json");
    let signed = format!("\"signature\":{signature},\"content\":");
    folder.write("signed.json", plan.replace("\"content\":", &signed));
    claims! {folder, "shard merge signed.json 0.json 1.json | refused | signed.json | did not make for it"}
}

#[test]
fn an_audit_names_who_signed_a_wrong_part() {
    let folder = folder();
    let clean = json(&folder, "1.json")["content"]["found"].clone();
    folder.flip("d.npy", "bad.npy", 1, 1);
    let bad = PRODUCT.replace("d.npy", "bad.npy");
    claims! {folder, "shard plan -n 2 --signer 0.pub.pem {bad} -o plan.json | 0"}
    for part in 0..2 {
        claims! {folder, "shard run plan.json {part} --sign 0.pem -o {part}.json | 0"}
    }
    // The signer lies: no difference, and the leaves of the given D.
    let leaves = json(&folder, "plan.json")["content"]["leaves"].clone();
    let honest = json(&folder, "1.json");
    let mut content = honest["content"].clone();
    content["leaves"] = Value::Array(leaves.as_array().unwrap()[2..].to_vec());
    content["found"] = clean;
    let part: tcverify::shard::Part = serde_json::from_value(content).unwrap();
    let signer = tcverify::sign::Signer::read(&folder.path("0.pem")).unwrap();
    folder.write("lie.json", part.text(Some(&signer)).unwrap());
    folder.passes("shard merge plan.json 0.json lie.json");
    claims! {folder, "shard audit plan.json --parts 2 --seed 4 0.json lie.json | 1 | &1 (signed by 3d4017c3"}
}
