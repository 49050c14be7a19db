//! Where mismatches lie: data for the heat map, a plain drawing, and words.

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::page::{LINE, json_in_script, text};
use crate::map::{Gathered, Margin, MismatchMap, largest};
use crate::view::{Differences, Mark, described_period, grouped};

/// What the script draws. Counts come in pairs of a count and how often it is repeated.
#[derive(Serialize)]
struct Data<'a> {
    rows: usize,
    columns: usize,
    matrix: usize,
    bin: [usize; 2],
    bins: Vec<u64>,
    compared: Option<Vec<u64>>,
    by_row: Side,
    by_column: Side,
    marks: &'a [Mark],
}

#[derive(Serialize)]
struct Side {
    step: usize,
    counts: Vec<u64>,
}

/// Bins that are listed in words.
const LISTED: usize = 8;

/// The most squares along a side of the plain drawing: each is an element of the page.
const SQUARES: usize = 64;

pub fn places(differences: &Differences) -> Markup {
    let Some(map) = &differences.map else {
        return html! {
            (place(differences))
            p { "Merged parts keep no map; " code { "tcverify check --html" } " of the whole draws one." }
        };
    };
    let summary = summary(map);
    let label = format!(
        "Heat map of mismatches over {}. {summary}",
        differences.result
    );
    let data = Data {
        rows: map.rows,
        columns: map.columns,
        matrix: map.matrix_rows,
        bin: map.bin,
        bins: runs(&map.bins),
        compared: map.compared.as_deref().map(runs),
        by_row: side(&map.by_row),
        by_column: side(&map.by_column),
        marks: &differences.marks,
    };
    html! {
        p { (summary) } (LINE)
        div id="map" class="map" hidden {
            div.tools {
                button type="button" data-zoom="in" aria-label="Zoom in" { "+" }
                button type="button" data-zoom="out" aria-label="Zoom out" { "\u{2212}" }
                button type="button" data-zoom="all" { "All of " (text(&differences.result)) }
                (scale(map))
            }
            canvas #heat tabindex="0" role="img" aria-label=(text(&label)) aria-describedby="map-words" {}
            output #map-cell aria-live="polite" {}
            p.hint { "A cell stands for " (unit(map.bin)) span #map-shape {} ". Above and beside it, the counts by column \
                and by row. Drag to move, pinch or click and scroll to zoom; with the keyboard, arrows choose a cell, + and \
                \u{2212} zoom, 0 shows all." }
        } (LINE)
        noscript { (plain(map)) }
        (place(differences))
        @for gathered in map.gathered() { (period(&gathered, differences.count)) (LINE) }
        (densest(map)) (LINE)
        script type="application/json" id="map-data" { (json_in_script(&data)) }
    }
}

/// Rows, columns and units of the instruction.
fn place(differences: &Differences) -> Markup {
    html! { dl.facts { @for fact in &differences.place { (super::fact(fact)) } } (LINE) }
}

fn side(margin: &Margin) -> Side {
    Side {
        step: margin.step,
        counts: runs(&margin.counts),
    }
}

fn runs(counts: &[u64]) -> Vec<u64> {
    let runs = counts.chunk_by(|x, y| x == y);
    runs.flat_map(|run| [run[0], run.len() as u64]).collect()
}

fn unit(bin: [usize; 2]) -> String {
    match bin {
        [1, 1] => "one element".to_owned(),
        [rows, columns] => format!("{rows}\u{d7}{columns} elements"),
    }
}

/// What colours mean: the same in every report.
fn scale(map: &MismatchMap) -> Markup {
    html! {
        span.scale {
            @if map.bin == [1, 1] {
                span.swatch { span.differs {} "differs" }
            } @else {
                span.shares { span.strip {} span.ticks {
                    span { (PreEscaped("&le; 0.1 %")) } span { "1 %" } span { "10 %" } span { "100 %" }
                } }
                span { "of a cell differ" }
            }
            @if map.compared.is_some() { span.swatch { span.skipped {} "not compared" } }
        }
    }
}

fn summary(map: &MismatchMap) -> String {
    let touched = map.bins.iter().filter(|count| **count > 0).count();
    let total: u64 = map.bins.iter().sum();
    let cells = grouped(map.bins.len() as u64);
    let es = if total == 1 { "" } else { "es" };
    let (total, touched) = (grouped(total), grouped(touched as u64));
    match map.bin {
        [1, 1] => format!("{total} of {cells} elements."),
        _ => format!("{total} mismatch{es} in {touched} of {cells} cells of the map."),
    }
}

/// The map without a script. Bins share squares, so that there are few enough.
pub fn plain(map: &MismatchMap) -> Markup {
    let [down, across] = map.grid();
    let by = [down, across].map(|n| n.div_ceil(SQUARES).max(1));
    let [rows, columns] = [down.div_ceil(by[0]), across.div_ceil(by[1])];
    let mut counts = vec![0u64; rows * columns];
    for (bin, count) in map.bins.iter().enumerate() {
        counts[bin / across / by[0] * columns + bin % across / by[1]] += count;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    // From few to many.
    const HEAT: [&str; 5] = ["#f5b841", "#ee8434", "#dd4b39", "#8c1d4f", "#3a0a3d"];
    let heat = |count: u64| {
        let share = (count as f64).ln() / (most as f64).ln().max(1.0);
        HEAT[(share.min(1.0) * (HEAT.len() - 1) as f64).round() as usize]
    };
    let side = (320 / rows.max(columns).max(1)).clamp(4, 24);
    let (width, height) = (columns * side, rows * side);
    let mut squares = Vec::new();
    for (row, counts) in counts.chunks(columns).enumerate() {
        let mut column = 0;
        for run in counts.chunk_by(|&x, &y| (x > 0) == (y > 0) && (x == 0 || heat(x) == heat(y))) {
            if run[0] > 0 {
                squares.push((column * side, row * side, run.len() * side, heat(run[0])));
            }
            column += run.len();
        }
    }
    let unit = unit([by[0] * map.bin[0], by[1] * map.bin[1]]);
    html! {
        svg width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="img"
            aria-label="Where the mismatches lie" shape-rendering="crispEdges" {
            @for (x, y, w, fill) in squares { rect x=(x) y=(y) width=(w) height=(side) fill=(fill) {} }
        } (LINE)
        div.s { (grouped(map.rows as u64)) " rows by " (grouped(map.columns as u64)) " columns; a square is " (unit)
            ". The fullest has " (grouped(most)) "." }
    }
}

/// Counts by position within a period, drawn.
fn period(gathered: &Gathered, all: u64) -> Markup {
    let Gathered {
        side,
        period,
        counts,
        ..
    } = gathered;
    let side = ["row", "column"][*side];
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let words = described_period(gathered, all);
    let height = |count: u64| (count as f64 / most as f64 * 38.0).max(2.0);
    let bars = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    html! {
        figure.period { figcaption { (words) "." }
            svg viewBox={ "0 0 " (period) " 40" } preserveAspectRatio="none" role="img" aria-label=(words) {
                @for (i, &count) in bars {
                    rect x={ (i) ".1" } y=(format!("{:.1}", 40.0 - height(count))) width="0.8"
                        height=(format!("{:.1}", height(count))) {
                        title { (side) " mod " (period) " = " (i) ": " (grouped(count)) }
                    }
                }
            }
            p.axis aria-hidden="true" { span { "0" } span { (side) " mod " (period) } span { (period - 1) } }
        }
    }
}

/// The map in words.
fn densest(map: &MismatchMap) -> Markup {
    if map.bin == [1, 1] {
        let counts = &map.by_row.counts;
        // The mismatches themselves are listed further down.
        return html! {
            details #map-words { summary { "The map in words: the rows with most mismatches" }
                table { thead { tr { th scope="col" { "row" } th.count scope="col" { "mismatches" } } }
                    tbody { @for row in largest(counts, LISTED) {
                        tr { th scope="row" { (row) } td.count { (grouped(counts[row])) } } (LINE)
                    } } }
            }
        };
    }
    html! {
        details #map-words { summary { "The map in words: the cells with most mismatches" }
            table { thead { tr { th scope="col" { "rows" } th scope="col" { "columns" } th.count scope="col" { "mismatches" }
                    th.count scope="col" { "of" } } }
                tbody { @for bin in largest(&map.bins, LISTED) {
                    @let [rows, columns] = map.span(bin);
                    tr { th scope="row" { (rows[0]) "\u{2013}" (rows[1] - 1) } td { (columns[0]) "\u{2013}" (columns[1] - 1) }
                        td.count { (grouped(map.bins[bin])) } td.count { (grouped(map.elements(bin))) } } (LINE)
                } } }
        }
    }
}
