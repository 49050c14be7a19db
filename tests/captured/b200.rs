//! Frozen words of a B200's tcgen05: every one of them, and which constants they pin.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tcverify::check::{Check, Prepared, Source, Tensors};
use tcverify::emu::step::Step;
use tcverify::emu::{Arithmetic, Engine, Evidence};
use tcverify::engines::resources;
use tcverify::num::Format;
use tcverify::report::Verdict;
use tcverify::role::Role;
use tcverify::tensor::Tensor;

use crate::hardware::evidence::by_rule;
use crate::rdna::with;
use crate::support::case::{Case, codes};
use crate::support::say;
use crate::support::vectors::{B200, cases, replay_all};

/// All words; those of sparse instructions as the dense products of what their metadata selects.
pub fn words(what: &str) -> Option<Vec<Case>> {
    let all = cases(B200, what, 33, |_| true)?;
    let dense = all.into_iter().map(|case| match selection(&case) {
        Some(selection) => compressed(&case, &selection),
        None => case,
    });
    Some(dense.collect())
}

/// Those that the source says were captured.
pub fn captured(what: &str) -> Option<Vec<Case>> {
    let mut all = words(what)?;
    all.retain(|case| !case.name.ends_with("-unstated"));
    Some(all)
}

/// The k that take part, of a sparse instruction. A selector of four bits names two positions: two elements of four, or
/// of FP4 two of the four pairs of eight.
fn selection(case: &Case) -> Option<Vec<usize>> {
    let dense = case.instruction.strip_suffix("-sparse")?;
    let file = std::fs::read(case.directory.join("metadata.npy")).expect("sparse words have it");
    let k = case.a.planes().columns();
    let pairs = matches!(dense, "tcgen05-mxf4" | "tcgen05-mxf4nvf4");
    let chunk = if pairs { 8 } else { 4 };
    assert_eq!(case.d.len(), 1, "{}: selectors of one row", case.name);
    // Eight selectors a word, the lowest first: two a byte.
    let bytes = &file[file.len() - k / chunk / 2..];
    let selectors = bytes.iter().flat_map(|byte| [byte & 15, byte >> 4]);
    let all = selectors.enumerate().flat_map(|(i, selector)| {
        let positions = [selector & 3, selector >> 2].map(usize::from);
        let width = chunk / 4;
        let of = move |position: usize| (0..width).map(move |j| chunk * i + width * position + j);
        positions.into_iter().flat_map(of)
    });
    Some(all.collect())
}

/// The dense product of some elements. Scales are of blocks of these; the source has more of them than it needs.
fn compressed(case: &Case, selection: &[usize]) -> Case {
    let pick = |tensor: &Tensor, shape: [usize; 3]| {
        let all = codes(tensor);
        let some: Vec<_> = selection.iter().map(|&k| all[k]).collect();
        Tensor::from_codes(tensor.format(), shape.to_vec(), &some)
    };
    let k = selection.len();
    let scale = case.scale.expect("sparse words are block-scaled");
    let blocks = k / scale.block;
    let scales = case.scales.as_ref().map(|[x, y]| {
        let first = |tensor: &Tensor, shape: [usize; 3]| {
            Tensor::from_codes(tensor.format(), shape.to_vec(), &codes(tensor)[..blocks])
        };
        [first(x, [1, 1, blocks]), first(y, [1, blocks, 1])]
    });
    let dense = case.instruction.strip_suffix("-sparse");
    Case {
        instruction: dense.unwrap_or(&case.instruction).to_owned(),
        a: pick(&case.a, [1, 1, k]),
        b: pick(&case.b, [1, k, 1]),
        scales,
        ..case.clone()
    }
}

#[test]
fn every_word_is_reproduced() {
    if let Some(cases) = words("words of a B200") {
        assert_eq!(replay_all(B200, &cases), 76);
    }
}

