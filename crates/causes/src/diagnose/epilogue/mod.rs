//! What a kernel does with finished sums: functions, factors, scales, a bias, C left out. Unknown numbers are
//! concluded from D, then must give every element that was examined.

mod blocks;
mod formula;
mod function;
mod integers;
mod mostly;
mod points;
mod solve;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::diagnose::trial::{SPENT, Trial};
use crate::diagnose::{Ask, Case, Found, Hypothesis};
use crate::emu::schedule::{ActivationChoice, Overrides};
use crate::forms::grouped;
use crate::num::Factor;
use formula::{Formula, Table};
use function::Function;
pub use integers::integers;
pub use mostly::mostly;
use points::Points;
pub use points::{OtherSums, Sums, range};
use solve::{Known, SOLVERS};
pub use solve::{is_empty, meet, numbers, quotient};

/// Why no numbers are concluded.
const FEW: &str = "too few elements differ to determine so many numbers";
const NEARLY: &str = "no numbers were found that give every bit; others might";

/// Most rows or columns whose numbers a sentence lists.
const LISTED: usize = 4;

/// What a solver costs for each element, in multiply-adds.
const SOLVED: u64 = 32;

/// The first epilogue that gives D.
pub fn epilogues(case: &Case, trial: &Trial) -> Vec<Found> {
    searched(case, trial, Points::of(case, trial, None))
}

/// The first epilogue that gives D of other sums than the requested ones.
pub fn epilogues_of(case: &Case, trial: &Trial, sums: Sums) -> Vec<Found> {
    searched(case, trial, Points::of(case, trial, Some(sums)))
}

fn searched(case: &Case, trial: &Trial, points: Result<Points, &'static str>) -> Vec<Found> {
    let points = points.as_ref().map_err(|why| *why);
    // Inverses of functions are the same for every solver.
    let ranges: Vec<OnceCell<Option<Vec<Known>>>> =
        functions_and_none().map(|_| OnceCell::new()).collect();
    let mut found = trial.test(
        "a function of each element (ReLU, GELU, SiLU, sigmoid, tanh ...)",
        || {
            let points = points?;
            let fit = functions(case, trial, points)?;
            Ok(fit
                .map(|fit| describe(case, points, &fit))
                .into_iter()
                .collect())
        },
    );
    for (what, solver, unknown, refutes) in SOLVERS {
        if found.is_empty() {
            found = trial.test(what, || {
                let points = points?;
                if !trial.affords(SOLVED * points.all.len() as u64) {
                    return Err(SPENT);
                }
                if !points.tell(unknown) {
                    return Err(FEW);
                }
                let known = |at: usize, function| {
                    let known = ranges[at].get_or_init(|| before(points, function));
                    known.as_deref()
                };
                let fit = solved(case, points, &known, (solver, refutes))?;
                Ok(fit
                    .map(|fit| describe(case, points, &fit))
                    .into_iter()
                    .collect())
            });
        }
    }
    if found.is_empty() {
        found = trial.test("scales of blocks of k", || {
            blocks::blocks(case, trial, points?)
        });
    }
    found
}

/// Without a function, then with each that goes with unknown numbers.
fn functions_and_none() -> impl Iterator<Item = Option<Function>> {
    std::iter::once(None).chain(Function::ALL.into_iter().take(Function::TOGETHER).map(Some))
}

/// Elements with the ranges of their numbers before a function; none if the function cannot give one of them.
fn before(points: &Points, function: Option<Function>) -> Option<Vec<Known<'_>>> {
    let mut known = Vec::with_capacity(points.all.len());
    for point in &points.all {
        let Some(range) = point.range else { continue };
        let range = match function {
            None => range,
            Some(function) => function.before(range)?,
        };
        known.push(Known { point, range });
    }
    Some(known)
}

