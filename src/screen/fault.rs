//! Faults, as data and as a datapath that spoils numbers on their way through a step.

use std::fmt;
use std::str::FromStr;

use crate::emu::step::{Datapath, TraceObserver};
use crate::num::Format;
use crate::random::{GOLDEN, mix};
use crate::words::{Word, words};

words! {
    /// Where in a matrix unit something is broken.
    pub enum Place {
        /// A bit of an operand of A, on its way to one multiplier
        Operand = "operand",
        /// A bit of a scale of A, on its way to the products of its block
        Scale = "scale",
        /// A bit of the significand that one multiplier returns
        Product = "product",
        /// A bit of a term behind the aligner
        Aligner = "aligner",
        /// A bit of the sum
        Adder = "adder",
        /// A bit of the rounded result
        Rounding = "rounding",
    }
}

words! {
    /// What a broken bit does.
    pub enum Stuck {
        /// It is always 0
        Zero = "0",
        /// It is always 1
        One = "1",
        /// It is the other of what it should be
        Flip = "flip",
    }
}

/// A broken bit in the unit of one lane: `product:bit=13,stuck=1,k=3,lane=5,sm=77`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    pub place: Place,
    /// From the least significant on: of a code (`operand`, `rounding`), of a product of significands, in
    /// units of the grid (`aligner`, `adder`).
    pub bit: u32,
    pub stuck: Stuck,
    /// Which product of a step, which scale, or which aligner: of `operand`, `scale`, `product` and `aligner`.
    pub k: usize,
    /// Lane whose elements of D pass through the unit.
    pub lane: usize,
    /// SM that has it.
    pub sm: u32,
    /// It acts in one of so many steps, at random; 1 is always.
    pub one_in: u64,
    /// It acts only at this temperature (degrees Celsius) and above; 0 is always.
    pub above: u32,
}

impl std::hash::Hash for Place {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.word().hash(state);
    }
}

impl std::hash::Hash for Stuck {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.word().hash(state);
    }
}

impl Place {
    /// Whether it is in one of the parallel paths of a unit, which `k` names.
    pub fn has_k(self) -> bool {
        !matches!(self, Place::Adder | Place::Rounding)
    }
}

impl Fault {
    /// A bit that is always so, in lane 0 of SM 0.
    pub fn always(place: Place, bit: u32, stuck: Stuck, k: usize) -> Fault {
        Fault {
            place,
            bit,
            stuck,
            k,
            lane: 0,
            sm: 0,
            one_in: 1,
            above: 0,
        }
    }

    /// What it is, without where.
    pub fn describe(&self) -> String {
        let mut text = match self.stuck {
            Stuck::Flip => format!("bit {} inverted", self.bit),
            stuck => format!("bit {} stuck at {}", self.bit, stuck.word()),
        };
        text += match self.place {
            Place::Operand => " of an operand of A",
            Place::Scale => " of a scale of A",
            Place::Product => " of a product",
            Place::Aligner => " behind the aligner",
            Place::Adder => " of the sum",
            Place::Rounding => " of the rounded result",
        };
        match self.place {
            Place::Scale => text += &format!(" (scale {} of a step)", self.k),
            place if place.has_k() => text += &format!(" (product {} of a step)", self.k),
            _ => {}
        }
        text
    }

    fn spoil(&self, number: u128) -> u128 {
        let bit = 1u128 << self.bit;
        match self.stuck {
            Stuck::Zero => number & !bit,
            Stuck::One => number | bit,
            Stuck::Flip => number ^ bit,
        }
    }

    /// The code of the operand, or of the scale, that it spoils.
    pub fn code(&self, code: u64) -> u64 {
        self.spoil(code.into()) as u64
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (place, stuck) = (self.place.word(), self.stuck.word());
        write!(f, "{place}:bit={},stuck={stuck}", self.bit)?;
        if self.place.has_k() {
            write!(f, ",k={}", self.k)?;
        }
        write!(f, ",lane={},sm={}", self.lane, self.sm)?;
        if self.one_in > 1 {
            write!(f, ",one-in={}", self.one_in)?;
        }
        match self.above {
            0 => Ok(()),
            above => write!(f, ",above={above}"),
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        let places: Vec<_> = Place::ALL.iter().map(|(_, word, _)| *word).collect();
        let (place, rest) = text.split_once(':').unwrap_or((text, ""));
        let place = Place::of_word(place)
            .ok_or_else(|| format!("{place:?} is no place of a fault ({})", places.join(", ")))?;
        let mut fault = Fault::always(place, u32::MAX, Stuck::One, 0);
        for part in rest.split(',').filter(|part| !part.is_empty()) {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("{part:?}: KEY=VALUE is expected"))?;
            let number = |most: u64| match value.parse::<u64>() {
                Ok(number) if number <= most => Ok(number),
                _ => Err(format!("{part:?}: a number up to {most} is expected")),
            };
            match key {
                "bit" => fault.bit = number(119)? as u32,
                "stuck" => {
                    fault.stuck = Stuck::of_word(value)
                        .ok_or_else(|| format!("{part:?}: 0, 1 or flip is expected"))?;
                }
                "k" if place.has_k() => fault.k = number(1023)? as usize,
                "lane" => fault.lane = number(31)? as usize,
                "sm" => fault.sm = number(1023)? as u32,
                "one-in" => fault.one_in = number(1 << 40)?.max(1),
                "above" => fault.above = number(200)? as u32,
                _ => {
                    return Err(format!(
                        "{part:?}: bit, stuck, k (of operand, scale, product and aligner), lane, sm, one-in and above \
                         are what a fault has"
                    ));
                }
            }
        }
        if fault.bit == u32::MAX {
            return Err(format!("{text:?}: bit=N is missing"));
        }
        if matches!(place, Place::Operand | Place::Scale | Place::Rounding) && fault.bit > 63 {
            return Err(format!("{text:?}: numbers there have up to 64 bits"));
        }
        Ok(fault)
    }
}

