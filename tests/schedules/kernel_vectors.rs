//! Products that cuBLASLt computed on a GeForce RTX 4060, and instructions of it: every output is replayed
//! bit for bit, and schedules that are wrong in one decision get a counted number of them wrong.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rayon::prelude::*;
use serde::Deserialize;
use tcverify::emu::schedule::{
    Empty, Grain, Kernel, Level, Merge, Order, Partials, Parts, Schedule, ScheduleSpec,
    SliceLength, Start, Values, WithoutC,
};
use tcverify::emu::{Arithmetic, Catalogue, Engine, Problem, Replay};
use tcverify::io::Source;
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use crate::common::case::codes;
use crate::common::engines::{engines, name};
use crate::common::say;

/// Outputs of instructions, and of products.
const INSTRUCTIONS: usize = 54;
const PRODUCTS: usize = 1517;

/// An entry of the collection's list.
#[derive(Debug, Deserialize)]
struct Entry {
    id: String,
    kind: String,
    batch: usize,
    m: usize,
    n: usize,
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

    fn is_instruction(&self) -> bool {
        self.entry.kind == "mma"
    }

    fn slices(&self) -> usize {
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
            Kernel::check(spec, values, &setup.arithmetic, &problem, result)
                .unwrap_or_else(|e| panic!("{}: {e}", self.entry.id));
            Kernel::new(spec, values, &problem)
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

/// All outputs, or none where there are no vectors at all.
fn outputs() -> Option<Vec<Output>> {
    let Some(root) = std::env::var_os("TCVERIFY_VECTORS") else {
        say(format_args!(
            "SKIPPED: kernel-vectors: TCVERIFY_VECTORS is not set"
        ));
        return None;
    };
    let root = PathBuf::from(root).join("kernel-vectors");
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

/// Elements of all outputs that a setup gets wrong, and outputs that have such.
fn wrong(
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
        let [elements, wrong] = wrong(&outputs, engine, Output::setup);
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
    let one = |code: Option<u32>| {
        let code = code.expect("products have scales");
        Tensor::from_codes(Format::Fp32, vec![1], &[code.into()])
    };
    let products = outputs
        .into_iter()
        .filter(|output| !output.is_instruction());
    let products: Vec<Output> = products.collect();
    let scaled = |output: &Output| {
        let mut setup = output.setup();
        let [a, b] = [&output.entry.scale_a, &output.entry.scale_b].map(|text| one(code(text)));
        let mut values = Values::default();
        values.scale_result = setup.values().scale_result;
        let per = setup
            .spec()
            .scales
            .as_ref()
            .expect("the preset has some")
            .per;
        let values = values.with_scales(per, [a.planes(), b.planes()], &output.problem());
        *setup.values() = values.expect("one number each");
        setup
    };
    assert_eq!(wrong(&products, engine, scaled), [0, 0]);
}

/// A schedule that is wrong in one decision, and how many outputs it gets wrong.
struct Control {
    what: &'static str,
    outputs: usize,
    of: fn(&Output) -> bool,
    change: fn(&Output, &mut Setup),
}

fn product(output: &Output) -> bool {
    !output.is_instruction()
}

fn is_split(output: &Output) -> bool {
    output.slices() > 1
}

fn pairwise(output: &Output) -> bool {
    output.scheme() == "pairwise"
}

fn serial(output: &Output) -> bool {
    output.scheme() == "serial"
}

fn slow(output: &Output) -> bool {
    product(output) && !output.entry.fast_accum
}

fn fast(output: &Output) -> bool {
    product(output) && output.entry.fast_accum
}

fn fp8(output: &Output) -> bool {
    matches!(output.d.format(), Format::E4m3 | Format::E5m2)
}

fn merge_of(setup: &mut Setup) -> &mut Merge {
    &mut setup.spec().split.as_mut().expect("a split").merge
}

fn order(setup: &mut Setup, wanted: Order) {
    let Merge::Sum { order, .. } = merge_of(setup) else {
        panic!("parts are kept");
    };
    *order = wanted;
}

fn deal(setup: &mut Setup, k: usize) {
    let spec = setup.spec();
    spec.tile_k = Some(k);
    let split = spec.split.as_mut().expect("a split");
    let Parts::Interleaved { grain, .. } = &mut split.parts else {
        panic!("tiles are dealt out");
    };
    *grain = Some(Grain::K(k));
}

fn contiguous(output: &Output, setup: &mut Setup) {
    setup.spec().split.as_mut().expect("a split").parts = Parts::Slices {
        count: Some(output.slices()),
        grain: None,
        length: SliceLength::Ceil,
        empty: Empty::Zero,
    };
}

const CONTROLS: [Control; 24] = [
    Control {
        what: "contiguous slices of tiles of 64",
        outputs: 0,
        of: is_split,
        change: contiguous,
    },
    Control {
        what: "contiguous slices of tiles of 128",
        outputs: 0,
        of: is_split,
        change: |output, setup| {
            contiguous(output, setup);
            setup.spec().tile_k = Some(128);
        },
    },
    Control {
        what: "interleaved tiles of 32",
        outputs: 0,
        of: is_split,
        change: |_, setup| deal(setup, 32),
    },
    Control {
        what: "interleaved tiles of 128",
        outputs: 0,
        of: is_split,
        change: |_, setup| deal(setup, 128),
    },
    Control {
        what: "no split",
        outputs: 0,
        of: is_split,
        change: |_, setup| setup.spec().split = None,
    },
    Control {
        what: "parts added in pairs, one after the other",
        outputs: 0,
        of: pairwise,
        change: |_, setup| order(setup, Order::Serial),
    },
    Control {
        what: "parts added in pairs, the last one first",
        outputs: 0,
        of: pairwise,
        change: |_, setup| order(setup, Order::Reverse),
    },
    Control {
        what: "parts added in pairs, neighbours first",
        outputs: 0,
        of: pairwise,
        change: |_, setup| order(setup, Order::Adjacent),
    },
    Control {
        what: "parts added one after the other, in pairs",
        outputs: 0,
        of: serial,
        change: |_, setup| order(setup, Order::Pairwise),
    },
    Control {
        what: "parts in D's format",
        outputs: 0,
        of: is_split,
        change: |_, setup| {
            let Merge::Sum { partials, .. } = merge_of(setup) else {
                panic!("parts are kept");
            };
            *partials = Partials::Result;
        },
    },
    Control {
        what: "parts added in place",
        outputs: 0,
        of: is_split,
        change: |_, setup| {
            setup.spec().scales = None;
            *merge_of(setup) = Merge::InPlace {};
        },
    },
    Control {
        what: "slow: no promotion",
        outputs: 0,
        of: slow,
        change: |_, setup| setup.spec().set_promotion(None),
    },
    Control {
        what: "slow: promotion every 64",
        outputs: 0,
        of: slow,
        change: |_, setup| setup.spec().set_promotion(Some(64)),
    },
    Control {
        what: "slow: promotion every 256",
        outputs: 0,
        of: slow,
        change: |_, setup| setup.spec().set_promotion(Some(256)),
    },
    Control {
        what: "fast: promotion every 128",
        outputs: 0,
        of: fast,
        change: |_, setup| setup.spec().set_promotion(Some(128)),
    },
    Control {
        what: "slow, split: promotion of each tile of 64 of one chain",
        outputs: 0,
        of: |output| slow(output) && is_split(output),
        change: |_, setup| {
            setup.spec().split = None;
            setup.spec().inner = vec![Level::promotion(128)];
        },
    },
    Control {
        what: "no +0 where C is missing",
        outputs: 0,
        of: product,
        change: |_, setup| setup.spec().epilogue.without_c = WithoutC::Multiply,
    },
    Control {
        what: "subnormal alpha flushed",
        outputs: 0,
        of: product,
        change: |_, setup| {
            let alpha = &mut setup.values().alpha;
            if *alpha & 0x7f80_0000 == 0 {
                *alpha &= 0x8000_0000;
            }
        },
    },
    Control {
        what: "the scale of the result in alpha",
        outputs: 0,
        of: |output| output.entry.scale_result.is_some(),
        change: |_, setup| {
            let values = setup.values();
            let scale = values.scale_result.take().expect("there is one");
            let alpha = f32::from_bits(values.alpha) * f32::from_bits(scale);
            values.alpha = alpha.to_bits();
        },
    },
    Control {
        what: "no scale of the result",
        outputs: 0,
        of: |output| output.entry.scale_result.is_some(),
        change: |_, setup| setup.values().scale_result = None,
    },
    Control {
        what: "K = 0 computed: alpha times +0",
        outputs: 0,
        of: |output| output.entry.k == 0 && product(output),
        change: |_, _| {},
    },
    Control {
        what: "sums that start from +0",
        outputs: 0,
        of: is_split,
        change: |_, setup| {
            let Merge::Sum { start, order, .. } = merge_of(setup) else {
                panic!("parts are kept");
            };
            (*start, *order) = (Start::Zero, Order::Serial);
        },
    },
    Control {
        what: "parts without a tile left out",
        outputs: 0,
        of: is_split,
        change: |_, setup| {
            let split = setup.spec().split.as_mut().expect("a split");
            let Parts::Interleaved { empty, .. } = &mut split.parts else {
                panic!("tiles are dealt out");
            };
            *empty = Empty::Skipped;
        },
    },
    Control {
        what: "the partial tile first",
        outputs: 0,
        of: product,
        change: |_, setup| setup.spec().residue = tcverify::emu::schedule::Residue::First,
    },
];

#[test]
fn wrong_schedules_differ() {
    let Some(mut outputs) = outputs() else { return };
    let engine = *engines().last().expect("an engine");
    let mut unexpected = Vec::new();
    for control in &CONTROLS {
        let (of, rest): (Vec<Output>, Vec<Output>) = outputs.into_iter().partition(control.of);
        let [_, found] = wrong(&of, engine, |output| {
            let mut setup = output.setup();
            (control.change)(output, &mut setup);
            setup
        });
        if found != control.outputs {
            let what = control.what;
            unexpected.push(format!("{what}: {found} of {}", of.len()));
        }
        outputs = rest;
        outputs.extend(of);
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}