/// Elements with ranges before the function of a formula that gives them nearly; none where there is one range anyway.
fn before_near<'p>(points: &'p Points, formula: &Formula) -> Option<Vec<Known<'p>>> {
    let function = formula.function.filter(|f| f.exactly(-1.0).is_none())?;
    let mut known = Vec::with_capacity(points.all.len());
    for point in &points.all {
        let Some(range) = point.range else { continue };
        let range = function.before_near(range, f64::from(formula.linear(point)))?;
        known.push(Known { point, range });
    }
    Some(known)
}

/// A formula that gives all examined elements, so many of them exactly, and functions that give them as well.
struct Fit {
    formula: Formula,
    exact: usize,
    others: Vec<&'static str>,
}

/// Functions of the requested sum, and of the sum without C.
fn functions(case: &Case, trial: &Trial, points: &Points) -> Result<Option<Fit>, &'static str> {
    // Where no examined element differs, every epilogue that changes nothing would fit.
    if points.all.iter().all(|point| !point.differs) {
        return Err("none of the elements examined for it differs");
    }
    trial.affords(0);
    let has_c = case.replay.problem.c.is_some();
    let bases = [
        Some(Formula::finished()),
        Some(Formula::requested()),
        has_c.then(Formula::bare),
    ];
    for base in bases.into_iter().flatten() {
        // The requested sum alone was tried as what is left out.
        let none = base.bare.then_some(None);
        let all = none.into_iter().chain(Function::ALL.map(Some));
        let mut fitting: Vec<(Formula, usize)> = Vec::new();
        // What a smooth function leaves nearly as it is, rounding explains, too.
        let changes = |function: Option<Function>| match function {
            Some(function) if function.exactly(0.5).is_none() => {
                let mut differing = points.all.iter().filter(|point| point.differs);
                differing.any(|point| !base.is_near(point))
            }
            _ => true,
        };
        let all = all.filter(|&function| changes(function));
        for function in all.filter(|&function| before(points, function).is_some()) {
            let formula = Formula {
                function,
                ..base.clone()
            };
            fitting.extend(fit(case, points, formula));
        }
        // What gives more of them; of equals the first.
        fitting.sort_by_key(|(_, exact)| std::cmp::Reverse(*exact));
        if let Some((first, exact)) = fitting.first() {
            if points.all.len() < 8 {
                return Err(FEW);
            }
            let same = |(formula, other): &&(Formula, usize)| {
                other == exact && formula.function != first.function
            };
            let others = fitting.iter().filter(same);
            let others = others.filter_map(|(f, _)| Some(f.function?.name()));
            return Ok(Some(Fit {
                others: others.collect(),
                formula: first.clone(),
                exact: *exact,
            }));
        }
    }
    Ok(None)
}

/// The formula as it is, or with its function as a kernel of its own.
fn fit(case: &Case, points: &Points, formula: Formula) -> Option<(Formula, usize)> {
    let narrow = case.is_narrow();
    let smooth = formula
        .function
        .is_some_and(|function| function.exactly(0.0).is_none());
    let alone = (narrow && smooth).then(|| Formula {
        stored: true,
        ..formula.clone()
    });
    let both = [Some(formula), alone].into_iter().flatten();
    let fitting = both.filter_map(|formula| {
        let exact = formula.fits(case, points)?;
        Some((formula, exact))
    });
    fitting.max_by_key(|(formula, exact)| (*exact, !formula.stored))
}

/// Numbers that a solver finds before each of the functions.
fn solved<'p>(
    case: &Case,
    points: &Points,
    known: &dyn Fn(usize, Option<Function>) -> Option<&'p [Known<'p>]>,
    (solver, refutes): (solve::Solver, bool),
) -> Result<Option<Fit>, &'static str> {
    let has_c = case.replay.problem.c.is_some();
    // What the ranges of no two elements allow is refuted; numbers that were not found are not.
    let mut nearly = !refutes && points.all.len() > 1;
    for (at, function) in functions_and_none().enumerate() {
        let Some(known) = known(at, function) else {
            continue;
        };
        for formula in solver(known, has_c).into_iter().flatten() {
            nearly = true;
            if !points.tell(formula.unknown()) || formula.hardly_adds() {
                continue;
            }
            let formula = Formula {
                function,
                ..formula
            };
            // Numbers found by what lies above zero tell on which branch the rest lies.
            let nearer = || {
                let known = before_near(points, &formula)?;
                let nearer = solver(&known, has_c)?.into_iter().next()?;
                fit(case, points, Formula { function, ..nearer })
            };
            if let Some((formula, exact)) = fit(case, points, formula.clone()).or_else(nearer) {
                return Ok(Some(Fit {
                    formula,
                    exact,
                    others: Vec::new(),
                }));
            }
        }
    }
    if nearly { Err(NEARLY) } else { Ok(None) }
}

