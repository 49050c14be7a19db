//! The explanation as data. `docs/explaining.md` is its contract.

use serde::Serialize;

use super::Element;
use super::chain::{Entry, Wish, chain};
use super::kernel::{self, Event};
use super::{Number, Value};
use crate::diagnose::{self, Search, Single};
use crate::emu::schedule::Kernel;
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
    /// The same in D's format, where that is another.
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
    pub kernel: Option<(Kernel<'a>, Scheduled)>,
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
        let steps = chains.map(|chain| match element.unrounded() {
            true => usize::from(!chain.indices.is_empty()),
            false => chain.indices.len().div_ceil(element.span()),
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
        match self.kernel {
            None => self.answer_plain(),
            Some(_) => self.answer_scheduled(),
        }
    }

    /// With a schedule.
    fn answer_scheduled(self) -> Explanation {
        let steps = self.steps();
        let element = self.element();
        let (kernel, schedule) = self.kernel.expect("a schedule");
        let arithmetic = &self.choice.arithmetic;
        let (batch, row, column) = position(self.problem, &self.index);
        let replay = Replay {
            problem: *self.problem,
            arithmetic,
            convert_to: (self.format != arithmetic.accumulator).then_some(self.format),
            engine: Engine::Exact,
            kernel: Some(kernel),
        };
        let at = crate::emu::Element { batch, row, column };
        let (events, code) = kernel::trace(&replay, at, &self.wish);
        let computed = Number::new(self.format, code);
        let given = self.given.map(|code| given(self.format, code, computed));
        let search = given.as_ref().filter(|given| !given.same).map(|given| {
            let single = Single {
                replay: &replay,
                at,
                chain: None,
                reproduced: computed,
                given: given.number,
            };
            single.search()
        });
        let c = match self.problem.c {
            Some(c) => Number::new(c.tensor().format(), c.plane(batch).code(row, column)),
            None => Number::new(arithmetic.addend(), 0),
        };
        let spec = &schedule.spec;
        let bare = kernel.values.is_neutral()
            && spec.scales.is_none()
            && spec.zero_point.is_none()
            && spec.epilogue.function.is_none();
        let exact = bare.then(|| {
            // C may have another format than the instruction's.
            let products = (0..element.k()).map(|k| element.product(k));
            let value = products.fold(c.value(), |sum, product| sum.plus(&product));
            let target = Target::full(arithmetic.accumulator, Rounding::NearestEven);
            Exact {
                rounded: value
                    .round(target)
                    .map(|code| Number::new(arithmetic.accumulator, code)),
                value,
            }
        });
        Explanation {
            schema: SCHEMA,
            tool: Tool::default(),
            model: Model::of(self.choice, self.file.clone()),
            product: self.product,
            place: None,
            index: self.index,
            c,
            computed,
            converted: None,
            given,
            ieee_chain: None,
            exact,
            steps,
            reached: Vec::new(),
            chain: Vec::new(),
            search,
            kernel: Some(KernelTrace { schedule, events }),
        }
    }

    fn answer_plain(self) -> Explanation {
        let arithmetic = &self.choice.arithmetic;
        let position = position(self.problem, &self.index);
        let element = self.element();
        let accumulators = element.accumulators();
        let accumulator = arithmetic.accumulator;
        let code = *accumulators.last().expect("there is C");
        let computed = Number::new(accumulator, code);
        let converted = (self.format != accumulator).then(|| {
            let to = self.format;
            let code = arithmetic.converted(code, to);
            Number::new(to, code)
        });
        let reproduced = converted.unwrap_or(computed);
        let given = self.given.map(|code| given(self.format, code, reproduced));
        let search = given.as_ref().filter(|given| !given.same).map(|given| {
            let (batch, row, column) = position;
            let single = Single {
                replay: &Replay {
                    problem: *self.problem,
                    arithmetic,
                    convert_to: (self.format != accumulator).then_some(self.format),
                    engine: Engine::Exact,
                    kernel: None,
                },
                at: crate::emu::Element { batch, row, column },
                chain: Some(diagnose::Chain {
                    element: &element,
                    accumulators: &accumulators,
                }),
                reproduced,
                given: given.number,
            };
            single.search()
        });
        let value = element.exact();
        let target = Target::full(accumulator, Rounding::NearestEven);
        let rounded = value.round(target);
        Explanation {
            schema: SCHEMA,
            tool: Tool::default(),
            model: Model::of(self.choice, self.file.clone()),
            product: self.product,
            place: self.choice.layout().map(|layout| {
                let [.., row, column] = self.index[..] else {
                    unreachable!("an index of D")
                };
                layout.describe(accumulator, row, column)
            }),
            index: self.index,
            c: Number::new(arithmetic.addend(), element.c),
            computed,
            converted,
            given,
            ieee_chain: element.ieee_chain().map(|(f, code)| Number::new(f, code)),
            exact: Some(Exact {
                rounded: rounded.map(|code| Number::new(accumulator, code)),
                value,
            }),
            steps: element.steps(),
            reached: (0..element.steps())
                .map(|step| (element.range(step).end, accumulators[step + 1]))
                .collect(),
            chain: chain(&element, &accumulators, &self.wish),
            search,
            kernel: None,
        }
    }
}

fn given(format: Format, code: u64, reproduced: Number) -> Given {
    Given {
        number: Number::new(format, code),
        same: code == reproduced.code,
        ulp: ulp_distance(format, reproduced.code, code),
    }
}

/// Batch, row and column of an index.
fn position(problem: &Problem, index: &[usize]) -> (usize, usize, usize) {
    let shape = problem.d_shape();
    assert_eq!(index.len(), shape.len(), "an index of D");
    assert!(index.iter().zip(&shape).all(|(i, n)| i < n), "inside D");
    let (batch, element) = index.split_at(index.len() - 2);
    let sizes = batch.iter().zip(&shape);
    let batch = sizes.fold(0, |at, (i, n)| at * n + i);
    (batch, element[0], element[1])
}
