//! Operands on which two models differ: what to run to tell them apart.

use crate::candidates::Candidate;
use crate::emu::schedule::Values;
use crate::emu::{Element, Engine, Problem};
use crate::num::{Class, Format};
use crate::random::SplitMix64;
use crate::tensor::Tensor;

/// A dot product with two results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Separation {
    pub a: Vec<u64>,
    pub b: Vec<u64>,
    pub c: u64,
    /// Of the first model and of the second.
    pub results: [u64; 2],
}

/// Lengths that are tried, and how often each. What two models of one kind differ in shows within a
/// few hundred products; short ones come first, because people have to read them.
const LENGTHS: [usize; 10] = [1, 2, 3, 5, 9, 17, 33, 65, 129, 257];
const ROUNDS: usize = 400;

/// Whether two candidates read the files in the same formats, so that operands can be the same to both. C may
/// differ: without one they can still be compared.
pub fn comparable(one: &Candidate, other: &Candidate) -> bool {
    let formats = |candidate: &Candidate| {
        let a = &candidate.arithmetic;
        let read = (candidate.reads(), candidate.nearest);
        (read, candidate.result(), a.scale)
    };
    // A kernel's own scales belong to its files.
    let scaled = |candidate: &Candidate| {
        let guess = candidate.schedule.as_ref();
        guess.is_some_and(|guess| guess.spec.scales.is_some())
    };
    !scaled(one) && !scaled(other) && formats(one) == formats(other)
}

/// Searches for a dot product on which two candidates of equal formats differ. For models alone it is short; schedules depend
/// on K, so theirs is as long as what they were tested on. The operands are random, of several kinds: none found does not
/// prove that there is none. Models with scales are
/// compared with every scale 1.
pub fn separate(one: &Candidate, other: &Candidate, k: usize) -> Option<Separation> {
    if !comparable(one, other) {
        return None;
    }
    let mut random = Random(SplitMix64(1));
    let models = [one, other];
    if is_scheduled(models) {
        return sparse(models, k, &mut random);
    }
    let [format_a, format_b] = one.reads();
    let addend = one.arithmetic.addend();
    let with_c = addend == other.arithmetic.addend();
    let longest = models.map(|c| c.arithmetic.longest_k().unwrap_or(usize::MAX));
    let longest = longest[0].min(longest[1]);
    let lengths = LENGTHS.into_iter().filter(|k| *k <= longest);
    let mut rounds = lengths.flat_map(|k| (0..ROUNDS).map(move |round| (k, round)));
    rounds.find_map(|(k, round)| {
        let kind = random.next() % 6;
        let mut a = random.operands(format_a, kind, k);
        let b = random.operands(format_b, kind, k);
        if round % 3 == 0 {
            random.cancel(format_a, &mut a, &b);
        }
        let c = match random.next() % 3 {
            1 | 2 if with_c => random.operands(addend, kind, 1)[0],
            _ => 0,
        };
        let dot = Separation {
            a,
            b,
            c,
            results: [0; 2],
        };
        dot.shortest(models)
    })
}

/// Whether one of two candidates has a schedule, which depends on K.
fn is_scheduled(models: [&Candidate; 2]) -> bool {
    models.iter().any(|candidate| candidate.schedule.is_some())
}

/// A few products among zeros, the largest of which cancel: what is left tells which were added first.
fn sparse(models: [&Candidate; 2], k: usize, random: &mut Random) -> Option<Separation> {
    let [format_a, format_b] = models[0].reads();
    let signed = format_a.sign_mask() != 0 && !format_a.is_integer();
    if !signed || k == 0 || k > MAX_K {
        return None;
    }
    (0..ROUNDS).find_map(|_| {
        let mut dot = Separation {
            a: vec![0; k],
            b: vec![0; k],
            c: 0,
            results: [0; 2],
        };
        let place = |random: &mut Random| random.next() as usize % k;
        // Near one with short significands, except two that are huge and undo each other.
        for _ in 0..2 + random.next() % 8 {
            let at = place(random);
            let kind = 1 + random.next() % 2;
            dot.a[at] = random.operand(format_a, kind);
            dot.b[at] = random.operand(format_b, 2);
        }
        let (up, down) = (place(random), place(random));
        dot.a[up] = random.operand(format_a, 4) & !format_a.sign_mask();
        dot.b[up] = random.operand(format_b, 1);
        (dot.a[down], dot.b[down]) = (dot.a[up] ^ format_a.sign_mask(), dot.b[up]);
        dot.shortest(models)
    })
}

/// The longest K for which operands are searched for.
const MAX_K: usize = 1 << 14;

impl Separation {
    fn differs(&mut self, models: [&Candidate; 2]) -> bool {
        self.results = models.map(|candidate| self.result(candidate));
        self.results[0] != self.results[1]
    }

