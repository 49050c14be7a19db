//! One file with all its mutants in it, each behind a question at run time whether it is on.
//!
//! `a + b` becomes `(if crate::mutant::on(7) {a - b} else {a + b})`. What a mutant says is the plain source: only one is
//! on at a time, so that others need not be in it.

use crate::list::{At, Mutant};
use crate::places::Places;
use anyhow::{Result, anyhow};
use std::cmp::Reverse;
use std::ops::Range;

/// A file with its mutants.
#[derive(Default)]
pub struct Rewritten {
    pub text: String,
    /// Where in the new text what a mutant says stands, and where all that was made for it.
    pub fragments: Vec<Fragment>,
    /// Numbers of those that cannot be switched: computed as the crate is built, in a chain with `let`, or of a body that
    /// determines a type.
    pub fixed: Vec<u32>,
    /// Numbers of those in functions that may be used as the crate is built.
    pub in_const_functions: Vec<u32>,
    /// Numbers of those that cannot compile: arms that a match needs.
    pub unviable: Vec<u32>,
}

pub struct Fragment {
    pub number: u32,
    pub said: Range<usize>,
    pub whole: Range<usize>,
}

/// What is put at a range of the old text.
struct Change {
    range: Range<usize>,
    kind: Kind,
    /// Number, and what it says.
    mutants: Vec<(u32, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A choice between expressions.
    Expression,
    /// A return at the head of a body.
    Head,
    /// A guard that an arm did not have.
    Guard,
}

/// `mutants` are those of this file that are wanted, with their numbers.
pub fn rewrite(text: &str, mutants: &[(u32, &Mutant)]) -> Result<Rewritten> {
    let places = Places::of(text)?;
    let lines = Lines::of(text);
    let mut rewritten = Rewritten::default();
    let mut changes: Vec<Change> = Vec::new();
    for &(number, mutant) in mutants {
        let span = lines.byte(mutant.span.start)..lines.byte(mutant.span.end);
        let lost = || anyhow!("{}: not found in the syntax tree", mutant.name);
        if places.in_const_function(span.start) {
            rewritten.in_const_functions.push(number);
        }
        let replaced = |within: &Range<usize>| {
            let [before, after] = [&text[within.start..span.start], &text[span.end..within.end]];
            format!("{before}{}{after}", mutant.replacement)
        };
        let (kind, range, said) = match mutant.genre.as_str() {
            "FnValue" if mutant.changes_type() => {
                rewritten.fixed.push(number);
                continue;
            }
            "FnValue" => {
                let head = *places.bodies.get(&span.start).ok_or_else(lost)?;
                (Kind::Head, head..head, mutant.replacement.clone())
            }
            "MatchArmGuard" => (Kind::Expression, span.clone(), mutant.replacement.clone()),
            "MatchArm" => {
                let arm = places.arms.get(&span.start).ok_or_else(lost)?;
                if !arm.spare {
                    rewritten.unviable.push(number);
                    continue;
                }
                match &arm.guard {
                    Some(guard) => (Kind::Expression, guard.clone(), "false".to_owned()),
                    None => (Kind::Guard, arm.pattern_end..arm.pattern_end, String::new()),
                }
            }
            genre => {
                let around = match genre {
                    "StructField" => places.fields.get(&span.start),
                    _ => places.operators.get(&(span.start, span.end)),
                };
                let around = around.ok_or_else(lost)?;
                if around.chained || places.constant.contains(&span.start) {
                    rewritten.fixed.push(number);
                    continue;
                }
                (
                    Kind::Expression,
                    around.expression.clone(),
                    replaced(&around.expression),
                )
            }
        };
        match changes
            .iter_mut()
            .find(|change| change.range == range && change.kind == kind)
        {
            Some(change) => change.mutants.push((number, said)),
            None => changes.push(Change {
                range,
                kind,
                mutants: vec![(number, said)],
            }),
        }
    }
    // Outer ones before inner ones; what has no width before what begins there.
    changes.sort_by_key(|change| {
        (
            change.range.start,
            change.kind == Kind::Expression,
            Reverse(change.range.end),
        )
    });
    rewritten.write(text, 0..text.len(), &changes);
    Ok(rewritten)
}

impl Rewritten {
    fn write(&mut self, old: &str, range: Range<usize>, mut changes: &[Change]) {
        let mut at = range.start;
        while let Some((change, rest)) = changes.split_first() {
            let within = rest
                .iter()
                .take_while(|inner| inner.range.start < change.range.end)
                .count();
            let (inner, rest) = rest.split_at(within);
            changes = rest;
            self.text.push_str(&old[at..change.range.start]);
            self.change(old, change, inner);
            at = change.range.end;
        }
        self.text.push_str(&old[at..range.end]);
    }