/// The other published rule of block-scaled FP4 gives its words, too: they do not tell the two apart.
#[test]
fn words_do_not_tell_the_rules_of_block_scaling_apart() {
    let Some(cases) = captured("both rules of block-scaled FP4") else {
        return;
    };
    let mut words = 0;
    let fp4 = |case: &&Case| ["tcgen05-mxf4", "tcgen05-mxf4nvf4"].contains(&&*case.instruction);
    for case in cases.iter().filter(fp4) {
        let window = format!("{}-window", case.instruction);
        let other = case.choice_on(&case.arch, &window).arithmetic;
        assert_ne!(other, case.choice().arithmetic);
        assert_eq!(case.mismatches(&other), 0, "{}", case.name);
        words += case.d.len();
    }
    assert_eq!(words, 15);
}

/// The same words as somebody who has the files would ask: A as it is stored, and its metadata.
#[test]
fn sparse_words_as_a_check() {
    let Some(all) = cases(B200, "sparse words as a check", 33, |_| true) else {
        return;
    };
    let (mut judged, mut differing) = (0, 0);
    for case in &all {
        let Some(selected) = selection(case) else {
            continue;
        };
        let stored = compressed(case, &selected);
        let scales = stored
            .scales
            .as_ref()
            .expect("sparse words are block-scaled");
        let blocks = scales[0].len();
        let matrix = |tensor: &Tensor, shape: [usize; 2]| {
            Tensor::from_codes(tensor.format(), shape.to_vec(), &codes(tensor))
        };
        let k = case.b.len();
        let scale = case.scale.expect("sparse words are block-scaled");
        let mut check = Check::in_memory("b200", case.a.format());
        check.model.instruction = Some(stored.instruction.clone());
        check.model.scale_dtype = Some(scale.format);
        check.model.scale_block = Some(scale.block);
        for role in [Role::C, Role::SparseA, Role::ScaleA, Role::ScaleB] {
            check.operands.arrays.insert(role, Source::Memory);
        }
        let file = std::fs::read(case.directory.join("metadata.npy")).expect("metadata");
        let words = file[file.len() - 8..].chunks(4);
        let word = |bytes: &[u8]| u64::from(u32::from_le_bytes(bytes.try_into().unwrap()));
        let metadata: Vec<u64> = words.map(word).collect();
        // B of the words is 1 everywhere, so they fit any selection; what none selects may be anything.
        let mut b = codes(&case.b);
        let taken = |k: usize| selected.contains(&k);
        let left = b.iter_mut().enumerate().filter(|(k, _)| !taken(*k));
        left.for_each(|(_, code)| *code = 0);
        let held = Tensors::of(
            matrix(&stored.a, [1, selected.len()]),
            Tensor::from_codes(case.b.format(), vec![k, 1], &b),
            matrix(&case.d, [1, 1]),
        )
        .with(Role::C, matrix(&case.c, [1, 1]))
        .with(Role::ScaleA, matrix(&scales[0], [1, blocks]))
        .with(Role::ScaleB, matrix(&scales[1], [blocks, 1]));
        for other in [false, true] {
            // 4, the first two, becomes e, the last two.
            let flip = if other { 0xaaaa_aaaa } else { 0 };
            let words: Vec<_> = metadata.iter().map(|word| word ^ flip).collect();
            let words = Tensor::from_codes(Format::Int32, vec![1, words.len()], &words);
            let held = Tensors {
                tensors: held.tensors.clone(),
                ..Tensors::default()
            };
            let prepared =
                Prepared::from_tensors(&check, &resources(), held.with(Role::SparseA, words));
            let report = prepared.expect("a product").run(&()).expect("a report");
            assert_eq!(report.rule.evidence(), Evidence::Published, "{}", case.name);
            match report.verdict {
                Verdict::Identical if !other => judged += 1,
                Verdict::Different if other => differing += 1,
                verdict => panic!("{}: {verdict:?}", case.name),
            }
        }
    }
    assert_eq!((judged, differing), (5, 5));
}

