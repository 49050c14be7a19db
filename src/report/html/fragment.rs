//! The report in the cell of a notebook: the page's summary and map, without script, style of its own that touches
//! nothing around it, and nothing that is loaded.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::markup::{escaped, number};
use super::tiles;
use crate::report::words::{capital, grouped, model_line, product_line, sentence, title};
use crate::report::{Comparison, Exporter, MismatchMap, Outcome, Report, Verdict};

/// What notebooks show of a report.
#[derive(Clone, Debug, Default)]
pub struct Fragment {
    /// Where mismatches lie, if there are any.
    pub map: Option<MismatchMap>,
}

/// Squares along either side of the map, at most: each is an element of the notebook.
const SQUARES: usize = 64;

/// Mismatches that are listed.
const LISTED: usize = 5;

/// From few to many.
const HEAT: [&str; 5] = ["#f5b841", "#ee8434", "#dd4b39", "#8c1d4f", "#3a0a3d"];

const STYLE: &str = "\
.tcverify-report{all:initial;display:block;max-width:60em;margin:4px 0;padding:14px 18px;border:1px solid #dbe1ea;\
border-left:6px solid;border-radius:8px;background:#fff;color:#17202e;color-scheme:light;\
font:14px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif;overflow-wrap:anywhere}\
.tcverify-report.good{border-left-color:#0a6f38}.tcverify-report.part{border-left-color:#7a5200}\
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
.tcverify-report th{color:#536074}";

impl Exporter for Fragment {
    fn export(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let class = match report.verdict {
            Verdict::Identical => "good",
            Verdict::IdenticalInPart => "part",
            Verdict::Different => "bad",
        };
        write!(
            out,
            "<div class=\"tcverify-report {class}\"><style>{STYLE}</style>\n\
             <div class=\"t\">{}</div>\n<div>{}.</div>\n<div class=\"s\">{}<br>{}</div>\n<div class=\"n\">",
            escaped(&title(report)),
            escaped(&capital(&sentence(report))),
            escaped(&model_line(report)),
            escaped(&product_line(report)),
        )?;
        for (name, value) in tiles(report) {
            write!(
                out,
                "<span>{} <b>{}</b></span>",
                escaped(&name),
                escaped(&value)
            )?;
        }
        out.write_all(b"</div>\n")?;
        if let Outcome::Elements { comparison, .. } = &report.outcome
            && comparison.mismatches > 0
        {
            for cause in &report.causes {
                writeln!(out, "<div class=\"c\">{}</div>", escaped(&cause.sentence))?;
            }
            if let Some(map) = &self.map {
                out.write_all(drawn(map).as_bytes())?;
            }
            listed(comparison, out)?;
        }
        out.write_all(b"</div>\n")
    }
}

/// The map with as many of its bins in a square as make few enough squares.
fn drawn(map: &MismatchMap) -> String {
    let [down, across] = map.grid();
    let by = [down, across].map(|n| n.div_ceil(SQUARES));
    let [rows, columns] = [down.div_ceil(by[0]), across.div_ceil(by[1])];
    let mut counts = vec![0u64; rows * columns];
    for (bin, count) in map.bins.iter().enumerate() {
        counts[bin / across / by[0] * columns + bin % across / by[1]] += count;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let heat = |count: u64| {
        let steps = (HEAT.len() - 1) as f64;
        let share = (count as f64).ln() / (most as f64).ln().max(1.0);
        HEAT[(share.min(1.0) * steps).round() as usize]
    };
    let side = (320 / rows.max(columns)).clamp(4, 24);
    let (width, height) = (columns * side, rows * side);
    let mut svg = format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"Where the mismatches lie\" shape-rendering=\"crispEdges\">"
    );
    for (row, counts) in counts.chunks(columns).enumerate() {
        let mut column = 0;
        for run in counts.chunk_by(|&x, &y| (x > 0) == (y > 0) && (x == 0 || heat(x) == heat(y))) {
            if run[0] > 0 {
                let (x, y, w) = (column * side, row * side, run.len() * side);
                let fill = heat(run[0]);
                write!(
                    svg,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{side}\" fill=\"{fill}\"/>"
                )
                .expect("a string");
            }
            column += run.len();
        }
    }
    let unit = [by[0] * map.bin[0], by[1] * map.bin[1]];
    let unit = match unit {
        [1, 1] => "one element".to_owned(),
        [rows, columns] => format!("{rows}&times;{columns} elements"),
    };
    svg + &format!(
        "</svg>\n<div class=\"s\">D, {} rows by {} columns; a square is {unit}. The fullest has {}.</div>\n",
        grouped(map.rows as u64),
        grouped(map.columns as u64),
        grouped(most),
    )
}

fn listed(c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    if c.first.is_empty() {
        return Ok(());
    }
    out.write_all(
        b"<table><tr><th>index</th><th>reproduced</th><th>given</th><th>values</th><th>ulps</th></tr>\n",
    )?;
    for m in c.first.iter().take(LISTED) {
        writeln!(
            out,
            "<tr><td>{:?}</td><td><code>0x{}</code></td><td><code>0x{}</code></td><td>{} &rarr; {}</td><td>{}</td></tr>",
            m.index,
            escaped(&m.reproduced),
            escaped(&m.given),
            escaped(&m.reproduced_value),
            escaped(&m.given_value),
            m.ulp.map_or("\u{2013}".to_owned(), number),
        )?;
    }
    let shown = c.first.len().min(LISTED) as u64;
    match c.mismatches - shown {
        0 => out.write_all(b"</table>\n"),
        more => writeln!(
            out,
            "</table>\n<div class=\"s\">and {} more</div>",
            grouped(more)
        ),
    }
}
