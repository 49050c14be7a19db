//! Variations: the requested product with something done otherwise, in stages: how operands are read, the settings
//! around the product, the rule, the order of sums, the end. Each file lists variations of one stage, those first that
//! are commonest in reports; all are tested in this order, on a few elements that refute most of them.

mod addend;
mod end;
mod mistakes;
mod narrow;
mod operands;
mod order;
mod overwritten;
mod places;
mod scales;
mod settings;
mod sparse;
mod zero_points;

pub use mistakes::without;
pub use narrow::{FORMATS, narrower};

use crate::deadline;
use crate::diagnose::trial::{SPENT, Trial};
use crate::diagnose::{Ask, Case, Found, Hypothesis};
use crate::emu::schedule::{BoundSchedule, ScheduleSpec, Values};
use crate::emu::{Arithmetic, Element, Problem, Replay};
use crate::forms::grouped;
use crate::num::Format;
use crate::tensor::{Tensor, parallel};

/// The code of an operand that an element has at this k.
type Read<'a> = Box<dyn Fn(&Element, usize) -> u64 + Sync + 'a>;

/// How codes of D come about, given the product as it is varied.
type End<'a> = Box<dyn Fn(&Replay, &[Element]) -> Vec<u64> + Sync + 'a>;

/// The kernel around the instruction.
#[derive(Default)]
enum Around {
    #[default]
    Requested,
    Nothing,
    Other(Box<(ScheduleSpec, Values)>),
}

/// The requested product with something done otherwise.
pub struct Variation<'a> {
    kind: Hypothesis,
    /// What is so, for people.
    what: String,
    ask: Ask,
    /// Other arrays of A and B, read as the requested ones are.
    arrays: [Option<Tensor>; 2],
    /// Other codes of the row of A and of the column of B, element by element.
    read: [Option<Read<'a>>; 2],
    /// Other scales of the instruction, of A and of B.
    scales: Option<[Tensor; 2]>,
    /// Other matrices A and B, as they are read.
    whole: [Option<Tensor>; 2],
    /// Another C.
    addend: Option<Tensor>,
    /// Whether C is left out.
    without_c: bool,
    arithmetic: Option<Arithmetic>,
    around: Around,
    convert_to: Option<Format>,
    end: Option<End<'a>>,
}

impl<'a> Variation<'a> {
    /// The product as it is requested.
    fn new(case: &Case<'a>, kind: Hypothesis, what: impl Into<String>) -> Variation<'a> {
        Variation {
            kind,
            what: what.into(),
            ask: Ask::Nothing,
            arrays: [None, None],
            read: [None, None],
            scales: None,
            whole: [None, None],
            addend: None,
            without_c: false,
            arithmetic: None,
            around: Around::Requested,
            convert_to: case.replay.convert_to,
            end: None,
        }
    }

    fn asking(self, ask: Ask) -> Variation<'a> {
        Variation { ask, ..self }
    }