/// What sparse instructions would give with another selection: the words show it.
#[test]
fn another_selection_differs() {
    let Some(all) = cases(B200, "sparse words", 33, |_| true) else {
        return;
    };
    let mut wrong = Vec::new();
    for case in &all {
        let Some(selection) = selection(case) else {
            continue;
        };
        let right = compressed(case, &selection);
        assert_eq!(
            right.mismatches(&right.choice().arithmetic),
            0,
            "{}",
            case.name
        );
        // Two elements of every four, whatever the format.
        let elements: Vec<_> = (0..2 * selection.len())
            .step_by(4)
            .flat_map(|k| [k, k + 1])
            .collect();
        let other = compressed(case, &elements);
        wrong.push((
            elements == selection,
            other.mismatches(&right.choice().arithmetic),
        ));
    }
    // FP4 takes pairs; of E4M3 that is the selection.
    assert_eq!(
        wrong,
        [(false, 1), (false, 1), (false, 1), (false, 1), (true, 0)]
    );
}

/// Names of the captured words that a step does not give.
fn refuting(case: &Case, arithmetic: &Arithmetic) -> Vec<String> {
    let words = case.about["words"].as_array().expect("names of words");
    let differing = case.differing(arithmetic, Engine::Exact);
    let name = |i: usize| words[i].as_str().expect("a name").to_owned();
    differing.into_iter().map(name).collect()
}

/// Other values of a constant.
fn others(name: &str, step: &Step) -> Vec<Value> {
    let all = step.constants();
    let right = &all
        .iter()
        .find(|constant| constant.name == name)
        .expect("its own")
        .value;
    let near = |all: &[i64]| -> Vec<Value> {
        let right = right.as_i64().expect("a number");
        all.iter().map(|by| json!(right + by)).collect()
    };
    match name {
        "fraction_bits" if matches!(step, Step::BlockDot(_)) => near(&[-10, -2, -1, 1, 4]),
        "fraction_bits" => near(&[-2, -1, 1, 2]),
        "zero_exponent" => near(&[-20, -1, 1, 20]),
        "precision" => near(&[-1]),
        "group" => vec![json!(right.as_u64().expect("a number") / 2)],
        "part" => [4, 8].map(|n| json!(n)).into(),
        "alignment" | "rounding" => {
            let all = ["rz", "rne", "rna", "rd"].map(|word| json!(word));
            all.into_iter().filter(|word| word != right).collect()
        }
        "nan" => vec![json!(match right.as_str() {
            Some("7fff") => "7e00",
            _ => "7fc00000",
        })],
        "overflow" => vec![json!("wrap"), json!("saturate")],
        other => panic!("{other}: which values beside?"),
    }
}

/// A wrong value of a constant, and the words that do not bear it.
struct Refuted {
    case: usize,
    constant: String,
    value: Value,
    words: Vec<String>,
}

fn refuted(cases: &[Case]) -> Vec<Refuted> {
    let mut all = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let right = case.choice().arithmetic;
        for constant in right.step.constants() {
            let others = others(&constant.name, &right.step).into_iter();
            for value in others.filter(|value| *value != constant.value) {
                let step = with(&right.step, json!({constant.name.as_str(): value}));
                let wrong = Arithmetic {
                    step,
                    ..right.clone()
                };
                wrong
                    .check()
                    .unwrap_or_else(|e| panic!("{}: {e}", case.name));
                let words = refuting(case, &wrong);
                if !words.is_empty() {
                    all.push(Refuted {
                        case: at,
                        constant: constant.name.clone(),
                        value,
                        words,
                    });
                }
            }
        }
    }
    all
}

