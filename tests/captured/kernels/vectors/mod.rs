//! Products that cuBLASLt computed on a GeForce RTX 4060, and instructions of it: every output is replayed
//! bit for bit, and schedules that are wrong in one decision get a counted number of them wrong.

mod asked;
mod controls;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rayon::prelude::*;
use serde::Deserialize;
use tcverify::emu::schedule::{BoundSchedule, Schedule, ScheduleSpec, Values};
use tcverify::emu::{Arithmetic, Catalogue, Engine, Problem, Replay};
use tcverify::io::Source;
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use crate::support::case::codes;
use crate::support::engines::{engines, name};
use crate::support::say;
use crate::support::wrong::{self, Change};

/// Outputs of instructions, and of products.
const INSTRUCTIONS: usize = 54;
const PRODUCTS: usize = 1517;

/// An entry of the collection's list.
#[derive(Debug, Deserialize)]
struct Entry {
    id: String,
    kind: String,
    k: usize,
    a: String,
    b: String,
    c: Option<String>,
    d: String,
    a_dtype: String,
    b_dtype: String,
    d_dtype: String,
    #[serde(default)]
    fast_accum: bool,
    split_k: Option<usize>,
    split_scheme: Option<String>,
    scale_a: Option<String>,
    scale_b: Option<String>,
    alpha: Option<String>,
    scale_result: Option<String>,
}

/// An output with its operands.
pub struct Output {
    entry: Entry,
    a: Tensor,
    b: Tensor,
    c: Option<Tensor>,
    d: Tensor,
    arithmetic: Arithmetic,
}

fn format(name: &str) -> Format {
    Format::from_name(name).unwrap_or_else(|| panic!("no format is called {name}"))
}

fn code(text: &Option<String>) -> Option<u32> {
    let digits = text.as_ref()?.strip_prefix("0x").expect("a code");
    Some(u32::from_str_radix(digits, 16).expect("a code"))
}

impl Output {
    fn read(root: &Path, entry: Entry, known: &Mutex<HashMap<(String, Format), Tensor>>) -> Output {
        let tensor = |name: &str, format: Format| {
            let key = (name.to_owned(), format);
            if let Some(tensor) = known.lock().expect("no thread died").get(&key) {
                return tensor.clone();
            }
            let source = Source::open(&root.join(name)).unwrap_or_else(|e| panic!("{name}: {e:#}"));
            let tensor = source
                .tensor(format)
                .unwrap_or_else(|e| panic!("{name}: {e:#}"));
            known
                .lock()
                .expect("no thread died")
                .insert(key, tensor.clone());
            tensor
        };
        let operands = [format(&entry.a_dtype), format(&entry.b_dtype)];
        let ada = Catalogue::builtin().find("ada").expect("of the catalogue");
        let choice = ada.select(Some("mma"), operands, Some(Format::Fp32));
        Output {
            a: tensor(&entry.a, operands[0]),
            b: tensor(&entry.b, operands[1]),
            c: entry.c.as_ref().map(|c| tensor(c, Format::Fp32)),
            d: tensor(&entry.d, format(&entry.d_dtype)),
            arithmetic: choice.expect("Ada has FP8").arithmetic.clone(),
            entry,
        }
    }

    pub fn k(&self) -> usize {
        self.entry.k
    }

    /// What a user types to check it, but for the program's name and the architecture.
    pub fn command(&self) -> String {
        let Entry {
            a,
            b,
            d,
            a_dtype,
            b_dtype,
            d_dtype,
            ..
        } = &self.entry;
        let schedule = match self.scheme() {
            "none" => "cublas-ada-fp8".to_owned(),
            scheme => format!("cublas-ada-fp8-{scheme} --split-k {}", self.slices()),
        };
        let promote = if self.entry.fast_accum {
            " --set promote=never"
        } else {
            ""
        };
        let scale = match &self.entry.scale_result {
            Some(scale) => format!(" --scale-result {scale}"),
            None => String::new(),
        };
        let alpha = self.entry.alpha.as_deref().expect("a product");
        let at = |name: &str| {
            vectors()
                .expect("they were read")
                .join(name)
                .display()
                .to_string()
        };
        format!(
            "--dtype {a_dtype} --dtype-b {b_dtype} --d-dtype {d_dtype} --transpose-b --schedule {schedule}{promote} \
             --alpha {alpha}{scale} {} {} {}",
            at(a),
            at(b),
            at(d)
        )
    }

    pub fn is_instruction(&self) -> bool {
        self.entry.kind == "mma"
    }

    pub fn slices(&self) -> usize {
        self.entry.split_k.unwrap_or(1)
    }

    fn scheme(&self) -> &str {
        self.entry.split_scheme.as_deref().unwrap_or("none")
    }

    /// The preset as the library was asked for.
    fn spec(&self) -> ScheduleSpec {
        let name = match self.scheme() {
            "none" => "cublas-ada-fp8",
            "serial" => "cublas-ada-fp8-serial",
            "pairwise" => "cublas-ada-fp8-pairwise",
            other => panic!("a new scheme: {other}"),
        };
        let mut spec = Schedule::preset(name).expect("a preset").spec.clone();
        if let Some(count) = spec.split_count() {
            *count = self.entry.split_k;
        }
        if self.entry.fast_accum {
            spec.set_promotion(None);
        }
        spec
    }

