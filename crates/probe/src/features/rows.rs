//! The table of floating-point numbers. One function a row.

use std::cmp::Ordering;

use super::{Answers, Row};
use crate::builder::{K, Tag};
use crate::num::{Class, Format};
use crate::number::lowest;

pub(super) const ROWS: [Row; 24] = [
    ("subnormals_in", "subnormal A and B", subnormals_in),
    ("subnormals_c", "subnormal C", subnormals_c),
    ("subnormals_out", "subnormal results", subnormals_out),
    ("products", "products", products),
    ("group", "products added at once", group_text),
    ("order", "order of the addition", order),
    ("addend", "position of C", addend),
    ("alignment_bits", "fraction bits of alignment", depth_text),
    (
        "alignment_rounding",
        "rounding of alignment",
        alignment_rounding,
    ),
    (
        "product_normalised",
        "products normalised",
        product_normalised,
    ),
    (
        "subnormal_normalised",
        "subnormals normalised",
        subnormal_normalised,
    ),
    (
        "zero_exponent",
        "least exponent of alignment",
        zero_exponent,
    ),
    (
        "sum_normalised",
        "sums normalised in between",
        sum_normalised,
    ),
    ("carries", "carry bits", carries),
    ("adder_width", "width of the adder, at least", adder_width),
    ("rounding", "rounding of the result", rounding),
    ("monotonic", "monotonic", monotonic),
    ("zero_of_cancellation", "1 - 1", cancellation),
    ("negative_zero", "-0 alone", negative_zero),
    (
        "negative_underflow",
        "negative underflow",
        negative_underflow,
    ),
    ("overflow", "overflow", overflow),
    ("huge_products", "products beyond the range", huge_products),
    ("nan", "code of NaN", nan),
    ("infinity", "Inf * 0, Inf - Inf", infinity),
];

fn kept(all: impl Iterator<Item = bool>) -> Option<String> {
    let all: Vec<bool> = all.collect();
    let kept = all.iter().filter(|kept| **kept).count();
    match (kept, all.len()) {
        (_, 0) => None,
        (0, _) => Some("flushed".into()),
        (k, n) if k == n => Some("kept".into()),
        (k, n) => Some(format!("kept in {k} of {n} cases")),
    }
}

fn is_zero(format: Format, code: u64) -> bool {
    format.unpack(code).is_zero()
}

fn subnormals_in(x: &Answers) -> Option<String> {
    // Only cases whose product is not subnormal itself.
    let all = x.all("subnormal-in").into_iter().filter(|&(side, up, _)| {
        let exact = x.exact("subnormal-in", side, up);
        let least = x.format().min_exponent();
        exact.is_some_and(|sum| sum.abs() >= 2f64.powi(least))
    });
    kept(all.map(|(.., d)| !is_zero(x.format(), d)))
}

fn subnormals_c(x: &Answers) -> Option<String> {
    let format = x.format();
    let below = 1u64 << format.fraction_bits();
    let all = x
        .all("subnormal-c")
        .into_iter()
        .filter_map(|(index, negative, d)| {
            let case = x.suite.find(Tag("subnormal-c", index, negative))?;
            let c = x.suite.cases[case].c;
            // Only the largest ones: a narrow result has no room for others.
            let magnitude = c & (format.sign_mask() - 1);
            (magnitude < below && magnitude > below / 4).then_some(!is_zero(format, d))
        });
    kept(all)
}

fn subnormals_out(x: &Answers) -> Option<String> {
    let through_c = [0, 1].map(|sign| x.get("subnormal-out", 0, sign));
    let format = x.format();
    let products = x.all("subnormal-product").into_iter();
    let products = products.filter(|&(e, ..)| (lowest(format)..format.min_exponent()).contains(&e));
    let all = through_c
        .into_iter()
        .flatten()
        .chain(products.map(|(.., d)| d));
    kept(all.map(|d| !is_zero(format, d)))
}

