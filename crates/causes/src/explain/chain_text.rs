//! Steps of a chain for people, and how their numbers are written.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::chain::{Entry, Folded};
use super::document::Explanation;
use super::trace::{Of, Product, Stage, Step, Term};
use super::{Dyadic, Number};
use crate::diagnose::runs;

pub(super) const CAUTION: Style = AnsiColor::Yellow.on_default();
pub(super) const QUIET: Style = Style::new().dimmed();
pub(super) const STRONG: Style = Style::new().bold();

/// Rows of a table, unless more are requested.
const MOST_ROWS: usize = 64;

/// Steps of a chain.
pub(super) fn entries(
    explanation: &Explanation,
    chain: &[Entry],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut compact = None;
    for entry in chain {
        match entry {
            Entry::Folded(folded) => {
                compact = Some(true);
                fold(folded, out)?;
            }
            Entry::Step { why, step } => {
                if short(step) {
                    // The first of a run of short steps stands apart.
                    if compact != Some(true) {
                        writeln!(out)?;
                    }
                    compact = Some(true);
                    line(step, why, out)?;
                } else {
                    compact = None;
                    full(explanation, step, why, out)?;
                }
            }
        }
    }
    Ok(())
}

fn fold(folded: &Folded, out: &mut dyn Write) -> io::Result<()> {
    let [first, last] = folded.steps;
    let steps = if first == last {
        format!("step {first}")
    } else {
        format!("steps {first} to {last}")
    };
    let mut what = Vec::new();
    if folded.special_steps > 0 {
        what.push(format!(
            "in {} the accumulator is infinite or NaN",
            folded.special_steps
        ));
    }
    for (count, one, how, largest) in [
        (folded.cut_terms, "term", "truncated", &folded.largest_cut),
        (
            folded.inexact_steps,
            "step",
            "inexact",
            &folded.largest_loss,
        ),
    ] {
        if count > 0 {
            let plural = if count == 1 { "" } else { "s" };
            what.push(format!("{count} {one}{plural} {how}, by at most {largest}"));
        }
    }
    if what.is_empty() {
        what.push("nothing truncated".into());
    }
    let [k, end] = folded.k;
    writeln!(
        out,
        "\n{STRONG}{steps}{STRONG:#} (k {k} to {}): {}; then {}",
        end - 1,
        what.join("; "),
        shown(&folded.after)
    )
}

/// A step of one operation needs one line.
fn short(step: &Step) -> bool {
    step.products.len() == 1 && step.stages.is_empty()
}

fn line(step: &Step, why: &[&str], out: &mut dyn Write) -> io::Result<()> {
    let product = &step.products[0];
    write!(
        out,
        "{STRONG}step {}{STRONG:#}  k {}  {} * {} = {}  ->  {}",
        step.step,
        product.k,
        shown(&product.a),
        shown(&product.b),
        product.exact,
        shown(&step.after)
    )?;
    if let Some(lost) = step.lost.as_ref().filter(|lost| !lost.is_zero()) {
        write!(out, "  {CAUTION}off by {}{CAUTION:#}", signed(lost))?;
    }
    writeln!(out, "{}", reasons(why))?;
    notes(step, out)
}

fn full(e: &Explanation, step: &Step, why: &[&str], out: &mut dyn Write) -> io::Result<()> {
    let [first, end] = step.k;
    writeln!(
        out,
        "\n{STRONG}step {} of {}{STRONG:#}, k {first} to {}{}",
        step.step,
        e.steps,
        end - 1,
        reasons(why)
    )?;
    let name = match step.step {
        1 => "C",
        _ if step.reloaded => "reloaded",
        _ => "before",
    };
    row(out, name, &shown(&step.before))?;
    let requested = why.contains(&"asked for");
    let apart = step.stages.iter().flat_map(|stage| &stage.terms);
    if !apart.clone().any(|term| matches!(term.of, Of::Product(_))) {
        products(step, requested, out)?;
    }
    for (i, stage) in step.stages.iter().enumerate() {
        let previous = i.checked_sub(1).map(|i| &step.stages[i]);
        self::stage(step, stage, previous, requested, out)?;
    }
    notes(step, out)?;
    // The last stage has shown the sum whose rounding this is, if any.
    let rounded = match &step.rounded_off {
        Some(off) if !off.is_zero() => format!("  rounding changed the sum by {}", signed(off)),
        Some(_) => "  rounding changed nothing".to_owned(),
        None => String::new(),
    };
    row(out, "after", &format!("{}{rounded}", exactly(&step.after)))?;
    if step.exact_sum.finite().is_some() {
        row(out, "exact sum", &step.exact_sum.to_string())?;
    }
    match &step.lost {
        Some(lost) if lost.is_zero() => row(out, "lost", "nothing"),
        Some(lost) => {
            let text = format!(
                "{CAUTION}{} (result minus exact sum){CAUTION:#}",
                signed(lost)
            );
            row(out, "lost", &text)
        }
        None => Ok(()),
    }
}

