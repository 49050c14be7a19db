//! Dot products that make trouble, of eight kinds.

use tcverify::emu::step::Step;
use tcverify::emu::{Arithmetic, Catalogue};
use tcverify::num::{Class, Format};

use crate::support::exact::Reference;
use crate::support::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// Exponents near 0: every term counts.
    Near,
    /// Any finite numbers.
    Wide,
    /// Subnormal and tiny numbers.
    Tiny,
    /// Products that cancel, or nearly do, and something small that is left.
    Cancelling,
    /// Products at the lower end of the result's range, and mostly no C: what zeros count as shows.
    Faint,
    /// Sums that lie halfway between two results, or next to it.
    Halfway,
    /// The largest numbers.
    Largest,
    /// Infinities and NaNs, zeros of both signs.
    Special,
}

pub const ALL: [Inputs; 8] = [
    Inputs::Near,
    Inputs::Wide,
    Inputs::Tiny,
    Inputs::Cancelling,
    Inputs::Faint,
    Inputs::Halfway,
    Inputs::Largest,
    Inputs::Special,
];

#[derive(Clone, Debug)]
pub struct Dot {
    pub a: Vec<u64>,
    pub b: Vec<u64>,
    pub c: u64,
}

impl Dot {
    pub fn random(arithmetic: &Arithmetic, inputs: Inputs, random: &mut Random) -> Dot {
        // Up to two full steps and a part of a third.
        let k = 1 + random.below(2 * arithmetic.step.span() + 5);
        let formats = [arithmetic.a, arithmetic.b];
        let mut row = |format| (0..k).map(|_| element(format, inputs, random)).collect();
        let [a, b] = formats.map(&mut row);
        let c = element(arithmetic.accumulator, inputs, random);
        let mut dot = Dot { a, b, c };
        match inputs {
            Inputs::Cancelling => dot.cancel(formats, random),
            Inputs::Faint => dot.fade(arithmetic, random),
            Inputs::Halfway => dot.halve(arithmetic, random),
            _ => {}
        }
        dot.sprinkle(arithmetic, inputs, random);
        dot
    }

    /// Turns some products into the negatives of others, now and then off by one code.
    fn cancel(&mut self, [a, b]: [Format; 2], random: &mut Random) {
        let k = self.a.len();
        for _ in 0..k {
            let (one, other) = (random.below(k), random.below(k));
            let off = u64::from(random.once_in(4)) << a.ignored_bits();
            self.a[one] = finite(a, self.a[other] ^ a.sign_mask() ^ off);
            self.b[one] = finite(b, self.b[other]);
        }
    }

    /// Products from a little above the smallest normal result down to where none is left; or a
    /// result of one bit less a product where terms are cut beside zeros only.
    fn fade(&mut self, arithmetic: &Arithmetic, random: &mut Random) {
        let accumulator = arithmetic.accumulator;
        if !random.once_in(4) {
            self.c = accumulator.zero(random.once_in(2));
        }
        let top = accumulator.min_exponent() + 1;
        let bottom = accumulator.min_exponent() - accumulator.fraction_bits() as i32;
        let fused = match &arithmetic.step {
            Step::Fused(fused) => Some(fused),
            Step::FusedHalves(halves) => Some(&halves.half),
            _ => None,
        };
        if let Some(fused) = fused
            && random.once_in(2)
        {
            self.a.fill(arithmetic.a.zero(false));
            let cut = fused.zero_exponent - fused.fraction_bits as i32;
            let large = random.between(bottom, bottom + 8);
            let small = random.between(cut - 2, cut + 2);
            let negative = random.once_in(2);
            self.place(arithmetic, large, negative, random);
            self.place(arithmetic, small, !negative, random);
        } else {
            let shared = random.between(bottom - 10, top);
            for k in 0..self.a.len() {
                let exponent = random.between(shared - 4, shared);
                let [ea, eb] = split(arithmetic, exponent, random);
                self.a[k] = number(arithmetic.a, (ea, ea), random);
                self.b[k] = number(arithmetic.b, (eb, eb), random);
            }
        }
    }

    /// A product that is a power of two, anywhere.
    fn place(&mut self, formats: &Arithmetic, exponent: i32, negative: bool, random: &mut Random) {
        let [ea, eb] = split(formats, exponent, random);
        let k = random.below(self.a.len());
        self.a[k] = power_of_two(formats.a, ea) | formats.a.zero(negative);
        self.b[k] = power_of_two(formats.b, eb);
    }

