//! The report as one page: nothing is loaded from anywhere, no template, no framework.

mod charts;
mod facts;
mod fragment;
mod groups;
mod index;
mod map;
mod markup;
mod mismatches;
mod operation;
mod provenance;

use std::io::{self, Write};

pub use self::fragment::Fragment;
use self::markup::{escaped, escaped_lines, number, section};
use super::words::{capital, grouped, model_line, product_line, sentence, title};
use super::{Cause, Comparison, Exporter, MismatchMap, Outcome, Report, Tool, Verdict};

/// One self-contained page.
#[derive(Clone, Debug, Default)]
pub struct Html {
    /// Where mismatches lie, if there are any.
    pub map: Option<MismatchMap>,
    /// The first mismatch step by step, as plain text.
    pub trace: Option<String>,
    /// The batch that it is a case of.
    pub of: Option<PageOf>,
}

/// A case among others.
#[derive(Clone, Debug)]
pub struct PageOf {
    pub case: String,
    /// The page that lists all of them, beside this one.
    pub index: String,
}

const STYLE: &str = include_str!("report.css");
/// Nothing but what is in the page itself.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

impl Exporter for Html {
    fn export(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let word = title(report);
        self.begin(
            report.verdict,
            &format!("{word}: {}", model_line(report)),
            out,
        )?;
        headline(report, &word, out)?;
        let mut script = "";
        if let Outcome::Elements { comparison, .. } = &report.outcome
            && comparison.mismatches > 0
        {
            causes(&report.causes, out)?;
            if self.map.is_none() {
                map::without(comparison, out)?;
            }
            script = self.places(comparison, ("D", &groups::marks(report, comparison)), out)?;
            mismatches::write(comparison, report, out)?;
            self.first("step by step", "tcverify explain", out)?;
        }
        provenance::write(report, out)?;
        footer(&report.schema, script, out)
    }
}

/// The map's script, which it alone needs.
const MAPPED: &str = concat!("<script>\n", include_str!("report.js"), "</script>\n");

impl Html {
    /// Where mismatches are, and how far off; what the page needs of scripts.
    fn places(
        &self,
        comparison: &Comparison,
        (result, marks): (&str, &[groups::Mark]),
        out: &mut dyn Write,
    ) -> io::Result<&'static str> {
        if let Some(map) = &self.map {
            map::write(map, comparison, marks, result, out)?;
        }
        charts::write(comparison, out)?;
        Ok(self.map.as_ref().map_or("", |_| MAPPED))
    }

    /// The first mismatch in full, as a command says it.
    fn first(&self, how: &str, command: &str, out: &mut dyn Write) -> io::Result<()> {
        let Some(trace) = &self.trace else {
            return Ok(());
        };
        let heading = format!("The first mismatch, {how}");
        section("trace", &heading, out, |out| {
            write!(
                out,
                "<details><summary>What <code>{command}</code> says of it</summary>\n\
                 <pre tabindex=\"0\">{}</pre></details>\n",
                escaped_lines(trace)
            )
        })
    }

    /// The page up to its contents.
    fn begin(&self, verdict: Verdict, title: &str, out: &mut dyn Write) -> io::Result<()> {
        let class = match verdict {
            Verdict::Identical => "good",
            Verdict::IdenticalInPart => "part",
            Verdict::Different => "bad",
        };
        let case = self
            .of
            .as_ref()
            .map_or(String::new(), |of| format!("{}: ", of.case));
        let title = format!("{case}{title}");
        let about = Page {
            class,
            title: &title,
            styles: &[],
        };
        head(&about, out)?;
        if let Some(of) = &self.of {
            writeln!(
                out,
                "<nav><a href=\"{}\">All cases</a> <span aria-hidden=\"true\">&rsaquo;</span> {}</nav>",
                escaped(&of.index),
                escaped(&of.case)
            )?;
        }
        Ok(())
    }
}

/// What the pages have in common.
struct Page<'a> {
    /// Good, in part, or bad.
    class: &'a str,
    title: &'a str,
    /// Beside the common one.
    styles: &'a [&'a str],
}

fn head(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{} - tcverify</title>\n<style>\n{STYLE}{}</style>\n</head>\n\
         <body class=\"{}\">\n<main>\n",
        escaped(page.title),
        page.styles.concat(),
        page.class
    )
}

fn footer(schema: &str, script: &str, out: &mut dyn Write) -> io::Result<()> {
    let Tool { name, version } = Tool::default();
    write!(
        out,
        "</main>\n<footer><p>{name} {version} &middot; <code>{}</code> &middot; No time, no host: the same inputs give \
         the same page.</p></footer>\n{script}</body>\n</html>\n",
        escaped(schema)
    )
}