/// All of [`others`] that some word refutes, and by which words; whatever is not here passes every word.
const REFUTED: &str = "\
tcgen05-bf16-fp32 nan='7fc00000': bf16-nan bf16-infinity-times-zero
tcgen05-bf16-fp32-unstated alignment='rne': bf16-window-floor-0 bf16-window-floor-1
tcgen05-bf16-fp32-unstated alignment='rna': bf16-window-floor-0 bf16-window-floor-1
tcgen05-bf16-fp32-unstated alignment='rd': bf16-window-floor-1
tcgen05-bf16-fp32-unstated fraction_bits=23: bf16-window-floor-1
tcgen05-bf16-fp32-unstated fraction_bits=24: bf16-window-floor-1
tcgen05-bf16-fp32-unstated fraction_bits=26: bf16-window-floor-0 bf16-window-floor-1
tcgen05-bf16-fp32-unstated fraction_bits=27: bf16-window-floor-0 bf16-window-floor-1
tcgen05-bf16-fp32-unstated group=8: bf16-window-floor-1
tcgen05-bf16-fp32-unstated precision=23: bf16-window-floor-1
tcgen05-bf16-fp32-unstated rounding='rne': bf16-window-floor-0
tcgen05-bf16-fp32-unstated rounding='rna': bf16-window-floor-0
tcgen05-bf16-fp32-unstated zero_exponent=-153: bf16-window-floor-0 bf16-window-floor-1
tcgen05-bf16-fp32-unstated zero_exponent=-134: bf16-window-floor-0 bf16-window-floor-1
tcgen05-bf16-fp32-unstated zero_exponent=-132: bf16-window-floor-1
tcgen05-bf16-fp32-unstated zero_exponent=-113: bf16-window-floor-1
tcgen05-e2m1-e4m3-fp16 nan='7e00': e2m1-e4m3-f16-nan-input e2m1-e4m3-f16-nan-c
tcgen05-e2m1-fp32 alignment='rd': e2m1-random-1
tcgen05-e2m1-fp32 precision=23: e2m1-random-1
tcgen05-e2m3-fp32 precision=23: e2m3-random-1
tcgen05-e3m2-fp32 alignment='rd': e3m2-random-0
tcgen05-e3m2-fp32 precision=23: e3m2-random-0
tcgen05-e4m3-fp32 alignment='rne': e4m3-random-1
tcgen05-e4m3-fp32 alignment='rna': e4m3-random-1
tcgen05-e4m3-fp32 fraction_bits=23: e4m3-random-1
tcgen05-e4m3-fp32 nan='7fc00000': e4m3-nan
tcgen05-e4m3-fp32 precision=23: e4m3-random-1
tcgen05-e4m3-fp32 rounding='rne': e4m3-random-1
tcgen05-e4m3-fp32 rounding='rna': e4m3-random-1
tcgen05-e5m2-fp32 alignment='rne': e5m2-random-1
tcgen05-e5m2-fp32 alignment='rna': e5m2-random-0 e5m2-random-1
tcgen05-e5m2-fp32 fraction_bits=26: e5m2-random-1
tcgen05-e5m2-fp32 fraction_bits=27: e5m2-random-1
tcgen05-e5m2-fp32 nan='7fc00000': e5m2-nan e5m2-infinity-times-zero
tcgen05-e5m2-fp32 rounding='rne': e5m2-random-0 e5m2-random-1
tcgen05-e5m2-fp32 rounding='rna': e5m2-random-0 e5m2-random-1
tcgen05-fp16-fp32 alignment='rd': fp16-random-1
tcgen05-fp16-fp32 fraction_bits=23: fp16-random-1
tcgen05-fp16-fp32 nan='7fc00000': fp16-random-0 fp16-nan fp16-infinity-times-zero
tcgen05-mxf4-e2m1-fp32-ue8m0-32 rounding='rne': mxf4-2x-random
tcgen05-mxf4-e2m1-fp32-ue8m0-32 rounding='rna': mxf4-2x-random
tcgen05-mxf4nvf4-e2m1-fp32-ue4m3-16 nan='7fc00000': nvfp4-scale-nan
tcgen05-mxf4nvf4-e2m1-fp32-ue4m3-16 precision=23: nvfp4-random-0 nvfp4-random-1 nvfp4-carry-of-four
tcgen05-mxf4nvf4-e2m1-fp32-ue4m3-16 rounding='rne': nvfp4-random-1
tcgen05-mxf4nvf4-e2m1-fp32-ue4m3-16 rounding='rna': nvfp4-random-1
tcgen05-mxf4nvf4-e2m1-fp32-ue4m3-16 rounding='rd': nvfp4-random-1
tcgen05-mxf4nvf4-e2m1-fp32-ue8m0-16 rounding='rne': mxf4nvf4-4x-random
tcgen05-mxf4nvf4-e2m1-fp32-ue8m0-16 rounding='rna': mxf4nvf4-4x-random
tcgen05-mxf4nvf4-e2m1-fp32-ue8m0-16 rounding='rd': mxf4nvf4-4x-random
tcgen05-mxf8f6f4-e2m1-fp32-ue8m0-32 nan='7fc00000': mxf8f6f4-scale-nan
tcgen05-tf32-fp32 alignment='rd': tf32-random-1
tcgen05-tf32-fp32 fraction_bits=23: tf32-random-1
tcgen05-tf32-fp32 fraction_bits=24: tf32-random-1
tcgen05-tf32-fp32 nan='7fc00000': tf32-nan tf32-infinity-times-zero
tcgen05-tf32-fp32 rounding='rne': tf32-random-1
tcgen05-tf32-fp32 rounding='rna': tf32-random-1
tcgen05-tf32-fp32 rounding='rd': tf32-random-1
tcgen05-tf32-fp32-unstated alignment='rne': tf32-window-floor
tcgen05-tf32-fp32-unstated alignment='rna': tf32-window-floor
tcgen05-tf32-fp32-unstated alignment='rd': tf32-window-floor
tcgen05-tf32-fp32-unstated fraction_bits=27: tf32-window-floor
tcgen05-tf32-fp32-unstated group=4: tf32-window-floor
tcgen05-tf32-fp32-unstated zero_exponent=-153: tf32-window-floor
tcgen05-tf32-fp32-unstated zero_exponent=-113: tf32-window-floor
";

