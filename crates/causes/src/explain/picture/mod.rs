//! An element as a page: the terms of every step as rows of bits at their weights, what is cut off and rounded off
//! shaded; several units side by side, with the place where they diverge. It can be read without its script.

mod bits;
mod frames;
mod step;

use std::io::{self, Write};

use maud::{Markup, html};

use self::frames::Frame;
use self::step::Drawn;
use super::chain::{Entry, Wish};
use super::chain_text::shown;
use super::document::Explanation;
use super::kernel::{Chain, Event};
use super::trace;
use crate::emu::step::Step as Rule;
use crate::forms::InWords as _;
use crate::forms::page::{LINE, Page, lines, section, text};
use crate::num::{Number, Value};

const STYLE: &str = include_str!("picture.css");
const DRAWING: &str = include_str!("drawing.css");
const SLIDER: &str = include_str!("picture.js");

/// Events of a schedule that are drawn, at most.
const MOST_EVENTS: usize = 64;

/// An element on one unit, and what that was called.
pub struct Unit {
    pub name: String,
    pub explanation: Explanation,
}

/// Which parts of K are drawn.
pub struct Plan {
    all: Vec<Frame>,
    drawn: Vec<Frame>,
}

impl Plan {
    /// Of the same element on every unit.
    pub fn of(units: &[&Explanation]) -> Plan {
        let all = frames::all(units);
        let drawn = frames::drawn(&all, units);
        Plan { all, drawn }
    }

    /// The steps of each unit that are needed to draw it; under a schedule `wish`.
    pub fn wishes(&self, units: &[&Explanation], wish: &Wish) -> Vec<Wish> {
        let wishes = frames::wishes(&self.drawn, units).into_iter().zip(units);
        let own = wishes.map(|(own, unit)| match unit.kernel {
            None => own,
            Some(_) => wish.clone(),
        });
        own.collect()
    }

    /// The first part of K after which accumulators differ.
    fn parts(&self) -> Option<&Frame> {
        self.all.iter().find(|frame| frame.parts)
    }

    /// Writes the page, whose title begins with D's file; `texts` is what the terminal shows for each unit.
    pub fn write(
        &self,
        file: &str,
        (units, texts): (&[Unit], &[String]),
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(first) = units.first() else {
            return Ok(());
        };
        let index = format!("D{:?}", first.explanation.index);
        let names: Vec<&str> = units.iter().map(|unit| unit.name.as_str()).collect();
        let style = format!("{STYLE}{DRAWING}");
        let page = Page {
            title: &format!("{file}{index} on {}", names.join(", ")),
            class: self.tone(units),
            schema: first.explanation.schema,
            style: &style,
            body: self.body(units, texts, &index),
            scripts: &[SLIDER],
        };
        page.write(out)
    }