fn headline(report: &Report, word: &str, out: &mut dyn Write) -> io::Result<()> {
    let lines = [model_line(report), product_line(report)];
    let said = sentence(report);
    heading(report.verdict, (word, &said), lines, tiles(report), out)
}

/// Verdict, sentence, two lines about what was judged, and figures.
fn heading(
    verdict: Verdict,
    (word, said): (&str, &str),
    lines: [String; 2],
    tiles: Vec<(String, String)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mark = match verdict {
        // No tick: it is not the whole.
        Verdict::IdenticalInPart => "<path d=\"M7 12h10\"/>",
        Verdict::Identical => "<path d=\"M7 12.5l3.5 3.5L17.5 8.5\"/>",
        Verdict::Different => "<path d=\"M8 8l8 8M16 8l-8 8\"/>",
    };
    write!(
        out,
        "<header>\n<svg class=\"mark\" viewBox=\"0 0 24 24\" aria-hidden=\"true\"><circle cx=\"12\" cy=\"12\" r=\"11\"/>{mark}</svg>\n\
         <div><h1>{}</h1>\n<p class=\"lead\">{}.</p>\n<p class=\"model\">{}<br>{}</p></div>\n</header>\n",
        escaped(word),
        escaped(&capital(said)),
        escaped(&lines[0]),
        escaped(&lines[1]),
    )?;
    // Rows as even as they can be.
    let columns = tiles.len().div_ceil(tiles.len().div_ceil(4));
    let rest = columns - (tiles.len() - 1) % columns;
    writeln!(
        out,
        "<dl class=\"tiles\" style=\"--columns: {columns}; --rest: {rest}\">"
    )?;
    for (name, value) in tiles {
        writeln!(
            out,
            "<div><dt>{}</dt><dd>{}</dd></div>",
            escaped(&name),
            escaped(&value)
        )?;
    }
    out.write_all(b"</dl>\n")
}

fn tiles(report: &Report) -> Vec<(String, String)> {
    let tile = |name: &str, value: String| (name.to_owned(), value);
    let mut tiles = Vec::new();
    let all: u64 = report.reproduced.shape.iter().map(|&n| n as u64).product();
    let sample = report.reproduced.sample.as_ref();
    let computed = sample.map_or(all, |sample| sample.elements);
    tiles.extend(outcome(&report.outcome, computed));
    let work = computed.saturating_mul(report.product.k as u64);
    tiles.push(tile("multiply-adds replayed", grouped(work)));
    tiles.push(tile("evidence", report.model.evidence.to_string()));
    tiles
}

/// The number of a group, as the map has it.
fn badge_of(number: usize) -> String {
    format!("<span class=\"badge\"><span class=\"unseen\">group </span>{number}</span> ")
}

/// Figures of what came out.
fn outcome(outcome: &Outcome, computed: u64) -> Vec<(String, String)> {
    let tile = |name: &str, value: String| (name.to_owned(), value);
    let mut tiles = Vec::new();
    match outcome {
        Outcome::Elements { comparison: c, .. } => {
            tiles.push(tile("elements compared", grouped(c.elements)));
            if c.mismatches > 0 {
                tiles.push(tile("differ", grouped(c.mismatches)));
                let of = |part: u64, all: u64| format!("{} of {}", grouped(part), grouped(all));
                tiles.push(tile("rows touched", of(c.rows_touched, c.rows)));
                tiles.push(tile("columns touched", of(c.columns_touched, c.columns)));
                if let Some(largest) = &c.largest {
                    tiles.push(tile("largest, in ulps", number(largest.ulp)));
                }
            } else {
                tiles.push(tile("differ", "0".into()));
            }
            if c.accepted > 0 {
                tiles.push(tile("accepted by policy", grouped(c.accepted)));
            }
        }
        Outcome::Digest { .. } => tiles.push(tile("elements reproduced", grouped(computed))),
    }
    tiles
}

fn causes(causes: &[Cause], out: &mut dyn Write) -> io::Result<()> {
    if causes.is_empty() {
        return Ok(());
    }
    let heading = match causes.len() {
        1 => "Likely cause",
        _ => "Likely causes",
    };
    section("causes", heading, out, |out| {
        for cause in causes {
            let badge = groups::number(cause, causes);
            write!(
                out,
                "<div class=\"cause\"><p>{}{}</p>",
                badge.map_or(String::new(), badge_of),
                escaped(&cause.sentence)
            )?;
            if let Some(command) = &cause.command {
                write!(
                    out,
                    "<p class=\"hint\">This checks all of it:</p><pre class=\"command\" tabindex=\"0\">{}</pre>",
                    escaped(command)
                )?;
            }
            out.write_all(b"</div>\n")?;
        }
        Ok(())
    })
}
