//! Two terms at every distance of exponents that the formats allow, of either sign: a shifter that
//! takes only some bits of the distance, or that stops somewhere, shows at the one distance or the other.

use crate::builder::{CaseBuilder, SuiteBuilder};
use crate::num::Format;
use crate::number::{factors, lowest, ones};

pub const TELLS: &str = "alignment at every distance: a shift that wraps or stops";

pub fn write(set: &mut SuiteBuilder) {
    let (a, b, acc) = (set.a, set.b, set.accumulator);
    let products = (set.lowest_product(), a.max_exponent() + b.max_exponent());
    let addends = (lowest(acc), acc.max_exponent());
    // A sum of these is finite.
    let fits = products.1.min(addends.1 - 2);
    for d in distances(products.1 - products.0) {
        for top in ends(products.0 + d, fits) {
            beside_product(set, top, d);
        }
        // Beyond the range of results only what cancels leaves something.
        if products.1 > fits {
            cancelled(set, products.1, d);
        }
    }
    let (most, least) = (addends.1 - 2, addends.0);
    for d in distances((most - products.0).max(fits - least)) {
        for c in ends(least.max(products.0 + d), most.min(products.1 + d)) {
            below_addend(set, c, c - d);
        }
        for product in ends(products.0.max(least + d), fits.min(most + d)) {
            above_addend(set, product, product - d);
        }
    }
}

/// Both ends of a range, if it is one.
fn ends(from: i32, to: i32) -> impl Iterator<Item = i32> {
    let both = [from, to].into_iter().take(if from < to { 2 } else { 1 });
    both.filter(move |_| from <= to)
}

/// All distances; of the thousands that FP64 allows, those about multiples of 64, where a shifter ends.
fn distances(most: i32) -> impl Iterator<Item = i32> {
    (1..=most).filter(|d| *d <= 600 || (d + 3) % 64 < 9)
}

/// A product of this size, of full significands if it is asked for and there are some: every bit that
/// is kept shows.
fn small(
    case: CaseBuilder,
    of: [Format; 2],
    k: usize,
    negative: bool,
    full: bool,
    e: i32,
) -> CaseBuilder {
    let last = e - (of[0].fraction_bits() + of[1].fraction_bits()) as i32;
    let full = full.then(|| of.map(ones));
    match full.filter(|full| factors(of, negative, *full, last).is_some()) {
        Some(full) => case.factors(k, negative, full, last),
        None => case.product(k, negative, 1, e),
    }
}

/// A C of this size.
fn addend(case: CaseBuilder, of: Format, negative: bool, e: i32) -> CaseBuilder {
    if e >= of.min_exponent() {
        case.c(negative, ones(of), e - of.fraction_bits() as i32)
    } else {
        case.c(negative, 1, e)
    }
}

fn sign(negative: bool) -> &'static str {
    if negative { "-" } else { "" }
}

fn beside_product(set: &mut SuiteBuilder, top: i32, d: i32) {
    let of = [set.a, set.b];
    for (full, negative) in [(false, d & 1 == 1), (true, true), (true, false)] {
        let what = if full { "full significands at " } else { "" };
        let purpose = format!("2^{top} and {what}{}2^{}", sign(negative), top - d);
        let case = set.case(purpose).product(0, false, 1, top);
        small(case, of, 1, negative, full, top - d).done();
    }
    cancelled(set, top, d);
}

fn cancelled(set: &mut SuiteBuilder, top: i32, d: i32) {
    let of = [set.a, set.b];
    for negative in [false, true] {
        let low = format!("{}2^{}", sign(negative), top - d);
        let purpose = format!("2^{top} - 2^{top} and full significands at {low}");
        let case = set.case(purpose).cancelling(0, 1, top);
        small(case, of, 2, negative, true, top - d).done();
    }
}

/// A product below C, and what is left of it where C cancels.
fn below_addend(set: &mut SuiteBuilder, c: i32, product: i32) {
    let of = [set.a, set.b];
    for negative in [false, true] {
        let low = format!("{}2^{product}", sign(negative));
        let purpose = format!("C = 2^{c}, full significands at {low}");
        let case = set.case(purpose).c(false, 1, c);
        small(case, of, 0, negative, true, product).done();
    }
    let negative = c & 1 == 1;
    let purpose = format!(
        "C = 2^{c}, -2^{c} and full significands at {}2^{product}",
        sign(negative)
    );
    let case = set.case(purpose).c(false, 1, c);
    small(case.product(0, true, 1, c), of, 1, negative, true, product).done();
}

/// C below a product, and what is left of it where products cancel.
fn above_addend(set: &mut SuiteBuilder, product: i32, c: i32) {
    let of = set.accumulator;
    for negative in [false, true] {
        let low = format!("{}2^{c}", sign(negative));
        let purpose = format!("2^{product} and a C of full significand at {low}");
        let case = set.case(purpose);
        addend(case.product(0, false, 1, product), of, negative, c).done();
    }
    let negative = c & 1 == 1;
    let low = format!("{}2^{c}", sign(negative));
    let purpose = format!("2^{product} - 2^{product}, C of full significand at {low}");
    let case = set.case(purpose).cancelling(0, 1, product);
    addend(case, of, negative, c).done();
}
