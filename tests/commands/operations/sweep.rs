//! Functions on all patterns of 32 bits, by digests.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Folder, Says, claims, table, words};

/// The square roots of a block by this host's processor, and one of them moved.
fn digests() -> [String; 2] {
    let digest = |moved: u32| {
        let mut hash = Sha256::new();
        for pattern in 0x3f00_0000..0x4000_0000u32 {
            let root = f32::from_bits(pattern).sqrt().to_bits();
            hash.update((root ^ u32::from(pattern == moved)).to_le_bytes());
        }
        let bytes = hash.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    [digest(0), digest(0x3f12_3456)]
}

#[test]
fn a_gpus_digests_are_judged_block_by_block() {
    let folder = Folder::new();
    let [right, wrong] = digests();
    folder.passes("sweep sqrt --write m.json --blocks 63");
    let own: Value = folder.document("m.json");
    assert_eq!(own["schema"], "tcverify.sweep/1");
    assert_eq!(own["blocks"], json!({"63": right}));
    let given = |blocks: Value| {
        let sweep = json!({"schema": "tcverify.sweep/1", "operation": "sqrt", "variant": "ieee",
            "computed_by": {"gpu": "a test"}, "blocks": blocks});
        folder.write("gpu.json", sweep.to_string());
    };
    let against = "sweep sqrt --against gpu.json";
    given(json!({"63": right}));
    claims! {folder, "{against} | 0 | ^IDENTICAL IN PART  1 of 256 blocks"}
    given(json!({"63": wrong}));
    let said = folder.differs(against).stdout;
    said.says_all(words! {"
        DIFFERENT  1 of 1 blocks | block 63: patterns 3f000000 to 3fffffff | --save 63
        | tcverify check --op=sqrt x=63.x.npy y=63.y.npy
    "});
    // Only what is asked for.
    given(json!({"63": right, "64": wrong}));
    folder.passes(&format!("{against} --blocks 63"));
}

#[test]
fn what_is_no_sweep_is_refused() {
    let folder = Folder::new();
    let good = json!({"schema": "tcverify.sweep/1", "operation": "sqrt", "variant": "ieee", "computed_by": "x",
        "blocks": {"63": "0".repeat(64)}});
    for (pointer, value, why) in table! {
        ("/schema", json!("tcverify.sweep/2"), "schema"),
        ("/blocks", json!({}), "no blocks"),
        ("/blocks", json!({"256": "0".repeat(64)}), "256"),
        ("/blocks", json!({"63": "zz"}), "block 63"),
        ("/operation", json!("expf"), "is a sweep of expf, but the request is for sqrt"),
        ("/operation", json!("\u{1b}[31m"), "is a sweep of"),
    } {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        folder.write("gpu.json", bad.to_string());
        let run = folder.fails("sweep sqrt --against gpu.json");
        assert!(run.stderr.contains(why), "{why}: {}", run.stderr);
        assert!(!run.stderr.contains('\u{1b}') && run.stdout.is_empty());
    }
    folder.write("gpu.json", good.to_string());
    claims! {folder, "
        each ~ | usage
        sweep sqrt --against gpu.json --blocks 1 | none of these blocks
        sweep sqrt --write m.json --blocks 9-8 | ranges
        sweep sqrt --write m.json --blocks 300 | ranges
        sweep sqrt --blocks 3 | choose one of --write
        sweep softmax --write m.json | needs a unary 32-bit function, which softmax is not
        sweep tanh_approx --write m.json | MUFU.TANH
        sweep sqrt --write m.json --json - | --json
        sweep sqrt --write m.json x=x.npy | x=x.npy
        sweep sqrt --write m.json --against gpu.json | cannot be used with
        sweep sqrt --against none.json | none.json
    "}
    assert!(!folder.path("m.json").exists());
}