/// Spoils what passes through the broken place.
pub struct Injector<'a> {
    fault: &'a Fault,
    /// Of the draw whether a rare fault acts.
    state: u64,
    acts: bool,
    /// It acts in this step alone.
    only: Option<usize>,
    steps: usize,
    /// Which unit of a row has the first product of this step.
    first: usize,
}

impl<'a> Injector<'a> {
    /// `seed` distinguishes the runs of a rare fault.
    pub fn new(fault: &'a Fault, seed: u64) -> Injector<'a> {
        Injector {
            fault,
            state: seed,
            acts: fault.one_in == 1,
            only: None,
            steps: 0,
            first: 0,
        }
    }

    /// Acts in one step alone, counted from 0.
    pub fn once(fault: &'a Fault, step: usize) -> Injector<'a> {
        Injector {
            only: Some(step),
            ..Injector::new(fault, 0)
        }
    }

    pub fn fault(&self) -> &'a Fault {
        self.fault
    }

    /// Begins a step whose first product is that of unit `first`. Returns whether the fault acts in it.
    pub fn step(&mut self, first: usize) -> bool {
        self.first = first;
        if let Some(only) = self.only {
            self.acts = self.steps == only;
            self.steps += 1;
        } else if self.fault.one_in > 1 {
            self.state = self.state.wrapping_add(GOLDEN);
            self.acts = mix(self.state).is_multiple_of(self.fault.one_in);
        }
        self.acts
    }

    fn is(&self, place: Place) -> bool {
        self.acts && self.fault.place == place
    }

    /// Whether product `k` of the step is the broken unit's.
    fn is_at(&self, place: Place, k: usize) -> bool {
        self.is(place) && self.first + k == self.fault.k
    }
}

impl TraceObserver for Injector<'_> {}

impl Datapath for Injector<'_> {
    fn is_sound(&self) -> bool {
        false
    }

    fn multiplied(&mut self, k: usize, magnitude: u128) -> u128 {
        match self.is_at(Place::Product, k) {
            true => self.fault.spoil(magnitude),
            false => magnitude,
        }
    }

    fn shifted(&mut self, aligner: Option<usize>, kept: i128) -> i128 {
        if !aligner.is_some_and(|k| self.is_at(Place::Aligner, k)) {
            return kept;
        }
        let magnitude = self.fault.spoil(kept.unsigned_abs()) as i128;
        if kept < 0 { -magnitude } else { magnitude }
    }

    fn added(&mut self, sum: i128) -> i128 {
        match self.is(Place::Adder) {
            true => self.fault.spoil(sum as u128) as i128,
            false => sum,
        }
    }

    fn rounded(&mut self, format: Format, code: u64) -> u64 {
        match self.is(Place::Rounding) && self.fault.bit < 8 * format.bytes() as u32 {
            true => self.fault.spoil(code.into()) as u64,
            false => code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_as_they_are_written() {
        for text in [
            "product:bit=13,stuck=1,k=3,lane=5,sm=77",
            "adder:bit=2,stuck=flip,lane=0,sm=0,one-in=1000",
            "rounding:bit=31,stuck=0,lane=31,sm=7,above=80",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        for (text, words) in [
            ("gears:bit=1", "no place"),
            ("product:stuck=1", "bit=N is missing"),
            ("product:bit=1,lane=32", "up to 31"),
            ("adder:bit=1,k=2", "are what a fault has"),
            ("scale:bit=64", "up to 64 bits"),
            ("adder:bit=1,stuck=2", "flip"),
            ("adder:bit", "KEY=VALUE"),
        ] {
            let reason = text.parse::<Fault>().unwrap_err();
            assert!(reason.contains(words), "{reason}");
        }
    }
}
