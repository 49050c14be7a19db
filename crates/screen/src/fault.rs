//! Faults, as data and as a datapath that changes numbers between the parts of a unit.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::elements::{PERIODS, Where};
use super::unit::Datapath;
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

/// Broken bits in the unit of one lane: `product:bit=13,stuck=1,k=3,lane=5,sm=77`; or a number that is lost and counts as
/// zero: `product:zero,k=3,lane=5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub place: Place,
    /// Which bits, from the least significant on: of a code (`operand`, `rounding`), of a product of significands, in
    /// units of the grid (`aligner`, `adder`). All of them: the number.
    pub bits: u128,
    pub stuck: Stuck,
    /// Which product of a step, which scale, or which aligner: of `operand`, `scale`, `product` and `aligner`.
    pub k: usize,
    /// The elements of D that pass through the unit.
    pub of: Where,
    /// SM that has it.
    pub sm: u32,
    /// It acts in one of so many steps, at random; 1 is always.
    pub one_in: u64,
    /// `one_in` halves after so many runs of the suite, as a part that ages; 0 is never.
    pub doubles: u32,
    /// It acts only at this temperature (degrees Celsius) and above; 0 is always.
    pub above: u32,
    /// It acts only in steps in which the operand of A at product `k` (0 of `adder` and `rounding`) has an exponent field
    /// from the first of these to the second.
    pub exponents: Option<[u32; 2]>,
}

impl Place {
    /// Whether it is between the parts of a unit, not on the way to it.
    pub fn is_inside(self) -> bool {
        !matches!(self, Place::Operand | Place::Scale)
    }

    /// Whether it is in one of the parallel paths of a unit, which `k` names.
    pub fn has_k(self) -> bool {
        !matches!(self, Place::Adder | Place::Rounding)
    }
}

impl Fault {
    /// A fault that always acts, in lane 0 of SM 0.
    pub fn always(place: Place, bits: u128, stuck: Stuck, k: usize) -> Fault {
        Fault {
            place,
            bits,
            stuck,
            k,
            of: Where::Lane(0),
            sm: 0,
            one_in: 1,
            doubles: 0,
            above: 0,
            exponents: None,
        }
    }

    /// As it acts after so many runs of the suite.
    pub fn aged(&self, runs: u32) -> Fault {
        let times = runs.checked_div(self.doubles).unwrap_or(0).min(63);
        Fault {
            one_in: (self.one_in >> times).max(1),
            ..*self
        }
    }

    /// Whether it acts where the operand has this code.
    pub fn acts_on(&self, format: Format, code: u64) -> bool {
        self.exponents.is_none_or(|[low, high]| {
            let field = exponent_field(format, code);
            low <= field && field <= high
        })
    }

    /// As it is in a unit that has wires for these bits alone.
    pub fn within(&self, wires: Range<u32>) -> Fault {
        let mask = wires.map(|bit| 1u128 << bit).sum::<u128>();
        let bits = if self.is_zero() {
            self.bits
        } else {
            self.bits & mask
        };
        Fault { bits, ..*self }
    }

    /// Whether the number is lost: it counts as zero.
    pub fn is_zero(&self) -> bool {
        self.bits == u128::MAX && self.stuck == Stuck::Zero
    }

    /// The numbers of its bits.
    fn numbers(&self) -> Vec<String> {
        let set = (0..128u32).filter(|bit| self.bits >> bit & 1 == 1);
        set.map(|bit| bit.to_string()).collect()
    }

    /// What it is, without where.
    pub fn describe(&self) -> String {
        let bits = match &self.numbers()[..] {
            [one] => format!("bit {one}"),
            several => format!("bits {}", several.join(", ")),
        };
        let (bits, of) = match (self.is_zero(), self.stuck) {
            (true, _) => ("zero".to_owned(), "in place of"),
            (false, Stuck::Flip) => (format!("{bits} inverted"), "of"),
            (false, stuck) => (format!("{bits} stuck at {}", stuck.word()), "of"),
        };
        let mut text = match self.place {
            Place::Operand => format!("{bits} {of} an operand of A"),
            Place::Scale => format!("{bits} {of} a scale of A"),
            Place::Product => format!("{bits} {of} a product"),
            Place::Aligner if self.is_zero() => format!("{bits} {of} a term behind the aligner"),
            Place::Aligner => format!("{bits} behind the aligner"),
            Place::Adder => format!("{bits} {of} the sum"),
            Place::Rounding => format!("{bits} {of} the rounded result"),
        };
        match self.place {
            Place::Scale => text += &format!(" (scale {} of a step)", self.k),
            place if place.has_k() => text += &format!(" (product {} of a step)", self.k),
            _ => {}
        }
        if let Some([low, high]) = self.exponents {
            text += &format!(", where the exponent field of A's operand is {low} to {high},");
        }
        text
    }

