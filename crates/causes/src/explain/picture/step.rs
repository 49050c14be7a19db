//! A step, or an operation between chains, as drawings: terms at their weights, their sum, and what rounding keeps of it.

use super::bits::{Drawing, Kind, Row};
use crate::emu::step::Step as Rule;
use crate::explain::chain_text::signed;
use crate::explain::kernel::Operation;
use crate::explain::trace::{Of, Stage, Step, Term};
use crate::num::{Dyadic, Number, Value};

/// Rows of products in a drawing, at most.
const MOST_ROWS: usize = 40;

/// A drawing with notes.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub name: String,
    pub drawing: Drawing,
    /// Below it.
    pub notes: Vec<String>,
}

/// The drawings of a step: one for each of its stages that adds terms.
pub fn step(step: &Step, rule: &Rule) -> Vec<Drawn> {
    let aligned = step.stages.iter().filter(|stage| !stage.terms.is_empty());
    let mut all: Vec<Drawn> = aligned.map(|stage| terms(step, stage)).collect();
    if all.is_empty() {
        all.push(plain(step));
    }
    all.extend(operations(step));
    let last = all.len() - 1;
    let end = &mut all[last];
    result(end, &step.after, rule, step.rounded_off.as_ref());
    if let Some(lost) = step.lost.as_ref().filter(|lost| !lost.is_zero()) {
        let (exact, lost) = (&step.exact_sum, signed(lost));
        end.notes.push(format!("exactly {exact}: off by {lost}"));
    }
    end.notes.extend(step.notes.iter().cloned());
    all
}

/// Terms that are cut to a grid, and their sum.
fn terms(step: &Step, stage: &Stage) -> Drawn {
    let mut drawing = Drawing {
        aligned: stage.exponent.zip(stage.grid),
        ..Drawing::default()
    };
    let (mut zeros, mut left) = (0, 0);
    for term in &stage.terms {
        match &term.of {
            Of::Missing => {}
            Of::Product(_) if term.exact.is_zero() => zeros += 1,
            Of::Product(_) if drawing.rows.len() >= MOST_ROWS => left += 1,
            _ => drawing.rows.extend(rows(step, stage, term)),
        }
    }
    let mut notes = Vec::new();
    if left > 0 {
        notes.push(format!("{left} more products are not drawn"));
    }
    match zeros {
        0 => {}
        1 => notes.push("1 product is zero".to_owned()),
        n => notes.push(format!("{n} products are zero")),
    }
    if let (Some(exponent), Some(grid)) = (stage.exponent, stage.grid) {
        notes.push(format!(
            "common exponent {exponent}; terms keep bits down to 2^{grid}"
        ));
    }
    if let Some(sum) = &stage.sum {
        let note = if stage.sticky { "and a sticky bit" } else { "" };
        drawing.rows.push(Row {
            cut: stage.results.first().and_then(last_bit),
            kind: Kind::Sum,
            note: note.to_owned(),
            ..Row::of("sum", sum.clone())
        });
    }
    for number in &stage.results {
        notes.push(format!("becomes {}", number.decimal()));
    }
    Drawn {
        name: stage.name.map_or("terms".to_owned(), str::to_owned),
        drawing,
        notes,
    }
}

/// A term; what it is rounded to stands below it, if that is more than what is above the grid.
fn rows(step: &Step, stage: &Stage, term: &Term) -> Vec<Row> {
    let (label, note) = match &term.of {
        Of::Product(k) => {
            let product = step.products.iter().find(|product| product.k == *k);
            let note = product.map_or(String::new(), |product| {
                format!("{} \u{d7} {}", product.a.decimal(), product.b.decimal())
            });
            (format!("k {k}"), note)
        }
        Of::Products([first, end]) => (format!("k {first}-{}", end - 1), String::new()),
        Of::AllProducts => ("products".into(), String::new()),
        Of::Addend if step.step == 1 && stage.results.is_empty() => {
            ("C".into(), step.before.decimal())
        }
        Of::Addend => ("before".into(), String::new()),
        Of::Missing => ("missing".into(), String::new()),
    };
    let row = Row {
        label,
        value: term.exact.clone(),
        cut: stage.grid,
        kind: if term.sets_exponent {
            Kind::Largest
        } else {
            Kind::Term
        },
        note,
    };
    // Bits above the grid are what is left, if the term is just cut.
    let just_cut = stage.grid.is_none_or(|grid| {
        let bits = term
            .exact
            .leading()
            .unwrap_or(grid)
            .max(term.kept.leading().unwrap_or(grid));
        (grid..=bits).all(|weight| term.exact.bit(weight) == term.kept.bit(weight))
    });
    let kept = Row {
        cut: stage.grid,
        ..Row::of("rounded", term.kept.clone())
    };
    if just_cut { vec![row] } else { vec![row, kept] }
}

