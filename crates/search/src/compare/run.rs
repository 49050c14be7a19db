//! A comparison, from files to its report.

use super::contents::Contents;
use super::pattern;
use super::request::{Compare, Held, Span};
use super::results::Pair;
use super::side::{self, SearchedSide, is_faulty, judged, prepared};
use super::{exact, kernels, results, subnormals, traces};
use crate::check::{Check, CheckError, Prepared, Progress, Source, Verb, command_line, shell_line};
use crate::compare::document::{Answer, COMPARED, Compared, Explained, OperandPair, Side};
use crate::diagnose;
use crate::engines;
use crate::identify::IdentifyError;
use crate::io;
use crate::num::Format;
use crate::report::{Conclusion, Report, Tool};
use crate::role::Role;

/// What two searches found, and how their fits differ.
#[derive(Default)]
struct Sides {
    found: [Option<SearchedSide>; 2],
    relation: Option<side::Nearest>,
}

impl Compare {
    /// Compares the results, and looks for what gives each.
    pub fn run(&self, progress: &dyn Progress) -> Result<Compared, IdentifyError> {
        self.run_with(&Held::default(), progress)
    }

    /// Compares; arrays that are [`Source::Memory`] are those that the caller holds for each side.
    ///
    /// # Errors
    /// As of [`Compare::run`]; or an array is missing.
    pub fn run_with(
        &self,
        held: &Held,
        progress: &dyn Progress,
    ) -> Result<Compared, IdentifyError> {
        let pair = Pair::read(self, held)?;
        let kernels = kernels::compared(self, &pair, &held[0])?;
        let (found, map) = pair.compare(self.max_mismatches);
        let equal = found.comparison.mismatches == 0;
        let operands = self.operand_pairs(held)?;
        let inputs_differ = operands.iter().any(|pair| !pair.same);
        let sides = if equal {
            Sides::default()
        } else {
            self.sides(held, inputs_differ, progress)?
        };
        let explained = sides.explained();
        let unexplained = match explained {
            Some(Explained::Left) => Some(1),
            Some(Explained::Right) => Some(0),
            _ => None,
        };
        let judged = match unexplained {
            Some(other) => {
                let format = pair.stored_wide.or(self.formats[other]);
                self.judge_other(&sides, (other, format), (held, inputs_differ), progress)?
            }
            None => None,
        };
        let faulty = judged.as_ref().is_some_and(is_faulty);
        let wrong = sides.lossy().or(unexplained.filter(|_| faulty));
        let causes = judged.map_or_else(Vec::new, |report| report.causes);
        let caused = !causes.is_empty();
        let prepared = self.prepared(&sides, held)?;
        // A unit that ignores bits of an operand does not have the exact sum.
        let ignored = |of: &&Prepared| of.choice().arithmetic.a.ignored_bits();
        let of_exact = prepared.iter().flatten().min_by_key(ignored);
        let correctly_rounded = match of_exact.filter(|_| !inputs_differ) {
            Some(prepared) => exact::count(&pair, &found, prepared)?,
            None => None,
        };
        let [left, right] = pair.inputs();
        let [mut left, mut right] = [(0, left), (1, right)]
            .map(|(at, input)| side::result(sides.found[at].as_ref(), input));
        match unexplained {
            Some(0) => left.causes = causes,
            _ => right.causes = causes,
        }
        let size = size(&pair);
        let rects = found.sample.rects.as_deref().unwrap_or(&[]);
        let places = diagnose::places(rects, size);
        let mut pattern = if equal {
            Vec::new()
        } else {
            let known = (explained, caused);
            pattern::lines(pair.format(), &found, &map, &places, size, known)
        };
        if let ([Some(left), Some(right)], false) = (&prepared, equal) {
            pattern.extend(subnormals::told([left, right]));
        }
        let side_by_side = match (&prepared, found.comparison.first.first()) {
            ([Some(left), Some(right)], Some(first)) if !inputs_differ => {
                traces::side_by_side(left, right, &first.index)?
            }
            _ => None,
        };
        let (next_of, next) = self.next(&sides, &found).into_iter().unzip();
        Ok(Compared {
            schema: COMPARED,
            tool: Tool::default(),
            verdict: match (equal, inputs_differ) {
                (true, _) => Answer::Equal,
                (false, true) => Answer::InputsDiffer,
                (false, false) => Answer::Different,
            },
            explained,
            relation: sides.relation.map(|nearest| nearest.relation),
            only_relation: sides.relation.is_none_or(|nearest| nearest.only),
            wrong: wrong.map(|side| Side::BOTH[side]),
            mismatch_count: found.comparison.mismatches,
            format: pair.format(),
            rounded: pair.rounded.map(|side| Side::BOTH[side]),
            widened: pair.stored_wide.is_some(),
            transposed: !equal && pair.is_transposed(),
            rows: self.compared_rows(&pair),
            left,
            right,
            operands,
            differences: (&found.comparison).into(),
            pattern,
            places,
            correctly_rounded,
            kernels,
            side_by_side,
            next,
            next_of,
            map: Some(map),
            comparison: found.comparison,
        })
    }

