//! FlashAttention-4 by a model of its published rule that shares no code with this one: every case of a folder, its row
//! maxima and sums, and wrong rules, which differ as often as the cases say. Any folder of the same form will do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tcverify::io::npy::NpyFile;

use crate::support::{Folder, Npy, say};

const NAME: &str = "fa4-vectors";
const RULE: &str = "flash-attention-4";

struct Case {
    root: PathBuf,
    about: Value,
    /// Which kernel: options after the operation's.
    kernel: Vec<String>,
}

#[test]
fn flash_attention_4() {
    let Some(vectors) = std::env::var_os("TCVERIFY_VECTORS") else {
        say(format_args!("SKIPPED: {NAME}: TCVERIFY_VECTORS is not set"));
        return;
    };
    let root = PathBuf::from(vectors).join(NAME);
    let folder = Folder::new();
    let text = std::fs::read_to_string(root.join("index.json")).expect("an index");
    let index: Vec<Value> = serde_json::from_str(&text).expect("a list");
    let (mut identical, mut differ) = (0, 0);
    let mut untried: BTreeMap<String, usize> = BTreeMap::new();
    for entry in &index {
        let Some(case) = Case::of(&root, entry, &folder) else {
            continue;
        };
        for output in ["y", "row_max", "row_sum"] {
            assert_eq!(
                case.mismatches(&folder, None, output),
                0,
                "{output} of {entry}"
            );
        }
        let own = folder.tcverify(&format!("ops --raw attention {RULE}"));
        let own = own.expect(0).json();
        identical += 1;
        for (kind, output) in [("wrong_rules", "y"), ("wrong_row_sums", "row_sum")] {
            for (what, count) in case.about[kind].as_object().into_iter().flatten() {
                if what == "of" {
                    continue;
                }
                let Some(rule) = wrong(&own, what, &case) else {
                    *untried.entry(what.clone()).or_default() += 1;
                    continue;
                };
                let found = case.mismatches(&folder, Some(rule), output);
                assert_eq!(Some(found), count.as_u64(), "{what}, {output} of {entry}");
                differ += 1;
            }
        }
    }
    let total = index.len();
    say(format_args!(
        "{NAME}: {identical} of {total} cases identical, {differ} wrong rules differ as stated"
    ));
    for (what, cases) in untried {
        say(format_args!("{NAME}: not tried: {what} ({cases} cases)"));
    }
    assert!(identical > 0 && differ > 0, "{NAME}: nothing was tried");
}

impl Case {
    /// A case of attention in blocks of 128 keys, with the kernel whose polynomials it says it has; none of another kind.
    fn of(root: &Path, entry: &Value, folder: &Folder) -> Option<Case> {
        let root = root.join(entry["case"].as_str()?);
        let text = std::fs::read_to_string(root.join("case.json")).expect("a case");
        let about: Value = serde_json::from_str(&text).expect("a case");
        if about["kind"] != RULE || about["key_block"] != 128 {
            return None;
        }
        let number = |field: &str| about[field].as_u64().expect("a number");
        let (frequency, first) = (number("ex2_emu_freq"), number("ex2_emu_start_frg"));
        let polynomials = match frequency {
            0 => "all powers by MUFU.EX2".to_owned(),
            _ => format!(
                "the last {} of every {frequency} in scores {} to 95 of a block",
                number("ex2_emu_res"),
                32 * first
            ),
        };
        // The kernel that the shapes choose; that of two CTAs, whose rows may be a part; that of B300.
        let kernels: [&[&str]; 3] = [
            &["--variant", RULE],
            &["--variant", RULE, "--tile", "512x128"],
            &["--variant", "flash-attention-4-sm103"],
        ];
        for kernel in kernels {
            let kernel = kernel.iter().map(|word| (*word).to_owned()).collect();
            let case = Case {
                root: root.clone(),
                about: about.clone(),
                kernel,
            };
            let said = case.check(folder, &case.kernel, "y");
            let about = said
                .as_ref()
                .and_then(|said| said["rule"]["about"].as_str());
            if about.is_some_and(|about| about.contains(&polynomials)) {
                return Some(case);
            }
        }
        say(format_args!(
            "{NAME}: no kernel has {polynomials}: {root:?}"
        ));
        None
    }

    /// The report on an output, by a variant and a tile; none if there is no such kernel.
    fn check(&self, folder: &Folder, kernel: &[String], output: &str) -> Option<Value> {
        let file = |name: &str| self.root.join(name).to_str().expect("a path").to_owned();
        let field = |name: &str| self.about[name].as_str().expect("a word");
        let mut words: Vec<String> = ["check", "--op", "attention", "--no-causes", "--json", "-"]
            .map(str::to_owned)
            .into();
        for (option, field) in [
            ("--arch", "arch"),
            ("--dtype", "a_dtype"),
            ("--layout", "layout"),
        ] {
            let value = self.about[field].as_str().expect("a word");
            // What a B300 multiplies with is not modelled by that name.
            let value = if value == "sm_103" {
                "blackwell"
            } else {
                value
            };
            words.extend([option, value].map(str::to_owned));
        }
        if self.about["causal"] == true {
            words.push("--causal".to_owned());
        }
        if let Some(scale) = self.about["softmax_scale"].as_f64() {
            words.push(format!("--softmax-scale={scale}"));
        }
        words.extend(kernel.iter().cloned());
        words.extend(["q.npy", "k.npy", "v.npy"].map(file));
        match output {
            "y" => words.push(file("d.npy")),
            state => {
                self.shaped(folder, state, field("layout"));
                words.extend(["--output", state, "state.npy"].map(str::to_owned));
            }
        }
        let run = folder.words(&words);
        matches!(run.code, Some(0 | 1)).then(|| run.json())
    }