#[test]
fn wrong_constants_fail_on_the_words_that_pin_them() {
    let Some(cases) = words("wrong constants of a B200") else {
        return;
    };
    let found = refuted(&cases);
    let lines = found.iter().map(|one| {
        let words = one.words.join(" ");
        let line = format!(
            "{} {}={}: {words}\n",
            cases[one.case].name, one.constant, one.value
        );
        line.replace('"', "'")
    });
    assert_eq!(lines.collect::<String>(), REFUTED);
    say(format_args!(
        "b200-words: {} wrong constants fail on the words that pin them",
        found.len()
    ));
}

/// The constants of each rule that captured words pin: of a number, where one beside it fails; of a rounding, where all
/// others do.
pub fn pinned(cases: &[Case]) -> BTreeMap<String, BTreeSet<String>> {
    let found = refuted(cases);
    let mut rules = BTreeMap::<_, BTreeSet<String>>::new();
    for (place, of_rule) in by_rule(cases) {
        let step = of_rule[0].choice().arithmetic.step;
        for constant in step.constants() {
            let own = |one: &&Refuted| {
                let case = &cases[one.case];
                one.constant == constant.name && of_rule.iter().any(|other| other.name == case.name)
            };
            let values: Vec<&Value> = found.iter().filter(own).map(|one| &one.value).collect();
            let shown = match constant.name.as_str() {
                "alignment" | "rounding" => {
                    let others = others(&constant.name, &step);
                    others.iter().all(|other| values.contains(&other))
                }
                "fraction_bits" | "zero_exponent" | "precision" => {
                    let right = constant.value.as_i64().expect("a number");
                    let beside =
                        |value: &&Value| value.as_i64().is_some_and(|n| n.abs_diff(right) == 1);
                    values.iter().any(beside)
                }
                _ => !values.is_empty(),
            };
            if shown {
                rules
                    .entry(place.clone())
                    .or_default()
                    .insert(constant.name);
            }
        }
    }
    rules
}

/// *Captured* is said of these constants, and of no others.
#[test]
fn constants_are_captured_where_words_pin_them() {
    let Some(cases) = captured("evidence of tcgen05's constants") else {
        return;
    };
    assert_eq!(cases.iter().map(|case| case.d.len()).sum::<usize>(), 73);
    let pinned = pinned(&cases);
    let mut claims = 0;
    for (place, cases) in by_rule(&cases) {
        let choice = cases[0].choice();
        let said = choice
            .arithmetic
            .constants()
            .into_iter()
            .filter(|constant| {
                let known = choice.architecture.known_by(choice.rule, &constant.name);
                known.is_some_and(|known| known.evidence == Evidence::Captured)
            });
        let said: BTreeSet<String> = said.map(|constant| constant.name).collect();
        assert_eq!(
            said,
            pinned.get(&place).cloned().unwrap_or_default(),
            "{place}"
        );
        claims += said.len();
    }
    assert_eq!(claims, 14);
}
