//! What is no request, no variant, no array.

use super::copied;
use crate::support::{Folder, Npy, claims, ran, rows, table};

#[test]
fn what_cannot_be_replayed_says_why() {
    let folder = copied();
    for (operation, why) in [
        ("tanh_approx", "MUFU.TANH has no published table"),
        ("lg2-approx", "MUFU.LG2"),
        ("fa4_fp8", "rules of their own"),
        ("cudnn", "closed"),
        ("triton", "autotuning"),
        ("sinf", "angle"),
    ] {
        ran! {folder, "check --op {operation} x.npy y.npy"}.refuses(&["cannot be replayed", why]);
        folder.tcverify(&format!("ops {operation}")).refuses(&[why]);
    }
    claims! {folder, r#"check --op rmsnorm x.npy | refused | no operation called "rmsnorm" | rms_norm"#}
    let lse = "check --op attention --arch a100 --output lse op_q.npy op_k.npy op_v.npy op_fa.npy";
    folder.tcverify(lse).refuses(&["MUFU.LG2"]);
}

#[test]
fn requests_that_contradict_themselves_are_refused() {
    let folder = copied();
    claims! {folder, r#"
        each check --op ~ | usage
        rms_norm op_x.npy op_w.npy op_hf.npy | --eps
        rms_norm --eps=-1 op_x.npy op_w.npy op_hf.npy | zero or positive
        rms_norm --eps nan op_x.npy op_w.npy op_hf.npy | zero or positive
        rms_norm --eps 1e-6 op_x.npy op_w.npy | nothing to check
        rms_norm --eps 1e-6 op_x.npy op_res.npy op_hf.npy | 400 columns
        rms_norm --eps 1e-6 op_x.npy op_w.npy a b c | takes x, weight
        rms_norm --eps 1e-6 x=op_x.npy x=op_x.npy | twice
        rms_norm --eps 1e-6 --causal op_x.npy op_w.npy op_hf.npy
            | --causal is not used by this rms_norm variant
        rms_norm --eps 1e-6 --variant none op_x.npy op_w.npy op_hf.npy
            | rms_norm has no variant called "none"
        rms_norm --eps 1e-6 op_x.npy op_w.npy op_k.npy | the result is 3x400
        rms_norm --eps 1e-6 q=op_q.npy op_x.npy op_w.npy op_hf.npy
            | this operation and variant has no array
        attention op_q.npy op_k.npy op_v.npy op_fa.npy | --arch
        attention --arch v100 op_q.npy op_k.npy op_v.npy op_fa.npy | bf16
        attention --arch a100 --tile 32x17 op_q.npy op_k.npy op_v.npy op_fa.npy
            | a multiple of 16 keys
        attention --variant flash-attention-4 --arch b200 --tile 128x48 n4_q.npy n4_k.npy n4_v.npy n4.npy
            | a multiple of 32 keys
        attention --variant flash-attention-4 --arch b300 n4_q.npy n4_k.npy n4_v.npy n4.npy
            | blackwell
        attention --arch a100 n4_q.npy n4_k.npy n4_v.npy n4.npy
            | it is 1x150x1x40, but k is 1x150x1x24
        attention --arch a100 --output row_sum op_q.npy op_k.npy op_v.npy op_fa.npy
            | attention has "y"
        attention --arch a100 --tile 0x16 op_q.npy op_k.npy op_v.npy op_fa.npy | rows
        attention --arch a100 --softmax-scale 0 op_q.npy op_k.npy op_v.npy op_fa.npy | positive
        attention --arch a100 op_x.npy op_k.npy op_v.npy op_fa.npy | four axes
        quantize_fp8 --variant vllm-group --group 0 op_a.npy op_fp8_group.npy | --group 0
        softmax op_x_soft33.npy x=op_x_soft33.npy y=no.npy | takes no file beside
        silu missing.npy op_silu.npy | missing.npy
        quantize_fp8 --group 64 op_a.npy op_fp8_token.npy
            | --group is not used by this quantize_fp8 variant
        rms_norm --variant vllm-fused-add --eps 1e-6 x=f_x.npy residual=f_x.npy weight=f_w.npy y=f_vllm.npy
            | this variant takes 2-byte elements
    "#}
}

#[test]
fn variant_files_that_are_none_are_refused() {
    let folder = copied();
    let text = folder.stdout("ops --raw attention flash-attention-2");
    for (from, to, why) in table! {
        ("tcverify.operation/1", "tcverify.operation/9", "schema"),
        ("\"ftz\": true", "\"ftz\": true, \"surprise\": 1", "surprise"),
        ("\"fused_sum\": true", "\"fused_sum\": 3", "boolean"),
        ("128,\n          128", "4294967296,\n          128", "tile"),
        ("\"instruction\"", "\"\u{1b}[31m\"", "control character"),
        ("\"evidence\": \"published\",\n  \"sources\"", "\"evidence\": \"captured\",\n  \"sources\"",
            "evidence cannot exceed that of its parts"),
    } {
        assert!(text.contains(from), "{from}");
        folder.write("mine.json", text.replacen(from, to, 1));
        let words = "check --op attention --arch a100 --variant-file mine.json op_q.npy op_k.npy op_v.npy op_fa.npy";
        let run = folder.fails(words);
        assert!(run.stderr.contains(why), "{to}: {}", run.stderr);
        assert!(!run.stderr.contains('\u{1b}') && run.stdout.is_empty());
    }
    let other = folder.tcverify("ops --raw attention flash-attention-4");
    let other = other.expect(0).stdout;
    for (from, to, why) in table! {
        ("\"fragment\": 32", "\"fragment\": 0", "fragment must be"),
        ("\"fragment\": 32", "\"fragment\": 96", "multiple of the fragment"),
        ("\"frequency\": 16", "\"frequency\": 0", "frequency must be 1"),
        ("0.6951461434364319,", "\"inf\",", "coefficients must be"),
        ("\"sum\": \"packed8\"", "\"sum\": \"packed9\"", "packed9"),
        ("\"polynomial\": {\n        \"coe", "\"no\": {\n        \"coe", "no"),
    } {
        assert!(other.contains(from), "{from}: {other}");
        folder.write("mine.json", other.replacen(from, to, 1));
        let words = "check --op attention --arch b200 --variant-file mine.json n4_q.npy n4_k.npy n4_v.npy n4.npy";
        let run = folder.fails(words);
        assert!(run.stderr.contains(why), "{to}: {}", run.stderr);
    }
    folder.write("mine.json", text);
    let words = "check --op softmax --variant-file mine.json op_x_soft33.npy op_soft33.npy";
    claims! {folder, "{words} | refused | it is a variant of attention, but the request is for softmax"}
}

/// Infinities, NaNs, zeros and subnormal numbers in, some answer out, the same of both engines.
#[test]
fn special_numbers_are_computed_by_both_engines_alike() {
    let folder = Folder::new();
    let codes: [u16; 16] = [
        0x7f80, 0xff80, 0x7fc0, 0x0000, 0x8000, 0x0001, 0x8001, 0x7f7f, 0xff7f, 0x3f80, 0xbf80,
        0x0080, 0x4000, 0xc2ff, 0x42ff, 0x3dcc,
    ];
    let bytes = |skip: usize, n: usize| -> Vec<u8> {
        let all =
            (0..n).map(|i| codes[(i * 7 + i / 16 * 3) % codes.len().saturating_sub(skip) + skip]);
        all.flat_map(u16::to_le_bytes).collect()
    };
    for (name, skip) in [("x.npy", 0), ("n.npy", 3)] {
        folder.save(name, &Npy::new("<V2", &[4, 256], bytes(skip, 1024)));
    }
    folder.save("w.npy", &Npy::new("<V2", &[256], bytes(3, 256)));
    folder.save("q.npy", &Npy::new("<V2", &[1, 16, 2, 32], bytes(0, 1024)));
    for x in ["x.npy", "n.npy"] {
        for words in [
            format!("rms_norm --eps 1e-6 {x} w.npy"),
            format!("rms_norm --variant flashinfer --eps 0 {x} w.npy"),
            format!("layer_norm --eps 1e-6 {x}"),
            format!("softmax {x}"),
            format!("silu_and_mul {x}"),
            format!("silu --variant flashinfer {x}"),
            format!("gelu {x}"),
            format!("quantize_fp8 {x}"),
            format!("quantize_fp8 --variant vllm-tensor {x}"),
            "attention --arch a100 --causal q.npy q.npy q.npy".to_owned(),
            "attention --arch h100 --variant pytorch-flash --tile 8x16 q.npy q.npy q.npy"
                .to_owned(),
            "attention --arch b200 --variant flash-attention-4 --causal q.npy q.npy q.npy"
                .to_owned(),
            "attention --arch b200 --variant flash-attention-4 --output row_sum q.npy q.npy q.npy"
                .to_owned(),
        ] {
            let run = |engine: &str| {
                let words = format!("replay --op {words} --engine {engine} -o z-{engine}.npy");
                let digest = folder.stdout(&words);
                let _ = std::fs::remove_file(folder.path(&format!("z-{engine}.npy")));
                digest.split_whitespace().next().unwrap().to_owned()
            };
            assert_eq!(run("fast"), run("exact"), "{words}");
        }
    }
}

/// What a rotation leaves alone it leaves alone: bits of a NaN, too.
#[test]
fn elements_that_are_not_rotated_are_copied() {
    let folder = Folder::new();
    let bytes = |codes: &[u16]| {
        codes
            .iter()
            .flat_map(|c| c.to_le_bytes())
            .collect::<Vec<_>>()
    };
    let x = [0x3f80, 0x4000, 0x7fc1, 0xff82, 0x0001, 0x8000];
    folder.save("x.npy", &Npy::new("<V2", &[1, 1, 1, 6], bytes(&x)));
    for (name, code) in [("cos.npy", 0x3f80), ("sin.npy", 0)] {
        folder.save(name, &Npy::new("<V2", &[1, 1], bytes(&[code])));
    }
    claims! {folder, "check --op rope --variant vllm --dtype bf16 x.npy cos.npy sin.npy y=x.npy | 0"}
}

#[test]
fn manifests_of_operations_are_refused_in_words() {
    let folder = copied();
    for [case, why] in rows! {r#"
        {{"operation": "silu", "x": "op_a.npy"}} | `y`
        {{"operation": "silu", "x": "op_a.npy", "y": "op_silu.npy", "exp": 1}}
            | did you mean "eps"?
        {{"operation": "silu", "x": 3, "y": "op_silu.npy"}} | field "x"
        {{"operation": 3, "x": "op_a.npy", "y": "op_silu.npy"}} | operation
    "#}
    {
        let case = case.replacen('{', "{\"name\": \"n\", ", 1);
        let text = format!("{{\"schema\": \"tcverify.manifest/1\", \"cases\": [{case}]}}");
        folder.write("m.json", text);
        claims! {folder, "batch m.json | refused | {why} | case 1 (n)"}
    }
    // Defaults are for the cases that they say something of.
    folder.write(
        "m.json",
        r#"{"schema": "tcverify.manifest/1", "defaults": {"transpose_b": true, "eps": "1e-6", "arch": "a100"},
            "cases": [{"name": "n", "operation": "silu", "eps": null, "x": "op_a.npy", "y": "op_silu.npy"}]}"#,
    );
    folder.passes("batch m.json --quiet");
    // Which kind of case it is may be a default, too; a null takes it away.
    claims! {folder, "replay --arch a100 --dtype fp16 generate:1:normal:4x4 generate:2:normal:4x4 -o p.npy | 0"}
    folder.write(
        "m.json",
        r#"{"schema": "tcverify.manifest/1", "defaults": {"operation": "silu", "arch": "a100"},
            "cases": [{"name": "n", "x": "op_a.npy", "y": "op_silu.npy"},
                {"name": "p", "operation": null, "dtype": "fp16", "a": "generate:1:normal:4x4", "b": "generate:2:normal:4x4",
                 "d": "p.npy"}]}"#,
    );
    folder.passes("batch m.json --quiet");
}