fn products(x: &Answers) -> Option<String> {
    let exact = x.exact("all-ones", 1, 0)?;
    let bits = x.suite.a.fraction_bits() + x.suite.b.fraction_bits() + 2;
    if bits > x.format().fraction_bits() + 1 {
        // The result cannot show every bit; a sum whose parts cancel does.
        let sum = (x.number("fasi-exact", 0, 0)?, x.exact("fasi-exact", 0, 0)?);
        return Some(if sum.0 == sum.1 { "exact" } else { "rounded" }.into());
    }
    let same = x.number("all-ones", 1, 0)? == exact;
    Some(if same { "exact" } else { "rounded" }.into())
}

/// The number of products that are aligned together, from k = 0 on.
fn group(x: &Answers) -> Option<usize> {
    match lost(x, 0, 1) {
        // The pair swallows all others of its group, if the formats have such a pair.
        Some(lost) if lost > 0 => Some(lost + 2),
        Some(_) if within(x, "swamp-c", 0, 0) == Some(true) => {
            Some(1 + missing(x, "swamp-c", 0, 0)?)
        }
        _ => {
            let depth = [1, 0].into_iter().find(|&d| {
                let pair = x.number("small_addends", 1, d);
                pair.is_some() && pair == x.exact("small_addends", 1, d)
            })?;
            let together = |j| {
                Some(x.number("small_addends", j, depth)? == x.exact("small_addends", 1, depth)?)
            };
            let apart = (2..K as i32).find(|&j| together(j) == Some(false))?;
            Some(apart as usize)
        }
    }
}

fn group_text(x: &Answers) -> Option<String> {
    let group = match adding(x)? {
        Adding::Exact => return Some(format!("all (of {K})")),
        Adding::OneByOne => 1,
        Adding::ExactGroups => first_apart(x)? as usize,
        // C meets the first group.
        Adding::Pairs if within(x, "swamp-c", 0, 0)? => 1 + missing(x, "swamp-c", 0, 0)?,
        // What is rounded to odd does not swallow terms: it leaves a large rest.
        Adding::Pairs => first_apart(x)? as usize,
        Adding::Aligned => group(x)?,
    };
    Some(group.to_string())
}

/// How products are added, as seen from a large pair that cancels.
#[derive(PartialEq)]
enum Adding {
    /// Nothing is ever lost.
    Exact,
    OneByOne,
    /// Nothing is lost within a group.
    ExactGroups,
    /// Neighbours first.
    Pairs,
    /// Aligned to the largest term, or in a way that these formats cannot show.
    Aligned,
}

fn adding(x: &Answers) -> Option<Adding> {
    let Some(next) = lost(x, 0, 1) else {
        return Some(Adding::Aligned);
    };
    Some(match (next, lost(x, 0, 2)?, lost(x, 2, 3)?) {
        // An accumulator that holds every sum shows no order.
        (0, 0, _) if first_apart(x).is_none() && span(x)? <= x.format().fraction_bits() as f64 => {
            return None;
        }
        (0, 0, _) if first_apart(x).is_none() => Adding::Exact,
        (0, 0, _) => Adding::ExactGroups,
        (0, _, 0) if missing(x, "swamp-c", 0, 0) == Some(0) => Adding::ExactGroups,
        (0, _, 0) => Adding::Pairs,
        // A group of two has no third term to swallow; what follows a C that cancels is in the group.
        (0, ..) if missing(x, "swamp-c", 0, 0).is_some_and(|lost| lost > 0) => Adding::Aligned,
        (0, ..) => Adding::OneByOne,
        _ => Adding::Aligned,
    })
}

/// The exponents between a pair that cancels and the small terms beside it.
fn span(x: &Answers) -> Option<f64> {
    let case = &x.suite.cases[x.suite.find(Tag("swamp", 0, 1))?];
    let term = |k: usize| {
        let (a, b) = (case.a[k], case.b[k]);
        Some(super::value(x.suite.a, a)? * super::value(x.suite.b, b)?)
    };
    Some((term(0)? / term(2)?).log2())
}

/// The first k that is not added exactly with those before it.
fn first_apart(x: &Answers) -> Option<i32> {
    let half = K as i32 / 2;
    // Of pairs further apart only neighbours have cases.
    let pairs = (1..=half).map(|j| (0, j));
    let mut all = pairs.chain((half + 1..K as i32).map(|j| (j - 1, j)));
    all.find(|&(i, j)| lost(x, i, j) != Some(0)).map(|(_, j)| j)
}