/// An epilogue that fits and gives so many elements exactly.
fn describe(case: &Case, points: &Points, fit: &Fit) -> Found {
    let has_c = case.replay.problem.c.is_some();
    let (formula, exact) = (&fit.formula, fit.exact);
    let text = fit.describe(has_c);
    let all = points.all.len();
    let tested = match all - exact {
        0 => format!("it gives {}, bit for bit", points.named()),
        rest => format!(
            "it gives {} of {} bit for bit, and {} except for the last bits, which depend on how it is computed",
            grouped(exact as u64),
            points.named(),
            grouped(rest as u64)
        ),
    };
    let found = Found::new(formula.hypothesis(has_c), format!("{text}: {tested}"));
    // A request's own function and factors would stay in the command.
    let own = case.replay.kernel.is_some_and(|own| {
        let factors = !own.values.is_neutral() && !formula.finished;
        own.spec.epilogue.function.is_some() || factors
    });
    if exact == all && !own {
        found.asking(formula.ask(has_c))
    } else {
        found
    }
}

impl Fit {
    fn describe(&self, has_c: bool) -> String {
        let text = self.formula.describe(has_c);
        match &self.others[..] {
            [] => text,
            others => format!(
                "{text} (or {}: this D does not distinguish them)",
                others.join(" or ")
            ),
        }
    }
}

impl Formula {
    /// Numbers that were concluded.
    fn unknown(&self) -> usize {
        let tables = [&self.rows, &self.columns, &self.bias, &self.row_bias]
            .into_iter()
            .flatten();
        let each = tables.map(|table| {
            if constant(table).is_some() {
                1
            } else {
                table.len()
            }
        });
        each.sum::<usize>() + usize::from(self.alpha != 1.0) + usize::from(self.beta.is_some())
    }

    /// Whether rows or columns have numbers of their own.
    fn has_tables(&self) -> bool {
        let tables = [&self.rows, &self.columns, &self.bias, &self.row_bias];
        tables.into_iter().any(Option::is_some)
    }

    /// Whether every row (side 0) or every column has its own number, and these are not all one.
    fn is_by_line(&self, side: usize) -> bool {
        let [scales, bias] = match side {
            0 => [&self.rows, &self.row_bias],
            _ => [&self.columns, &self.bias],
        };
        let varies = |table: &Option<Table>| table.as_ref().is_some_and(|t| constant(t).is_none());
        varies(scales) || varies(bias)
    }

    /// Whether it is a bias of few columns or rows: those have another cause, which only the function hides.
    fn hardly_adds(&self) -> bool {
        let some = |table: &Table| 2 * table.values().filter(|x| **x != 0.0).count() < table.len();
        self.bias.as_ref().is_some_and(some) || self.row_bias.as_ref().is_some_and(some)
    }

    fn leaves_c_out(&self, has_c: bool) -> bool {
        has_c && self.bare && self.beta.is_none()
    }

