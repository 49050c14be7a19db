//! An element of D that a kernel's schedule makes of several chains: each chain, and every operation
//! between them and after.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::Element;
use super::chain::{Entry, Wish, chain};
use super::{Dyadic, Number, Value};
use crate::emu::schedule::{
    Exactly, Function, GatheredOperands, IntegerOperation, KIndices, Observed, Ops, ScheduleSpec,
    element_with,
};
use crate::emu::{self, Replay};
use crate::num::Format;

/// What happens, in order.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A partial sum begins, counted from 1.
    Partial { index: usize, count: usize },
    /// A chain of the instruction.
    Chain(Box<Chain>),
    /// An operation in f32, or on integers modulo 2^32.
    Operation(Operation),
    /// A rounding to D's format, or of an integer to f32.
    Rounded {
        from: Number,
        to: Number,
        /// The result less what was rounded; none for infinities and NaN.
        off: Option<Dyadic>,
    },
}

/// One accumulator of the tensor core from its start to where it is read.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Chain {
    /// Which products, in their order.
    pub products: String,
    /// The k of its first product if they are consecutive: steps then count k as D's product does,
    /// otherwise from the first product of the chain on.
    pub first_k: Option<usize>,
    /// The first step and the last, counted through all chains from 1; none for a chain without
    /// products.
    pub steps: Option<[usize; 2]>,
    pub start: Number,
    /// Its steps, if they are shown.
    pub chain: Vec<Entry>,
    pub result: Number,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Operation {
    /// What it is for.
    pub stage: &'static str,
    /// `add`, `mul` or `fma`, `relu` or `relu_nan`; on integers `mul` or `sub`.
    pub operation: &'static str,
    pub operands: Vec<Number>,
    pub result: Number,
    /// The result less the exact one; none for infinities and NaN.
    pub off: Option<Dyadic>,
}

/// Most chains that are shown step by step, unless steps are requested.
const FEW_CHAINS: usize = 3;

/// Everything that happens to the element at `at`, and its code in D's format.
pub fn trace(replay: &Replay, at: emu::Element, wish: &Wish) -> (Vec<Event>, u64) {
    let spec = replay.kernel.expect("a schedule").spec;
    let recorder = Recorder {
        exactly: Exactly {
            nan: spec.nan.0 as u32,
        },
        seen: &Mutex::new(Recorded {
            events: Vec::new(),
            stage: "",
            steps: 0,
        }),
        replay,
        spec,
        wish,
    };
    let code = element_with(replay, at, recorder);
    let mut seen = recorder.lock();
    let mut events = std::mem::take(&mut seen.events);
    let chains = events
        .iter()
        .filter(|e| matches!(e, Event::Chain(_)))
        .count();
    if *wish == Wish::Notable && chains > FEW_CHAINS {
        for event in &mut events {
            if let Event::Chain(chain) = event {
                chain.chain.clear();
            }
        }
    }
    (events, code)
}

/// Records what it computes.
#[derive(Clone, Copy)]
struct Recorder<'r, 'a> {
    exactly: Exactly,
    seen: &'r Mutex<Recorded>,
    replay: &'r Replay<'a>,
    spec: &'r ScheduleSpec,
    wish: &'r Wish,
}

struct Recorded {
    events: Vec<Event>,
    stage: &'static str,
    /// Of the chains so far.
    steps: usize,
}

