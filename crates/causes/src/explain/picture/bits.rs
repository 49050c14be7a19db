//! Numbers as rows of bits, one below the other at their weights: what is cut off is shaded.

use maud::{Markup, html};

use crate::forms::page::{LINE, text};
use crate::num::Dyadic;

/// A number on its row.
#[derive(Clone, Debug)]
pub struct Row {
    pub label: String,
    pub value: Dyadic,
    /// Bits below this weight do not count any more.
    pub cut: Option<i32>,
    pub kind: Kind,
    /// What else is known of it: behind the bits, as far as there is room.
    pub note: String,
}

impl Row {
    /// A term of which every bit counts.
    pub fn of(label: impl Into<String>, value: Dyadic) -> Row {
        Row {
            label: label.into(),
            value,
            cut: None,
            kind: Kind::Term,
            note: String::new(),
        }
    }
}

/// What the number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Term,
    /// The term whose exponent is the common one.
    Largest,
    Sum,
    Result,
}

/// Rows on one scale.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    pub rows: Vec<Row>,
    /// The common exponent, and the weight of the last bit that terms keep.
    pub aligned: Option<(i32, i32)>,
    /// Whether there is no room behind the bits.
    pub narrow: bool,
}

/// Bits that a drawing is wide, at most.
const MOST: i32 = 72;
const BIT: i32 = 9;
const LINE_HEIGHT: i32 = 19;
const LABEL: i32 = 92;
const NOTE: i32 = 190;
/// Room for the mark of bits beyond the last column.
const BEYOND: i32 = 14;
/// Characters that fit behind the bits.
const NOTE_LENGTH: usize = 26;

impl Drawing {
    /// The weights of the first and the last column.
    fn columns(&self) -> (i32, i32) {
        let values = || self.rows.iter().map(|row| &row.value);
        let top = values().filter_map(Dyadic::leading).max();
        let low = values().filter_map(Dyadic::lowest).min();
        let (exponent, grid) = self.aligned.unzip();
        let top = top.into_iter().chain(exponent).max().unwrap_or(0);
        let low = low.into_iter().chain(grid).min().unwrap_or(0);
        (top, low.max(top - MOST + 1))
    }

    /// The rows as one picture.
    pub fn drawn(&self, name: &str) -> Markup {
        let (top, low) = self.columns();
        let columns = top - low + 1;
        let x = |weight: i32| LABEL + (top - weight) * BIT;
        let height = LINE_HEIGHT * (self.rows.len() as i32 + 2);
        let room = if self.narrow { BEYOND } else { NOTE };
        let width = LABEL + columns * BIT + room;
        let y = |row: usize| LINE_HEIGHT * (row as i32 + 2);
        html! {
            svg.drawing viewBox={ "0 0 " (width) " " (height + 6) } width=(width) height=(height + 6) role="img"
                aria-label=(text(&self.description(name))) { (LINE)
                (self.ruler(top, low, height)) (LINE)
                @for (i, row) in self.rows.iter().enumerate() {
                    (self.row(row, y(i), (top, low), &x)) (LINE)
                }
            }
        }
    }

    /// Weights, the common exponent, and where terms are cut.
    fn ruler(&self, top: i32, low: i32, height: i32) -> Markup {
        let x = |weight: i32| LABEL + (top - weight) * BIT;
        let grid = self.aligned.map(|(_, grid)| grid);
        let ticks = (low..=top).filter(|weight| weight.rem_euclid(8) == 0);
        html! {
            g.ruler aria-hidden="true" {
                @for weight in ticks {
                    text x=(x(weight) + BIT / 2) y="12" { (weight) }
                    line x1=(x(weight) + BIT / 2) x2=(x(weight) + BIT / 2) y1="15" y2="19" {}
                }
                @if let Some((exponent, _)) = self.aligned.filter(|(e, _)| (low..=top).contains(e)) {
                    rect.common x=(x(exponent)) y="20" width=(BIT) height=(height - 16) {
                        title { "the common exponent, " (exponent) }
                    }
                }
                @if let Some(grid) = grid.filter(|grid| (low - 1..=top).contains(grid)) {
                    line.grid x1=(x(grid) + BIT) x2=(x(grid) + BIT) y1="20" y2=(height + 4) {
                        title { "terms keep bits down to 2^" (grid) }
                    }
                }
            }
        }
    }

