//! Wrong rules, by the names that the cases give them.

use serde_json::{Value, json};

use super::Case;
use super::slices::{Product, Rule};
use crate::support::Folder;

/// Elements that differ by a wrong rule; none if it is not known here.
pub fn mismatches(case: &Case, folder: &Folder, what: &str, stated: Option<u64>) -> Option<u64> {
    if what == "other tiles" {
        return other_tiles(case, folder, stated);
    }
    if let Some(rule) = by_slices(what) {
        return Some(second_model(case, rule));
    }
    if let Some(words) = other_words(case, what) {
        return Some(case.mismatches(folder, &words, None));
    }
    let mut spec = case.spec.clone();
    change(&mut spec, what, case.k())?;
    let file = json!({
        "schema": "tcverify.schedule/1", "name": "wrong", "title": what, "evidence": "claimed",
        "sources": {"test": "a wrong rule"},
        "known_by": {"*": {"evidence": "claimed", "source": ["test"]}},
        "spec": spec,
    });
    folder.write("wrong.json", file.to_string());
    let words = case.instead(&[
        ("--schedule", None),
        ("--tile-k", None),
        ("--slices", None),
        ("--kernel", None),
        ("--set", None),
        ("--schedule-file", Some("wrong.json")),
    ]);
    Some(case.mismatches(folder, &words, None))
}

/// By the tiles that Marlin has beside the case's. Which of them is not said: one must differ as stated.
fn other_tiles(case: &Case, folder: &Folder, stated: Option<u64>) -> Option<u64> {
    let own = case.about["tile"].as_array()?;
    let mut found = Vec::new();
    for tile in [[64, 256, 256], [64, 128, 128], [128, 128, 256]] {
        if own.iter().zip(tile).all(|(own, size)| *own == size) {
            continue;
        }
        let [k, n, threads] = tile;
        let generation = case.about["generation"].as_str()?;
        let kernel = format!("marlin-{generation},{k}x{n}x{threads}");
        let words = case.instead(&[("--kernel", Some(&kernel))]);
        // Not all divide N.
        if folder.words(&words).code != Some(2) {
            found.push(case.mismatches(folder, &words, None));
        }
    }
    let as_stated = found.iter().copied().find(|count| Some(*count) == stated);
    as_stated.or(found.first().copied())
}

/// Another arithmetic, or another built-in schedule.
fn other_words(case: &Case, what: &str) -> Option<Vec<String>> {
    let bare = |arch: &str, instruction: Option<&str>, dtype: &str| {
        case.instead(&[
            ("--schedule", None),
            ("--tile-k", None),
            ("--slices", None),
            ("--acc", None),
            ("--dtype-b", None),
            ("--alpha", None),
            ("--beta", None),
            ("--instruction", instruction),
            ("--arch", Some(arch)),
            ("--dtype", Some(dtype)),
        ])
    };
    let named = |name: &str| case.instead(&[("--schedule", Some(name))]);
    let tree = |arch, instruction, name| {
        let mut words = bare(arch, instruction, "bf16");
        words.extend(["--schedule", name].map(str::to_owned));
        words
    };
    if let Some(count) = what.strip_suffix(" slices") {
        return Some(case.instead(&[("--slices", Some(count))]));
    }
    Some(match what {
        "FP32 fma chain" => {
            let mut words = bare("ieee-fma", None, "fp32");
            // The chain of the vectors has the NaN of a GPU.
            words.extend(["--nan", "any"].map(str::to_owned));
            words
        }
        "FP64 fma chain" => bare("ieee-fma", None, "fp64"),
        "bf16x3" => named("triton-bf16x3"),
        "bf16x6" => named("triton-bf16x6"),
        "bf16x9" | "XLA bf16x9" => named("xla-bf16x9"),
        "tf32x3" => named("triton-tf32x3-third"),
        "3 bands" => named("cutlass-bf16x9-3-bands"),
        "4 bands" => named("cutlass-bf16x9-4-bands"),
        "5 bands" => named("cutlass-bf16x9"),
        "no tree, one fma chain" => bare("ieee-fma", None, "bf16"),
        "one chain of Hopper steps" => bare("hopper", Some("mma"), "bf16"),
        "weights scaled first, one chain over K" => case.instead(&[
            ("--kernel", None),
            ("--set", None),
            ("--instruction", Some("mma")),
        ]),
        "one chain, rounded once" | "one chain" => case.instead(&[("--schedule", None)]),
        "scalar path" => tree("ieee-fma", None, "rl-kernel-det-gemm-scalar"),
        "tensor-core leaves (the sm_90 path)" => tree("hopper", Some("mma"), "rl-kernel-det-gemm"),
        "Ampere steps" => case.instead(&[("--arch", Some("ampere"))]),
        _ => return None,
    })
}

