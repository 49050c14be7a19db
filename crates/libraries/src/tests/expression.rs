//! A sum, written out: of a plan, and of a GEMMDesc by an evaluation that goes over single k.

use std::ops::Range;

use serde_json::Value;

use super::*;

/// A sum, written out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Zero,
    /// The products of these k, added to something by one instruction.
    Instruction(Box<Expression>, Vec<usize>),
    Add(Box<Expression>, Box<Expression>),
    Rounded(Box<Expression>, String),
}

use Expression::{Add, Instruction, Rounded, Zero};

impl Expression {
    /// `(<d[0..3] d[4..7]> + d[8..9])`; a single k by its number.
    pub(super) fn text(&self) -> String {
        match self {
            Zero => "0".into(),
            Add(a, b) => format!("({} + {})", a.text(), b.text()),
            Rounded(sum, format) => format!("{format}{}", sum.text()),
            Instruction(..) => {
                let mut chain = Vec::new();
                let mut this = self;
                while let Instruction(before, k) = this {
                    chain.push(match k[..] {
                        [k] => k.to_string(),
                        _ => format!("d[{}..{}]", k[0], k[k.len() - 1]),
                    });
                    this = before;
                }
                assert_eq!(*this, Zero);
                chain.reverse();
                match &chain[..] {
                    [one] => one.clone(),
                    _ => format!("<{}>", chain.join(" ")),
                }
            }
        }
    }
}

/// What a plan adds up.
pub(super) struct Written;

impl Arithmetic for Written {
    type Number = Expression;

    fn zero(&self) -> Expression {
        Zero
    }

    fn instruction(&self, accumulator: Expression, k: Range<usize>) -> Expression {
        Instruction(Box::new(accumulator), k.collect())
    }

    fn add(&self, a: Expression, b: Expression) -> Expression {
        Add(Box::new(a), Box::new(b))
    }

    fn rounded(&self, sum: Expression, format: Option<Format>) -> Expression {
        let name = format.map_or("D".into(), |format| format.to_string());
        Rounded(Box::new(sum), name)
    }
}

/// What a description says, read straight from it: lists of k, one by one.
pub(super) struct Direct<'a> {
    pub fields: &'a Value,
}

impl Direct<'_> {
    fn number(&self, key: &str) -> Option<usize> {
        self.fields[key].as_u64().map(|value| value as usize)
    }

    pub(super) fn sum(&self, k: usize) -> Expression {
        let cuts = self.fields["k_cuts"].as_array().cloned();
        self.part((0..k).collect(), &cuts.unwrap_or_default())
    }

    fn part(&self, all: Vec<usize>, cuts: &[Value]) -> Expression {
        let Some((cut, inner)) = cuts.split_first() else {
            return self.walk(&all);
        };
        let of = |key: &str| cut[key].as_u64().map(|value| value as usize);
        let span = of("span").unwrap();
        let strided = cut["layout"] == "STRIDED";
        let count = if strided {
            of("count").unwrap()
        } else {
            all.len().div_ceil(span).max(1)
        };
        let mut parts = vec![Vec::new(); count];
        for (place, &k) in all.iter().enumerate() {
            let part = match (strided, of("period")) {
                (false, _) => place / span,
                (true, None) => place / span % count,
                (true, Some(period)) => k / span % period / of("divisor").unwrap_or(1) % count,
            };
            parts[part].push(k);
        }
        let output = self.fields["output_dtype"].as_str().unwrap();
        let rounded = |sum: Expression, dtype: &Value| match dtype.as_str().unwrap() {
            "float32" | "float64" => sum,
            own if own == output => Rounded(Box::new(sum), "D".into()),
            own => Rounded(Box::new(sum), Format::from_name(own).unwrap().to_string()),
        };
        let mut sums: Vec<Expression> = parts
            .into_iter()
            .map(|part| rounded(self.part(part, inner), &cut["partial_dtype"]))
            .collect();
        if cut["merge"] == "PAIRWISE_TREE" {
            while sums.len() > 1 {
                let pair = |pair: &[Expression]| Written.add(pair[0].clone(), pair[1].clone());
                sums = sums.chunks_exact(2).map(pair).collect();
            }
            return sums.remove(0);
        }
        let kept = |sum| rounded(sum, &cut["merge_dtype"]);
        let mut sums = sums.into_iter();
        let first = kept(sums.next().unwrap());
        sums.fold(first, |sum, next| kept(Written.add(sum, next)))
    }

    fn walk(&self, all: &[usize]) -> Expression {
        let step = self.number("instruction_k").unwrap_or(1);
        let first = self
            .number("k_loop_step")
            .map_or(0, |turn| all.len() % turn);
        let (short, rest) = all.split_at(first);
        let groups = short.chunks(step).chain(rest.chunks(step));
        groups.fold(Zero, |sum, k| {
            if self.fields["use_fast_accum"] == false {
                Written.add(sum, Instruction(Box::new(Zero), k.to_vec()))
            } else {
                Instruction(Box::new(sum), k.to_vec())
            }
        })
    }
}