    fn tone(&self, units: &[Unit]) -> &'static str {
        let given = units.iter().map(|unit| unit.explanation.given.as_ref());
        let same: Vec<_> = given.flatten().map(|given| given.same).collect();
        match (same.first(), same.iter().all(|same| *same)) {
            (None, _) => "wide",
            (Some(_), true) => "wide good",
            (Some(_), false) if same.contains(&true) => "wide part",
            (Some(_), false) => "wide bad",
        }
    }

    fn body(&self, units: &[Unit], texts: &[String], index: &str) -> Markup {
        let e = &units[0].explanation;
        let mut shape = e.product.batch.clone();
        shape.extend([e.product.m, e.product.n]);
        html! {
            header { div { h1 { (text(index)) ", bit by bit" }
                p.lead { (text(&self.sentence(units))) }
                p.model { "K = " (e.product.k) ", C = " (text(&shown(&e.c))) }
            } } (LINE)
            (section("units", "Units", summary(units))) (LINE)
            (section("picture", "Step by step", html! {
                (legend()) (LINE)
                div #slider hidden {
                    button type="button" data-step="-1" { "\u{2190} before" }
                    input type="range" min="0" value="0" step="1" aria-label="Step";
                    button type="button" data-step="1" { "after \u{2192}" }
                    button type="button" data-step="all" { "all" }
                    output {}
                } (LINE)
                @if e.kernel.is_some() { (events(units)) } @else { (self.frames(units)) }
            })) (LINE)
            (section("told", "In words", html! {
                @for (unit, text_of_unit) in units.iter().zip(texts) {
                    details { summary { "What " code { "tcverify explain" } " says of " (text(&unit.name)) }
                        pre tabindex="0" { (lines(text_of_unit)) } } (LINE)
                }
            }))
        }
    }

    fn sentence(&self, units: &[Unit]) -> String {
        let results: Vec<Number> = units
            .iter()
            .map(|unit| computed(&unit.explanation))
            .collect();
        let given = units[0].explanation.given.as_ref();
        let mut sentence = match (units, self.parts()) {
            ([one], _) => format!("{} computes {}.", one.name, shown(&results[0])),
            (_, Some(frame)) => {
                let [first, end] = frame.k;
                let ends = if results.iter().all(|result| *result == results[0]) {
                    "but all end with the same bits"
                } else {
                    "and end with different bits"
                };
                format!("The units diverge at k {first} to {}, {ends}.", end - 1)
            }
            _ if results.iter().all(|result| *result == results[0]) => {
                format!("All {} units end with {}.", units.len(), shown(&results[0]))
            }
            _ => "The units end with different bits.".to_owned(),
        };
        if let Some(given) = given {
            let same: Vec<&str> = units
                .iter()
                .filter(|unit| {
                    unit.explanation
                        .given
                        .as_ref()
                        .is_some_and(|given| given.same)
                })
                .map(|unit| unit.name.as_str())
                .collect();
            sentence += &match (same.len(), units.len()) {
                (0, 1) => format!(" D has {}.", shown(&given.number)),
                (0, _) => format!(" D has {}, like none of them.", shown(&given.number)),
                (n, all) if n == all => " D has these bits.".to_owned(),
                _ => format!(" D has the bits of {}.", same.join(", ")),
            };
        }
        sentence
    }

    fn frames(&self, units: &[Unit]) -> Markup {
        let ends = [0]
            .into_iter()
            .chain(self.drawn.iter().map(|frame| frame.k[1]));
        html! {
            @for (before, frame) in ends.zip(&self.drawn) {
                @if frame.k[0] > before { p.skipped { "k " (before) " to " (frame.k[0] - 1) " are not drawn." } }
                (one_frame(frame, units)) (LINE)
            }
        }
    }
}

/// The element in D's format.
fn computed(e: &Explanation) -> Number {
    e.converted.unwrap_or(e.computed)
}

fn summary(units: &[Unit]) -> Markup {
    html! {
        div.over { table {
            thead { tr { th scope="col" { "unit" } th scope="col" { "how it adds" } th scope="col" { "D" } th scope="col" { "exactly" } } }
            tbody { @for unit in units {
                @let e = &unit.explanation;
                @let result = computed(e);
                tr { th scope="row" { (text(&unit.name)) }
                    td { (text(&e.model.architecture)) " " (text(&e.model.instruction)) ": " (text(&e.model.summary))
                        @if let Some(kernel) = &e.kernel { br; (text(&kernel.schedule.name)) ": " (text(&kernel.schedule.spec.in_words())) } }
                    td { code { "0x" (result.hex()) } " " (result.decimal()) }
                    td { @if let Some(exact) = &e.exact { (exact.value.to_string()) } } } (LINE)
            } }
        } }
    }
}

fn legend() -> Markup {
    html! {
        p.hint {
            "A row is a number, a column a weight: 2 to the power above it. "
            span.key.cut { "Shaded" } " bits are truncated: in terms by the alignment, in the sum by the rounding. \
                The "
            span.key.common { "column" } " is the common exponent; the term that sets it is bold. Terms keep the \
            bits left of the red line. Point at a row for its exact value."
        }
    }
}

fn one_frame(frame: &Frame, units: &[Unit]) -> Markup {
    let [first, end] = frame.k;
    let mut codes: Vec<Value> = Vec::new();
    let cells: Vec<(Vec<&trace::Step>, Option<Number>)> = units
        .iter()
        .map(|unit| {
            let steps = unit.explanation.chain.iter().filter_map(Entry::step);
            let inside = steps.filter(|step| step.k[0] >= first && step.k[1] <= end);
            let steps: Vec<_> = inside.collect();
            let after = steps.last().map(|step| step.after);
            codes.extend(after.map(|after| after.value()));
            (steps, after)
        })
        .collect();
    let name = format!("k {first} to {}", end - 1);
    let narrow = units.len() > 1;
    html! {
        article.frame data-name=(name) data-parts[frame.parts] { h3 { (name)
            @if frame.parts { " " span.tag.bad { "here they diverge" } }
            @else if frame.apart { " " span.tag { "after they diverged" } } } (LINE)
            div.units { @for (unit, (steps, after)) in units.iter().zip(&cells) {
                @let other = after.is_some_and(|after| codes.first() != Some(&after.value()));
                div.unit.apart[other] {
                    @if units.len() > 1 { h4 { (text(&unit.name)) @if other { " " span.tag.bad { "differs" } } } }
                    @for step in steps {
                        (drawings(&format!("step {}", step.step), step::step(step, &unit.explanation.model.arithmetic.step), narrow))
                    }
                    @if let Some(after) = after { p.after { "\u{2192} " code { "0x" (after.hex()) } " " (after.decimal()) } }
                } (LINE)
            } }
        }
    }
}

