//! Sentences about the pattern of wrong elements.

use std::collections::{BTreeMap, BTreeSet};

use super::elements::{Where, lane};
use super::fault_search::{Acts, Broken};
use super::fleet::{Condition, FirstWrong, Wrong};
use super::results::Results;

/// A wrong element of a GPU.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    pub at: [usize; 2],
    pub right: u64,
    pub given: u64,
}

/// Counts wrong elements by place.
#[derive(Default)]
pub struct Counter {
    lanes: BTreeMap<usize, u64>,
    bits: BTreeMap<u32, [u64; 2]>,
    elements: u64,
    first: Option<FirstWrong>,
}

impl Counter {
    pub fn see(&mut self, product: &str, tile: usize, width: usize, element: Element) {
        let Element { at, right, given } = element;
        self.elements += 1;
        *self.lanes.entry(lane(at[0], at[1])).or_default() += 1;
        for bit in (0..64).filter(|bit| (right ^ given) >> bit & 1 == 1) {
            let counts = self.bits.entry(bit).or_default();
            counts[usize::from(right >> bit & 1 == 1)] += 1;
        }
        self.first.get_or_insert_with(|| FirstWrong {
            product: product.into(),
            tile,
            row: at[0],
            column: at[1],
            right: format!("{right:0w$x}", w = 2 * width),
            given: format!("{given:0w$x}", w = 2 * width),
        });
    }

    /// All of it, with what failures say of SMs and temperatures.
    pub fn wrong(self, results: &Results) -> Wrong {
        let mut sms: BTreeMap<u32, u64> = BTreeMap::new();
        for failure in &results.failures {
            for &sm in &failure.sms {
                // Nobody counts how often each of several SMs returned it.
                *sms.entry(sm).or_default() += (failure.times / failure.sms.len() as u64).max(1);
            }
        }
        let failures = results.failures.iter();
        let temperatures = failures.filter_map(|failure| failure.temperature_c);
        Wrong {
            elements: self.elements,
            sms_seen: results.sms.len(),
            sms: sms.into_iter().collect(),
            lanes: self.lanes.into_iter().collect(),
            bits: self
                .bits
                .into_iter()
                .map(|(bit, [ones, zeros])| (bit, ones, zeros))
                .collect(),
            temperature_c: temperatures.reduce(|[a, b], [c, d]| [a.min(c), b.max(d)]),
            first: self.first,
            fits: Vec::new(),
        }
    }
}

/// A condition, and the sentence that says it, of wrong elements that no other kernel explains. `place`: where most of them
/// lie, and what fits them.
pub fn fault(
    results: &Results,
    wrong: &Wrong,
    (place, broken): (Option<Where>, &Broken),
) -> (Condition, String) {
    let lanes: Vec<u32> = wrong.lanes.iter().map(|(lane, _)| *lane as u32).collect();
    let on = on(wrong);
    let of = match (place, lanes.len()) {
        (Some(Where::Lane(lane)), _) => format!(" in lane {lane}"),
        (Some(Where::Every { axis, period, rest }), _) => format!(
            " in {} {rest} of every {period} (counted from 0)",
            ["row", "column"][axis]
        ),
        (None, 0) => String::new(),
        (None, 1) => format!(" in lane {}", lanes[0]),
        (None, n) => format!(" in {n} lanes ({})", list(&lanes)),
    };
    let heat = heat(results, wrong);
    if wrong.elements == 0 {
        let sentence = format!(
            "wrong results {on}{heat}; no tile was kept, so the wrong elements are unknown"
        );
        return (Condition::Unplaced, sentence);
    }
    let (all, given) = (wrong.elements, broken.explained as u64);
    let elements = if given == all {
        format!("all {all}")
    } else {
        format!("{given} of {all}")
    };
    let rate = rate(results);
    let Some(first) = broken.fits.first() else {
        let bits = match &wrong.bits[..] {
            [(bit, _, _)] => format!("bit {bit}"),
            several => format!("any of {} bits", several.len()),
        };
        let tried = match place {
            Some(_) if broken.tried => {
                "no stuck or inverted bit, no lost number (always or in few steps of an element) and no inverted \
                 neighbouring bits give enough of a sample of them"
            }
            Some(_) => {
                "their products are computed under a schedule, in which no fault can be injected, so none was searched \
                 for"
            }
            None => {
                "they do not share one lane, row or column pattern, so no single fault was searched for"
            }
        };
        let sentence = format!("{bits} of D{of} {on}{heat}: {tried}; intermittent; {rate}");
        return (Condition::Marginal, sentence);
    };
    let others = match broken.fits.len() {
        1 => String::new(),
        2 => " (one other fault gives the same)".to_owned(),
        n => format!(" ({} other faults give the same)", n - 1),
    };
    let fault = first.describe();
    // A fault that does not act in the cold is no stuck line.
    match broken.acts {
        _ if 10 * given < 9 * all => (
            Condition::Marginal,
            format!(
                "wrong{of} {on}{heat}: the best single fault, {fault}, explains {elements} wrong elements{others}; a marginal \
                 part; {rate}"
            ),
        ),
        Some(Acts::Always) if heat.is_empty() => (
            Condition::Stuck,
            format!(
                "always{of} {on}: {fault} gives {elements} wrong elements and leaves the others of their tiles \
                correct{others}"
            ),
        ),
        _ => (
            Condition::Intermittent,
            format!(
                "intermittent{of} {on}{heat}: {fault}, when active, gives {elements} wrong elements{others}; {rate}"
            ),
        ),
    }
}