    fn sides(
        &self,
        held: &Held,
        inputs_differ: bool,
        progress: &dyn Progress,
    ) -> Result<Sides, IdentifyError> {
        let side = |side: usize| SearchedSide::searched(self, side, held, progress);
        let mut found = [side(0)?, side(1)?];
        let mut relation = None;
        if let [Some(left), Some(right)] = &mut found
            && let Some(nearest) = side::nearest(left.fits(), right.fits(), inputs_differ)
        {
            [left.chosen, right.chosen] = nearest.pair.map(Some);
            relation = Some(nearest);
        }
        Ok(Sides { found, relation })
    }

    /// Judges the unexplained side by the rule of the explained one. `format` is that of the unexplained result, where
    /// its file does not state it; none if the rule gives no results of that format.
    fn judge_other(
        &self,
        sides: &Sides,
        (other, format): (usize, Option<Format>),
        (held, inputs_differ): (&Held, bool),
        progress: &dyn Progress,
    ) -> Result<Option<Report>, CheckError> {
        let Some(check) = sides.check(1 - other) else {
            return Ok(None);
        };
        // The rule is known for these operands alone, and nobody says which rows of the product selected rows are.
        if inputs_differ || self.in_part() {
            return Ok(None);
        }
        let mut check = check.clone();
        check.d_dtype = format;
        let result = (&self.results[other], held[other].get(&Role::D));
        match judged(check, result, &held[1 - other], progress) {
            Ok(report) => Ok(Some(report)),
            Err(CheckError::Request { .. } | CheckError::Array { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The checks of the reported fits, prepared.
    fn prepared(&self, sides: &Sides, held: &Held) -> Result<[Option<Prepared>; 2], CheckError> {
        let of_side = |side: usize| {
            let check = sides.check(side);
            let whole = check.filter(|_| !self.in_part());
            let read = whole.map(|check| prepared(check, held[side].clone()));
            read.transpose()
        };
        Ok([of_side(0)?, of_side(1)?])
    }

    /// The operands of both sides, with their digests.
    fn operand_pairs(&self, held: &Held) -> Result<Vec<OperandPair>, CheckError> {
        let Some([left, right]) = &self.operands else {
            return Ok(Vec::new());
        };
        let mut pairs = Vec::new();
        for role in Role::PRODUCT {
            let (Some(one), Some(other)) = (left.get(*role), right.get(*role)) else {
                continue;
            };
            // Rows of these operands are rows of D.
            let by_rows = match *role {
                Role::A | Role::ScaleA => !left.transpose_a && !right.transpose_a,
                Role::C => true,
                _ => false,
            };
            let comparable = by_rows || matches!(role, Role::B | Role::ScaleB);
            if self.in_part() && !comparable {
                continue;
            }
            let rows = |side: usize| self.rows[side].as_ref().filter(|_| by_rows);
            let format = match *role {
                Role::A => self.operand_formats[0],
                Role::B => self.operand_formats[1].or(self.operand_formats[0]),
                _ => None,
            };
            let array = |side: usize, source| {
                contents((*role, format), (source, held[side].get(role)), rows(side))
            };
            let Some(first) = array(0, one)? else {
                continue;
            };
            let one_file = one == other && *one != Source::Memory;
            let second = if one_file && self.rows[0] == self.rows[1] {
                Some(first.clone())
            } else {
                array(1, other)?
            };
            let Some(second) = second else { continue };
            // The same file is another operand if one side transposes it.
            let as_stored = match *role {
                Role::A | Role::ScaleA => left.transpose_a == right.transpose_a,
                Role::B | Role::ScaleB => left.transpose_b == right.transpose_b,
                _ => true,
            };
            pairs.push(OperandPair {
                role: role.field(),
                same: as_stored && first.same(&second),
                payload_sha256: [first.sha256, second.sha256],
            });
        }
        Ok(pairs)
    }

    fn compared_rows(&self, pair: &Pair) -> Option<[[usize; 2]; 2]> {
        let all = pair.read[0].tensor.planes().rows();
        let rows = |side: usize| {
            let rows = self.rows[side].clone();
            rows.map_or([0, all], |rows| [rows.start, rows.end])
        };
        self.in_part().then(|| [rows(0), rows(1)])
    }

    /// The check of each side, and the first difference step by step.
    fn next(&self, sides: &Sides, found: &Conclusion) -> Vec<(Side, String)> {
        let Some(first) = found.comparison.first.first() else {
            return Vec::new();
        };
        let at: Vec<_> = first.index.iter().map(usize::to_string).collect();
        let checks = (0..2).filter_map(|side| Some((Side::BOTH[side], sides.check(side)?)));
        let checks: Vec<_> = checks.filter(|(_, check)| !check.is_in_memory()).collect();
        let judged = checks
            .iter()
            .map(|&(side, check)| (side, command_line(Verb::Check, check)));
        let shown = checks.iter().map(|&(side, check)| {
            let mut words = command_line(Verb::Explain, check);
            words.extend(["--at".into(), at.join(",").into()]);
            (side, words)
        });
        let shown = shown.filter(|_| !self.in_part());
        let all = judged.chain(shown);
        all.map(|(side, words)| (side, shell_line(words))).collect()
    }
}

impl Sides {
    fn explained(&self) -> Option<Explained> {
        if self.found.iter().all(Option::is_none) {
            return None;
        }
        let fits =
            |side: &Option<SearchedSide>| side.as_ref().is_some_and(|side| side.chosen.is_some());
        Some(match self.found.each_ref().map(fits) {
            [true, true] => Explained::Both,
            [true, false] => Explained::Left,
            [false, true] => Explained::Right,
            [false, false] => Explained::Neither,
        })
    }

    fn check(&self, side: usize) -> Option<&Check> {
        self.found[side].as_ref()?.check()
    }

    /// The side that only kernels give which leave products out, while the other one has all products.
    fn lossy(&self) -> Option<usize> {
        let loses = |side: usize| {
            let found = self.found[side].as_ref()?;
            let omits = |fit: &crate::identify::document::Fit| {
                let schedule = fit.model.schedule.as_ref();
                schedule.is_some_and(|schedule| !schedule.omitted_k.is_empty())
            };
            (!found.fits().is_empty()).then(|| found.fits().iter().all(omits))
        };
        match [loses(0), loses(1)] {
            [Some(true), Some(false)] => Some(0),
            [Some(false), Some(true)] => Some(1),
            _ => None,
        }
    }
}

/// An operand, or these rows of it; none if it is generated in an unknown format.
fn contents(
    (role, format): (Role, Option<Format>),
    (source, held): (&Source, Option<&io::Source>),
    rows: Option<&Span>,
) -> Result<Option<Contents>, CheckError> {
    let array = match (source, held, format) {
        (Source::File(path), ..) => io::Source::open(path),
        (Source::Generated(text), _, Some(format)) => {
            engines::resources().files.generated(text, format, role)
        }
        (Source::Memory, Some(held), _) => Ok(held.clone()),
        _ => return Ok(None),
    };
    let array = array.map_err(CheckError::file(role.field()))?;
    let Some(rows) = rows else {
        let contents = Contents::of(&array).map_err(CheckError::file(role.field()))?;
        return Ok(Some(contents));
    };
    let tensor = array.tensor(array.as_stored());
    let tensor = tensor.map_err(CheckError::file(role.field()))?;
    let tensor = results::part(&tensor, rows)
        .map_err(|reason| CheckError::array(role.field(), source, reason))?;
    Ok(Some(Contents::part(&array, &tensor)))
}

fn size(pair: &Pair) -> diagnose::Size {
    let planes = pair.read[0].tensor.planes();
    diagnose::Size {
        m: planes.rows(),
        n: planes.columns(),
        batches: planes.batches(),
    }
}