/// `narrow`: nothing stands behind the bits, so that units have room beside each other.
fn drawings(name: &str, mut all: Vec<Drawn>, narrow: bool) -> Markup {
    all.iter_mut()
        .for_each(|drawn| drawn.drawing.narrow = narrow);
    html! { @for drawn in all {
        figure { figcaption { (text(name)) @if drawn.name != "terms" { ": " (text(&drawn.name)) } } (LINE)
            div.over tabindex="0" { (drawn.drawing.drawn(&format!("{name}, {}", drawn.name))) }
            @if !drawn.notes.is_empty() { ul.said { @for note in &drawn.notes { li { (text(note)) } } } }
        } (LINE)
    } }
}

/// What happens under a schedule, event by event.
fn events(units: &[Unit]) -> Markup {
    let of = |unit: &Unit| -> Vec<Event> {
        let kernel = unit.explanation.kernel.as_ref();
        let events = kernel.map_or(Vec::new(), |kernel| kernel.events.clone());
        let drawn = |event: &Event| !matches!(event, Event::Partial { .. });
        events.into_iter().filter(drawn).collect()
    };
    let all: Vec<Vec<Event>> = units.iter().map(of).collect();
    let count = all.iter().map(Vec::len).max().unwrap_or(0);
    // The first after which one of them has another number.
    let results = |place: usize| all.iter().map(move |events| events.get(place).map(result));
    let differs = |place: &usize| {
        let mut results = results(*place);
        let first = results.next();
        results.any(|result| Some(result) != first)
    };
    let parts = (0..count).find(differs);
    let shown = |place: &usize| *place < MOST_EVENTS / 2 || place + MOST_EVENTS / 2 >= count;
    html! {
        @for place in (0..count).filter(shown) {
            @if place > 0 && !shown(&(place - 1)) { p.skipped { "Operations between are not drawn." } }
            @let name = name(all.iter().find_map(|events| events.get(place)));
            article.frame data-name=(name) data-parts[parts == Some(place)] {
                h3 { (text(&name))
                    @if parts == Some(place) { " " span.tag.bad { "here they diverge" } } }
                div.units { @for (unit, events) in units.iter().zip(&all) {
                    div.unit { @if units.len() > 1 { h4 { (text(&unit.name)) } }
                        @if let Some(event) = events.get(place) { (one_event(event, &unit.explanation.model.arithmetic.step, units.len() > 1)) } }
                } }
            } (LINE)
        }
    }
}

fn name(event: Option<&Event>) -> String {
    match event {
        Some(Event::Chain(chain)) => format!("chain over {}", chain.products),
        Some(Event::Operation(operation)) => {
            format!("{}: {}", operation.stage, operation.operation)
        }
        Some(Event::Rounded { to, .. }) => format!("rounded to {}", to.format),
        Some(Event::Partial { .. }) | None => String::new(),
    }
}

fn result(event: &Event) -> Option<Value> {
    match event {
        Event::Chain(chain) => Some(chain.result.value()),
        Event::Operation(operation) => Some(operation.result.value()),
        Event::Rounded { to, .. } => Some(to.value()),
        Event::Partial { .. } => None,
    }
}

fn one_event(event: &Event, rule: &Rule, narrow: bool) -> Markup {
    match event {
        Event::Chain(chain) => one_chain(chain, rule, narrow),
        Event::Operation(operation) => drawings("", vec![step::operation(operation)], narrow),
        Event::Rounded { from, to, off } => {
            drawings("", vec![step::conversion(from, to, off.as_ref())], narrow)
        }
        Event::Partial { .. } => html! {},
    }
}

fn one_chain(chain: &Chain, rule: &Rule, narrow: bool) -> Markup {
    html! {
        @for entry in &chain.chain { @match entry {
            Entry::Step { step, .. } => (drawings(&format!("step {}", step.step), step::step(step, rule), narrow)),
            Entry::Folded(folded) => p.skipped { "Steps " (folded.steps[0]) " to " (folded.steps[1]) " are not drawn." },
        } }
        p.after { "\u{2192} " code { "0x" (chain.result.hex()) } " " (chain.result.decimal()) }
    }
}
