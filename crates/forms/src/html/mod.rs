//! A view as one page: it loads nothing, and is complete without its scripts.

mod charts;
mod elements;
mod map;
pub mod page;

use std::io::{self, Write};

use maud::{Markup, html};

use self::page::{LINE, Page, lines, section, text};
use crate::view::{
    Card, Case, Constant, Differences, Digest, Fact, Item, Section, Tone, View, Weight, capital,
    grouped,
};

pub(super) use self::map::plain as plain_map;

const MAPPED: &str = include_str!("report.js");
const LISTED: &str = include_str!("index.js");

/// The page.
///
/// # Errors
/// Those of the writer.
pub fn html(view: &View, out: &mut dyn Write) -> io::Result<()> {
    // What was judged comes first, where a browser's tab shows it.
    let title = match view.test[2].as_str() {
        "" => format!(
            "{}: {}",
            view.title(),
            view.about.first().unwrap_or(&view.sentence)
        ),
        name => format!("{name}: {}", view.title()),
    };
    let title = match &view.within {
        Some(of) => format!("{}: {title}", of.case),
        None => title,
    };
    let mapped = view.differences.as_ref().is_some_and(|d| d.map.is_some());
    let mut scripts = Vec::new();
    scripts.extend(mapped.then_some(MAPPED));
    scripts.extend((!view.cases.is_empty()).then_some(LISTED));
    let page = Page {
        title: &title,
        class: class(view.tone),
        schema: &view.schema,
        style: "",
        body: body(view),
        scripts: &scripts,
    };
    page.write(out)
}

fn body(view: &View) -> Markup {
    html! {
        @if let Some(of) = &view.within {
            nav { a href=(text(&of.index)) { "All cases" } " " span aria-hidden="true" { "\u{203a}" } " " (text(&of.case)) }
            (LINE)
        }
        (headline(view)) (LINE)
        (caused(view))
        @if !view.cases.is_empty() { (failed(view)) (all_cases(view)) (known(view)) }
        @if let Some(differences) = &view.differences { (different(view, differences)) }
        @if !view.proves.is_empty() {
            (section("proves", "What this proves", html! {
                p { (text(&view.proves)) }
                @if let Some(fact) = &view.ambiguity { @for line in &fact.lines { p { (text(line)) } } }
                @if let Some(command) = &view.repeat { p.hint { "To repeat this:" } (shell(command)) }
            }))
        }
        @for part in &view.sections { @if !is_empty(part) { (section(part.id, &part.heading, drawn_section(part))) } }
    }
}

/// Verdict, sentence, what was judged, and figures.
fn headline(view: &View) -> Markup {
    let mark = match view.tone {
        // No tick: only a part was compared.
        Tone::Part => "M7 12h10",
        Tone::Good => "M7 12.5l3.5 3.5L17.5 8.5",
        Tone::Bad => "M8 8l8 8M16 8l-8 8",
        Tone::Unsure => "M12 6v7M12 17v.5",
    };
    // All rows hold nearly as many figures.
    let count = view.figures.len().max(1);
    let columns = count.div_ceil(count.div_ceil(4));
    let rest = columns - (count - 1) % columns;
    html! {
        header { svg.mark viewBox="0 0 24 24" aria-hidden="true" { circle cx="12" cy="12" r="11" {} path d=(mark) {} }
            div { h1 { (text(&view.title())) }
                p.lead { (text(&capital(&view.sentence))) "." }
                @if !view.about.is_empty() { p.model { @for (i, line) in view.about.iter().enumerate() {
                    @if i > 0 { br; } (text(line))
                } } }
            } }
        @if !view.figures.is_empty() {
            dl.tiles style={ "--columns: " (columns) "; --rest: " (rest) } { @for (name, value) in &view.figures {
                div { dt { (text(name)) } dd { (text(value)) } }
            } }
        }
    }
}

/// Causes, what was tried, and what to do next.
fn caused(view: &View) -> Markup {
    let heading = match view.causes.len() {
        0 if view.tried.is_some() => "No cause was found",
        0 => "What next",
        1 => "Likely cause",
        _ => "Likely causes",
    };
    if view.causes.is_empty() && view.tried.is_none() && view.next.is_empty() {
        return html! {};
    }
    section(
        "causes",
        heading,
        html! {
            @for cause in &view.causes {
                div.cause { p { (badge(cause.group)) (text(&cause.sentence)) }
                    @if let Some(command) = &cause.command { p.hint { "To check all of it:" } (shell(command)) } } (LINE)
            }
            @if let Some(tried) = &view.tried { p { (text(&capital(&tried.all))) "." } }
            @for next in &view.next { p.hint { (purpose(next)) } (shell(next)) }
        },
    )
}

