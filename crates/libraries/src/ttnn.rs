//! What ttnn's configurations state, as Python prints them.

use std::collections::BTreeSet;

use crate::check::TtnnConfiguration;
use crate::io::printable;

/// Arguments of ttnn's configurations that do not affect the result of a product.
const SILENT: [&str; 24] = [
    "math_approx_mode",
    "dst_full_sync_en",
    "throttle_level",
    "compute_with_storage_grid_size",
    "out_subblock_h",
    "out_subblock_w",
    "out_block_h",
    "out_block_w",
    "per_core_M",
    "per_core_N",
    "transpose_mcast",
    "fuse_batch",
    "mcast_in0",
    "gather_in0",
    "num_global_cb_receivers",
    "hop_cores",
    "untilize_out",
    "allowed_worker_cores",
    "x",
    "y",
    "in1_dram_sharded",
    "num_cores",
    "batch",
    "dst_accum_mode",
];

/// Reads calls such as `WormholeComputeKernelConfig(math_fidelity=MathFidelity.HiFi2, ...)`, as they are written or printed.
///
/// # Errors
/// What it lacks, or what nobody knows the effect of.
pub fn read(text: &str) -> Result<TtnnConfiguration, String> {
    for (word, what) in [
        ("DRAMSharded", "a DRAM-sharded kernel"),
        ("Grayskull", "a kernel of Grayskull"),
        ("Quasar", "a kernel of Quasar"),
    ] {
        if text.contains(word) {
            return Err(format!("it names {what}, whose arithmetic is not modelled"));
        }
    }
    let mut stated = TtnnConfiguration::default();
    let mut read = BTreeSet::new();
    for (name, value) in arguments(text)? {
        if !SILENT.contains(&name.as_str()) && read.contains(&name) {
            return Err(format!("{} appears twice", printable(&name)));
        }
        let yes = || match value.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(format!(
                "{name} is {}, not True or False",
                printable(&value)
            )),
        };
        match name.as_str() {
            "math_fidelity" => {
                let known = ["lofi", "hifi2", "hifi3", "hifi4"];
                let word = value
                    .trim_matches(['<', '>'])
                    .split(':')
                    .next()
                    .unwrap_or_default();
                let word = word
                    .rsplit('.')
                    .next()
                    .unwrap_or_default()
                    .trim()
                    .to_ascii_lowercase();
                if !known.contains(&word.as_str()) {
                    return Err(format!(
                        "math_fidelity is {}; it must be LoFi, HiFi2, HiFi3 or HiFi4",
                        printable(&value)
                    ));
                }
                stated.fidelity = Some(word);
            }
            "fp32_dest_acc_en" => stated.fp32_dest_acc_en = Some(yes()?),
            "packer_l1_acc" => stated.packer_l1_acc = Some(yes()?),
            "in0_block_w" => {
                let number = value.parse();
                stated.in0_block_w =
                    Some(number.map_err(|_| format!("in0_block_w is {}", printable(&value)))?);
            }
            "fused_activation"
                if ["none", "nullopt", "std::nullopt"]
                    .contains(&value.to_ascii_lowercase().as_str()) => {}
            "fused_activation" => {
                return Err("it fuses an activation, whose arithmetic is not modelled; check the product without it".into());
            }
            name if SILENT.contains(&name) => {}
            name => {
                return Err(format!(
                    "{} is not known and may affect the result; leave it out if it does not",
                    printable(name)
                ));
            }
        }
        read.insert(name);
    }
    if read.is_empty() {
        return Err(
            "it has no argument of a ttnn configuration, such as math_fidelity=MathFidelity.HiFi2"
                .into(),
        );
    }
    let whole = [
        ("math_fidelity", stated.fidelity.is_some()),
        ("fp32_dest_acc_en", stated.fp32_dest_acc_en.is_some()),
        ("packer_l1_acc", stated.packer_l1_acc.is_some()),
    ];
    match whole.iter().find(|(_, there)| !there) {
        Some((missing, _)) => Err(format!("{missing} is missing, and it affects the result")),
        None => Ok(stated),
    }
}

/// The arguments of all calls, names and values, those in inner parentheses as one value.
fn arguments(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut all = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    let mut take = |part: &str| {
        let part = part.trim().trim_end_matches(',');
        if let Some((name, value)) = part.split_once(['=', ':']) {
            all.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    };
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => {
                depth += 1;
                if depth == 1 {
                    start = at + 1;
                }
            }
            ')' | ']' | '}' => {
                depth = depth
                    .checked_sub(1)
                    .ok_or("it has an unmatched closing parenthesis")?;
                if depth == 0 {
                    take(&text[start..at]);
                    start = at + 1;
                }
            }
            ',' | ';' if depth <= 1 => {
                take(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    match depth {
        0 => {
            take(&text[start..]);
            Ok(all)
        }
        _ => Err("a parenthesis is not closed".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_as_people_paste_them() {
        let all = TtnnConfiguration {
            fidelity: Some("hifi2".into()),
            fp32_dest_acc_en: Some(true),
            packer_l1_acc: Some(false),
            in0_block_w: None,
        };
        for text in [
            "ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi2, math_approx_mode=False, \
             fp32_dest_acc_en=True, packer_l1_acc=False)",
            "WormholeComputeKernelConfig(math_fidelity=<MathFidelity.HiFi2: 2>,math_approx_mode=0,fp32_dest_acc_en=1,packer_l1_acc=0,dst_full_sync_en=0,)",
            "math_fidelity: HiFi2, fp32_dest_acc_en: true, packer_l1_acc: false",
        ] {
            assert_eq!(read(text).as_ref(), Ok(&all), "{text}");
        }
        let both = "BlackholeComputeKernelConfig(math_fidelity=MathFidelity.LoFi, fp32_dest_acc_en=False, packer_l1_acc=True) \
                    MatmulMultiCoreReuseMultiCastProgramConfig(compute_with_storage_grid_size=(8, 7), in0_block_w=4, \
                    out_subblock_h=1, per_core_M=2, fused_activation=None)";
        let whole = read(both).expect("both are read");
        assert_eq!(
            (whole.fidelity.as_deref(), whole.in0_block_w),
            (Some("lofi"), Some(4))
        );
        for (text, why) in [
            ("", "no argument"),
            ("HiFi2", "no argument"),
            ("f(math_fidelity=HiFi5)", "HiFi5"),
            (
                "f(math_fidelity=HiFi4, packer_l1_acc=True)",
                "fp32_dest_acc_en is missing",
            ),
            ("f(math_fidelity=HiFi4", "not closed"),
            ("f)", "unmatched closing parenthesis"),
            ("f(fp32_dest_acc_en=maybe)", "True or False"),
            ("f(stochastic=1)", "not known"),
            (
                "f(math_fidelity=LoFi, fp32_dest_acc_en=True, packer_l1_acc=True), g(math_fidelity=HiFi4)",
                "math_fidelity appears twice",
            ),
            (
                "GrayskullComputeKernelConfig(math_fidelity=HiFi4)",
                "Grayskull",
            ),
            (
                "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(in0_block_w=1)",
                "DRAM-sharded",
            ),
            ("f(fused_activation=RELU)", "activation"),
        ] {
            let refused = read(text).expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