/// Small terms that a large pair swallowed.
fn lost(x: &Answers, i: i32, j: i32) -> Option<usize> {
    missing(x, "swamp", i, j)
}

fn missing(x: &Answers, name: &'static str, i: i32, j: i32) -> Option<usize> {
    let (got, exact) = (x.number(name, i, j)?, x.exact(name, i, j)?);
    let terms = if name == "swamp" { K - 2 } else { K - 1 } as f64;
    // A machine may answer anything. What exceeds the exact sum is wrong, too.
    let wrong = (exact - got).abs() / exact;
    Some((wrong * terms).round().clamp(0.0, terms) as usize)
}

/// Whether an answer is part of the exact sum, so that it counts terms.
fn within(x: &Answers, name: &'static str, i: i32, j: i32) -> Option<bool> {
    let (got, exact) = (x.number(name, i, j)?, x.exact(name, i, j)?);
    Some((0.0..=exact).contains(&got))
}

fn order(x: &Answers) -> Option<String> {
    let text = match adding(x)? {
        Adding::Exact => "none shows",
        Adding::ExactGroups => "exact within the group",
        Adding::OneByOne => "one after another",
        Adding::Pairs if depth(x).is_some() => "neighbours first, then aligned",
        Adding::Pairs => "neighbours first",
        Adding::Aligned => return largest_first(x),
    };
    Some(text.to_owned())
}

/// Fasi, 3.1.2: one large term among five, in every place.
fn largest_first(x: &Answers) -> Option<String> {
    let places = |d| (0..5).map(move |place| x.get("fasi-order", d, place));
    let mut depths = (8..=60)
        .filter_map(|d| places(d).collect::<Option<Vec<_>>>())
        .peekable();
    depths.peek()?;
    let same = depths.all(|all| all.windows(2).all(|pair| pair[0] == pair[1]));
    let text = if same {
        "aligned to the largest"
    } else {
        "depends on the position"
    };
    Some(text.to_owned())
}

/// Whether a small C is kept beside large products that cancel, at k = 0 and this one.
fn small_c_survives(x: &Answers, j: i32) -> Option<bool> {
    Some(x.number("small-c", 0, j)? == x.exact("small-c", 0, j)?)
}

fn addend(x: &Answers) -> Option<String> {
    // Neighbours may cancel inside a lane, before they meet C.
    if adding(x)? == Adding::Pairs && depth(x).is_some() {
        return Some("with the products".to_owned());
    }
    let survives = small_c_survives(x, 1)?;
    let text = match (adding(x)?, survives) {
        (Adding::OneByOne, _) => "first",
        (Adding::Exact | Adding::ExactGroups, _) => "with the products",
        (Adding::Aligned, false) => "with the products",
        (Adding::Aligned | Adding::Pairs, true) => "after the products",
        (Adding::Pairs, false) => "before the products",
    };
    Some(text.to_owned())
}

/// The deepest term that survives beside a pair that cancels, and where that was seen.
fn depth_at(x: &Answers) -> Option<(i32, &'static str, &'static str)> {
    // Next to the pair, or at a distance at which units with halves use the same half.
    let beside: &[_] = match adding(x)? {
        Adding::Aligned => &[("depth", "depth-negative"), ("far", "far-negative")],
        // Large terms of two lanes: those of one lane cancel before the alignment.
        Adding::Pairs if !small_c_survives(x, 2)? => &[("apart", "apart-negative")],
        _ => return None,
    };
    beside.iter().find_map(|&(name, negative)| {
        let seen = x.all(name).into_iter().filter(|&(m, ..)| m == 1);
        let seen: Vec<_> = seen.collect();
        let deepest = seen.iter().map(|(_, d, _)| *d).max()?;
        let kept = seen.iter().filter(|(.., code)| !is_zero(x.format(), *code));
        let last = kept
            .map(|(_, d, _)| *d)
            .max()
            .filter(|last| *last < deepest)?;
        // Half of the last bit survives if it is rounded up to a whole one.
        let half = x.number(name, 1, last)? == x.exact(name, 1, last - 1)?;
        Some((if half { last - 1 } else { last }, name, negative))
    })
}