    fn hypothesis(&self, has_c: bool) -> Hypothesis {
        let beta = self.beta.is_some_and(|beta| beta != 1.0);
        let all = [
            self.leaves_c_out(has_c).then_some(Hypothesis::COmitted),
            match (self.alpha != 1.0, beta) {
                (_, true) => Some(Hypothesis::AlphaBeta),
                (true, false) => Some(Hypothesis::Alpha),
                (false, false) => None,
            },
            match (&self.rows, &self.columns) {
                (Some(_), Some(_)) => Some(Hypothesis::RowAndColumnScales),
                (Some(_), None) => Some(Hypothesis::RowScales),
                (None, Some(_)) => Some(Hypothesis::ColumnScales),
                (None, None) => None,
            },
            self.bias
                .as_ref()
                .or(self.row_bias.as_ref())
                .map(|_| Hypothesis::Bias),
            self.function.map(Function::hypothesis),
        ];
        let mut all = all.into_iter().flatten();
        match (all.next(), all.next()) {
            (Some(one), None) => one,
            _ => Hypothesis::Epilogue,
        }
    }

    /// `the sum of products is multiplied by 0.3 (alpha), then ReLU is applied`
    fn describe(&self, has_c: bool) -> String {
        let mut parts = Vec::new();
        if self.leaves_c_out(has_c) {
            parts.push("C is left out".to_owned());
        }
        if self.twice {
            parts.push("the product is rounded to D's format".to_owned());
        }
        let beta = self.beta.filter(|beta| *beta != 1.0);
        match (self.alpha != 1.0, beta) {
            (_, Some(beta)) => parts.push(format!(
                "the sum of products is multiplied by {} (alpha) and C by {beta} (beta){}",
                self.alpha,
                if self.apart {
                    ", both rounded before they are added"
                } else {
                    ""
                }
            )),
            (true, None) => parts.push(format!(
                "the sum of products is multiplied by {} (alpha)",
                self.alpha
            )),
            (false, None) => {}
        }
        for (what, table) in [("row", &self.rows), ("column", &self.columns)] {
            parts.extend(table.as_ref().map(|table| {
                format!(
                    "every {what} is multiplied by its own scale ({})",
                    listed(what, table)
                )
            }));
        }
        for (what, table) in [("column", &self.bias), ("row", &self.row_bias)] {
            parts.extend(table.as_ref().map(|table| match constant(table) {
                Some(one) => format!("{one} is added to every element (a bias)"),
                None => format!(
                    "a bias is added, one number per {what} ({})",
                    listed(what, table)
                ),
            }));
        }
        parts.extend(self.function.map(|function| {
            if self.stored {
                format!(
                    "{} is applied to the elements as D stores them",
                    function.name()
                )
            } else {
                format!("{} is applied", function.name())
            }
        }));
        parts.join(", then ")
    }

    /// The check that asks for it, if there is one.
    fn ask(&self, has_c: bool) -> Ask {
        let activation = match self.function {
            None => None,
            Some(Function::Relu) => Some(ActivationChoice::Relu),
            Some(_) => return Ask::Nothing,
        };
        if self.apart || self.twice || self.has_tables() {
            return Ask::Nothing;
        }
        let epilogue = Overrides {
            alpha: (self.alpha != 1.0 || self.beta.is_some())
                .then(|| Factor::shortest(self.alpha.to_bits())),
            beta: self.beta.map(|beta| Factor::shortest(beta.to_bits())),
            activation,
            ..Overrides::default()
        };
        let epilogue = Ask::Epilogue(Box::new(epilogue));
        if self.leaves_c_out(has_c) {
            Ask::Both(Box::new(Ask::WithoutC), Box::new(epilogue))
        } else {
            epilogue
        }
    }
}

/// The one number of all.
fn constant(table: &Table) -> Option<f32> {
    let first = *table.values().next()?;
    table.values().all(|&other| other == first).then_some(first)
}

/// `row 0: 0.5, row 1: 0.25, ...`
fn listed<T: std::fmt::Display>(what: &str, table: &BTreeMap<usize, T>) -> String {
    let first = table.iter().take(LISTED);
    let first: Vec<String> = first
        .map(|(index, number)| format!("{what} {index}: {number}"))
        .collect();
    let more = if table.len() > LISTED { ", ..." } else { "" };
    first.join(", ") + more
}
