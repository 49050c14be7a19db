//! IEEE fused multiply-adds in an order of their own, as the dot products of processors have them. Subnormal numbers may
//! count as zeros, and a NaN goes on with its payload.
//!
//! The processors' extensions are AVX512_BF16, AVX512_FP16, AVX10.2 and AMX.
//!
//! Each d = fma(a, b, d) is rounded once to the accumulator (fp32 or fp16), `rne`. `from_zero` and `exact` are false unless given. Operands come
//! in words of 32 bits: a word whose products are all missing is left out, and missing products of another are +0 · +0. One instruction:
//!
//! ```text
//! 1. one chain       d = c, then d = fma(a, b, d) for its products in their order
//! 2. several chains  each starts from +0; d = c + (((s1 + s2) + s3) + ...), with s1 the first one's sum.
//!                    With from_zero, a single chain, too
//! 3. exact           as several chains, but a chain's sum is exact and rounded once
//! 4. flush           a, b, d that are subnormal in the accumulator's format, and results below its smallest normal number
//!                    (rounded with unbounded exponents), are zeros of their sign
//! 5. special         the first NaN of a, b and d, made quiet, with its sign and leading payload bits (of c and the chains'
//!                    sum, c's is the first); else Inf · 0 and Inf - Inf give invalid. With exact, every NaN does
//! ```
//!
//! *Example* (`chains` is `[[1, 0]]`, fp32). a = (1, 1), b = (-1, 2^-24), c = 1: the tie 1 + 2^-24 rounds to 1, and the result is `0`. In the order
//! 0, 1 it is `33800000`.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_nan};
use super::kind::{Products, StepKind};
use super::trace::TraceObserver;
use crate::num::{Class, ExactSum, Format, Formats, Rounding, Target, Unpacked, fma};

/// Constants of the chains. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OrderedFma {
    /// The products of an instruction in the order in which they are added, chain by chain.
    pub chains: Vec<Vec<usize>>,
    /// Whether subnormal numbers count as zeros.
    pub flush: bool,
    /// The code of infinity times zero, and of infinities of both signs.
    pub invalid: Code,
    /// Whether a single chain starts from +0, and C is added to its sum.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_zero: bool,
    /// Whether the products of a chain are added without loss and rounded once; C is added to that sum.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
}

impl StepKind for OrderedFma {
    fn span(&self) -> usize {
        self.chains.iter().map(Vec::len).sum()
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64 {
        let format = products.formats.accumulator;
        match self.chains.as_slice() {
            [only] if !self.starts_from_zero() => self.chain(only, products, c, observer),
            chains => {
                let mut total: Option<u64> = None;
                for chain in chains {
                    let sum = if self.exact {
                        self.exact_sum(chain, products, observer)
                    } else {
                        self.chain(chain, products, format.zero(false), observer)
                    };
                    total = Some(match total {
                        None => sum,
                        Some(total) => self.sum(format, total, sum, observer),
                    });
                }
                total.map_or(c, |total| self.sum(format, c, total, observer))
            }
        }
    }

    fn summary(&self) -> String {
        let order = |chain: &Vec<usize>| {
            let text: Vec<String> = chain.iter().map(usize::to_string).collect();
            text.join(", ")
        };
        if self.exact {
            return format!(
                "exact sum of {} products, rounded once rne, then added to C, rne{}; NaNs lose their payload",
                self.span(),
                if self.flush {
                    ", subnormals flushed to zero"
                } else {
                    ""
                }
            );
        }
        let chains = match self.chains.as_slice() {
            [only] if self.from_zero => format!("products {} from zero, then C", order(only)),
            [only] => format!("products {} of {}", order(only), self.span()),
            chains => format!(
                "{} chains of {} products, then C",
                chains.len(),
                self.span()
            ),
        };
        let flush = if self.flush {
            ", subnormals flushed to zero"
        } else {
            ""
        };
        format!("chain of IEEE fused multiply-adds, rne, {chains}{flush}; NaNs keep their payload")
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        let mut all = self.chains.concat();
        all.sort_unstable();
        if all.is_empty() || all.len() > 1024 || !all.iter().copied().eq(0..all.len()) {
            return Err("chains must name every product once, from 0 on, at most 1024".into());
        }
        if self.chains.iter().any(Vec::is_empty) {
            return Err("a chain must have at least one product".into());
        }
        // One spelling only, so that equal models have equal digests.
        if self.from_zero && (self.exact || self.chains.len() > 1) {
            return Err(
                "from_zero changes nothing beside exact or several chains; leave it out".into(),
            );
        }
        let accumulator = formats.accumulator;
        if !matches!(accumulator, Format::Fp32 | Format::Fp16) {
            return Err(format!(
                "the accumulator must be fp32 or fp16, not {accumulator}"
            ));
        }
        for format in [formats.a, formats.b].into_iter().filter(|_| !self.exact) {
            // A payload has to fit.
            if format.infinity(false).is_none()
                || format.fraction_bits() > accumulator.fraction_bits()
            {
                return Err(format!(
                    "operands must have infinities and at most the fraction bits of {accumulator}, unlike {format}"
                ));
            }
        }
        check_nan(self.invalid, accumulator)
    }

    fn own_schedules(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }
}

impl OrderedFma {
    /// Adds the products of a chain to a number.
    fn chain(
        &self,
        chain: &[usize],
        products: Products,
        c: u64,
        observer: &mut impl TraceObserver,
    ) -> u64 {
        let Products { formats, a, b, .. } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.span());
        let zeros = (formats.a.unpack(0), formats.b.unpack(0));
        let format = formats.accumulator;
        OrderedFma::present(chain, formats, a.len()).fold(c, |c, k| {
            let (a, b) = match (a.get(k), b.get(k)) {
                (Some(&a), Some(&b)) => (a, b),
                _ => zeros,
            };
            let sum = self.operation([(formats.a, a), (formats.b, b)], (format, c), fma);
            observer.stage("product added", || vec![k]);
            observer.result(format, sum);
            sum
        })
    }