/// All products of a step whose terms are not single products.
fn products(step: &Step, requested: bool, out: &mut dyn Write) -> io::Result<()> {
    let shown: Vec<_> = step
        .products
        .iter()
        .filter(|p| !p.exact.is_zero())
        .collect();
    let most = limit(shown.len(), requested);
    let cells = |product: &&Product| {
        let mut cells = operands(product);
        cells.push(product.exact.to_string());
        cells
    };
    let rows: Vec<_> = shown[..most].iter().map(cells).collect();
    table(&["", "a", "b", "scales", "value"], &rows, out)?;
    rest(shown.len() - most, step, out)?;
    let zeros = step.products.iter().filter(|p| p.exact.is_zero());
    zero_products(&zeros.map(|p| p.k).collect::<Vec<_>>(), None, out)
}

fn stage(
    step: &Step,
    stage: &Stage,
    previous: Option<&Stage>,
    requested: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if stage.terms.is_empty() {
        let name = stage.name.unwrap_or("result");
        let k = match stage.k.as_slice() {
            [] => String::new(),
            [k] => format!(", k {k}"),
            all => format!(", k {}", ranges(all)),
        };
        let results: Vec<_> = stage.results.iter().map(shown).collect();
        // Several numbers of one format stand beside one another; otherwise one becomes the next.
        let formats = stage
            .results
            .windows(2)
            .all(|pair| pair[0].format == pair[1].format);
        let between = if formats { ", " } else { "  ->  " };
        return writeln!(
            out,
            "  {QUIET}{name}{k}{QUIET:#}: {}",
            results.join(between)
        );
    }
    if let Some(name) = stage.name {
        writeln!(out, "  {QUIET}{name}:{QUIET:#}")?;
    }
    let of = |k: usize| &step.products[k - step.k[0]];
    let mut zeros = Vec::new();
    let mut zero_exponent = None;
    let terms: Vec<_> = stage
        .terms
        .iter()
        .filter(|term| match term.of {
            Of::Product(k) if term.exact.is_zero() => {
                zeros.push(k);
                zero_exponent = Some(term.exponent);
                false
            }
            _ => true,
        })
        .collect();
    let single = |term: &&&Term| matches!(term.of, Of::Product(_));
    let count = terms.iter().filter(single).count();
    let most = limit(count, requested);
    let mut written = 0;
    let mut rows = Vec::new();
    for term in terms {
        let labelled =
            |label: &str, code: String| vec![label.to_owned(), code, String::new(), String::new()];
        let mut cells = match term.of {
            Of::Product(k) => {
                written += 1;
                if written > most {
                    continue;
                }
                operands(of(k))
            }
            Of::Products([first, end]) => {
                let mut cells = labelled(&format!("k {first}-{}", end - 1), String::new());
                if let Some(scales) = &of(first).scales {
                    cells[3] = pair(scales);
                }
                cells
            }
            Of::AllProducts => labelled("products", String::new()),
            Of::Addend => {
                let (label, number) = addend(step, stage, previous);
                labelled(label, number.map_or(String::new(), |n| shown(&n)))
            }
            Of::Missing => labelled("missing", "zero products".into()),
        };
        cells.push(term.exponent.to_string());
        cells.push(term.exact.to_string());
        cells.push(term.kept.to_string());
        cells.push(if term.cut.is_zero() {
            String::new()
        } else {
            term.cut.to_string()
        });
        rows.push(cells);
    }
    let head = [
        "", "a", "b", "scales", "exponent", "value", "kept", "cut off",
    ];
    table(&head, &rows, out)?;
    rest(count - most, step, out)?;
    zero_products(&zeros, zero_exponent, out)?;
    if let (Some(exponent), Some(grid)) = (stage.exponent, stage.grid) {
        let text = format!(
            "{exponent}, set by {}; terms are truncated to multiples of 2^{grid}",
            set_by(step, stage)
        );
        row(out, "exponent", &text)?;
    }
    if let Some(sum) = &stage.sum {
        let sticky = if stage.sticky {
            ", with a sticky bit for the truncated part"
        } else {
            ""
        };
        row(out, "sum", &format!("{sum}{sticky}"))?;
    }
    for result in &stage.results {
        row(out, "rounded", &shown(result))?;
    }
    Ok(())
}

/// The addend of a stage.
fn addend(step: &Step, stage: &Stage, previous: Option<&Stage>) -> (&'static str, Option<Number>) {
    // A stage that arrives at a number of its own starts from its predecessor's, or from nothing.
    match (stage.results.is_empty(), previous) {
        (false, Some(previous)) => ("so far", previous.results.last().copied()),
        (false, None) => ("zero", None),
        (true, _) if step.step == 1 => ("C", Some(step.before)),
        (true, _) => ("acc", Some(step.before)),
    }
}

