//! Counts as bars and cells, without a script.

use maud::{Markup, html};

use super::page::{LINE, text};
use crate::view::{Picture, grouped};

/// A table of counts, with a bar for each.
pub fn bars(caption: &str, what: &str, rows: &[(String, u64)]) -> Markup {
    let most = rows
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(1)
        .max(1);
    // Every bar can be seen.
    let width = |count: u64| {
        format!(
            "width:{:.1}%",
            (count as f64 / most as f64 * 100.0).max(1.5)
        )
    };
    html! {
        table.bars {
            caption { (caption) }
            thead.unseen { tr { th scope="col" { (what) } th scope="col" { "elements" } th scope="col" { "bar" } } }
            tbody { @for (name, count) in rows {
                tr { th scope="row" { (text(name)) } td.count { (grouped(*count)) }
                     td.bar aria-hidden="true" { span style=(width(*count)) {} } } (LINE)
            } }
        }
    }
}

pub fn drawn(picture: &Picture) -> Markup {
    match picture {
        Picture::Cells {
            caption,
            what,
            counts,
        } => html! {
            figure { figcaption { (caption) }
                div class={ "cells " (what) "s" } { @for (number, count) in counts.iter().enumerate() {
                    @match count {
                        0 => i title={ (what) " " (number) ": right" } {},
                        n => b title={ (what) " " (number) ": " (n) } { (number) },
                    }
                } }
            }
        },
        Picture::Bits { caption, counts } => bits(caption, counts),
    }
}

/// Bits from the highest to the lowest: those that should be zeros above those that should be ones.
fn bits(caption: &str, counts: &[[u64; 2]]) -> Markup {
    let width = counts.len();
    let most = counts
        .iter()
        .map(|[ones, zeros]| ones + zeros)
        .max()
        .unwrap_or(1)
        .max(1);
    let height = |count: u64| match count {
        0 => 0.0,
        count => (count as f64 * 70.0 / most as f64).max(1.0),
    };
    let x = |bit: usize| (width - 1 - bit) * 12;
    html! {
        figure { figcaption { (caption) }
            svg.bitcounts viewBox={ "0 0 " (width * 12) " 88" } role="img" aria-label=(caption) {
                @for (bit, [ones, zeros]) in counts.iter().enumerate() {
                    @if ones + zeros > 0 {
                        g { title { "bit " (bit) ": " (ones) " times 1 for 0, " (zeros) " times 0 for 1" }
                            rect.one x=(x(bit)) y=(format!("{:.1}", 72.0 - height(*ones))) width="10"
                                height=(format!("{:.1}", height(*ones))) {}
                            rect.zero x=(x(bit)) y=(format!("{:.1}", 72.0 - height(*ones) - height(*zeros))) width="10"
                                height=(format!("{:.1}", height(*zeros))) {}
                        }
                    }
                }
                @for bit in (0..width).step_by(8).chain([width.saturating_sub(1)]) {
                    text x=(x(bit) + 5) y="84" { (bit) }
                }
            }
        }
    }
}