    /// Whether C is added last, to the sums of chains that start from +0.
    pub fn starts_from_zero(&self) -> bool {
        self.exact || self.from_zero || self.chains.len() > 1
    }

    /// Those products of a chain that an instruction of `given` products adds: those of whole lanes of 32 bits. Of an
    /// instruction without any product, the first word is +0 times +0.
    pub fn present(chain: &[usize], formats: Formats, given: usize) -> impl Iterator<Item = usize> {
        let lane = (4 / formats.a.bytes()).max(1);
        let there = given.max(1).next_multiple_of(lane);
        chain.iter().copied().filter(move |&k| k < there)
    }

    /// The products of a chain, rounded once.
    fn exact_sum(
        &self,
        chain: &[usize],
        products: Products,
        observer: &mut impl TraceObserver,
    ) -> u64 {
        let Products { formats, a, b, .. } = products;
        let there = || chain.iter().copied().filter(|&k| k < a.len());
        let mut sum = ExactSum::new(formats.a, formats.b, formats.accumulator);
        for k in there() {
            sum.add_product([formats.a, formats.b], a[k], b[k]);
        }
        let sum = self.close(formats.accumulator, &sum);
        observer.stage("products added", || there().collect());
        observer.result(formats.accumulator, sum);
        sum
    }

    /// An exact sum of products, rounded.
    pub fn close(&self, format: Format, sum: &ExactSum) -> u64 {
        let target = Target::full(format, Rounding::NearestEven);
        sum.round(target, self.invalid.0)
    }

    /// The sum of two chains, or of C and all.
    fn sum(&self, format: Format, x: u64, y: u64, observer: &mut impl TraceObserver) -> u64 {
        let factors = [(format, format.unpack(x)), (format, Unpacked::one(format))];
        let sum = self.operation(factors, (format, y), fma);
        observer.stage("sums added", Vec::new);
        observer.result(format, sum);
        sum
    }

    /// One operation: `fma`, with this unit's NaNs and subnormal numbers.
    pub fn operation(
        &self,
        factors: [(Format, Unpacked); 2],
        (accumulator, code): (Format, u64),
        fma: impl Fn(([Format; 2], Unpacked, Unpacked), (Format, Unpacked), Target, u64) -> u64,
    ) -> u64 {
        let c = accumulator.unpack(code);
        let [(of_a, a), (of_b, b)] = factors;
        let all = [(of_a, a), (of_b, b), (accumulator, c)];
        if let Some((format, nan)) = all.into_iter().find(|(_, x)| x.is_nan()) {
            return if self.exact {
                self.invalid.0
            } else {
                quiet(format, nan, accumulator)
            };
        }
        // FP16's subnormal numbers are normal ones of FP32.
        let [a, b, c] = all.map(|(format, x)| {
            if self.flush && format.min_exponent() <= accumulator.min_exponent() {
                x.flushed(format)
            } else {
                x
            }
        });
        if !self.flush {
            let target = Target::full(accumulator, Rounding::NearestEven);
            return fma(
                ([of_a, of_b], a, b),
                (accumulator, c),
                target,
                self.invalid.0,
            );
        }
        // FP64 with the accumulator's precision is that format as if exponents had no end.
        let wide = Target {
            precision: accumulator.fraction_bits() + 1,
            ..Target::full(Format::Fp64, Rounding::NearestEven)
        };
        let invalid = u64::MAX >> 1;
        let sum = fma(([of_a, of_b], a, b), (accumulator, c), wide, invalid);
        let sum = Format::Fp64.unpack(sum);
        match sum.class {
            Class::Nan => self.invalid.0,
            Class::Infinite => accumulator.beyond(sum.negative),
            Class::Finite if sum.is_zero() || sum.exponent < accumulator.min_exponent() => {
                accumulator.zero(sum.negative)
            }
            Class::Finite => {
                let lsb = sum.exponent - Format::Fp64.fraction_bits() as i32;
                let target = Target::full(accumulator, Rounding::NearestEven);
                target.round(sum.negative, sum.significand.into(), lsb, false)
            }
        }
    }
}

/// A NaN of another format with the leading bits of its payload, and the bit that makes it quiet.
fn quiet(of: Format, nan: Unpacked, to: Format) -> u64 {
    let payload = nan.significand << (to.fraction_bits() - of.fraction_bits());
    let infinity = to.beyond(nan.negative);
    infinity | payload | 1 << (to.fraction_bits() - 1)
}
