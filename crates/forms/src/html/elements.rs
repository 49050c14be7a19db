//! The first mismatches, bit by bit.

use maud::{Markup, html};

use super::badge;
use super::page::{LINE, text};
use crate::view::{Differences, distance, grouped};
use tcverify_num::Format;
use tcverify_report::{Kind, Mismatch};

/// The table of the first mismatches, with the bits of both codes.
pub fn table(differences: &Differences) -> Markup {
    let (format, names) = (differences.format, differences.names);
    html! {
        p.hint {
            (grouped(differences.first.len() as u64)) " of " (grouped(differences.count)) ", in index order. Bits of "
            (format.to_string()) ": "
            @if format.is_integer() {
                span.s { "sign" } " " span.f { "value" }
            } @else {
                span.s { "sign" } " " span.e { "exponent" } " " span.f { "significand" }
            }
            "; " span.bits { b { "marked" } } " where the two differ."
        }
        table.first {
            thead { tr { th scope="col" { "index" } th scope="col" { (names[0]) ", above " @if names[1] == "given" { "what " (text(&differences.result)) " holds" } @else { (names[1]) } }
                th scope="col" { "values" } th scope="col" { "ulps" } th scope="col" { "class" } } }
            (LINE)
            tbody { @for (group, m) in &differences.first { (row(*group, m, (format, names))) (LINE) } }
        }
    }
}

fn row(group: Option<usize>, m: &Mismatch, (format, names): (Format, [&str; 2])) -> Markup {
    let code = |hex: &str| u64::from_str_radix(hex, 16).unwrap_or_default();
    let xor = code(&m.xor);
    let line = |name: &str, hex: &str| {
        html! {
            div.code { span.unseen { (name) " " } code { "0x" (text(hex)) } " " (bits(format, code(hex), xor)) }
        }
    };
    let apart = distance(m, format).unwrap_or("\u{2013}".to_owned());
    let crosses = apart.ends_with("crossed");
    let apart = apart.replace('-', "\u{2212}");
    html! {
        tr { th scope="row" { (badge(group)) (format!("{:?}", m.index)) }
            td { (line(names[0], &m.reproduced)) (line(names[1], &m.given)) }
            td.values { div { (text(&m.reproduced_value)) } div { (text(&m.given_value)) } }
            td.count.crossed[crosses] { (text(&apart)) } td { (class(m.class)) } }
    }
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::ZeroSign => "sign of zero",
        Kind::NanPayload => "bits of NaN",
        Kind::NanAgainstNumber => "NaN or number",
        Kind::InfinityAgainstFinite => "infinite or finite",
        Kind::InfinitySign => "sign of infinity",
        Kind::Sign => "sign",
        Kind::Exponent => "exponent",
        Kind::Significand => "significand",
    }
}

/// The bits of a code by field; those of `xor` are marked.
fn bits(format: Format, code: u64, xor: u64) -> Markup {
    let width = 8 * format.bytes() as u32;
    let signed = format.sign_mask() != 0;
    let low = width - u32::from(signed) - format.exponent_bits();
    let fields = if format.is_integer() {
        vec![("s", width - 1..width), ("f", 0..width - 1)]
    } else {
        vec![
            ("s", width - 1..width),
            ("e", low..low + format.exponent_bits()),
            ("f", 0..low),
        ]
    };
    let differs = |bit: &u32| xor >> bit & 1 == 1;
    let digits = |run: &[u32]| -> String {
        run.iter()
            .map(|bit| if code >> bit & 1 == 1 { '1' } else { '0' })
            .collect()
    };
    html! {
        span.bits { @for (class, range) in fields {
            span class=(class) {
                @for run in range.rev().collect::<Vec<_>>().chunk_by(|x, y| differs(x) == differs(y)) {
                    @if differs(&run[0]) { b { (digits(run)) } } @else { (digits(run)) }
                }
            }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_marks() {
        assert_eq!(
            bits(Format::Fp16, 0x8403, 0x0003).into_string(),
            "<span class=\"bits\"><span class=\"s\">1</span><span class=\"e\">00001</span>\
             <span class=\"f\">00000000<b>11</b></span></span>"
        );
        let plain = |format: Format, code| {
            let text = bits(format, code, 0).into_string();
            let bits = text.chars().filter(|c| "01".contains(*c));
            bits.collect::<String>()
        };
        for format in [
            Format::Fp16,
            Format::Bf16,
            Format::Fp32,
            Format::Fp64,
            Format::Int32,
        ] {
            let code = format.max_code() / 3;
            let width = 8 * format.bytes();
            assert_eq!(plain(format, code), format!("{code:0width$b}"));
        }
    }
}
