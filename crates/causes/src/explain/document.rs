//! The explanation as data. `docs/explaining.md` is its contract.

use serde::Serialize;

use super::Element;
use super::chain::{Entry, Wish, chain};
use super::kernel::{self, Event};
use super::{Number, Value};
use crate::diagnose::{self, Search, Single};
use crate::emu::schedule::BoundSchedule;
use crate::emu::{Choice, Engine, Problem, Replay};
use crate::num::{Format, Rounding, Target, ulp_distance};
use crate::report::{Model, Product, Scheduled, Tool};

/// Value of the `schema` field.
pub const SCHEMA: &str = "tcverify.explanation/1";

/// How one element of D comes about. Holds nothing that differs between two runs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Explanation {
    pub schema: &'static str,
    pub tool: Tool,
    pub model: Model,
    pub product: Product,
    pub index: Vec<usize>,
    /// Tile, thread and register that hold it, if D is tiled plainly; where the layout is known.
    pub place: Option<String>,
    /// What the chain starts with.
    pub c: Number,
    pub computed: Number,
    /// The result in D's format, where that is another.
    pub converted: Option<Number>,
    pub given: Option<Given>,
    /// A chain of IEEE fused multiply-adds over the same operands; integers have none.
    pub ieee_chain: Option<Number>,
    /// Absent where a schedule does more with the sum than add C and round it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<Exact>,
    pub steps: usize,
    /// Of the one chain that there is without a schedule: the k after each step, and the accumulator there.
    #[serde(skip)]
    pub reached: Vec<(usize, u64)>,
    /// The steps of the one chain that there is without a schedule.
    pub chain: Vec<Entry>,
    /// The kernel's schedule, and what happens under it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelTrace>,
    /// Where a different D may come from.
    pub search: Option<Search>,
}

/// D's element as the file has it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Given {
    #[serde(flatten)]
    pub number: Number,
    pub same: bool,
    /// Representable numbers from the computed one to the given one; none for NaN.
    pub ulp: Option<i128>,
}

/// The element without any rounding.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Exact {
    pub value: Value,
    /// Rounded once, to nearest even; none of an integer beyond the range.
    pub rounded: Option<Number>,
}

/// What a schedule makes of an element.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct KernelTrace {
    pub schedule: Scheduled,
    pub events: Vec<Event>,
}

/// What is to be explained.
pub struct Question<'a> {
    pub choice: &'a Choice<'a>,
    /// The file that describes the model, if it is not the catalogue's, and its SHA-256.
    pub file: Option<(String, String)>,
    pub problem: &'a Problem<'a>,
    pub product: Product,
    /// In D's shape, inside it.
    pub index: Vec<usize>,
    /// D's format, where it is known.
    pub format: Format,
    /// D's element.
    pub given: Option<u64>,
    pub wish: Wish,
    /// The schedule of the kernel, if there is one.
    pub kernel: Option<(BoundSchedule<'a>, Scheduled)>,
}