    fn values(&self) -> Values {
        let mut values = Values::default();
        values.alpha = code(&self.entry.alpha).unwrap_or(values.alpha);
        values.scale_result = code(&self.entry.scale_result);
        values
    }

    fn problem(&self) -> Problem<'_> {
        let c = self.c.as_ref().map(Tensor::planes);
        Problem::with_any_k(self.a.planes(), self.b.planes().transposed(), c)
            .expect("shapes that fit")
    }

    /// D by the library.
    fn replay(&self, setup: &Setup, engine: Engine) -> Vec<u64> {
        let problem = self.problem();
        let result = setup.result.unwrap_or(self.d.format());
        let kernel = setup.kernel.as_ref().map(|(spec, values)| {
            BoundSchedule::check(spec, values, &setup.arithmetic, &problem, result)
                .unwrap_or_else(|e| panic!("{}: {e}", self.entry.id));
            BoundSchedule::new(spec, values, &problem)
        });
        let replay = Replay {
            problem,
            arithmetic: &setup.arithmetic,
            convert_to: Some(result),
            engine,
            kernel,
        };
        codes(&replay.collect(&|_| {}))
    }

    /// The numbers of a setup, but its alpha as two scales.
    fn scaled(&self, setup: &mut Setup) -> Values {
        let one = |text: &Option<String>| {
            let code = code(text).expect("products have scales");
            Tensor::from_codes(Format::Fp32, vec![1], &[code.into()])
        };
        let [a, b] = [&self.entry.scale_a, &self.entry.scale_b].map(one);
        let mut values = Values::default();
        values.scale_result = setup.values().scale_result;
        let scaling = setup.spec().scales.as_ref();
        let per = scaling.expect("the preset has some").per;
        let values = values.with_scales(per, [a.planes(), b.planes()], &self.problem());
        values.expect("one number each")
    }

    /// As the GPU computed it.
    fn setup(&self) -> Setup {
        Setup {
            arithmetic: self.arithmetic.clone(),
            kernel: (!self.is_instruction()).then(|| (self.spec(), self.values())),
            result: None,
        }
    }
}

/// What an output is replayed with.
struct Setup {
    arithmetic: Arithmetic,
    kernel: Option<(ScheduleSpec, Values)>,
    /// D's format, if it is another than the output's.
    result: Option<Format>,
}

impl Setup {
    fn spec(&mut self) -> &mut ScheduleSpec {
        &mut self.kernel.as_mut().expect("a product").0
    }

    fn values(&mut self) -> &mut Values {
        &mut self.kernel.as_mut().expect("a product").1
    }
}

/// The folder of the collection.
fn vectors() -> Option<PathBuf> {
    let root = std::env::var_os("TCVERIFY_VECTORS")?;
    Some(PathBuf::from(root).join("kernel-vectors"))
}

/// All outputs, or none where there are no vectors at all.
pub fn outputs() -> Option<Vec<Output>> {
    let Some(root) = vectors() else {
        say(format_args!(
            "SKIPPED: kernel-vectors: TCVERIFY_VECTORS is not set"
        ));
        return None;
    };
    let list = std::fs::read_to_string(root.join("cases.json")).expect("the list of outputs");
    let entries: Vec<Entry> = serde_json::from_str(&list).expect("the list of outputs");
    let known = Mutex::default();
    let read = |entry| Output::read(&root, entry, &known);
    let outputs: Vec<Output> = entries.into_par_iter().map(read).collect();
    let instructions = outputs
        .iter()
        .filter(|output| output.is_instruction())
        .count();
    assert_eq!(
        (instructions, outputs.len() - instructions),
        (INSTRUCTIONS, PRODUCTS)
    );
    Some(outputs)
}

/// Products whose K was split.
pub fn splits(outputs: &[Output]) -> impl Iterator<Item = &Output> {
    outputs.iter().filter(|output| output.slices() > 1)
}

/// Elements of all outputs that a setup gets wrong, and outputs that have such.
fn mismatches(
    outputs: &[Output],
    engine: Engine,
    setup: impl Fn(&Output) -> Setup + Sync,
) -> [usize; 2] {
    let count = |output: &Output| {
        let found = output.replay(&setup(output), engine);
        let wanted = codes(&output.d);
        assert_eq!(found.len(), wanted.len());
        found.iter().zip(&wanted).filter(|(x, y)| x != y).count()
    };
    let counts = outputs.par_iter().map(count);
    let both = counts.map(|wrong| [wrong, usize::from(wrong > 0)]);
    both.reduce(|| [0, 0], |x, y| [x[0] + y[0], x[1] + y[1]])
}

