//! A view in the cell of a notebook: summary and map, without scripts, and with styles that affect nothing else. Nothing
//! is loaded.

use std::io::{self, Write};

use maud::{Markup, PreEscaped, html};

use super::html::page::{lines, text};
use super::html::{class, plain_map};
use crate::view::{Item, View, capital, distance, grouped};

/// Mismatches, and cases, that are listed.
const LISTED: usize = 5;
const CASES: usize = 100;

const STYLE: &str = "\
.tcverify-report{all:initial;display:block;max-width:60em;margin:4px 0;padding:14px 18px;border:1px solid #dbe1ea;\
border-left:6px solid;border-radius:8px;background:#fff;color:#17202e;color-scheme:light;\
font:14px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif;overflow-wrap:anywhere}\
.tcverify-report.good{border-left-color:#0a6f38}.tcverify-report.part,.tcverify-report.unsure{border-left-color:#7a5200}\
.tcverify-report.bad{border-left-color:#a81f18}\
.tcverify-report .t{font-size:19px;font-weight:650}.tcverify-report.good .t{color:#0a6f38}\
.tcverify-report.part .t{color:#7a5200}.tcverify-report.bad .t{color:#a81f18}\
.tcverify-report .s{color:#536074;font-size:13px}\
.tcverify-report .n{display:flex;flex-wrap:wrap;gap:4px 26px;margin:8px 0}\
.tcverify-report .n span{white-space:nowrap}.tcverify-report .n b{font-weight:650}\
.tcverify-report .c{border-left:3px solid #1d4fbf;padding-left:10px;margin:6px 0}\
.tcverify-report code{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:12.5px}\
.tcverify-report svg{display:block;margin:10px 0 2px;background:#eef1f6;border:1px solid #dbe1ea;max-width:100%}\
.tcverify-report table{border-collapse:collapse;margin:8px 0 0;color:inherit;font-size:13px}\
.tcverify-report td,.tcverify-report th{padding:1px 14px 1px 0;text-align:left;font-weight:400;vertical-align:top}\
.tcverify-report th{color:#536074}.tcverify-report .v.good{color:#0a6f38}.tcverify-report .v.part,\
.tcverify-report .v.unsure{color:#7a5200}.tcverify-report .v.bad{color:#a81f18}";

/// What a notebook shows.
///
/// # Errors
/// Those of the writer.
pub fn notebook(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let first = view.differences.iter().flat_map(|d| {
        let rows = d.first.iter().map(|(_, m)| m);
        rows.map(|m| {
            (
                m,
                distance(m, d.format).unwrap_or_else(|| "\u{2013}".to_owned()),
            )
        })
    });
    let rows: Vec<_> = first.take(LISTED).collect();
    let names = view.differences.as_ref().map_or([""; 2], |d| d.names);
    let differences = view.differences.as_ref();
    let more = differences.map_or(0, |d| d.hidden(rows.len()));
    let page = html! {
        div class={ "tcverify-report " (class(view.tone)) } {
            style { (PreEscaped(STYLE)) } "\n"
            div.t { (text(&view.title())) } "\n" div { (text(&capital(&view.sentence))) "." } "\n"
            div.s { @for line in &view.about { (text(line)) br; } } "\n"
            div.n { @for (name, value) in &view.figures { span { (text(name)) " " b { (text(value)) } } } } "\n"
            @for cause in &view.causes { div.c { (text(&cause.sentence)) } "\n" }
            @if let Some(tried) = &view.tried { div.c { (text(&capital(&tried.all))) "." } "\n" }
            @if let Some(map) = view.differences.as_ref().and_then(|d| d.map.as_ref()) { (plain_map(map)) "\n" }
            @for fact in view.differences.iter().flat_map(|d| &d.place).chain(&view.ambiguity) {
                div.s { (text(&capital(&fact.label))) ": " (text(&fact.lines.join("; "))) } "\n"
            }
            @for section in view.outlined() {
                div.s { (text(&section.heading)) } (outline(&section.outline)) "\n"
            }
            @if !view.cases.is_empty() { (case_table(view)) }
            @if !rows.is_empty() {
                table {
                    tr { th { "index" } th { (names[0]) } th { (names[1]) } th { "values" } th { "ulps" } } "\n"
                    @for (m, distance) in rows {
                        tr { td { (format!("{:?}", m.index)) }
                            td { code { "0x" (text(&m.reproduced)) } } td { code { "0x" (text(&m.given)) } }
                            td { (text(&m.reproduced_value)) " \u{2192} " (text(&m.given_value)) }
                            td { (distance) } } "\n"
                    }
                }
                @if more > 0 { div.s { "and " (grouped(more)) " more" } "\n" }
            }
        }
    };
    writeln!(out, "{}", page.into_string())
}

/// One row per case, the worst first, up to a limit.
fn case_table(view: &View) -> Markup {
    let cases = view.worst_first();
    html! {
        table {
            tr { th { "case" } th { "verdict" } th { "what came out" } th { "model" } } "\n"
            @for (_, case) in cases.iter().take(CASES) {
                tr { td { (text(&case.name)) } td class={ "v " (class(case.tone)) } { (text(&case.word)) (text(&case.qualified)) }
                    td { (lines(&case.said)) @if let Some(cause) = &case.cause { ": " (text(cause)) } }
                    td { (text(&case.by)) } } "\n"
            }
        }
        @if cases.len() > CASES { div.s { "and " (grouped((cases.len() - CASES) as u64)) " more" } }
    }
}

/// Lines with others under them.
fn outline(items: &[Item]) -> Markup {
    html! {
        ul {
            @for item in items {
                li {
                    @if item.command { code { (text(&item.text)) } } @else { (text(item.text.trim_start_matches("- "))) }
                    @if !item.under.is_empty() { (outline(&item.under)) }
                }
            }
        }
    }
}