impl Recorder<'_, '_> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Recorded> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an operation on numbers of one format; returns its result.
    fn operation(
        &self,
        (format, operation): (Format, &'static str),
        operands: &[u32],
        exact: Value,
        result: u32,
    ) -> u32 {
        let number = |code: u32| Number::new(format, code.into());
        let mut seen = self.lock();
        let stage = seen.stage;
        seen.events.push(Event::Operation(Operation {
            stage,
            operation,
            operands: operands.iter().map(|&code| number(code)).collect(),
            result: number(result),
            off: number(result).value().minus(&exact),
        }));
        result
    }

    fn integers(&self, operation: IntegerOperation, operands: [u32; 2], result: u32) {
        let [x, y] = operands.map(|code| i64::from(code as i32));
        let (name, exact) = match operation {
            IntegerOperation::Multiply => ("mul", x * y),
            IntegerOperation::Subtract => ("sub", x - y),
        };
        let exact = Value::Finite(Dyadic::from_int(exact.into(), 0));
        self.operation((Format::Int32, name), &operands, exact, result);
    }

    fn rounded(&self, from: Number, to: Number) {
        let off = to.value().minus(&from.value());
        self.lock().events.push(Event::Rounded { from, to, off });
    }

    fn chain(
        &self,
        ended: &crate::emu::schedule::Chain,
        problem: &emu::Problem,
        (result, lowered): (u64, u32),
    ) {
        let arithmetic = self.replay.arithmetic;
        let start = problem.c.map_or(0, |c| c.plane(0).code(0, 0));
        let mut seen = self.lock();
        let mut entries = Vec::new();
        let mut steps = None;
        if !ended.indices.is_empty() {
            let gathered;
            let (part, first) = match &ended.indices {
                KIndices::Range(k) => (problem.part_k(k.clone()), k.start),
                KIndices::List(indices) => {
                    gathered =
                        GatheredOperands::gather(problem, indices, self.spec.split_terms.as_ref());
                    (gathered.problem(problem.c), 0)
                }
            };
            let element = Element::new(&part, arithmetic, (0, 0, 0));
            let accumulators = element.accumulators();
            let before = seen.steps;
            let (wish, shown) = self.local(before, element.steps());
            // A step with a lowered C is told by its ends alone.
            if shown && lowered == 0 {
                entries = chain(&element, &accumulators, &wish);
                entries
                    .iter_mut()
                    .for_each(|entry| entry.shift(before, first));
            }
            seen.steps += element.steps();
            steps = Some([before + 1, seen.steps]);
        }
        seen.events.push(Event::Chain(Box::new(Chain {
            products: match lowered {
                0 => ended.indices.describe(),
                _ => format!(
                    "{}, the accumulator times 2^-{lowered}",
                    ended.indices.describe()
                ),
            },
            first_k: match &ended.indices {
                KIndices::Range(k) => Some(k.start),
                KIndices::List(_) => None,
            },
            steps,
            start: Number::new(arithmetic.accumulator, start),
            chain: entries,
            result: Number::new(arithmetic.accumulator, result),
        })));
    }

    /// The wish as a chain counts its steps, and whether it is shown at all.
    fn local(&self, before: usize, steps: usize) -> (Wish, bool) {
        let Wish::These(wanted) = self.wish else {
            return (self.wish.clone(), true);
        };
        let mine = wanted.range(before + 1..=before + steps);
        let mine: BTreeSet<usize> = mine.map(|step| step - before).collect();
        let any = !mine.is_empty();
        (Wish::These(mine), any)
    }
}

impl Ops for Recorder<'_, '_> {
    fn add(self, x: u32, y: u32) -> u32 {
        let exact = value(x).plus(&value(y));
        self.operation(
            (Format::Fp32, "add"),
            &[x, y],
            exact,
            self.exactly.add(x, y),
        )
    }

    fn mul(self, x: u32, y: u32) -> u32 {
        self.operation(
            (Format::Fp32, "mul"),
            &[x, y],
            product(x, y),
            self.exactly.mul(x, y),
        )
    }

    fn fma(self, x: u32, y: u32, z: u32) -> u32 {
        let exact = product(x, y).plus(&value(z));
        self.operation(
            (Format::Fp32, "fma"),
            &[x, y, z],
            exact,
            self.exactly.fma(x, y, z),
        )
    }

    fn observe(self, seen: Observed) {
        match seen {
            Observed::Partial { count: 1, .. } => {}
            Observed::Partial { index, count } => self.lock().events.push(Event::Partial {
                index: index + 1,
                count,
            }),
            Observed::Chain {
                chain,
                problem,
                result,
                lowered,
            } => self.chain(chain, problem, (result, lowered)),
            Observed::Stage(stage) => self.lock().stage = stage,
            Observed::Rounded { from, to, format } => self.rounded(
                Number::new(Format::Fp32, from.into()),
                Number::new(format, to),
            ),
            Observed::Integers {
                operation,
                operands,
                result,
            } => self.integers(operation, operands, result),
            Observed::Converted { from, to } => self.rounded(
                Number::new(Format::Int32, from.into()),
                Number::new(Format::Fp32, to.into()),
            ),
            Observed::Applied { function, from, to } => {
                self.lock().stage = "function";
                // What it makes of a number is exact.
                let name = match function {
                    Function::Relu => "relu",
                    Function::ReluNan => "relu_nan",
                    Function::Gelu | Function::Silu => unreachable!("no valid schedule has it"),
                };
                self.operation((Format::Fp32, name), &[from], value(to), to);
            }
        }
    }
}

fn value(code: u32) -> Value {
    Value::of(Format::Fp32, code.into())
}

fn product(x: u32, y: u32) -> Value {
    let f32 = Format::Fp32;
    let [a, b] = [x, y].map(|code| f32.unpack(code.into()));
    Value::product(a, b, 2 * f32.fraction_bits())
}