#[test]
fn every_output_is_replayed() {
    let Some(outputs) = outputs() else { return };
    let values: usize = outputs.iter().map(|output| output.d.len()).sum();
    for engine in engines() {
        let [elements, wrong] = mismatches(&outputs, engine, Output::setup);
        say(format_args!(
            "kernel-vectors: {} outputs, {values} values replayed, {elements} mismatches ({} engine)",
            outputs.len(),
            name(engine)
        ));
        assert_eq!([elements, wrong], [0, 0], "{}", name(engine));
    }
    assert_eq!(outputs.len(), INSTRUCTIONS + PRODUCTS);
}

/// Scales of one number each are multiplied by whoever runs the schedule, as the library does it.
#[test]
fn scales_are_alpha() {
    let Some(outputs) = outputs() else { return };
    let engine = *engines().last().expect("an engine");
    let products = outputs
        .into_iter()
        .filter(|output| !output.is_instruction());
    let products: Vec<Output> = products.collect();
    let scaled = |output: &Output| {
        let mut setup = output.setup();
        *setup.values() = output.scaled(&mut setup);
        setup
    };
    assert_eq!(mismatches(&products, engine, scaled), [0, 0]);
}

/// K = 0 is filled in: times an infinite or NaN alpha, +0 would be NaN.
#[test]
fn nothing_is_computed_of_no_products() {
    let Some(outputs) = outputs() else { return };
    let empty = outputs.iter().filter(|output| output.entry.k == 0);
    let (mut filled, mut told) = (0, 0);
    for output in empty {
        let zeros = codes(&output.d).iter().all(|&code| code == 0);
        assert!(zeros, "{}", output.entry.id);
        let alpha = f32::from_bits(code(&output.entry.alpha).expect("a product"));
        filled += 1;
        told += usize::from(!alpha.is_finite());
    }
    assert_eq!((filled, told), (88, 12));
}

fn fp8(output: &Output) -> bool {
    matches!(output.d.format(), Format::E4m3 | Format::E5m2)
}

/// FP8 results beyond the largest number, infinities among them, are that number.
#[test]
fn fp8_results_saturate() {
    let Some(outputs) = outputs() else { return };
    let engine = *engines().last().expect("an engine");
    let unscaled = |output: &&Output| fp8(output) && output.entry.scale_result.is_none();
    let overflown = outputs.iter().filter(unscaled).filter(|output| {
        let mut setup = output.setup();
        setup.result = Some(Format::Fp32);
        let found = output.replay(&setup, engine);
        // The first number that would be rounded up from the largest one.
        let limit = match output.d.format() {
            Format::E4m3 => 464.0,
            _ => 61_440.0f32.next_down(),
        };
        let beyond = |&code: &u64| f32::from_bits(code as u32).abs() > limit;
        found.iter().any(beyond)
    });
    assert_eq!(overflown.count(), 140);
}

/// A model that is wrong in one constant, and how many outputs it gets wrong: of the instructions, of the
/// products, and of those among both that multiply E4M3 with E5M2.
#[test]
fn wrong_models_differ() {
    let Some(outputs) = outputs() else { return };
    let engine = *engines().last().expect("an engine");
    let (instructions, products): (Vec<Output>, Vec<Output>) =
        outputs.into_iter().partition(Output::is_instruction);
    let is_mixed = |output: &Output| output.entry.a_dtype != output.entry.b_dtype;
    let changes: [(&str, Change, [usize; 3]); 11] = [
        ("12 fraction bits", wrong::one_bit_less, [52, 372, 157]),
        ("14 fraction bits", wrong::one_bit_more, [50, 323, 128]),
        ("a group of 8", wrong::half_group, [43, 268, 95]),
        ("a group of 32", wrong::double_group, [19, 257, 86]),
        (
            "13 bits of result",
            wrong::one_bit_less_of_result,
            [52, 369, 156],
        ),
        (
            "15 bits of result",
            wrong::one_bit_more_of_result,
            [48, 118, 48],
        ),
        (
            "aligned to nearest",
            wrong::align_to_nearest,
            [51, 325, 131],
        ),
        ("aligned down", wrong::align_down, [51, 409, 182]),
        (
            "rounded to nearest",
            wrong::round_to_nearest,
            [49, 283, 118],
        ),
        (
            "another NaN",
            |a| wrong::fused(a).nan.0 = 0x7fc0_0000,
            [2, 0, 1],
        ),
        // Not proven: that all are right says nothing of it.
        ("zeros at -126", wrong::zeros_at_minus_126, [0; 3]),
    ];
    let mut unexpected = Vec::new();
    for (what, change, expected) in changes {
        let count = |outputs: &[Output]| {
            let wrong = |output: &Output| {
                let mut setup = output.setup();
                setup.arithmetic = wrong::changed(&output.arithmetic, change);
                usize::from(output.replay(&setup, engine) != codes(&output.d))
            };
            let both = outputs.par_iter().map(|output| {
                let wrong = wrong(output);
                [wrong, if is_mixed(output) { wrong } else { 0 }]
            });
            both.reduce(|| [0, 0], |x, y| [x[0] + y[0], x[1] + y[1]])
        };
        let ([one, mixed], [many, more]) = (count(&instructions), count(&products));
        let found = [one, many, mixed + more];
        if found != expected {
            unexpected.push(format!("(\"{what}\", {found:?})"));
        }
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}
