//! One element of D: other values that could be in its place, from a row or column nearby, from operands with a
//! flipped bit, or from another schedule.

use crate::diagnose::element::chain::MAX_NAMED;
use crate::diagnose::flipped_bits::{Line, with_addend};
use crate::diagnose::trial::{SPENT, Stored, Work, is_narrow, relocated};
use crate::diagnose::whole::schedule::{may_lose, multiplied, searched};
use crate::diagnose::{Found, Hypothesis, MAX_SEARCHED_K, Single, WORK};
use crate::emu::schedule::{BoundSchedule, Values};
use crate::emu::{self, Replay};

/// How many rows and columns are searched in either direction.
const NEAR: usize = 16;

impl Single<'_> {
    /// A flipped bit of A or B; or why none was tried. A flipped sign is reported as that of a product.
    pub(crate) fn inputs(&self, found: &mut Vec<Found>) -> Result<(), &'static str> {
        let replay = self.replay;
        match () {
            () if is_narrow(self.replay) => {
                return Err("D has so few bits that some flip always fits");
            }
            () if replay.arithmetic.scale.is_some() => return Err("operands have scales"),
            () if replay.problem.k > MAX_SEARCHED_K => return Err("K is too long"),
            () => {}
        }
        let stored = Stored {
            at: self.at,
            given: self.given.code,
        };
        let work = Work::new(WORK);
        for side in [0, 1] {
            let line = Line {
                side,
                batch: self.at.batch,
                index: [self.at.row, self.at.column][side],
            };
            let format = [replay.arithmetic.a, replay.arithmetic.b][side];
            let different = [(stored, self.reproduced.code)];
            let sign = if self.chain.is_some() {
                format.sign_mask()
            } else {
                0
            };
            let flips = line.flips(replay, (&different, &[]), sign, &work);
            let flips = flips.ok_or(SPENT)?;
            let Some(flip) = flips.first() else { continue };
            let [row, column] = line.place(flip.k);
            let name = ["A", "B"][side];
            let more = match flips.len() {
                1 => String::new(),
                n => format!(
                    " (or one of {} other flips of its {})",
                    n - 1,
                    ["row", "column"][side]
                ),
            };
            let text = format!(
                "bit {} of {name}[{row}, {column}] was flipped{more}",
                flip.bit
            );
            let at = [row, column, flip.bit as usize];
            found.push(Found::new(Hypothesis::InputFlipped, text).at(at));
        }
        Ok(())
    }

    /// A flipped bit of C's element.
    pub fn c_flipped(&self) -> Option<Found> {
        let c = self.replay.problem.c?;
        let emu::Element { batch, row, column } = self.at;
        let format = c.tensor().format();
        let own = c.plane(batch).code(row, column);
        let with = |code: u64| with_addend(self.replay, &self.at, (format, code));
        let flipped = |&bit: &u32| with(own ^ 1 << bit) == self.given.code;
        let bits: Vec<u32> = (0..format.width()).filter(flipped).collect();
        let bit = *bits.first()?;
        let more = match bits.len() {
            1 => String::new(),
            n => format!(" (or one of {} other bits)", n - 1),
        };
        let text = format!("bit {bit} of C[{row}, {column}] was flipped{more}");
        Some(Found::new(Hypothesis::InputFlipped, text).at([row, column, bit as usize]))
    }

    /// The values of rows and columns nearby; or why none were tried.
    pub(crate) fn neighbours(
        &self,
        work: &Work,
        found: &mut Vec<Found>,
    ) -> Result<(), &'static str> {
        let problem = &self.replay.problem;
        if is_narrow(self.replay) {
            return Err("D has so few bits that some fit by chance");
        }
        let value = self.given.value();
        if value.is_zero() || value.finite().is_none() {
            return Err("D is zero, infinite or NaN, as others may be by chance");
        }
        for (side, length) in [(0, problem.m), (1, problem.n)] {
            let own = [self.at.row, self.at.column][side];
            let mut near: Vec<usize> = (own.saturating_sub(NEAR)..length.min(own + NEAR + 1))
                .filter(|&i| i != own)
                .collect();
            near.sort_by_key(|place| place.abs_diff(own));
            let there = near.iter().map(|&place| relocated(self.at, side, place));
            let at: Vec<_> = there.collect();
            if !work.spend(at.len() as u64 * problem.k as u64) {
                return Err("K is too long");
            }
            let codes = self.replay.elements(&at);
            let place = near
                .iter()
                .zip(codes)
                .find(|(_, code)| *code == self.given.code);
            if let Some((&place, _)) = place {
                let hypothesis = [Hypothesis::RowMoved, Hypothesis::ColumnMoved][side];
                let text = format!("D holds the values of {} {place}", ["row", "column"][side]);
                found.push(Found::new(hypothesis, text).at([place]));
            }
        }
        Ok(())
    }

    /// Another schedule, or none; or why some were not tried.
    pub(crate) fn schedules(
        &self,
        work: &Work,
        found: &mut Vec<Found>,
    ) -> Result<(), &'static str> {
        let replay = self.replay;
        if replay.kernel.is_some_and(multiplied) {
            return Err("sums are multiplied by numbers of one kernel");
        }
        let mut tried = Ok(());
        let values = Values::default();
        let mut names = Vec::new();
        let mut losing = Vec::new();
        let mut count = 0;
        let span = replay.arithmetic.step.span();
        let list = searched(replay, replay.arithmetic, false, &|_| true);
        let bare = replay.kernel.is_some().then_some(None);
        for guess in bare.into_iter().chain(list.into_iter().map(Some)) {
            let kernel = guess.as_ref();
            let kernel =
                kernel.map(|guess| BoundSchedule::new(&guess.spec, &values, &replay.problem));
            let starts =
                |c: crate::tensor::Planes| c.tensor().format() == replay.arithmetic.addend();
            if kernel.is_none() && !replay.problem.c.is_none_or(starts) {
                continue;
            }
            let other = Replay { kernel, ..*replay };
            if !work.spend(replay.problem.k as u64) {
                tried = Err("K is too long for some of them");
                break;
            }
            if other.elements(&[self.at])[0] != self.given.code {
                continue;
            }
            // Schedules that omit some k are reported as a dropped remainder.
            let omitted = kernel.map(|kernel| kernel.omitted(replay.problem.k, span));
            if let Some([first, end]) = omitted.and_then(|omitted| omitted.first().copied()) {
                losing.extend(guess.map(|guess| (end - first, guess.to_string())));
                continue;
            }
            count += 1;
            if names.len() < MAX_NAMED {
                names.push(guess.map_or("one chain, without a schedule".into(), |g| g.to_string()));
            }
        }
        if let Some((lost, _)) = losing.first() {
            let same = losing.iter().filter(|(count, _)| count == lost);
            let names: Vec<_> = same.take(MAX_NAMED).map(|(_, name)| &name[..]).collect();
            let defect = if may_lose(replay.problem.k, *lost) {
                ", a known defect of cuBLAS's split nvjet kernels (ALGO 66)"
            } else {
                ""
            };
            let text = format!(
                "D omits the last {lost} k{defect}: it is the result of {}",
                names.join(", ")
            );
            found.push(Found::new(Hypothesis::DroppedRemainder, text));
        }
        // Schedules that add C last are already reported.
        let last = |found: &Found| found.hypothesis == Hypothesis::CAddedLast;
        if count == 0 || found.iter().any(last) {
            return tried;
        }
        let more = match count - names.len() {
            0 => String::new(),
            n => format!(" and {n} others"),
        };
        let text = format!(
            "D is the result of other schedules: {}{more}",
            names.join(", ")
        );
        found.push(Found::new(Hypothesis::OtherSchedule, text));
        tried
    }
}
