//! Where mismatches lie: data for the heat map, and the same in words.

use std::io::{self, Write};

use serde::Serialize;

use super::groups::Mark;
use super::markup::{json_in_script, section};
use crate::report::words::{grouped, touched};
use crate::report::{Comparison, Gathered, Margin, MismatchMap};

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

pub fn write(
    map: &MismatchMap,
    c: &Comparison,
    marks: &[Mark],
    result: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    section("where", "Where they are", out, |out| {
        let summary = summary(map);
        let [rows, columns] = map.bin;
        let unit = match rows * columns {
            1 => "one element".to_owned(),
            _ => format!("{rows}&times;{columns} elements"),
        };
        write!(
            out,
            "<p>{summary}</p>\n<div id=\"map\" class=\"map\" hidden>\n\
             <div class=\"tools\"><button type=\"button\" data-zoom=\"in\" aria-label=\"Zoom in\">+</button>\
             <button type=\"button\" data-zoom=\"out\" aria-label=\"Zoom out\">&minus;</button>\
             <button type=\"button\" data-zoom=\"all\">All of {result}</button>\
             {}</div>\n\
             <canvas id=\"heat\" tabindex=\"0\" role=\"img\" aria-label=\"Heat map of mismatches over {result}. {summary}\" \
             aria-describedby=\"map-words\"></canvas>\n\
             <output id=\"map-cell\" aria-live=\"polite\"></output>\n\
             <p class=\"hint\">A cell stands for {unit}<span id=\"map-shape\"></span>. Above and beside it, the counts by column and by row. \
             Drag to move, pinch or click and scroll to zoom; with the keyboard, arrows choose a cell, + and &minus; zoom, 0 shows all.</p>\n</div>\n\
             <noscript><p class=\"hint\">The heat map needs the script of this page; the table below says the same in words.</p></noscript>\n",
            scale(map)
        )?;
        if let Some(units) = &c.units {
            writeln!(
                out,
                "<p>{}, if the kernel tiles D plainly.</p>",
                touched(units)
            )?;
        }
        for gathered in map.gathered() {
            period(&gathered, c.mismatches, out)?;
        }
        densest(map, out)?;
        let data = Data {
            rows: map.rows,
            columns: map.columns,
            matrix: map.matrix_rows,
            bin: map.bin,
            bins: runs(&map.bins),
            compared: map.compared.as_deref().map(runs),
            by_row: side(&map.by_row),
            by_column: side(&map.by_column),
            marks,
        };
        writeln!(
            out,
            "<script type=\"application/json\" id=\"map-data\">{}</script>",
            json_in_script(&data)
        )
    })
}