    /// With another schedule or other numbers around the instruction.
    fn around(self, spec: ScheduleSpec, values: Values) -> Variation<'a> {
        let around = Around::Other(Box::new((spec, values)));
        Variation { around, ..self }
    }

    fn ending(self, end: impl Fn(&Replay, &[Element]) -> Vec<u64> + Sync + 'a) -> Variation<'a> {
        Variation {
            end: Some(Box::new(end)),
            ..self
        }
    }

    /// With other codes of A (side 0) or B.
    fn reading(
        mut self,
        side: usize,
        read: impl Fn(&Element, usize) -> u64 + Sync + 'a,
    ) -> Variation<'a> {
        self.read[side] = Some(Box::new(read));
        self
    }

    /// Hands the varied product to `then`.
    pub fn with<T>(&self, case: &Case, then: impl FnOnce(&Replay) -> T) -> T {
        let own = case.replay;
        let mut problem = own.problem;
        let [a, b] = &self.arrays;
        // Only a replay of single elements reads codes one by one, in formats of their own.
        if let Some(a) = a {
            problem.a = problem.a.over(a);
        }
        if let Some(b) = b {
            problem.b = problem.b.over(b);
        }
        if let (Some([a, b]), Some(scales)) = (&self.scales, &mut problem.scales) {
            (scales.a, scales.b) = (a.planes(), b.planes());
        }
        if let [Some(a), _] = &self.whole {
            problem.a = a.planes();
        }
        if let [_, Some(b)] = &self.whole {
            problem.b = b.planes();
        }
        if let Some(c) = &self.addend {
            problem.c = Some(c.planes());
        }
        if self.without_c {
            problem.c = None;
        }
        let kernel = match &self.around {
            Around::Requested => own.kernel,
            Around::Nothing => None,
            Around::Other(other) => {
                let place = own.kernel.map(|kernel| kernel.place);
                let mut bound = BoundSchedule::new(&other.0, &other.1, &problem);
                bound.place = place.unwrap_or(bound.place);
                Some(bound)
            }
        };
        then(&Replay {
            problem,
            arithmetic: self.arithmetic.as_ref().unwrap_or(own.arithmetic),
            convert_to: self.convert_to,
            kernel,
            ..own
        })
    }

    /// Elements of D as it gives them.
    pub fn elements(&self, case: &Case, at: &[Element]) -> Vec<u64> {
        self.with(case, |replay| self.computed(replay, at))
    }

    /// The sums of elements, before they are converted to D's format.
    pub fn sums(&self, case: &Case, at: &[Element]) -> Vec<u64> {
        self.with(case, |replay| {
            let wide = Replay {
                convert_to: None,
                ..*replay
            };
            self.computed(&wide, at)
        })
    }

    fn computed(&self, replay: &Replay, at: &[Element]) -> Vec<u64> {
        if let Some(end) = &self.end {
            end(replay, at)
        } else if self.read.iter().any(Option::is_some) {
            parallel::map(at.len(), |i| self.alone(replay, &at[i]))
        } else {
            replay.elements(at)
        }
    }

    /// One element, from codes that are read one by one.
    fn alone(&self, replay: &Replay, at: &Element) -> u64 {
        let Element { batch, row, column } = *at;
        let (of_a, of_b) = (replay.arithmetic.a, replay.arithmetic.b);
        let one = replay.rectangle(batch, row..row + 1, column..column + 1);
        let k = one.problem.k;
        let [plane_a, plane_b] = [one.problem.a.plane(0), one.problem.b.plane(0)];
        let code = |side: usize, k: usize| match (&self.read[side], side) {
            (Some(read), _) => read(at, k),
            (None, 0) => plane_a.code(0, k),
            (None, _) => plane_b.code(k, 0),
        };
        let codes = |side| (0..k).map(|k| code(side, k)).collect::<Vec<u64>>();
        let a = Tensor::from_codes(of_a, vec![1, k], &codes(0));
        let b = Tensor::from_codes(of_b, vec![k, 1], &codes(1));
        let problem = Problem {
            a: a.planes(),
            b: b.planes(),
            selected: None,
            ..one.problem
        };
        Replay { problem, ..one }.part(0, 0..1, 0..1, &deadline::unheard)[0]
    }

    /// A replay of all of D, if it is one: operands that are read otherwise become matrices.
    pub fn materialised(mut self, case: &Case) -> Option<Variation<'a>> {
        if self.end.is_some() {
            return None;
        }
        let problem = &case.replay.problem;
        let (k, batches) = (problem.k, problem.batches());
        for side in [0, 1] {
            let Some(read) = self.read[side].take() else {
                continue;
            };
            let lines = [problem.m, problem.n][side];
            let [rows, columns] = [[lines, k], [k, lines]][side];
            let code = |i: usize| {
                let (batch, inside) = (i / (rows * columns), i % (rows * columns));
                let [row, column] = [inside / columns, inside % columns];
                let at = Element { batch, row, column };
                read(&at, [column, row][side])
            };
            let codes: Vec<u64> = (0..batches * rows * columns).map(code).collect();
            let format = [case.replay.arithmetic.a, case.replay.arithmetic.b][side];
            self.whole[side] = Some(matrices(format, [rows, columns], &codes));
        }
        Some(self)
    }

    fn fits(&self, case: &Case, trial: &Trial) -> bool {
        let price = |at: &[Element]| self.price(case, trial, at);
        trial.fits_at(&price, &|at| self.elements(case, at))
    }

    /// What elements cost.
    pub fn price(&self, case: &Case, trial: &Trial, at: &[Element]) -> u64 {
        let price = self.with(case, |replay| trial.price_of(replay, at));
        // Codes that are read one by one take as long as their products.
        let reads = self.read.iter().any(Option::is_some);
        let read = if reads {
            at.len() * case.replay.problem.k
        } else {
            0
        };
        price + read as u64
    }

    /// Whether its sums have this format, if it has an arithmetic of its own.
    pub fn sums_in(&self, format: Format) -> bool {
        let own = self.arithmetic.as_ref();
        own.is_none_or(|arithmetic| arithmetic.accumulator == format)
    }

    pub fn what(&self) -> &str {
        &self.what
    }

    pub fn kind(&self) -> Hypothesis {
        self.kind
    }

    /// The variation as a finding with other words. No request asks for it together with what it leaves.
    pub fn told(&self, text: String) -> Found {
        Found::new(self.kind, text)
    }

    /// A finding that it gives all of D, which was compared.
    pub fn all_of(&self, case: &Case) -> Found {
        let all = grouped(case.comparison.elements);
        let text = format!("{}: it gives all {all} elements, bit for bit", self.what);
        Found::new(self.kind, text).asking(self.ask.clone())
    }

    fn found(self, trial: &Trial) -> Found {
        trial.found(self.kind, self.what).asking(self.ask)
    }
}