fn depth(x: &Answers) -> Option<i32> {
    depth_at(x).map(|(bits, ..)| bits)
}

fn depth_text(x: &Answers) -> Option<String> {
    depth(x).map(|d| d.to_string())
}

fn alignment_rounding(x: &Answers) -> Option<String> {
    let (bits, plus, minus) = depth_at(x)?;
    // Half of the last bit, and three quarters.
    let up = |name, m| Some(!is_zero(x.format(), x.get(name, m, bits + 1)?));
    let seen = (up(plus, 1)?, up(plus, 3)?, up(minus, 1)?, up(minus, 3)?);
    Some(mode(seen).to_owned())
}

/// The rounding, by whether half a unit and three quarters are rounded away from zero, positive and negative.
fn mode(up: (bool, bool, bool, bool)) -> &'static str {
    match up {
        (false, false, false, false) => "RZ",
        (false, true, false, true) => "RNE",
        (true, true, true, true) => "RNA",
        (false, false, true, true) => "RD",
        (true, true, false, false) => "RU",
        _ => "other",
    }
}

fn product_normalised(x: &Answers) -> Option<String> {
    let plain = depth(x).filter(|_| adding(x) == Some(Adding::Aligned))?;
    let kept = |d: i32| {
        x.get("unnormalised", d, 0)
            .map(|code| !is_zero(x.format(), code))
    };
    let deepest = (1..=70).filter(|&d| kept(d) == Some(true)).max()?;
    kept(deepest + 1)?;
    // 2.25 has the exponent 1 once normalised, so one bit fewer fits below.
    Some(if deepest >= plain { "no" } else { "yes" }.into())
}

/// Hawkeye, 5.6, with products that cancel: an operand of one bit, the last of its format, whose product has the
/// exponent of the smallest normal number, or of its value once it is normalised.
fn subnormal_normalised(x: &Answers) -> Option<String> {
    let bits = depth(x).filter(|_| adding(x) == Some(Adding::Aligned))?;
    let mut kept = Vec::new();
    for (side, format) in [(0, x.suite.a), (1, x.suite.b)] {
        let unnormalised = bits - format.fraction_bits() as i32;
        for (_, d, code) in x
            .all("subnormal-factor")
            .into_iter()
            .filter(|c| c.0 == side)
        {
            let counts = !is_zero(x.format(), code);
            // Flushed operands leave every term.
            if d > unnormalised.max(0) && d <= bits {
                kept.push(counts);
            } else if counts != (d <= unnormalised) {
                return None;
            }
        }
    }
    match (kept.first()?, kept.iter().all(|k| *k == kept[0])) {
        (true, true) => Some("yes".into()),
        (false, true) => Some("no".into()),
        (_, false) => None,
    }
}

/// Hawkeye, 7.2: the last term that changes the smallest results lies the alignment's bits below the least exponent to
/// which terms are aligned.
fn zero_exponent(x: &Answers) -> Option<String> {
    let bits = depth(x).filter(|_| addend(x).as_deref() == Some("with the products"))?;
    if largest_first(x)? != "aligned to the largest" {
        return None;
    }
    let result = lowest(x.format());
    // Half of the last bit and a term more, which is no tie; two units of it and a term less, which is cut. What a
    // result is if the term is lost.
    let probes = [(-1, 0, 0.0), (1, 1000, 2f64.powi(result + 1))];
    let counts = |(above, signs, without): (i32, i32, f64), d| {
        Some(x.number("zero_exponent", d, above + signs)? != without)
    };
    let probe = probes.into_iter().find(|p| counts(*p, 2) == Some(true))?;
    let seen: Vec<bool> = (1..=60).map_while(|d| counts(probe, d)).collect();
    let last = seen.iter().position(|counts| !counts)?;
    if seen[last..].contains(&true) {
        return None;
    }
    let largest = result + probe.0;
    let least = largest - last as i32 + bits;
    match least.cmp(&largest) {
        Ordering::Greater => Some(least.to_string()),
        Ordering::Equal => Some(format!("at most {least}")),
        Ordering::Less => None,
    }
}