    fn change(&mut self, old: &str, change: &Change, inner: &[Change]) {
        let whole = self.text.len();
        let first = self.fragments.len();
        match change.kind {
            Kind::Expression => self.text.push('('),
            Kind::Head => {}
            Kind::Guard => self.text.push_str(" if true"),
        }
        for (number, said) in &change.mutants {
            let (before, after) = match change.kind {
                Kind::Expression => ("if crate::mutant::on(", "} else "),
                Kind::Head => (" if crate::mutant::on(", "; }"),
                Kind::Guard => (" && !crate::mutant::on(", ""),
            };
            self.text.push_str(&format!("{before}{number})"));
            self.text.push_str(match change.kind {
                Kind::Expression => " {",
                Kind::Head => " { return ",
                Kind::Guard => "",
            });
            let start = self.text.len();
            self.text.push_str(said);
            let said = start..self.text.len();
            self.text.push_str(after);
            self.fragments.push(Fragment {
                number: *number,
                said,
                whole: 0..0,
            });
        }
        let last = self.fragments.len();
        if change.kind == Kind::Expression {
            self.text.push('{');
            self.write(old, change.range.clone(), inner);
            self.text.push_str("})");
        }
        for fragment in &mut self.fragments[first..last] {
            fragment.whole = whole..self.text.len();
        }
    }
}

/// Bytes of lines and columns.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl Lines<'_> {
    fn of(text: &str) -> Lines<'_> {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Lines {
            text,
            starts: std::iter::once(0).chain(ends).collect(),
        }
    }

    fn byte(&self, at: At) -> usize {
        let start = self.starts[at.line - 1];
        let before = self.text[start..].chars().take(at.column - 1);
        start + before.map(char::len_utf8).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::Span;

    fn mutant(text: &str, genre: &str, what: &str, replacement: &str) -> Mutant {
        let start = text.find(what).expect("it is there");
        let at = |byte: usize| {
            let before = &text[..byte];
            let line = before.rfind('\n').map_or(0, |newline| newline + 1);
            At {
                line: before.matches('\n').count() + 1,
                column: before[line..].chars().count() + 1,
            }
        };
        Mutant {
            name: what.to_owned(),
            file: String::new(),
            function: None,
            genre: genre.to_owned(),
            span: Span {
                start: at(start),
                end: at(start + what.len()),
            },
            replacement: replacement.to_owned(),
            key: 0,
            draw: 0,
        }
    }

    /// Numbers begin at 0, in the order given.
    fn rewritten(text: &str, mutants: &[Mutant]) -> Rewritten {
        let numbered: Vec<_> = (0..).zip(mutants).collect();
        rewrite(text, &numbered).expect("it parses")
    }

    #[test]
    fn each_kind_of_change_is_behind_its_question() {
        let text = "fn f(é: u8, b: u8) -> u8 { match é { 0 => b, 1 if b > 2 => 3, _ => Pair { x: -b, ..p }.x * 5 + b } }";
        let mutants = [
            mutant(
                text,
                "FnValue",
                "match é { 0 => b, 1 if b > 2 => 3, _ => Pair { x: -b, ..p }.x * 5 + b }",
                "1",
            ),
            mutant(text, "MatchArm", "0 => b,", ""),
            mutant(text, "MatchArmGuard", "b > 2", "true"),
            mutant(text, "BinaryOperator", ">", "=="),
            mutant(text, "StructField", "x: -b,", ""),
            mutant(text, "UnaryOperator", "-", ""),
            mutant(text, "BinaryOperator", "*", "/"),
            mutant(text, "BinaryOperator", "+", "-"),
        ];
        // The first ">" and "-" are those of "->".
        let mutants = mutants.map(|mutant| match mutant.name.as_str() {
            ">" => Mutant {
                span: shifted(text, "b > 2", 2),
                ..mutant
            },
            "-" => Mutant {
                span: shifted(text, "-b", 0),
                ..mutant
            },
            _ => mutant,
        });
        let new = rewritten(text, &mutants);
        assert_eq!(
            new.text.replace("crate::mutant::on", "on"),
            "fn f(é: u8, b: u8) -> u8 { if on(0) { return 1; } match é { 0 if true && !on(1) => b, \
             1 if (if on(2) {true} else if on(3) {b == 2} else {b > 2}) => 3, \
             _ => (if on(7) {Pair { x: -b, ..p }.x * 5 - b} else {\
             (if on(6) {Pair { x: -b, ..p }.x / 5} else {\
             (if on(4) {Pair {  ..p }} else {Pair { x: (if on(5) {b} else {-b}), ..p }}).x * 5}) + b}) } }"
        );
        for fragment in &new.fragments {
            assert!(
                fragment.whole.start <= fragment.said.start
                    && fragment.said.end <= fragment.whole.end
            );
        }
        let said = |number| {
            new.fragments
                .iter()
                .find(|fragment| fragment.number == number)
                .map(|f| f.said.clone())
        };
        assert_eq!(
            &new.text[said(6).expect("it is there")],
            "Pair { x: -b, ..p }.x / 5"
        );
        syn::parse_file(&new.text).expect("it is Rust");
    }

    fn shifted(text: &str, what: &str, by: usize) -> Span {
        let found = mutant(text, "", what, "").span;
        let column = found.start.column + by;
        let end = At {
            line: found.start.line,
            column: column + 1,
        };
        Span {
            start: At { column, ..end },
            end,
        }
    }

    #[test]
    fn what_cannot_be_switched_is_said_and_left_as_it_is() {
        let text = "const N: u8 = 1 << 2;\nfn f(a: Option<u8>) { if let Some(x) = a && x == 1 {} match a { Some(3) => {} None => {} } }";
        let mutants = [
            mutant(text, "BinaryOperator", "<<", ">>"),
            mutant(text, "BinaryOperator", "&&", "||"),
            mutant(text, "MatchArm", "Some(3) => {}", ""),
        ];
        let new = rewritten(text, &mutants);
        assert_eq!(
            (new.text.as_str(), new.fixed, new.unviable),
            (text, vec![0, 1], vec![2])
        );
    }
}