/// Another constant of the schedule.
fn change(spec: &mut Value, what: &str, k: usize) -> Option<()> {
    let tiles = |spec: &mut Value, k: usize| {
        spec["tile_k"] = k.into();
        spec["split_terms"]["every"] = k.into();
        spec["inner"][0]["parts"]["length"] = k.into();
    };
    match what {
        "chain through the tiles (start from the accumulator)" => {
            remove(spec, "inner");
            remove(&mut spec["split_terms"], "nan_before_last");
        }
        "each tile from zero, then added" => {
            spec["inner"] = json!([{
                "parts": {"kind": "blocks", "length": spec["tile_k"]},
                "merge": {"kind": "sum", "order": "serial", "start": "zero"},
            }]);
        }
        "tiles of 64 k" => tiles(spec, 64),
        "promoted every 32 k" => tiles(spec, 32),
        "factors swapped" | "factors swapped inside a band" => {
            let products = spec["split_terms"]["products"].as_array_mut()?;
            for product in products {
                product.as_array_mut()?.reverse();
            }
        }
        "large product first" => {
            remove(&mut spec["split_terms"], "nan_before_last");
            let products = spec["split_terms"]["products"].as_array_mut()?;
            products.rotate_right(1);
        }
        "low term rounded too" => spec["split_terms"]["lo"] = "rna".into(),
        "NaN of the small products kept (second generation)" => {
            remove(&mut spec["split_terms"], "nan_before_last");
        }
        "terms without saturation" => {
            for term in ["hi", "mid", "lo"] {
                spec["split_terms"][term] = "rne".into();
            }
        }
        "no scaling of the terms (as XLA's X9 order)" => remove(&mut spec["split_terms"], "scale"),
        "leaves of 16" => spec["split"]["parts"]["length"] = 16.into(),
        "partials of 64" => spec["split"]["parts"]["length"] = 64.into(),
        "partials added from the left" => spec["split"]["merge"]["order"] = "serial".into(),
        "leaves added from the left" => {
            spec["split"]["merge"]["order"] = "serial".into();
            let starts = (0..k).step_by(32);
            let leaves: Vec<_> = starts.map(|start| [[start, k.min(start + 32)]]).collect();
            spec["split"]["parts"] = json!({"kind": "ranges", "parts": leaves});
        }
        "no stripes (one slice a column)" => remove(spec, "split"),
        "slices added from the first" => spec["split"]["merge"]["order"] = "serial".into(),
        "16 k blocks dealt the other way to warps" => {
            let grain = &mut spec["inner"][0]["parts"]["grain"];
            *grain = if *grain == 16 { 32.into() } else { 16.into() };
        }
        "warps added one after the other" => spec["inner"][0]["merge"]["order"] = "serial".into(),
        "the other reduction" => {
            let merge = &mut spec["split"]["merge"];
            if merge.get("sums").is_some() {
                remove(merge, "sums");
            } else {
                merge["sums"] = "result".into();
            }
        }
        "binary tree from the partials on" => spec["split"]["merge"]["order"] = "adjacent".into(),
        "the other accumulator" => {
            let merge = &mut spec["split"]["merge"];
            let rounded = merge.get("sums").is_some();
            for name in ["partials", "sums"] {
                if rounded {
                    remove(merge, name);
                } else {
                    merge[name] = "bf16".into();
                }
            }
        }
        _ => return None,
    }
    Some(())
}

fn remove(object: &mut Value, name: &str) {
    object.as_object_mut().expect("an object").remove(name);
}

fn by_slices(what: &str) -> Option<Rule> {
    Some(match what {
        "diagonals from the most significant" => Rule::MostSignificantFirst,
        "the product with beta fused instead" => Rule::BetaFused,
        "no fma" => Rule::NoFma,
        "alpha once, after the sum" => Rule::AlphaOnce,
        "C added last" => Rule::CLast,
        "no spare bit for six ones (a slice of 128 wraps)" => Rule::NoSpareBit,
        _ => return None,
    })
}

/// By plain numbers, which give the case's D with the right rule.
fn second_model(case: &Case, rule: Rule) -> u64 {
    let (a, [_, k]) = case.fp64("a.npy").expect("A");
    let (b, [_, n]) = case.fp64("b.npy").expect("B");
    let (d, _) = case.fp64("d.npy").expect("D");
    let columns: Vec<f64> = (0..n)
        .flat_map(|j| (0..k).map(move |i| (i, j)))
        .map(|(i, j)| b[i * n + j])
        .collect();
    let c = case.fp64("c.npy").map(|(c, _)| c);
    let number = |field: &str| case.about[field].as_f64().unwrap_or(1.0);
    let product = Product {
        a: &a,
        b: &columns,
        c: c.as_deref(),
        k,
        alpha: number("alpha"),
        beta: number("beta"),
        slices: case.about["slices"].as_u64().expect("slices") as usize,
    };
    let differing = |rule| {
        let found = product.by(rule).into_iter().zip(&d);
        found
            .filter(|(found, given)| *found != given.to_bits())
            .count() as u64
    };
    assert_eq!(differing(Rule::Right), 0, "{:?}", case.root);
    differing(rule)
}