fn sum_normalised(x: &Answers) -> Option<String> {
    if adding(x)? != Adding::Aligned || addend(x)? != "with the products" {
        return None;
    }
    // Fasi, 3.1.4: small addends below a sum just under 1 take it past 1; if it is normalised there, later ones are
    // lost.
    let (bits, group) = (depth(x)?, group_text(x)?.parse::<i32>().ok()?);
    let unit = 2f64.powi(-(x.format().fraction_bits() as i32));
    let (got, _) = [4, 8, 16, 32]
        .into_iter()
        .filter(|n| *n <= group)
        .filter_map(|n| {
            let name = "fasi-below-one";
            Some((x.number(name, bits + 1, n)?, x.exact(name, bits + 1, n)?))
        })
        .find(|(_, exact)| *exact >= 1.0 + unit)?;
    Some(if got >= 1.0 + unit { "no" } else { "yes" }.into())
}

/// The most products of full significands in a step whose sum with C is right.
fn carries(x: &Answers) -> Option<String> {
    let group = group_text(x).and_then(|group| group.parse::<i32>().ok());
    let mut sums = x.all("carries");
    sums.retain(|(n, ..)| group.is_none_or(|group| *n <= group));
    let wrong = |n: i32, code: u64| {
        let (Some(exact), Some(got)) = (x.exact("carries", n, 0), super::value(x.format(), code))
        else {
            return false;
        };
        // A lost carry changes half of the sum or more, not its last bits.
        (got - exact).abs() > exact.abs() / 8.0
    };
    match sums.iter().find(|(n, _, code)| wrong(*n, *code)) {
        Some((n, ..)) => Some(format!("wraps with {n} products and C")),
        None => sums
            .last()
            .map(|(n, ..)| format!("enough for {n} products and C")),
    }
}

/// Ten-Four's Table III counts the bits of the aligned terms, 2 of them before the point, and the
/// carries of `group` products and C.
fn adder_width(x: &Answers) -> Option<String> {
    let (bits, group) = (depth(x)?, group_text(x)?.parse::<u32>().ok()?);
    if addend(x)? != "with the products" {
        return None;
    }
    // Two products to a lane need a bit more before the point.
    let lane = if adding(x)? == Adding::Pairs { 2 } else { 1 };
    let carries = (group / lane + 1).next_power_of_two().ilog2();
    Some((bits as u32 + 1 + lane + carries).to_string())
}

fn rounding(x: &Answers) -> Option<String> {
    /// The tag of the last bit that a result of full precision keeps of a sum just above 4.
    const FULL: i32 = 5;
    let name = |negative| if negative { "below-negative" } else { "below" };
    // Whether the result is above the power of two below the exact sum, and whether it is exact.
    let above = |m, at, negative| {
        let got = x.number(name(negative), m, at)?.abs();
        let exact = x.exact(name(negative), m, at)?.abs();
        Some((got > 2f64.powi(exact.log2().floor() as i32), got == exact))
    };
    let p = x.format().fraction_bits() as i32 + 1;
    let whole = |at: &i32| {
        let kept = |negative| above(1, *at, negative) == Some((true, true));
        kept(false) && kept(true)
    };
    let last = (-3..p).find(whole)?;
    let up = |m, at, negative| above(m, at, negative).map(|(up, _)| up);
    let seen = (
        up(1, last - 1, false)?,
        up(3, last - 2, false)?,
        up(1, last - 1, true)?,
        up(3, last - 2, true)?,
    );
    let bits = p + FULL - last;
    // A C that is added last, in a wider format, hides a bit of the products' sum.
    if let Some((mode, products)) = rounding_of_products(x).filter(|(_, few)| *few < bits) {
        return Some(format!("{mode} to {products} bits, then C"));
    }
    // Terms up to 1 add up to 4, so the result cannot show bits that all terms lack.
    if depth(x).is_some_and(|depth| bits >= depth + 3) {
        return Some(format!("at least {bits} bits, all that the terms have"));
    }
    // To odd, a quarter of the last bit goes up as well: no rounding to nearest takes it.
    let quarters = [false, true].map(|negative| up(1, last - 2, negative));
    let mode = match mode(seen) {
        "RNA" if quarters == [Some(true); 2] => "odd, or away from zero,",
        mode => mode,
    };
    Some(format!("{mode} to {bits} bits"))
}