fn different(view: &View, differences: &Differences) -> Markup {
    html! {
        (section("where", "Where they are", map::places(differences)))
        (section("how", "How they differ", html! { div.columns {
            (charts::bars("By class", "class", &differences.classes))
            @if !differences.distances.is_empty() { (charts::bars("By distance, in ulps", "ulps", &differences.distances)) }
        } }))
        @if !differences.first.is_empty() {
            (section("first", "The first mismatches", elements::table(differences)))
        }
        @if let Some(trace) = view.trace.as_ref().filter(|trace| !trace.text.is_empty()) {
            (section("trace", &format!("The first mismatch, {}", trace.how), html! {
                details { summary { "What " code { (trace.command) } " says of it" }
                    pre tabindex="0" { (lines(&trace.text)) } }
            }))
        }
    }
}

/// Groups of bad cases.
fn failed(view: &View) -> Markup {
    let groups = view.groups();
    if groups.is_empty() {
        return html! {};
    }
    section(
        "groups",
        "What went wrong",
        html! {
            ul { @for group in &groups { li { (text(&group.heading)) br;
                @for (i, case) in group.cases.iter().take(4).enumerate() { @if i > 0 { ", " } (linked(case)) }
                @if group.cases.len() > 4 { " and " (grouped(group.cases.len() as u64 - 4)) " more" }
            } } }
        },
    )
}

/// All cases, the worst first, as a table; and as a grid if they have short names.
fn all_cases(view: &View) -> Markup {
    let mut states: Vec<(&str, &str, u64)> = Vec::new();
    for case in &view.cases {
        match states.iter_mut().find(|(state, ..)| *state == case.state) {
            Some((.., count)) => *count += 1,
            None => states.push((&case.state, &case.word, 1)),
        }
    }
    let caused = view.cases.iter().any(|case| case.cause.is_some());
    section(
        "cases",
        &format!("{}s", capital(view.noun)),
        html! {
            @if view.cases.iter().any(|case| case.short.is_some()) {
                div.grid { @for case in &view.cases { (square(case)) } } (LINE)
            }
            div.filter role="group" aria-label={ (capital(view.noun)) "s by verdict and text" } hidden {
                button type="button" data-verdict="all" { "All " (grouped(view.cases.len() as u64)) }
                @for (state, word, count) in states {
                    button type="button" data-verdict=(text(state)) { (text(word)) " " (grouped(count)) }
                }
                label { "Search " input type="search" size="20" autocomplete="off"; }
            }
            p.hint #shown data-of={ (view.noun) "s" } aria-live="polite" {}
            table.cases {
                thead { tr { th scope="col" { (view.noun) } th scope="col" { "verdict" } th scope="col" { "what came out" }
                        @if caused { th scope="col" { "likely cause" } }
                    th scope="col" { (by(view)) } } } (LINE)
                tbody { (LINE) @for (place, case) in view.worst_first() { (row(place, case, caused)) (LINE) } }
            }
        },
    )
}

/// The heading of the last column of cases.
fn by(view: &View) -> &'static str {
    match view.noun {
        "case" => "model",
        "step" => "kind",
        _ => "measured",
    }
}

/// Cases with a card, in detail.
fn known(view: &View) -> Markup {
    let known = view
        .cases
        .iter()
        .filter_map(|case| Some((case, case.card.as_ref()?)));
    html! { @for (case, card) in known {
        section id=(anchor(&case.name)) {
            h2 { (text(&case.name)) " " span class={ "tag " (class(case.tone)) } { (text(&case.word)) } }
            p { (text(&case.said)) }
            @if let Some(next) = &case.next { p.hint { "To simulate this fault:" } (shell(next)) }
            (drawn_card(card))
        } (LINE)
    } }
}

fn is_empty(part: &Section) -> bool {
    part.facts.is_empty()
        && part.digests.is_empty()
        && part.cards.is_empty()
        && part.outline.is_empty()
}

fn drawn_section(part: &Section) -> Markup {
    html! {
        (facts(&part.facts, &part.digests))
        @if !part.outline.is_empty() { (outline(&part.outline)) }
        @if !part.constants.is_empty() { (constants(&part.constants)) }
        @if !part.sources.is_empty() {
            details { summary { "Sources" } dl.facts { @for (key, citation) in &part.sources {
                div { dt { (text(key)) } dd { (text(citation)) } }
            } } }
        }
        @if !part.cards.is_empty() { div.cards { @for card in &part.cards { (drawn_card(card)) (LINE) } } }
    }
}

fn drawn_card(card: &Card) -> Markup {
    html! {
        article {
            @if !card.name.is_empty() { h3 { (text(&card.name)) " " span.path { (text(&card.path)) } } }
            (facts(&card.facts, &card.digests))
            @if !card.pictures.is_empty() { div.charts { @for picture in &card.pictures { (charts::drawn(picture)) } } }
        }
    }
}

pub(super) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Part => "part",
        Tone::Unsure => "unsure",
        Tone::Bad => "bad",
    }
}