    /// Elements that differ by the case's kernel, or by another rule and tile.
    fn mismatches(
        &self,
        folder: &Folder,
        wrong: Option<(Value, Option<&str>)>,
        output: &str,
    ) -> u64 {
        let mut kernel = self.kernel.clone();
        if let Some((mut rule, tile)) = wrong {
            rule["known_by"] = json!({"*": {"evidence": "claimed", "source": ["test"]}});
            rule["sources"] = json!({"test": "a test"});
            rule["evidence"] = json!("claimed");
            folder.write("rule.json", rule.to_string());
            kernel[0] = "--variant-file".to_owned();
            kernel[1] = "rule.json".to_owned();
            if let Some(tile) = tile {
                kernel.truncate(2);
                kernel.extend(["--tile", tile].map(str::to_owned));
            }
        }
        let report = self.check(folder, &kernel, output);
        let report = report.unwrap_or_else(|| panic!("refused: {kernel:?} of {:?}", self.root));
        let comparison = &report["outcome"]["comparison"];
        let all = match output {
            "y" => self.about["elements"].as_u64(),
            _ => self.about["wrong_row_sums"]["of"].as_u64(),
        };
        assert_eq!(
            comparison["elements"].as_u64(),
            all,
            "{output} of {:?}",
            self.root
        );
        comparison["mismatches"].as_u64().expect("a number")
    }

    fn keys(&self) -> usize {
        let k = NpyFile::open(&self.root.join("k.npy")).expect("an array");
        let tokens = if self.about["layout"] == "bshd" { 1 } else { 2 };
        k.header().shape[tokens]
    }

    /// A row's maxima or sums, with the axes of the tool's output: those of the queries.
    fn shaped(&self, folder: &Folder, state: &str, layout: &str) {
        let bytes = std::fs::read(self.root.join(format!("{state}.npy"))).expect("an array");
        let q = NpyFile::open(&self.root.join("q.npy")).expect("an array");
        let shape = &q.header().shape[..3];
        let data = bytes[bytes.len() - 4 * shape.iter().product::<usize>()..].to_vec();
        // A state is by batch, token and head, or one of them is alone.
        assert!(layout == "bshd" || shape[1] == 1, "{:?}", self.root);
        folder.save("state.npy", &Npy::new("<f4", shape, data));
    }
}

/// A rule that is wrong, by the name that the cases give it, and another tile than the case's.
fn wrong(own: &Value, what: &str, case: &Case) -> Option<(Value, Option<&'static str>)> {
    let mut variant = own.clone();
    let rule = &mut variant["rule"];
    let mut tile = None;
    let number = |field: &str| case.about[field].as_u64().expect("a number");
    let (frequency, first) = (number("ex2_emu_freq"), number("ex2_emu_start_frg"));
    // Positions of all kernels.
    let positions = |rule: &mut Value, frequency: u64, first: u64| {
        for tile in rule["tiles"].as_array_mut().expect("tiles") {
            let tile = tile.as_object_mut().expect("a tile");
            tile.remove("polynomial");
            if frequency > 0 {
                let positions = json!({"frequency": frequency, "first_fragment": first});
                tile.insert("polynomial".to_owned(), positions);
            }
        }
    };
    positions(rule, frequency, first);
    match what {
        "all exponentials by MUFU" => positions(rule, 0, 0),
        "another frequency" => positions(rule, if frequency == 16 { 10 } else { 16 }, first),
        "first fragment too" => positions(rule, frequency, 0),
        "last fragment too" => rule["thread"]["polynomial"]["last_fragment"] = true.into(),
        "polynomial of degree 5" => {
            rule["thread"]["polynomial"]["coefficients"] = json!([
                0.693_151_414_394_378_7,
                0.240_163_609_385_490_42,
                0.055_802_188_813_686_37,
                0.009_014_522_656_798_363,
                0.001_868_101_535_364_985_5
            ]);
        }
        "polynomial of degree 4" => {
            rule["thread"]["polynomial"]["coefficients"] = json!([
                0.693_042_695_522_308_3,
                0.241_291_254_758_834_84,
                0.052_225_358_784_198_76,
                0.013_434_938_155_114_65
            ]);
        }
        "rescaled at every rise of the maximum" => rule["thread"]["rescale_from"] = 0.into(),
        "row sum in order" => rule["thread"]["sum"] = "in_order".into(),
        "keys from first to last" => rule["thread"]["ascending"] = true.into(),
        "IEEE reciprocal" => rule["reciprocal"] = "ieee".into(),
        // The cases call a block masked if a key of it is; the kernel's source passes a mask to the last block in any case.
        "blocks with a mask by MUFU (before May 2026)" => {
            let full = case.about["causal"] != true && case.keys().is_multiple_of(128);
            rule["thread"]["polynomial"]["under_masks"] = full.into();
        }
        "blocks of 64 keys" => tile = Some("128x64"),
        _ => return None,
    }
    Some((variant, tile))
}