    fn spoil(&self, number: u128) -> u128 {
        match self.stuck {
            Stuck::Zero => number & !self.bits,
            Stuck::One => number | self.bits,
            Stuck::Flip => number ^ self.bits,
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
        if self.is_zero() {
            write!(f, "{place}:zero")?
        } else {
            write!(f, "{place}:bit={},stuck={stuck}", self.numbers().join("+"))?;
        }
        if self.place.has_k() {
            write!(f, ",k={}", self.k)?;
        }
        write!(f, ",{},sm={}", self.of, self.sm)?;
        if self.one_in > 1 {
            write!(f, ",one-in={}", self.one_in)?;
        }
        if self.doubles > 0 {
            write!(f, ",doubles={}", self.doubles)?;
        }
        if self.above > 0 {
            write!(f, ",above={}", self.above)?;
        }
        match self.exponents {
            None => Ok(()),
            Some([low, high]) => write!(f, ",exponent={low}..{high}"),
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        let places: Vec<_> = Place::ALL.iter().map(|(_, word, _)| *word).collect();
        let (place, rest) = text.split_once(':').unwrap_or((text, ""));
        let place = Place::of_word(place).ok_or_else(|| {
            format!(
                "{place:?} is not a place of a fault ({})",
                places.join(", ")
            )
        })?;
        let mut fault = Fault::always(place, 0, Stuck::One, 0);
        for part in rest.split(',').filter(|part| !part.is_empty()) {
            if part == "zero" {
                (fault.bits, fault.stuck) = (u128::MAX, Stuck::Zero);
                continue;
            }
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("{part:?}: expected KEY=VALUE"))?;
            let number = |most: u64| match value.parse::<u64>() {
                Ok(number) if number <= most => Ok(number),
                _ => Err(format!("{part:?}: expected a number up to {most}")),
            };
            match key {
                "bit" => {
                    fault.bits = bits(value).ok_or_else(|| {
                        format!("{part:?}: expected numbers up to 119 joined by +")
                    })?
                }
                "stuck" => {
                    fault.stuck = Stuck::of_word(value)
                        .ok_or_else(|| format!("{part:?}: expected 0, 1 or flip"))?;
                }
                "k" if place.has_k() => fault.k = number(1023)? as usize,
                "lane" => fault.of = Where::Lane(number(31)? as usize),
                "rows" | "columns" => {
                    let axis = usize::from(key == "columns");
                    fault.of = every(axis, value).ok_or_else(|| {
                        format!("{part:?}: expected REST/PERIOD with a period of 2, 4, 8 or 16")
                    })?;
                }
                "sm" => fault.sm = number(1023)? as u32,
                "one-in" => fault.one_in = number(1 << 40)?.max(1),
                "doubles" => fault.doubles = number(1 << 20)? as u32,
                "above" => fault.above = number(200)? as u32,
                "exponent" => {
                    fault.exponents = Some(band(value).ok_or_else(|| {
                        format!("{part:?}: expected LOW..HIGH, exponent fields up to 2047")
                    })?)
                }
                _ => {
                    return Err(format!(
                        "{part:?}: the keys of a fault are bit, stuck, zero, k (of operand, scale, product and \
                         aligner), lane, rows, columns, sm, one-in, doubles, above and exponent"
                    ));
                }
            }
        }
        if fault.bits == 0 {
            return Err(format!("{text:?}: bit=N is missing"));
        }
        let wide = fault.bits >> 64 != 0 && !fault.is_zero();
        if matches!(place, Place::Operand | Place::Scale | Place::Rounding) && wide {
            return Err(format!("{text:?}: bits there are 0 to 63"));
        }
        Ok(fault)
    }
}

/// The bits of `3+7`.
fn bits(text: &str) -> Option<u128> {
    let mut bits = 0;
    for number in text.split('+') {
        bits |= 1 << number.parse::<u32>().ok().filter(|bit| *bit < 120)?;
    }
    Some(bits)
}

/// The rows or columns of `1/4`.
fn every(axis: usize, text: &str) -> Option<Where> {
    let (rest, period) = text.split_once('/')?;
    let period = period.parse().ok().filter(|n| PERIODS.contains(n))?;
    let rest = rest.parse().ok().filter(|rest| *rest < period)?;
    Some(Where::Every { axis, period, rest })
}

/// The exponents of `120..124`.
fn band(text: &str) -> Option<[u32; 2]> {
    let (low, high) = text.split_once("..")?;
    let [low, high] = [low, high].map(|end| end.parse().ok().filter(|field| *field < 2048));
    Some([low?, high?]).filter(|[low, high]| low <= high)
}

/// The exponent field of a code; 0 of integers.
pub fn exponent_field(format: Format, code: u64) -> u32 {
    let field = code >> (format.ignored_bits() + format.fraction_bits());
    (field & ((1 << format.exponent_bits()) - 1)) as u32
}

/// Spoils what passes through the broken place.
pub struct Injector<'a> {
    fault: &'a Fault,
    /// State of the draw of whether a rare fault acts.
    state: u64,
    acts: bool,
    /// The only steps in which it acts, if there are such.
    only: Option<[usize; 2]>,
    steps: usize,
    /// The unit of a row that has the first product of this step.
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