/// What a command is for. A comment at its end may say which of two results it is about.
fn purpose(command: &str) -> String {
    let side = ["left", "right"]
        .into_iter()
        .find(|side| command.ends_with(&format!("  # {side}")));
    let side = side.map_or(String::new(), |side| format!("{side} "));
    match command.split(' ').nth(1) {
        Some("explain") if side.is_empty() => "To explain the first mismatch:".to_owned(),
        Some("explain") => format!("To explain the first mismatch in the {side}result:"),
        Some("identify") => "To search for another model or schedule:".to_owned(),
        Some("check") => format!("To replay the {side}result:"),
        _ => "Next:".to_owned(),
    }
}

/// A command to copy.
fn shell(command: &str) -> Markup {
    html! { pre.command tabindex="0" { (text(command)) } }
}

/// The number of a group, as the map has it.
fn badge(group: Option<usize>) -> Markup {
    html! { @if let Some(number) = group { span.badge { span.unseen { "group " } (number) } " " } }
}

fn facts(facts: &[Fact], digests: &[Digest]) -> Markup {
    html! {
        dl.facts {
            @for item in facts { (fact(item)) }
            @for digest in digests {
                div { dt { @if digest.part.is_empty() { "SHA-256 of " (text(&digest.of)) } @else { (capital(digest.part)) } }
                    dd { code.digest { (text(&digest.sha256)) }
                        @if digest.part.is_empty() && !digest.about.is_empty() { " " span.hint { (text(&digest.about)) } } } }
            }
        }
    }
}

fn fact(fact: &Fact) -> Markup {
    let class = (fact.weight == Weight::Caution).then_some("caution");
    html! {
        div class=[class] { dt { (text(&capital(&fact.label))) }
            dd { @for (i, line) in fact.lines.iter().enumerate() { @if i > 0 { br; } (text(line)) } } } (LINE)
    }
}

/// Lines and what is under them.
fn outline(items: &[Item]) -> Markup {
    html! { ul { @for item in items { li class=[(item.weight == Weight::Caution).then_some("caution")] {
        @if item.command { code { (text(&item.text)) } } @else { (text(item.text.trim_start_matches("- "))) }
        @if !item.under.is_empty() { (outline(&item.under)) }
    } (LINE) } } }
}

fn constants(rows: &[Constant]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Constants" { table.constants {
            caption { "Constants, and how each is known" }
            thead { tr { th scope="col" { "constant" } th scope="col" { "value" } th scope="col" { "evidence" }
                th scope="col" { "source" } th scope="col" { "note" } } }
            tbody { @for row in rows {
                tr { th scope="row" { code { (text(&row.name)) } } td { code { (text(&row.value)) } }
                    td { span class={ "tag " (text(&row.known)) } { (text(&row.known)) } } td { (text(&row.source)) }
                    td { (text(&row.note)) } } (LINE)
            } }
        } }
    }
}

/// A name that links to the case's page, or to its section on this page.
fn linked(case: &Case) -> Markup {
    let place = case.page.clone().or(case
        .card
        .as_ref()
        .map(|_| format!("#{}", anchor(&case.name))));
    html! { @match place {
        Some(place) => a href=(text(&place)) { (text(&case.name)) },
        None => (text(&case.name)),
    } }
}

/// The fragment of an address for a name. No two names share one.
fn anchor(name: &str) -> String {
    let mut anchor = "of-".to_owned();
    for c in name.chars() {
        match c {
            '-' | '.' | '_' => anchor.push(c),
            c if c.is_ascii_alphanumeric() => anchor.push(c),
            c => anchor += &format!("~{:x}~", u32::from(c)),
        }
    }
    anchor
}

fn square(case: &Case) -> Markup {
    let short = case.short.as_deref().unwrap_or(&case.name);
    let class = format!("gpu {}", class(case.tone));
    let title = format!("{}: {}", case.name, case.word);
    let inside = html! { span { bdi { (text(short)) } } };
    html! {
        @if case.card.is_some() {
            a class=(class) href={ "#" (anchor(&case.name)) } title=(text(&title)) { (inside) }
        } @else {
            span class=(class) title=(text(&title)) { (inside) }
        }
    }
}

fn row(place: usize, case: &Case, caused: bool) -> Markup {
    // How much the verdict covers, and what it accepts.
    let more = case.qualified.trim_start_matches([',', ' ']);
    html! {
        tr class=(text(&case.state)) data-rank=(case.tone as u8) data-place=(place) {
            th scope="row" { (linked(case)) }
            td { span class={ "verdict " (class(case.tone)) } { (text(&case.word)) }
                @if !more.is_empty() { " " span.more { (text(more)) } } }
            td { (lines(&case.said)) }
            @if caused { td { @if let Some(cause) = &case.cause { (text(cause)) } } }
            td { (text(&case.by)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::anchor;

    #[test]
    fn no_two_names_have_one_anchor() {
        let names = [
            "a b", "a-b", "a~b", "a~20~b", "a_b", "a.b", "ab", "\u{e9}", "",
        ];
        let anchors: std::collections::BTreeSet<_> =
            names.iter().map(|name| anchor(name)).collect();
        assert_eq!(anchors.len(), names.len());
        assert_eq!(anchor("host-0.x_1"), "of-host-0.x_1");
    }
}