    fn row(&self, row: &Row, y: i32, (top, low): (i32, i32), x: &dyn Fn(i32) -> i32) -> Markup {
        let value = &row.value;
        // A number is drawn down to its last bit, and at least to where it is cut.
        let ends = value.leading().zip(value.lowest());
        let span = ends.map(|(leading, lowest)| (leading, lowest.max(low)));
        let cut = row.cut.unwrap_or(i32::MIN);
        let digits = |bits: &[i32]| -> String {
            let digit = |weight: &i32| if value.bit(*weight) { '1' } else { '0' };
            bits.iter().map(digit).collect()
        };
        let places = |bits: &[i32]| -> String {
            let at: Vec<_> = bits
                .iter()
                .map(|&weight| (x(weight) + 2).to_string())
                .collect();
            at.join(" ")
        };
        let bits: Vec<i32> =
            span.map_or(Vec::new(), |(first, last)| (last..=first).rev().collect());
        let (kept, lost): (Vec<i32>, Vec<i32>) = bits.iter().partition(|&&weight| weight >= cut);
        let class = match row.kind {
            Kind::Term => "term",
            Kind::Largest => "term largest",
            Kind::Sum => "sum",
            Kind::Result => "result",
        };
        let beyond = ends.filter(|(_, lowest)| *lowest < low);
        let (last, note) = (x(low) + BIT, shortened(&row.note));
        html! {
            g class=(class) {
                title { (text(&row.label)) ": " (value.to_string())
                    @if !row.note.is_empty() { " (" (text(&row.note)) ")" } }
                @if row.kind == Kind::Result { line.rule x1=(LABEL - 8) x2=(last) y1=(y - 14) y2=(y - 14) {} }
                text.label x="0" y=(y) { (text(&row.label)) }
                @if value.is_negative() { text.sign x=(LABEL - 12) y=(y) { "\u{2212}" } }
                @if bits.is_empty() { text.zero x=(x(top) + 2) y=(y) {
                    @if ends.is_some() { "below" } @else { "0" }
                } }
                @if let (Some(first), Some(end)) = (lost.first(), lost.last()) {
                    rect.cut x=(x(*first)) y=(y - 13) width=((first - end + 1) * BIT) height="17" {}
                }
                @if !kept.is_empty() { text.bits x=(places(&kept)) y=(y) { (digits(&kept)) } }
                @if !lost.is_empty() { text.bits.off x=(places(&lost)) y=(y) { (digits(&lost)) } }
                @if let Some((_, lowest)) = beyond { text.off x=(last + 1) y=(y) { "\u{2026}" title { "down to 2^" (lowest) } } }
                @if !note.is_empty() && !self.narrow { text.note x=(last + 14) y=(y) { (text(&note)) } }
            }
        }
    }

    /// The drawing in words, for screen readers.
    fn description(&self, name: &str) -> String {
        let mut description = format!("{name}.");
        if let Some((exponent, grid)) = self.aligned {
            description +=
                &format!(" Common exponent {exponent}; terms keep bits down to 2^{grid}.");
        }
        for row in &self.rows {
            description += &format!(" {}: {}.", row.label, row.value);
        }
        description
    }
}

fn shortened(note: &str) -> String {
    if note.chars().count() > NOTE_LENGTH {
        note.chars()
            .take(NOTE_LENGTH - 1)
            .chain(['\u{2026}'])
            .collect()
    } else {
        note.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(label: &str, value: Dyadic, cut: Option<i32>) -> Row {
        Row {
            cut,
            ..Row::of(label, value)
        }
    }

    #[test]
    fn bits_stand_at_their_weights_and_those_cut_off_are_shaded() {
        let drawing = Drawing {
            rows: vec![
                row("one", Dyadic::new(false, 1, 0), Some(-2)),
                row("small", Dyadic::new(true, 0b1101, -5), Some(-2)),
            ],
            aligned: Some((0, -2)),
            narrow: false,
        };
        assert_eq!(drawing.columns(), (0, -5));
        let svg = drawing.drawn("two terms").into_string();
        // 2^0 stands above 2^0: 1; -0.01101 has 01 kept and 101 cut off.
        assert!(
            svg.contains(r#"<text class="bits" x="94" y="38">1</text>"#),
            "{svg}"
        );
        assert!(
            svg.contains(r#"<text class="bits" x="112" y="57">1</text>"#),
            "{svg}"
        );
        assert!(
            svg.contains(r#"<text class="bits off" x="121 130 139" y="57">101</text>"#),
            "{svg}"
        );
        assert!(
            svg.contains(r#"<rect class="cut" x="119" y="44" width="27""#),
            "{svg}"
        );
        assert!(
            svg.contains("small: -13*2^-5") || svg.contains("small: -0.40625"),
            "{svg}"
        );
    }

    #[test]
    fn what_is_far_below_is_not_drawn_but_said() {
        let drawing = Drawing {
            rows: vec![
                row("one", Dyadic::new(false, 1, 0), None),
                row("far", Dyadic::new(false, 3, -200), None),
                row("long", Dyadic::new(false, (1 << 100) + 1, -100), None),
            ],
            aligned: None,
            narrow: true,
        };
        assert_eq!(drawing.columns(), (0, 1 - MOST));
        let svg = drawing.drawn("far apart").into_string();
        assert!(
            svg.contains(">below</text>") && svg.contains("down to 2^-100"),
            "{svg}"
        );
    }
}
