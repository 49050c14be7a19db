//! llama.cpp's products of quantised rows against a model in plain f32 that shares no code with the tool.

use crate::support::gguf::{Quantised, Rule};
use crate::support::{Folder, claims};

const SHARED: &str = "x=x_codes.npy scale=x_d.npy weight=w_codes.npy weight_scale=w_d.npy";

fn words(four_bits: bool) -> String {
    let (variant, sums) = if four_bits {
        ("q4_0", " other=x_s.npy")
    } else {
        ("q8_0", "")
    };
    format!("--op mul_mat_vec_q --variant llama.cpp-{variant} {SHARED}{sums}")
}

fn saved(model: &Quantised, rule: Rule, name: &str) -> Folder {
    let folder = Folder::new();
    model.save(&folder);
    let d = model.by(rule);
    let shape = [model.tokens(), d.len() / model.tokens()];
    folder.f32_codes(name, &shape, &d);
    folder
}

#[test]
fn weights_of_4_and_8_bits_times_few_tokens() {
    for four_bits in [false, true] {
        let mut wrong = [Rule::OtherWarps, Rule::NoFma, Rule::LanesInTurn].map(|rule| (rule, 0));
        for tokens in 1..=8 {
            let model = Quantised::drawn(four_bits, [tokens, 5, 4128]);
            let folder = saved(&model, Rule::Right, "d.npy");
            for engine in ["fast", "exact"] {
                let check = format!("check {} --engine {engine} y=d.npy", words(four_bits));
                folder.passes(&check);
            }
            for (rule, told) in &mut wrong {
                let folder = saved(&model, *rule, "wrong.npy");
                let check = format!("check {} y=wrong.npy", words(four_bits));
                *told += usize::from(folder.tcverify(&check).code == Some(1));
            }
        }
        // Few elements may hide one.
        assert!(wrong.iter().all(|(_, told)| *told >= 6), "{wrong:?}");
    }
}

/// A row is told operation by operation: integers of every thread, warps, lanes.
#[test]
fn an_element_is_explained() {
    let model = Quantised::drawn(true, [2, 3, 64]);
    let folder = saved(&model, Rule::Right, "d.npy");
    let explain = format!("explain {} y=d.npy --at 1,2", words(true));
    claims! {folder, "{explain} | 0 | block 0, thread 0: integers | warps, lane by lane | the same"}
}

#[test]
fn what_is_no_such_product_is_refused() {
    let refused = |model: &Quantised, words: &str, reasons: &[&str]| {
        let folder = Folder::new();
        model.save(&folder);
        let run = folder.tcverify(&format!("replay {words} -o d.npy"));
        run.refuses(reasons);
        assert!(!folder.path("d.npy").exists());
    };
    let eight = Quantised::drawn(false, [2, 3, 64]);
    let four = Quantised::drawn(true, [2, 3, 64]);
    let many = Quantised::drawn(false, [9, 3, 64]);
    refused(&many, &words(false), &["9 rows", "another kernel"]);
    refused(&eight, &words(true), &["w_codes.npy", "uint8"]);
    let mut large = Quantised::drawn(true, [2, 3, 64]);
    large.w[70] = 0x71;
    refused(&large, &words(true), &["w_codes.npy", "it holds 113"]);
    refused(
        &four,
        &words(true).replace(" other=x_s.npy", ""),
        &["other=FILE is missing"],
    );
    refused(
        &eight,
        &words(false).replace("scale=x_d.npy", "scale=w_d.npy"),
        &["3x2", "expected 2x2"],
    );
}