/// A step without an alignment: what goes in, and the exact sum.
fn plain(step: &Step) -> Drawn {
    let mut drawing = Drawing::default();
    let mut notes = Vec::new();
    let name = if step.step == 1 { "C" } else { "before" };
    drawing.rows.extend(number(name, &step.before));
    let products: Vec<_> = step
        .products
        .iter()
        .filter(|p| !p.exact.is_zero())
        .collect();
    for product in products.iter().take(MOST_ROWS) {
        let note = format!("{} \u{d7} {}", product.a.decimal(), product.b.decimal());
        drawing
            .rows
            .extend(value(&format!("k {}", product.k), &product.exact, note));
    }
    if products.len() > MOST_ROWS {
        notes.push(format!(
            "{} more products are not drawn",
            products.len() - MOST_ROWS
        ));
    }
    let exact = value("exact sum", &step.exact_sum, String::new());
    drawing.rows.extend(exact.map(|row| Row {
        kind: Kind::Sum,
        ..row
    }));
    Drawn {
        name: "products and their exact sum".into(),
        drawing,
        notes,
    }
}

/// What every operation of a step gives, where each rounds.
fn operations(step: &Step) -> Option<Drawn> {
    let apart = step.stages.iter().filter(|stage| stage.terms.is_empty());
    let results = apart.flat_map(|stage| {
        let name = stage.name.unwrap_or("result");
        stage
            .results
            .iter()
            .filter_map(move |result| number(name, result))
    });
    let rows: Vec<Row> = results.take(MOST_ROWS).collect();
    (!rows.is_empty()).then(|| Drawn {
        name: "what each operation gives, rounded".into(),
        drawing: Drawing {
            rows,
            ..Drawing::default()
        },
        notes: Vec::new(),
    })
}

/// The result below the sum, whose bits that it does not keep are shaded.
fn result(drawn: &mut Drawn, after: &Number, rule: &Rule, off: Option<&Dyadic>) {
    let narrower = match rule {
        Rule::Fused(fused) => (after.format.fraction_bits() + 1).saturating_sub(fused.precision),
        _ => 0,
    };
    let sum = drawn.drawing.rows.last_mut();
    let sum = sum.filter(|row| row.kind == Kind::Sum && after.value().finite().is_some());
    if let Some(sum) = sum {
        sum.cut = last_bit(after).map(|last| last + narrower as i32);
    }
    rounded(drawn, after, ("the sum", off));
}

/// The weight of the last bit that a number of its format and size has.
fn last_bit(number: &Number) -> Option<i32> {
    let unpacked = number.format.unpack(number.code);
    let finite = !unpacked.is_nan() && !unpacked.is_infinite() && !unpacked.is_zero();
    finite.then(|| unpacked.exponent - number.format.fraction_bits() as i32)
}

/// An operation between chains, as f32 arithmetic does it.
pub fn operation(operation: &Operation) -> Drawn {
    let mut drawing = Drawing::default();
    let names = ["x", "y", "z"];
    for (name, operand) in names.iter().zip(&operation.operands) {
        drawing.rows.extend(number(name, operand));
    }
    let mut drawn = Drawn {
        name: format!("{}: {}", operation.stage, operation.operation),
        drawing,
        notes: Vec::new(),
    };
    let after = operation.result.value();
    if let (Value::Finite(after), Some(off)) = (after, &operation.off) {
        drawn.drawing.rows.push(Row {
            cut: last_bit(&operation.result),
            kind: Kind::Sum,
            ..Row::of("exactly", after.minus(off))
        });
    }
    rounded(
        &mut drawn,
        &operation.result,
        ("it", operation.off.as_ref()),
    );
    drawn
}

/// A number rounded to another format.
pub fn conversion(from: &Number, to: &Number, off: Option<&Dyadic>) -> Drawn {
    let from = number("from", from);
    let mut drawn = Drawn {
        name: format!("rounded to {}", to.format),
        drawing: Drawing {
            rows: from
                .into_iter()
                .map(|row| Row {
                    cut: last_bit(to),
                    kind: Kind::Sum,
                    ..row
                })
                .collect(),
            ..Drawing::default()
        },
        notes: Vec::new(),
    };
    rounded(&mut drawn, to, ("it", off));
    drawn
}

/// The result as the last row, and by how much its rounding changed something.
fn rounded(drawn: &mut Drawn, result: &Number, (what, off): (&str, Option<&Dyadic>)) {
    match number("result", result) {
        Some(row) => drawn.drawing.rows.push(Row {
            kind: Kind::Result,
            note: format!("0x{}", result.hex()),
            ..row
        }),
        None => drawn
            .notes
            .push(format!("the result is {}", result.decimal())),
    }
    if let Some(off) = off.filter(|off| !off.is_zero()) {
        drawn
            .notes
            .push(format!("rounding changes {what} by {}", signed(off)));
    }
}

fn number(label: &str, number: &Number) -> Option<Row> {
    value(label, &number.value(), number.decimal())
}

/// None of infinities and NaN, which have no bits of a weight.
fn value(label: &str, value: &Value, note: String) -> Option<Row> {
    Some(Row {
        note,
        ..Row::of(label, value.finite()?.clone())
    })
}