/// Sums of elements in f32, finished by the kernel with other numbers, and what each belongs to.
fn sums_with<'e>(
    replay: &Replay,
    values: &Values,
    at: &'e [Element],
) -> impl Iterator<Item = (f32, &'e Element)> {
    let kernel = replay.kernel.map(|kernel| {
        let mut kernel: BoundSchedule = kernel;
        kernel.values = values;
        kernel
    });
    let sums = Replay {
        kernel,
        convert_to: None,
        ..*replay
    };
    let sums = sums.elements(at).into_iter();
    sums.map(|code| f32::from_bits(code as u32)).zip(at)
}

/// Matrices of this shape, one after another.
fn matrices(format: Format, [rows, columns]: [usize; 2], codes: &[u64]) -> Tensor {
    let shape = match codes.len() / (rows * columns).max(1) {
        0 | 1 => vec![rows, columns],
        batches => vec![batches, rows, columns],
    };
    Tensor::from_codes(format, shape, codes)
}

/// What lists variations of one stage; or why it lists none.
type List = for<'a> fn(&Case<'a>) -> Result<Vec<Variation<'a>>, &'static str>;

/// Tests the variations of a list in turn: the first that fits.
fn listed(case: &Case, trial: &Trial, what: &'static str, list: List) -> Vec<Found> {
    trial.test(what, || {
        let mut all = list(case)?.into_iter();
        let Some(mut first) = all.find(|one| one.fits(case, trial)) else {
            return Ok(Vec::new());
        };
        let of_b = first
            .what
            .strip_suffix(" in A")
            .map(|what| format!("{what} in B"));
        let other = of_b.and_then(|of_b| all.find(|one| one.what == of_b));
        if other.is_some_and(|other| other.fits(case, trial)) {
            first.what += " or in B, which cannot be told";
        }
        Ok(vec![first.found(trial)])
    })
}

