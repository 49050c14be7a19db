//! Which k one accumulator takes, and in which order.

use std::ops::Range;

use serde::Serialize;

use crate::emu::schedule::Start;

/// Runs of `width` consecutive k, a `stride` apart, up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    pub start: usize,
    pub width: usize,
    pub stride: usize,
    pub end: usize,
}

/// The accumulator is added to a sum in f32 and begins at +0 again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Restart {
    /// k of this traversal between two such additions, zeros that fill an instruction up included; what is left
    /// at the end is added too.
    pub every: usize,
    pub from: Start,
}

/// The k of one accumulator, in order. It begins at +0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Traversal {
    pub spans: Vec<Span>,
    /// k of one instruction; 1 is a fused multiply-add. A group is shorter at the end of a run of k: the
    /// rest of the instruction is zeros.
    pub instruction_k: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
}

impl Span {
    pub fn of(range: Range<usize>) -> Span {
        let width = range.len().max(1);
        Span {
            start: range.start,
            width,
            stride: width,
            end: range.end,
        }
    }

    /// Of tiles of `width` k that are dealt to so many in turn: the share of one of them.
    pub fn dealt(range: Range<usize>, width: usize, share: usize, shares: usize) -> Span {
        Span {
            start: range.start + share * width,
            width,
            stride: shares * width,
            end: range.end,
        }
    }

    pub fn runs(self) -> impl Iterator<Item = Range<usize>> {
        let starts = (self.start..self.end).step_by(self.stride.max(1));
        starts.map(move |start| start..(start + self.width).min(self.end))
    }

    pub fn len(self) -> usize {
        let reach = self.end.saturating_sub(self.start);
        reach / self.stride * self.width + (reach % self.stride).min(self.width)
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether these are consecutive k.
    pub fn is_range(self) -> bool {
        self.stride == self.width || self.start + self.width >= self.end
    }
}

impl Traversal {
    /// These runs, which ascend; those of one length at one distance are one span.
    pub fn of_runs(runs: &[Range<usize>], instruction_k: usize) -> Traversal {
        let mut spans: Vec<Span> = Vec::new();
        let mut rest = runs;
        while let [first, others @ ..] = rest {
            let mut span = Span::of(first.clone());
            let mut count = 1;
            if let [second, ..] = others {
                let stride = second.start - first.start;
                let fits = |(i, run): &(usize, &Range<usize>)| {
                    let whole = first.len();
                    run.start == first.start + (i + 1) * stride
                        && (run.len() == whole || *i + 1 == others.len() && run.len() < whole)
                };
                count += others.iter().enumerate().take_while(fits).count();
                if count > 1 {
                    span = Span {
                        stride,
                        end: rest[count - 1].end,
                        ..span
                    };
                }
            }
            spans.push(span);
            rest = &rest[count..];
        }
        Traversal::of_spans(spans, instruction_k)
    }

    /// Consecutive k.
    pub fn of(range: Range<usize>, instruction_k: usize) -> Traversal {
        Traversal::of_spans([Span::of(range)], instruction_k)
    }

    /// What there is of these runs, in this order.
    pub fn of_spans(spans: impl IntoIterator<Item = Span>, instruction_k: usize) -> Traversal {
        Traversal {
            spans: spans
                .into_iter()
                .filter(|span| span.start < span.end)
                .collect(),
            instruction_k,
            restart: None,
        }
    }

    /// Consecutive k whose partial tile comes first.
    pub fn residue_first(range: Range<usize>, tile_k: usize, instruction_k: usize) -> Traversal {
        let first = range.start + range.len() % tile_k;
        let ranges = [range.start..first, first..range.end];
        Traversal::of_spans(ranges.map(Span::of), instruction_k)
    }

    pub fn restarting(self, every: usize, from: Start) -> Traversal {
        Traversal {
            restart: Some(Restart { every, from }),
            ..self
        }
    }

    /// Runs of consecutive k, in order.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.spans.iter().flat_map(|span| span.runs())
    }

    /// The k of every instruction, in order.
    pub fn groups(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let step = self.instruction_k;
        self.runs().flat_map(move |run| {
            let starts = run.clone().step_by(step);
            starts.map(move |start| start..(start + step).min(run.end))
        })
    }

    /// The first instruction that is not full, and how many k it has; without counting through all of them.
    pub fn partial(&self) -> Option<(usize, usize)> {
        let step = self.instruction_k;
        let mut before = 0;
        for span in &self.spans {
            let first = span.width.min(span.end.saturating_sub(span.start));
            let full = if first.is_multiple_of(step) {
                span.len()
            } else {
                first
            };
            before += full / step;
            if !full.is_multiple_of(step) {
                return Some((before, full % step));
            }
        }
        None
    }

    /// How many k it visits.
    pub fn len(&self) -> usize {
        self.spans.iter().map(|span| span.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The groups of every chain: all of them, or those between two restarts.
    pub fn chains(&self) -> Vec<Vec<Range<usize>>> {
        let Some(restart) = self.restart else {
            return vec![self.groups().collect()];
        };
        let mut chains = Vec::new();
        let mut chain = Vec::new();
        let mut count = 0;
        for group in self.groups() {
            count += self.instruction_k;
            chain.push(group);
            if count >= restart.every {
                chains.push(std::mem::take(&mut chain));
                count = 0;
            }
        }
        if !chain.is_empty() {
            chains.push(chain);
        }
        chains
    }

    /// `[0, 960)`, `tiles of 64 every 192 from 0 up to 400`: for people.
    pub fn describe(&self) -> String {
        let one = |span: &Span| {
            if span.is_range() {
                format!("[{}, {})", span.start, span.end)
            } else {
                format!(
                    "{} every {} from {} up to {}",
                    span.width, span.stride, span.start, span.end
                )
            }
        };
        // A leading residue and what follows it are one slice.
        match &self.spans[..] {
            [] => "nothing".into(),
            [first, second]
                if first.is_range() && second.is_range() && first.end == second.start =>
            {
                format!(
                    "[{}, {}), its first {} alone",
                    first.start,
                    second.end,
                    first.len()
                )
            }
            spans => spans.iter().map(one).collect::<Vec<_>>().join(", then "),
        }
    }
}