    /// The fault acts only in one step, counted from 0, or in two.
    pub fn only(fault: &'a Fault, steps: [usize; 2]) -> Injector<'a> {
        Injector {
            only: Some(steps),
            ..Injector::new(fault, 0)
        }
    }

    pub fn fault(&self) -> &'a Fault {
        self.fault
    }

    /// Begins a step whose first product is that of unit `first`; `here`: whether the fault acts on its operands. Returns
    /// whether it acts in this step.
    pub fn step(&mut self, first: usize, here: bool) -> bool {
        self.first = first;
        if let Some(only) = self.only {
            self.acts = only.contains(&self.steps);
            self.steps += 1;
        } else if self.fault.one_in > 1 {
            self.state = self.state.wrapping_add(GOLDEN);
            self.acts = mix(self.state).is_multiple_of(self.fault.one_in);
        } else {
            self.acts = true;
        }
        self.acts &= here;
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

impl Datapath for Injector<'_> {
    fn multiplied(&self, k: usize, magnitude: u128) -> u128 {
        if self.is_at(Place::Product, k) {
            self.fault.spoil(magnitude)
        } else {
            magnitude
        }
    }

    fn shifted(&self, aligner: usize, kept: i128) -> i128 {
        if !self.is_at(Place::Aligner, aligner) {
            return kept;
        }
        let magnitude = self.fault.spoil(kept.unsigned_abs()) as i128;
        if kept < 0 { -magnitude } else { magnitude }
    }

    fn added(&self, sum: i128) -> i128 {
        if self.is(Place::Adder) {
            self.fault.spoil(sum as u128) as i128
        } else {
            sum
        }
    }

    fn rounded(&self, format: Format, code: u64) -> u64 {
        let bits = self.fault.bits & format.max_code() as u128;
        if self.is(Place::Rounding) && bits != 0 {
            self.fault.spoil(code.into()) as u64 & format.max_code()
        } else {
            code
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
            "aligner:zero,k=2,columns=3/16,sm=0",
            "operand:bit=3+9,stuck=flip,k=0,rows=0/2,sm=1",
            "product:bit=9,stuck=1,k=1,lane=3,sm=1,exponent=120..124",
            "adder:zero,lane=0,sm=0,one-in=4096,doubles=1",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        for (text, words) in [
            ("gears:bit=1", "not a place of a fault"),
            ("product:stuck=1", "bit=N is missing"),
            ("product:bit=1,lane=32", "up to 31"),
            ("adder:bit=1,k=2", "the keys of a fault are"),
            ("scale:bit=64", "0 to 63"),
            ("adder:bit=3+x", "joined by +"),
            ("adder:zero,rows=2/2", "REST/PERIOD"),
            ("adder:bit=1,stuck=2", "flip"),
            ("adder:bit", "KEY=VALUE"),
            ("adder:bit=1,exponent=9..3", "LOW..HIGH"),
        ] {
            let reason = text.parse::<Fault>().unwrap_err();
            assert!(reason.contains(words), "{reason}");
        }
    }
}