fn set_by(step: &Step, stage: &Stage) -> String {
    let mut names = Vec::new();
    let mut k = Vec::new();
    let mut zeros = false;
    for term in stage.terms.iter().filter(|term| term.sets_exponent) {
        match &term.of {
            Of::Product(_) if term.exact.is_zero() => zeros = true,
            Of::Product(at) => k.push(*at),
            Of::Products([first, end]) => names.push(format!("k {first}-{}", end - 1)),
            Of::AllProducts => names.push("the products".into()),
            Of::Addend if step.step == 1 => names.push("C".into()),
            Of::Addend => names.push("the accumulator".into()),
            Of::Missing => names.push("missing products".into()),
        }
    }
    if !k.is_empty() {
        names.insert(0, format!("k {}", ranges(&k)));
    }
    if zeros {
        names.push("zero products".into());
    }
    names.join(", ")
}

/// Label, operands and scales of a product.
fn operands(product: &Product) -> Vec<String> {
    vec![
        format!("k {}", product.k),
        shown(&product.a),
        shown(&product.b),
        product.scales.as_ref().map_or(String::new(), pair),
    ]
}

fn pair([a, b]: &[Number; 2]) -> String {
    format!("{}, {}", shown(a), shown(b))
}

fn limit(count: usize, requested: bool) -> usize {
    if requested || count <= MOST_ROWS + 8 {
        count
    } else {
        MOST_ROWS
    }
}

fn rest(hidden: usize, step: &Step, out: &mut dyn Write) -> io::Result<()> {
    if hidden == 0 {
        return Ok(());
    }
    let text = format!("... and {hidden} more products (--steps {})", step.step);
    writeln!(out, "  {QUIET}{text}{QUIET:#}")
}

fn zero_products(k: &[usize], exponent: Option<i32>, out: &mut dyn Write) -> io::Result<()> {
    if k.is_empty() {
        return Ok(());
    }
    let exponent = exponent.map_or(String::new(), |e| format!(" (exponent {e})"));
    let verb = if k.len() == 1 { "is" } else { "are" };
    writeln!(
        out,
        "  {QUIET}k {} {verb} zero{exponent}{QUIET:#}",
        ranges(k)
    )
}

/// `0-3, 7`.
fn ranges(k: &[usize]) -> String {
    let text = |&(first, last): &(usize, usize)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    };
    runs(k).iter().map(text).collect::<Vec<_>>().join(", ")
}

fn notes(step: &Step, out: &mut dyn Write) -> io::Result<()> {
    for note in &step.notes {
        row(out, "special", &format!("{CAUTION}{note}{CAUTION:#}"))?;
    }
    Ok(())
}

fn reasons(why: &[&str]) -> String {
    let why: Vec<_> = why
        .iter()
        .filter(|why| **why != "asked for")
        .copied()
        .collect();
    match why.as_slice() {
        [] => String::new(),
        why => format!("  {QUIET}({}){QUIET:#}", why.join(", ")),
    }
}

/// `0x3c00 1`.
pub(super) fn shown(number: &Number) -> String {
    format!("0x{} {}", number.hex(), number.decimal())
}

/// With the exact value, where the decimal number may be rounded.
pub(super) fn exactly(number: &Number) -> String {
    let exact = number.value().to_string();
    match number.value().finite() {
        Some(_) if exact != number.decimal() && number.decimal() != "-0" => {
            format!("{} = {exact}", shown(number))
        }
        _ => shown(number),
    }
}

pub(super) fn signed(number: &Dyadic) -> String {
    if number.is_negative() {
        number.to_string()
    } else {
        format!("+{number}")
    }
}

pub(super) fn row(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    writeln!(out, "  {QUIET}{label:<10}{QUIET:#}{text}")
}

const INDENT: usize = 2;

/// A table whose columns are as wide as their cells. Nothing without rows; columns that are empty all the way down are
/// left out.
fn table(head: &[&str], rows: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let width = |column: usize| match rows.iter().map(|row| row[column].len()).max() {
        Some(0) if column > 0 => 0,
        most => most.unwrap_or(0).max(head[column].len()),
    };
    let widths: Vec<_> = (0..head.len()).map(width).collect();
    let head: Vec<String> = head.iter().map(|&name| name.to_owned()).collect();
    for cells in [&head].into_iter().chain(rows) {
        let mut line = " ".repeat(INDENT);
        for (cell, &width) in cells.iter().zip(&widths).filter(|(_, width)| **width > 0) {
            line += &format!("{cell:<width$}  ");
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