/// The condition and its sentence where whole tiles are zero or another's.
pub fn control(results: &Results, wrong: &Wrong, tiles: &str) -> (Condition, String) {
    let (on, heat, rate) = (on(wrong), heat(results, wrong), rate(results));
    let sentence = format!(
        "{tiles}, {on}{heat}: the control logic is wrong, not a unit that multiplies or adds; {rate}"
    );
    (Condition::Control, sentence)
}

fn list(numbers: &[u32]) -> String {
    let shown: Vec<_> = numbers.iter().take(6).map(u32::to_string).collect();
    let more = if numbers.len() > 6 { " and others" } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn on(wrong: &Wrong) -> String {
    let sms: Vec<u32> = wrong.sms.iter().map(|(sm, _)| *sm).collect();
    match sms.len() {
        0 => "on an unknown SM".to_owned(),
        1 => format!("on SM {}", sms[0]),
        n => format!("on {n} of {} SMs ({})", wrong.sms_seen, list(&sms)),
    }
}

/// How many results were wrong, with the interval that holds the rate in 95 of 100 such runs (Wilson, Journal of the American
/// Statistical Association 22, 1927).
fn rate(results: &Results) -> String {
    let (wrong, all) = (results.wrong() as f64, results.compared().max(1) as f64);
    let z = 1.96f64;
    let share = wrong / all;
    let middle = share + z * z / (2.0 * all);
    let half = z * (share * (1.0 - share) / all + z * z / (4.0 * all * all)).sqrt();
    let percent = |x: f64| 100.0 * (x / (1.0 + z * z / all)).clamp(0.0, 1.0);
    format!(
        "{} of {} results wrong, a rate of {:.2} to {:.2} % (95 %)",
        results.wrong(),
        results.compared(),
        percent(middle - half),
        percent(middle + half)
    ) + &grows(results)
}

/// Whether the second half of the runs was worse by more than chance explains (three standard deviations).
fn grows(results: &Results) -> String {
    let Some([first, second]) = results.halves else {
        return String::new();
    };
    let (a, b) = (first as f64, second as f64);
    if b > a && (b - a) * (b - a) > 9.0 * (a + b) {
        format!(
            "; the rate is increasing: {first} wrong in the first half of the runs, {second} in the second"
        )
    } else {
        String::new()
    }
}

/// From which temperature on results were wrong, if cooler runs of the same were right.
fn heat(results: &Results, wrong: &Wrong) -> String {
    match (&results.readings, wrong.temperature_c) {
        (Some(readings), Some([coolest, _]))
            if readings.temperature_c[0] + 5 <= coolest && were_right(results) =>
        {
            format!(
                ", only at {coolest} °C and above (correct results from {} °C on)",
                readings.temperature_c[0]
            )
        }
        _ => String::new(),
    }
}

/// Whether every wrong product was also right on the same SMs: a permanent fault may only have been run late. All wrong
/// results together, unlisted ones included, must be fewer than the results there, too.
fn were_right(results: &Results) -> bool {
    let products: BTreeSet<&str> = results.failures.iter().map(|of| &*of.product).collect();
    let mut all = 0;
    let each = products.iter().all(|product| {
        let same = results.failures.iter().filter(|of| of.product == *product);
        let sms: BTreeSet<&u32> = same.clone().flat_map(|of| &of.sms).collect();
        let wrong = same.fold(0, |wrong: u64, of| wrong.saturating_add(of.times));
        let Some(ran) = results.ran(product) else {
            return false;
        };
        let there = match ran.sms {
            0 => ran.compared,
            all => ran.compared / u64::from(all) * sms.len() as u64,
        };
        all += there;
        wrong < there
    });
    each && results.wrong() < all
}
