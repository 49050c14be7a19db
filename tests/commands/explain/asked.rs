//! One element: its operands, and what is asked of it.

use tcverify::emu::{Arithmetic, Catalogue, Choice, Engine, Problem, Replay};
use tcverify::explain::{Entry, Explanation, Question, Step, Wish};
use tcverify::num::Format;
use tcverify::report::Product;
use tcverify::tensor::Tensor;

/// A row of A and a column of B.
#[derive(Clone)]
pub struct Element {
    pub a: Vec<u64>,
    pub b: Vec<u64>,
    pub c: Option<u64>,
    /// One an operand block.
    pub scales: Option<[Vec<u64>; 2]>,
}

pub fn choice(arch: &str, instruction: &str, operands: Format) -> Choice<'static> {
    let arch = Catalogue::builtin().find(arch).unwrap();
    arch.select(Some(instruction), [operands; 2], None).unwrap()
}

impl Element {
    pub fn new(a: &[u64], b: &[u64]) -> Element {
        Element {
            a: a.to_vec(),
            b: b.to_vec(),
            c: None,
            scales: None,
        }
    }

    pub fn k(&self) -> usize {
        self.a.len()
    }

    /// FP16 numbers.
    pub fn halves(a: &[f32], b: &[f32]) -> Element {
        let codes = |x: &[f32]| -> Vec<u64> {
            let code = |&x: &f32| {
                let half = half::f16::from_f32(x);
                assert_eq!(half.to_f32(), x, "{x} is no FP16 number");
                half.to_bits().into()
            };
            x.iter().map(code).collect()
        };
        Element::new(&codes(a), &codes(b))
    }

    pub fn with_c(mut self, c: f32) -> Element {
        self.c = Some(c.to_bits().into());
        self
    }

    fn with<T>(&self, arithmetic: &Arithmetic, then: impl FnOnce(&Problem) -> T) -> T {
        let k = self.k();
        let a = Tensor::from_codes(arithmetic.a, vec![1, k], &self.a);
        let b = Tensor::from_codes(arithmetic.b, vec![k, 1], &self.b);
        let c = self
            .c
            .map(|c| Tensor::from_codes(arithmetic.addend(), vec![1, 1], &[c]));
        let problem = Problem::new(a.planes(), b.planes(), c.as_ref().map(Tensor::planes));
        let problem = problem.unwrap();
        let Some((codes, scale)) = self.scales.as_ref().zip(arithmetic.scale) else {
            return then(&problem);
        };
        let blocks = codes[0].len();
        let sa = Tensor::from_codes(scale.format, vec![1, blocks], &codes[0]);
        let sb = Tensor::from_codes(scale.format, vec![blocks, 1], &codes[1]);
        let problem = problem.with_scales(sa.planes(), sb.planes(), scale.block);
        then(&problem.unwrap())
    }

    /// What the exact engine computes.
    pub fn replay(&self, arithmetic: &Arithmetic) -> u64 {
        self.with(arithmetic, |problem| {
            let replay = Replay {
                problem: *problem,
                arithmetic,
                convert_to: None,
                engine: Engine::Exact,
                kernel: None,
            };
            replay.collect(&|_| {}).planes().plane(0).code(0, 0)
        })
    }

    /// The same with the first `k` products alone.
    pub fn first(&self, k: usize, arithmetic: &Arithmetic) -> Element {
        let blocks = arithmetic.scale.map_or(0, |scale| k.div_ceil(scale.block));
        let cut = |codes: &Vec<u64>| codes[..blocks].to_vec();
        Element {
            a: self.a[..k].to_vec(),
            b: self.b[..k].to_vec(),
            c: self.c,
            scales: self.scales.as_ref().map(|[a, b]| [cut(a), cut(b)]),
        }
    }

    pub fn explain(&self, choice: &Choice, d: Option<(Format, u64)>, wish: Wish) -> Explanation {
        self.with(&choice.arithmetic, |problem| {
            let question = Question {
                choice,
                file: None,
                problem,
                product: Product {
                    batch: Vec::new(),
                    m: 1,
                    n: 1,
                    k: self.k(),
                    transpose_a: false,
                    transpose_b: false,
                    sparse: None,
                    weights: None,
                },
                index: vec![0, 0],
                format: d.map_or(choice.arithmetic.accumulator, |(format, _)| format),
                given: d.map(|(_, code)| code),
                wish,
                kernel: None,
            };
            question.answer()
        })
    }
}

/// The steps that are shown in full.
pub fn shown(explanation: &Explanation) -> Vec<&Step> {
    let full = explanation.chain.iter().filter_map(full);
    full.collect()
}

fn full(entry: &Entry) -> Option<&Step> {
    match entry {
        Entry::Step { step, .. } => Some(step),
        Entry::Folded(_) => None,
    }
}

/// The text, without colours.
pub fn text(explanation: &Explanation) -> String {
    let mut out = anstream::StripStream::new(Vec::new());
    tcverify::explain::write(explanation, &mut out).unwrap();
    String::from_utf8(out.into_inner()).unwrap()
}