/// Where parts were merged, which keep no map.
pub fn without(c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    section("where", "Where they are", out, |out| {
        writeln!(
            out,
            "<p>In {} of {} rows and {} of {} columns. Parts that were merged keep no map; <code>tcverify check \
             --html</code> of the whole draws one.</p>",
            grouped(c.rows_touched),
            grouped(c.rows),
            grouped(c.columns_touched),
            grouped(c.columns)
        )?;
        match &c.units {
            Some(units) => writeln!(
                out,
                "<p>{}, if the kernel tiles D plainly.</p>",
                touched(units)
            ),
            None => Ok(()),
        }
    })
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

/// What colours mean: the same in every report.
fn scale(map: &MismatchMap) -> String {
    let swatch = |class: &str, name: &str| {
        format!("<span class=\"swatch\"><span class=\"{class}\"></span>{name}</span>")
    };
    let shares = match map.bin {
        [1, 1] => swatch("differs", "differs"),
        _ => "<span class=\"shares\"><span class=\"strip\"></span><span class=\"ticks\"><span>&le; 0.1 %</span>\
              <span>1 %</span><span>10 %</span><span>100 %</span></span></span>"
            .to_owned(),
    };
    let skipped = match map.compared {
        Some(_) => swatch("skipped", "not compared"),
        None => String::new(),
    };
    let of = match map.bin {
        [1, 1] => "",
        _ => "<span>of a cell differ</span>",
    };
    format!("<span class=\"scale\">{shares}{of}{skipped}</span>")
}

fn summary(map: &MismatchMap) -> String {
    let touched = map.bins.iter().filter(|count| **count > 0).count();
    let total = grouped(map.bins.iter().sum());
    let cells = grouped(map.bins.len() as u64);
    let mismatches = if total == "1" {
        "mismatch"
    } else {
        "mismatches"
    };
    match map.bin {
        [1, 1] => format!("{total} of {cells} elements."),
        _ => format!(
            "{total} {mismatches} in {} of {cells} cells of the map.",
            grouped(touched as u64)
        ),
    }
}

/// Counts by position within a period, drawn.
fn period(gathered: &Gathered, all: u64, out: &mut dyn Write) -> io::Result<()> {
    let Gathered {
        side,
        period,
        held,
        counts,
    } = gathered;
    let side = ["row", "column"][*side];
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let mut named: Vec<_> = (0..*period)
        .filter(|&i| counts[i] * *period as u64 >= 4 * all)
        .collect();
    named.sort_by_key(|&i| (std::cmp::Reverse(counts[i]), i));
    let listed: Vec<_> = named.iter().take(4).map(usize::to_string).collect();
    let more = if named.len() > 4 { ", \u{2026}" } else { "" };
    let words = format!(
        "{} of {} mismatches lie at {side} mod {period} = {}{more}",
        grouped(*held),
        grouped(all),
        listed.join(", ")
    );
    write!(
        out,
        "<figure class=\"period\"><figcaption>{words}.</figcaption>\n\
         <svg viewBox=\"0 0 {} 40\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{words}\">",
        period
    )?;
    for (i, &count) in counts.iter().enumerate() {
        let height = match count {
            0 => 0.0,
            count => (count as f64 / most as f64 * 38.0).max(2.0),
        };
        if height > 0.0 {
            write!(
                out,
                "<rect x=\"{i}.1\" y=\"{:.1}\" width=\"0.8\" height=\"{height:.1}\"><title>{side} mod {period} = {i}: {}</title></rect>",
                40.0 - height,
                grouped(count)
            )?;
        }
    }
    writeln!(
        out,
        "</svg><p class=\"axis\" aria-hidden=\"true\"><span>0</span><span>{side} mod {period}</span><span>{}</span></p></figure>",
        period - 1
    )
}

/// The map in words.
fn densest(map: &MismatchMap, out: &mut dyn Write) -> io::Result<()> {
    let one = map.bin == [1, 1];
    let heading = match one {
        // The mismatches themselves are listed further down.
        true => "The map in words: the rows with most mismatches",
        false => "The map in words: the cells with most mismatches",
    };
    write!(
        out,
        "<details id=\"map-words\"><summary>{heading}</summary>\n<table>\n"
    )?;
    if one {
        out.write_all(b"<thead><tr><th scope=\"col\">row</th><th scope=\"col\" class=\"count\">mismatches</th></tr></thead>\n<tbody>\n")?;
        let counts = &map.by_row.counts;
        let mut rows: Vec<_> = (0..counts.len()).filter(|&row| counts[row] > 0).collect();
        rows.sort_by_key(|&row| (std::cmp::Reverse(counts[row]), row));
        for &row in rows.iter().take(LISTED) {
            writeln!(
                out,
                "<tr><th scope=\"row\">{row}</th><td class=\"count\">{}</td></tr>",
                grouped(counts[row])
            )?;
        }
    } else {
        out.write_all(
            b"<thead><tr><th scope=\"col\">rows</th><th scope=\"col\">columns</th><th scope=\"col\" class=\"count\">mismatches</th>\
              <th scope=\"col\" class=\"count\">of</th></tr></thead>\n<tbody>\n",
        )?;
        for bin in map.densest(LISTED) {
            let [rows, columns] = map.span(bin);
            writeln!(
                out,
                "<tr><th scope=\"row\">{}\u{2013}{}</th><td>{}\u{2013}{}</td><td class=\"count\">{}</td><td class=\"count\">{}</td></tr>",
                rows[0],
                rows[1] - 1,
                columns[0],
                columns[1] - 1,
                grouped(map.bins[bin]),
                grouped(map.elements(bin))
            )?;
        }
    }
    out.write_all(b"</tbody></table></details>\n")
}