/// Rounding of 1 and a small product without C, and the bits that are kept, where nothing else is cut.
fn rounding_of_products(x: &Answers) -> Option<(&'static str, i32)> {
    if adding(x)? != Adding::Aligned || depth(x).is_some() {
        return None;
    }
    let tell = |negative, q| {
        let pair = x.number("two-products", negative, q);
        Some((pair?.abs(), x.exact("two-products", negative, q)?.abs()))
    };
    let whole =
        |q: &i32| (0..2).all(|sign| tell(sign, *q).is_some_and(|(got, exact)| got == exact));
    // The small product is 1 + 1/2 units of its upper bit 2^-(q + 1).
    let last = (5..x.format().fraction_bits() as i32).rev().find(whole)?;
    let toward_zero = |sign, q| tell(sign, q).map(|(got, exact)| got < exact);
    let cut = [1, 2].map(|more| [0, 1].map(|sign| toward_zero(sign, last + more)));
    let mode = match cut {
        [[Some(true), Some(true)], [Some(true), Some(true)]] => "RZ",
        [[Some(false), Some(false)], [Some(false), Some(false)]] => "nearest",
        _ => "other",
    };
    Some((mode, last + 3))
}

fn monotonic(x: &Answers) -> Option<String> {
    let below = x.all("fasi-below-one").into_iter();
    let pairs: Vec<_> = below
        .filter_map(|(d, n, code)| {
            Some((super::value(x.format(), code)?, x.number("fasi-one", d, n)?))
        })
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let falls = pairs.iter().any(|(below, one)| below > one);
    Some(if falls { "no" } else { "not contradicted" }.into())
}

fn signed_zero(format: Format, code: u64) -> String {
    match (is_zero(format, code), format.unpack(code).negative) {
        (true, false) => "+0".into(),
        (true, true) => "-0".into(),
        (false, _) => crate::num::decimal(format, code),
    }
}

fn cancellation(x: &Answers) -> Option<String> {
    Some(signed_zero(x.format(), x.get("zero", 2, 0)?))
}

fn negative_zero(x: &Answers) -> Option<String> {
    Some(signed_zero(x.format(), x.get("zero", 1, 1)?))
}

fn negative_underflow(x: &Answers) -> Option<String> {
    let all = x.all("negative-underflow");
    let zero = all.iter().find(|(.., code)| is_zero(x.format(), *code));
    zero.map(|(.., code)| signed_zero(x.format(), *code))
}

fn overflow(x: &Answers) -> Option<String> {
    let code = x.get("overflow", 0, 0)?;
    Some(match x.format().unpack(code).class {
        Class::Infinite => "Inf".into(),
        Class::Nan => "NaN".into(),
        Class::Finite => crate::num::decimal(x.format(), code),
    })
}

fn huge_products(x: &Answers) -> Option<String> {
    let code = x.get("huge-product", 1, 0)?;
    Some(match x.format().unpack(code).class {
        Class::Finite => "finite".into(),
        Class::Infinite => "Inf".into(),
        Class::Nan => "Inf (Inf - Inf is NaN)".into(),
    })
}

fn nan(x: &Answers) -> Option<String> {
    let mut codes: Vec<u64> = x.answers.to_vec();
    codes.retain(|&code| x.format().unpack(code).is_nan());
    codes.sort_unstable();
    codes.dedup();
    let texts: Vec<_> = codes.iter().map(|code| format!("0x{code:x}")).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

fn infinity(x: &Answers) -> Option<String> {
    let text = |code: u64| crate::num::decimal(x.format(), code);
    let (zero, both) = (x.get("inf-zero", 0, 0)?, x.get("inf-inf", 0, 1)?);
    Some(format!("{}, {}", text(zero), text(both)))
}