    fn result(&self, candidate: &Candidate) -> u64 {
        let arithmetic = &candidate.arithmetic;
        let k = self.a.len();
        let [format_a, format_b] = candidate.reads();
        let a = Tensor::from_codes(format_a, vec![1, k], &self.a);
        let b = Tensor::from_codes(format_b, vec![k, 1], &self.b);
        let c = Tensor::from_codes(arithmetic.addend(), vec![1, 1], &[self.c]);
        // A schedule has been tested with what C there is; nothing is added here.
        let c = candidate.schedule.is_none().then(|| c.planes());
        let problem = Problem::new(a.planes(), b.planes(), c);
        let mut problem = problem.expect("a row times a column");
        let ones = arithmetic.scale.map(|scale| {
            let one = (scale.format.bias() as u64) << scale.format.fraction_bits();
            let blocks = k.div_ceil(scale.block);
            let ones = |shape: [usize; 2]| {
                Tensor::from_codes(scale.format, shape.to_vec(), &vec![one; blocks])
            };
            (ones([1, blocks]), ones([blocks, 1]), scale.block)
        });
        if let Some((a, b, block)) = &ones {
            let scaled = problem.with_scales(a.planes(), b.planes(), *block);
            problem = scaled.expect("a scale for every block");
        }
        let values = Values::default();
        let replay = candidate.replay(problem, &values, Engine::Exact);
        let element = Element {
            batch: 0,
            row: 0,
            column: 0,
        };
        replay.elements(&[element])[0]
    }

    /// Without everything that the difference does not need; `None` if there is no difference.
    fn shortest(mut self, models: [&Candidate; 2]) -> Option<Separation> {
        if !self.differs(models) {
            return None;
        }
        self.change(models, |dot| dot.c = 0);
        for k in 0..self.a.len() {
            if (self.a[k], self.b[k]) != (0, 0) {
                self.change(models, |dot| (dot.a[k], dot.b[k]) = (0, 0));
            }
        }
        let mut may_shrink = !is_scheduled(models);
        while may_shrink && self.a.len() > 1 && self.ends_with_zeros() {
            may_shrink = self.change(models, |dot| {
                dot.a.pop();
                dot.b.pop();
            });
        }
        Some(self)
    }

    fn ends_with_zeros(&self) -> bool {
        [&self.a, &self.b]
            .iter()
            .all(|codes| codes.last() == Some(&0))
    }

    /// Makes a change, and keeps it if the results still differ.
    fn change(&mut self, models: [&Candidate; 2], change: impl FnOnce(&mut Separation)) -> bool {
        let mut changed = self.clone();
        change(&mut changed);
        let differs = changed.differs(models);
        if differs {
            *self = changed;
        }
        differs
    }
}

/// Seeded once, so that the same models give the same operands.
struct Random(SplitMix64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.word()
    }

    /// Finite codes: any, near one, near one with short significands, tiny, or huge; now and then
    /// anything at all; or zeros, infinities and NaNs alone.
    fn operands(&mut self, format: Format, kind: u64, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.operand(format, kind)).collect()
    }

    fn operand(&mut self, format: Format, kind: u64) -> u64 {
        loop {
            let bits = self.next();
            if format.is_integer() || bits >> 56 == 0 {
                return bits & format.max_code();
            }
            if kind == 5 {
                let negative = bits >> 63 == 1;
                let zero = format.zero(negative);
                let infinity = format.infinity(negative).unwrap_or(zero);
                return [zero, infinity, infinity | 1][(bits >> 32) as usize % 3];
            }
            let fields = 1u64 << format.exponent_bits();
            let spread = bits >> 40;
            let field = match kind {
                0 => spread % fields,
                1 | 2 => (format.bias() as u64).saturating_sub(8) + spread % 12,
                3 => spread % 3,
                _ => fields - 1 - spread % 3,
            };
            let fraction = bits & ((1 << format.fraction_bits()) - 1);
            let fraction = if kind == 2 { 0 } else { fraction };
            let magnitude = field.min(fields - 1) << format.fraction_bits() | fraction;
            let code = magnitude << format.ignored_bits() | format.sign(bits >> 63 == 1);
            if format.unpack(code).class == Class::Finite {
                return code;
            }
        }
    }

    /// Makes the second half of the products undo the first, except the last.
    fn cancel(&mut self, format: Format, a: &mut [u64], b: &[u64]) {
        let half = a.len() / 2;
        for k in 0..half.saturating_sub(1) {
            if b[k] == b[half + k] || self.next() & 1 == 0 {
                a[half + k] = a[k] ^ format.sign_mask();
            }
        }
    }
}