/// What the request names, left out or done otherwise: the cheapest hypotheses.
pub fn settings(case: &Case, trial: &Trial) -> Vec<Found> {
    listed(case, trial, settings::TRIED, settings::list)
}

/// The first variation that gives D of the stages with few variations.
pub fn variations(case: &Case, trial: &Trial) -> Vec<Found> {
    let mut lists: Vec<(&'static str, List)> = vec![
        (end::TRIED, end::list),
        (order::PROMOTED, order::promotions),
        (addend::TRIED, addend::list),
        (overwritten::TRIED, overwritten::list),
        (scales::TRIED, scales::list),
        (operands::TRIED, operands::list),
        (places::TRIED, places::list),
    ];
    if trial.work().spend(zero_points::cost(case)) {
        lists.push((zero_points::TRIED, zero_points::list));
    } else {
        trial.work().ledger.leave(zero_points::TRIED, SPENT);
    }
    first_listed(case, trial, &lists)
}

/// Variations that a part of D may come from: settings, scales, and tiles of K.
pub fn of_part(case: &Case, trial: &Trial) -> Vec<Found> {
    let lists: [(&'static str, List); 3] = [
        (settings::TRIED, settings::list),
        (scales::TRIED, scales::list),
        (mistakes::TRIED, mistakes::list),
    ];
    first_listed(case, trial, &lists)
}

/// The first variation that gives D, of the stages with many: those that depend on lengths of slices and tiles.
pub fn kernels(case: &Case, trial: &Trial) -> Vec<Found> {
    let lists: [(&'static str, List); 2] = [
        (order::TRIED, order::list),
        (mistakes::TRIED, mistakes::list),
    ];
    first_listed(case, trial, &lists)
}

fn first_listed(case: &Case, trial: &Trial, lists: &[(&'static str, List)]) -> Vec<Found> {
    let mut lists = lists.iter();
    let found = lists.find_map(|(what, list)| {
        let found = listed(case, trial, what, *list);
        (!found.is_empty()).then_some(found)
    });
    found.unwrap_or_default()
}

/// Variations that are replays of all of D, and that leave most of it to other faults.
pub fn common<'a>(case: &Case<'a>, trial: &Trial) -> Vec<Variation<'a>> {
    if case.replay.problem.selected.is_some() {
        return Vec::new();
    }
    let mut all = settings::list(case).unwrap_or_default();
    all.extend(settings::functions(case));
    all.extend(settings::factor(case, trial));
    all.extend(narrow::models(case));
    all.extend(settings::without_c(case));
    all.extend(order::schedules(case, trial));
    all.extend(addend::list(case).unwrap_or_default());
    all.extend(operands::list(case).unwrap_or_default());
    all.extend(mistakes::of_operands(case));
    all.retain(|one| one.end.is_none());
    all
}

/// Variations that change finished sums or their places, and so are no replays.
pub fn ends<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    if case.replay.problem.selected.is_some() {
        return Vec::new();
    }
    let mut all = end::list(case).unwrap_or_default();
    all.extend(narrow::models(case));
    all.extend(places::list(case).unwrap_or_default());
    all.retain(|one| one.end.is_some());
    all
}

/// Subnormal operands taken as zeros, if that gives D by the requested unit.
pub fn flushing(case: &Case, trial: &Trial) -> Option<Found> {
    let all = operands::subnormals(case).into_iter();
    let mut fitting = all.filter(|one| one.fits(case, trial));
    fitting.next().map(|one| one.found(trial))
}

/// Variations that an unknown epilogue may follow: other units, operands read otherwise, D transposed.
pub fn before_epilogues<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    let mut all = places::transposed(case);
    all.extend(narrow::models(case));
    all.extend(operands::list(case).unwrap_or_default());
    all
}

/// What is tried of a product of a compressed A.
pub fn of_compressed(case: &Case, trial: &Trial) -> Vec<Found> {
    listed(case, trial, sparse::TRIED, sparse::list)
}
