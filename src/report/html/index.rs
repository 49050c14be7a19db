//! All cases of a batch as one page, which leads to a page for each.

use std::io::{self, Write};

use super::markup::{escaped, escaped_lines};
use super::{Page, footer, head};
use crate::report::words::grouped;
use crate::report::{Batch, BatchCase, CaseVerdict, Covered};

const STYLE: &str = include_str!("index.css");
const SCRIPT: &str = include_str!("index.js");

impl Batch {
    /// The index: `page` names the page of a case that has one, beside it.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn index(
        &self,
        page: &dyn Fn(usize) -> Option<String>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let class = class(self.verdict);
        let word = match self.verdict {
            CaseVerdict::Unjudged => "Not all could be judged",
            verdict => verdict.title(),
        };
        let said = self.sentence();
        let about = Page {
            class,
            title: &format!("{word}: {said}"),
            styles: &[STYLE],
        };
        head(&about, out)?;
        let mark = match self.verdict {
            CaseVerdict::Identical => "<path d=\"M7 12.5l3.5 3.5L17.5 8.5\"/>",
            CaseVerdict::IdenticalInPart => "<path d=\"M7 12h10\"/>",
            CaseVerdict::Different => "<path d=\"M8 8l8 8M16 8l-8 8\"/>",
            CaseVerdict::Unjudged => "<path d=\"M12 6v7M12 17v.5\"/>",
        };
        write!(
            out,
            "<header>\n<svg class=\"mark\" viewBox=\"0 0 24 24\" aria-hidden=\"true\"><circle cx=\"12\" cy=\"12\" r=\"11\"/>{mark}</svg>\n\
             <div><h1>{word}</h1>\n<p class=\"lead\">{}.</p></div>\n</header>\n",
            escaped(&said)
        )?;
        self.left_out(out)?;
        out.write_all(
            b"<section aria-labelledby=\"cases\">\n<h2 id=\"cases\">Cases</h2>\n<div class=\"filter\" role=\"group\" \
             aria-label=\"Cases by verdict\" hidden>\n",
        )?;
        let totals = &self.totals;
        for (verdict, name, count) in [
            ("all", "All", totals.cases),
            ("identical", "Identical", totals.identical),
            (
                "identical_in_part",
                "Identical in part",
                totals.identical_in_part,
            ),
            ("different", "Different", totals.different),
            ("unjudged", "Unjudged", totals.unjudged),
        ] {
            if count > 0 {
                writeln!(
                    out,
                    "<button type=\"button\" data-verdict=\"{verdict}\">{name} {}</button>",
                    grouped(count)
                )?;
            }
        }
        out.write_all(
            b"</div>\n<p class=\"hint\" id=\"shown\" aria-live=\"polite\"></p>\n<table class=\"cases\">\n<thead><tr>\
              <th scope=\"col\">case</th><th scope=\"col\">verdict</th><th scope=\"col\">what came out</th>\
              <th scope=\"col\">model</th></tr></thead>\n<tbody>\n",
        )?;
        for (place, case) in self.cases.iter().enumerate() {
            row(place, case, page(place), out)?;
        }
        out.write_all(b"</tbody></table>\n</section>\n")?;
        footer(self.schema, &format!("<script>\n{SCRIPT}</script>\n"), out)
    }

    /// Products that ran and were not judged.
    fn left_out(&self, out: &mut dyn Write) -> io::Result<()> {
        let lines: Vec<String> = self.coverage.iter().flat_map(Covered::lines).collect();
        if lines.is_empty() {
            return Ok(());
        }
        out.write_all(b"<section aria-labelledby=\"left-out\">\n<h2 id=\"left-out\">Products that were not judged</h2>\n<ul>\n")?;
        for said in lines {
            writeln!(out, "<li>{}</li>", escaped_lines(&said))?;
        }
        out.write_all(b"</ul>\n</section>\n")
    }
}

fn class(verdict: CaseVerdict) -> &'static str {
    match verdict {
        CaseVerdict::Identical => "good",
        CaseVerdict::IdenticalInPart | CaseVerdict::Unjudged => "part",
        CaseVerdict::Different => "bad",
    }
}

fn row(
    place: usize,
    case: &BatchCase,
    page: Option<String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let name = escaped(&case.name);
    let name = match page {
        Some(page) => format!("<a href=\"{}\">{name}</a>", escaped(&page)),
        None => name.to_string(),
    };
    // How much of D it is about, and what it lets pass.
    let (word, more) = case.title().split_at(case.verdict.title().len());
    let more = match more.trim_start_matches([',', ' ']) {
        "" => String::new(),
        more => format!(" <span class=\"more\">{}</span>", escaped(more)),
    };
    writeln!(
        out,
        "<tr class=\"{}\" data-rank=\"{}\" data-place=\"{place}\"><th scope=\"row\">{name}</th>\
         <td><span class=\"verdict\">{}</span>{more}</td><td>{}</td><td>{}</td></tr>",
        case.verdict.name(),
        case.verdict as u8,
        escaped(word),
        escaped_lines(case.said()),
        escaped(case.model())
    )
}