    /// One or two products of half a unit of C, and perhaps one far below it.
    fn halve(&mut self, arithmetic: &Arithmetic, random: &mut Random) {
        self.a.fill(arithmetic.a.zero(false));
        let c = arithmetic.accumulator.unpack(self.c);
        let half = c.exponent - arithmetic.accumulator.fraction_bits() as i32 - 1;
        for _ in 0..1 + random.below(2) {
            let below = random.between(1, 8);
            let exponent = random.pick(&[half, half, half - below]);
            let negative = random.once_in(2);
            self.place(arithmetic, exponent, negative, random);
        }
    }

    /// Zeros, in every kind of input, and specials in theirs: few, or in a third of the places.
    fn sprinkle(&mut self, arithmetic: &Arithmetic, inputs: Inputs, random: &mut Random) {
        let special = inputs == Inputs::Special;
        let k = self.a.len();
        let places = match random.below(4) {
            0 => k / 3,
            1 => 1,
            2 if special => 2,
            _ => 0,
        };
        for _ in 0..places {
            let (format, row) = if random.once_in(2) {
                (arithmetic.a, &mut self.a)
            } else {
                (arithmetic.b, &mut self.b)
            };
            row[random.below(k)] = zero_or_special(format, special, random);
        }
        if random.once_in(4) {
            self.c = zero_or_special(arithmetic.accumulator, special, random);
        }
    }
}

fn zero_or_special(format: Format, special: bool, random: &mut Random) -> u64 {
    let negative = random.once_in(2);
    let zero = format.zero(negative);
    if !special || random.once_in(3) {
        return zero;
    }
    // The top code of a format without specials is a number, which does no harm.
    let nan = zero | (format.sign_mask() - 1);
    random.pick(&[nan, format.infinity(negative).unwrap_or(nan)])
}

fn element(format: Format, inputs: Inputs, random: &mut Random) -> u64 {
    let (low, high) = (format.min_exponent() - 1, format.max_exponent());
    match inputs {
        Inputs::Near | Inputs::Cancelling | Inputs::Halfway => number(format, (-3, 3), random),
        Inputs::Tiny | Inputs::Faint => number(format, (low, low + 2), random),
        Inputs::Largest if random.once_in(2) => format.max_finite(random.once_in(2)),
        Inputs::Largest => number(format, (high - 1, high), random),
        Inputs::Wide | Inputs::Special => number(format, (low, high), random),
    }
}

/// A finite number whose exponent lies between two (the format's permitting); one below the
/// smallest is a subnormal's.
fn number(format: Format, (low, high): (i32, i32), random: &mut Random) -> u64 {
    let (least, most) = (format.min_exponent() - 1, format.max_exponent());
    let exponent = random.between(low, high).clamp(least, most);
    let field = (exponent - least) as u64;
    // Short fractions, for sums that are exact or halfway.
    let width = format.fraction_bits() + format.ignored_bits();
    let cleared = if random.once_in(3) {
        random.below(width as usize)
    } else {
        0
    };
    let fraction = (random.bits() & ((1 << width) - 1)) >> cleared << cleared;
    finite(
        format,
        format.zero(random.once_in(2)) | field << width | fraction,
    )
}

/// Exponents of two factors whose sum is the product's, as far as the formats reach.
fn split(arithmetic: &Arithmetic, product: i32, random: &mut Random) -> [i32; 2] {
    let [a, b] = [arithmetic.a, arithmetic.b];
    let low = a.min_exponent().max(product - b.max_exponent());
    let high = a.max_exponent().min(product - b.min_exponent());
    let ea = random.between(low.min(high), high.max(low));
    [ea, product - ea]
}

fn power_of_two(format: Format, exponent: i32) -> u64 {
    let exponent = exponent.clamp(format.min_exponent(), format.max_exponent());
    let field = (exponent + format.bias()) as u64;
    field << format.fraction_bits() << format.ignored_bits()
}

/// The code itself, or the largest number if it is none.
fn finite(format: Format, code: u64) -> u64 {
    let number = format.unpack(code);
    if number.class == Class::Finite {
        code
    } else {
        format.max_finite(number.negative)
    }
}

/// Every arithmetic of the catalogue that the slow model knows, once, with the first place where it is used.
pub fn arithmetics() -> Vec<(String, Arithmetic)> {
    let mut all: Vec<(String, Arithmetic)> = Vec::new();
    for arch in Catalogue::builtin().architectures() {
        for instruction in &arch.instructions {
            for rule in &instruction.rules {
                for &operands in &rule.operands {
                    let arithmetic = Arithmetic::of(rule, operands);
                    let known = all.iter().any(|(_, known)| *known == arithmetic);
                    if !known && Reference::knows(&arithmetic.step) {
                        let [a, b] = operands;
                        let to = rule.accumulator;
                        let place = format!("{} {} {a}*{b} {to}", arch.name, instruction.name);
                        all.push((place, arithmetic));
                    }
                }
            }
        }
    }
    all
}
