//! A captured product as a user asks for it, and whether an order is the one that computed it.

use tcverify::check::{Operands, Source};
use tcverify::emu::schedule::{BoundSchedule, ScheduleSpec, Values};
use tcverify::emu::{Arithmetic, Engine, Problem, Replay};
use tcverify::identify::{Formats, Identify};
use tcverify::num::{F32, Format, Rounding, round_code};
use tcverify::role::Role;
use tcverify::tensor::Tensor;

use super::{Output, code, format, vectors};
use crate::support::case::codes;
use crate::support::engines::engines;
use crate::support::random::Random;
use crate::support::{Folder, Npy};

/// Rows and columns of the product on which two orders are compared.
const PROBE: usize = 5;

impl Output {
    pub fn id(&self) -> &str {
        &self.entry.id
    }

    pub fn arithmetic(&self) -> &Arithmetic {
        &self.arithmetic
    }

    pub fn has_scale_of_result(&self) -> bool {
        self.entry.scale_result.is_some()
    }

    /// The library's configuration, as far as it decides bits, in the words of its attributes.
    pub fn configuration(&self) -> String {
        let algo = if self.entry.fast_accum { 60 } else { 35 };
        let custom = u32::from(self.scheme() == "pairwise");
        let slices = self.slices();
        format!("algo={algo},stages=16,splitK={slices},reduction=2,custom={custom}")
    }

    /// The files, with everything that a configuration does not say.
    pub fn words(&self, configuration: &str) -> String {
        let case = self.case(configuration);
        let field = |name: &str| case[name].as_str().map(str::to_owned);
        let option = |name: &str| match field(name) {
            Some(value) => format!("--{}={value} ", name.replace('_', "-")),
            None => String::new(),
        };
        let options = [
            "dtype",
            "dtype_b",
            "d_dtype",
            "kernel",
            "alpha",
            "scale_result",
        ];
        let options: String = options.map(option).concat();
        let [a, b, d] = ["a", "b", "d"].map(|name| field(name).expect("a file"));
        format!("{options}--transpose-b {a} {b} {d}")
    }

    /// The same as a case of a manifest, but for what all of them share.
    pub fn case(&self, configuration: &str) -> serde_json::Value {
        let entry = &self.entry;
        let mut case = serde_json::json!({
            "name": entry.id, "kernel": configuration, "a": at(&entry.a), "b": at(&entry.b), "d": at(&entry.d),
            "dtype": entry.a_dtype, "dtype_b": entry.b_dtype, "d_dtype": entry.d_dtype, "alpha": entry.alpha,
        });
        if let Some(scale) = &entry.scale_result {
            case["scale_result"] = scale.as_str().into();
        }
        case
    }

    /// A search for its order: formats and scales are said.
    pub fn search(&self, folder: &Folder) -> Identify {
        let entry = &self.entry;
        let file = |name: &str| Source::File(at(name).into());
        let request = Identify::new([file(&entry.a), file(&entry.b), file(&entry.d)]);
        let scale = |name: &str, text: &Option<String>| {
            let bytes = code(text).expect("products have scales").to_le_bytes();
            Source::File(folder.save(name, &Npy::new("<f4", &[1, 1], bytes.into())))
        };
        let scales = [
            (Role::ScaleA, scale("scale-a.npy", &entry.scale_a)),
            (Role::ScaleB, scale("scale-b.npy", &entry.scale_b)),
        ];
        Identify {
            operands: Operands {
                transpose_b: true,
                arrays: request.operands.arrays.into_iter().chain(scales).collect(),
                ..request.operands
            },
            formats: Formats {
                a: Some(format(&entry.a_dtype)),
                b: Some(format(&entry.b_dtype)),
                d: Some(format(&entry.d_dtype)),
            },
            scale_result: code(&entry.scale_result).map(F32),
            ..request
        }
    }

    /// The schedule that computed it, with other slices.
    pub fn spec_of(&self, slices: usize) -> ScheduleSpec {
        let mut spec = self.spec();
        *spec.split_count().expect("a split") = Some(slices);
        spec
    }

    /// Whether an arithmetic under a schedule computes what the captured one does, told by products of its K
    /// whose every bit depends on the order.
    pub fn computes_alike(&self, arithmetic: &Arithmetic, spec: Option<&ScheduleSpec>) -> bool {
        let operands = [self.a.format(), self.b.format()];
        if [arithmetic.a, arithmetic.b] != operands || arithmetic.accumulator != Format::Fp32 {
            return false;
        }
        let mut random = Random::seeded(self.k() as u64);
        let [a, b] = operands.map(|format| normal(format, [PROBE, self.k()], &mut random));
        let problem = Problem::new(a.planes(), b.planes().transposed(), None);
        let problem = problem.expect("they multiply");
        let values = Values::default();
        // Of one block of k, operands with a scale of their own are tried too: here it is 1.
        let scales = arithmetic.scale.map(|scale| {
            let one = round_code(
                Format::Fp32,
                0x3f80_0000,
                scale.format,
                Rounding::NearestEven,
                0,
            );
            let blocks = self.k().div_ceil(scale.block);
            let ones = Tensor::from_codes(
                scale.format,
                vec![PROBE, blocks],
                &vec![one; PROBE * blocks],
            );
            (ones, scale.block)
        });
        let replay = |arithmetic: &Arithmetic, spec: Option<&ScheduleSpec>| {
            let scaled = scales.as_ref().filter(|_| arithmetic.scale.is_some());
            let problem = match scaled {
                Some((ones, block)) => {
                    let [a, b] = [ones.planes(), ones.planes().transposed()];
                    problem.with_scales(a, b, *block).expect("a scale for each")
                }
                None => problem,
            };
            let replay = Replay {
                problem,
                arithmetic,
                convert_to: None,
                engine: *engines().last().unwrap_or(&Engine::Exact),
                kernel: spec.map(|spec| BoundSchedule::new(spec, &values, &problem)),
            };
            codes(&replay.collect(&|_| {}))
        };
        replay(arithmetic, spec) == replay(&self.arithmetic, Some(&self.spec()))
    }
}

fn at(name: &str) -> String {
    let root = vectors().expect("they were read");
    root.join(name).display().to_string()
}

/// Numbers of three binades around 1, of either sign.
fn normal(format: Format, shape: [usize; 2], random: &mut Random) -> Tensor {
    let one = (format.bias() as u64) << format.fraction_bits();
    let binades = 3 << format.fraction_bits();
    let mut code = || {
        let word = random.bits();
        (one - binades / 2 + (word >> 8) % binades) | format.sign(word & 1 == 1)
    };
    let all: Vec<u64> = (0..shape[0] * shape[1]).map(|_| code()).collect();
    Tensor::from_codes(format, shape.into(), &all)
}