impl Question<'_> {
    /// Steps of the chain, or of all chains.
    pub fn steps(&self) -> usize {
        let Some((kernel, _)) = &self.kernel else {
            return self.element().steps();
        };
        let (_, row, column) = position(self.problem, &self.index);
        let element = self.element();
        let span = self.choice.arithmetic.step.span();
        let traversal = kernel.traversal(self.problem.k, span, row, column);
        let chains = traversal.root.chains().into_iter();
        let steps = chains.map(|chain| {
            if element.unrounded() {
                usize::from(!chain.indices.is_empty())
            } else {
                chain.indices.len().div_ceil(element.span())
            }
        });
        steps.sum()
    }

    fn element(&self) -> Element {
        let position = position(self.problem, &self.index);
        // C of another format is not a start of a chain.
        let c = self
            .problem
            .c
            .filter(|c| c.tensor().format() == self.choice.arithmetic.addend());
        let problem = Problem { c, ..*self.problem };
        Element::new(&problem, &self.choice.arithmetic, position)
    }

    /// Computes and watches the element.
    ///
    /// # Panics
    /// If the index is not one of D's.
    pub fn answer(self) -> Explanation {
        let steps = self.steps();
        let element = self.element();
        let arithmetic = &self.choice.arithmetic;
        let (addend, accumulator) = (arithmetic.addend(), arithmetic.accumulator);
        let (batch, row, column) = position(self.problem, &self.index);
        let at = crate::emu::Element { batch, row, column };
        let replay = Replay {
            problem: *self.problem,
            arithmetic,
            convert_to: (self.format != accumulator).then_some(self.format),
            engine: Engine::Exact,
            kernel: self.kernel.as_ref().map(|(kernel, _)| *kernel),
        };
        let plain = self.kernel.is_none();
        let c = match self.problem.c {
            Some(c) if !plain => Number::new(c.tensor().format(), c.plane(batch).code(row, column)),
            _ => Number::new(addend, element.c),
        };
        let bare = self.kernel.as_ref().is_none_or(|(kernel, schedule)| {
            let spec = &schedule.spec;
            kernel.values.is_neutral()
                && spec.scales.is_none()
                && spec.zero_point.is_none()
                && spec.epilogue.function.is_none()
        });
        let exact = bare.then(|| {
            // C may have another format than the instruction's.
            let products = (0..element.k()).map(|k| element.product(k));
            let value = products.fold(c.value(), |sum, product| sum.plus(&product));
            let rounded = value.round(Target::full(accumulator, Rounding::NearestEven));
            Exact {
                rounded: rounded.map(|code| Number::new(accumulator, code)),
                value,
            }
        });
        // A schedule has several chains.
        let accumulators = if plain {
            element.accumulators()
        } else {
            Vec::new()
        };
        let (computed, kernel) = match self.kernel {
            None => {
                let code = element.code(steps, accumulators.last().expect("there is C"));
                (Number::new(accumulator, code), None)
            }
            Some((_, schedule)) => {
                let (events, code) = kernel::trace(&replay, at, &self.wish);
                let kernel = KernelTrace { schedule, events };
                (Number::new(self.format, code), Some(kernel))
            }
        };
        let converted = (computed.format != self.format).then(|| {
            let code = arithmetic.converted(computed.code, self.format);
            Number::new(self.format, code)
        });
        let reproduced = converted.unwrap_or(computed);
        let given = self.given.map(|code| Given {
            number: Number::new(self.format, code),
            same: code == reproduced.code,
            ulp: ulp_distance(self.format, reproduced.code, code),
        });
        let different = given.as_ref().filter(|given| !given.same);
        let search = different.map(|given| {
            let single = Single {
                replay: &replay,
                at,
                chain: plain.then_some(diagnose::Chain {
                    element: &element,
                    accumulators: &accumulators,
                }),
                reproduced,
                given: given.number,
            };
            single.search()
        });
        let layout = self.choice.layout().filter(|_| plain);
        let ieee_chain = plain.then(|| element.ieee_chain()).flatten();
        let reached = accumulators.iter().skip(1).enumerate();
        Explanation {
            schema: SCHEMA,
            tool: Tool::default(),
            model: Model::of(self.choice, self.file.clone()),
            product: self.product,
            place: layout.map(|layout| layout.describe(accumulator, row, column)),
            index: self.index,
            c,
            computed,
            converted,
            given,
            ieee_chain: ieee_chain.map(|(format, code)| Number::new(format, code)),
            exact,
            steps,
            reached: reached
                .map(|(step, carried)| {
                    let code = element.code(step + 1, carried);
                    (element.range(step).end, code)
                })
                .collect(),
            chain: if plain {
                chain(&element, &accumulators, &self.wish)
            } else {
                Vec::new()
            },
            kernel,
            search,
        }
    }
}

/// Batch, row and column of an index of D.
pub fn position(problem: &Problem, index: &[usize]) -> (usize, usize, usize) {
    let shape = problem.d_shape();
    assert_eq!(index.len(), shape.len(), "an index of D");
    assert!(index.iter().zip(&shape).all(|(i, n)| i < n), "inside D");
    let (batch, element) = index.split_at(index.len() - 2);
    let sizes = batch.iter().zip(&shape);
    let batch = sizes.fold(0, |at, (i, n)| at * n + i);
    (batch, element[0], element[1])
}
