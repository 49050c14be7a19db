//! The first mismatches, bit by bit.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::badge_of;
use super::groups::number_of;
use super::markup::{escaped, number, section};
use crate::num::Format;
use crate::report::words::grouped;
use crate::report::{Comparison, Kind, Mismatch, Report};

pub fn write(c: &Comparison, report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let group = |m: &Mismatch| number_of(m, report).map_or(String::new(), badge_of);
    table(c, ("D", report.reproduced.format), &group, out)
}

/// The table, of what is called so; `group` is the badge of a mismatch, or nothing.
pub fn table(
    c: &Comparison,
    (result, format): (&str, Format),
    group: &dyn Fn(&Mismatch) -> String,
    out: &mut dyn Write,
) -> io::Result<()> {
    if c.first.is_empty() {
        return Ok(());
    }
    section("first", "The first mismatches", out, |out| {
        let legend = match format.is_integer() {
            true => "<span class=\"s\">sign</span> <span class=\"f\">value</span>",
            false => {
                "<span class=\"s\">sign</span> <span class=\"e\">exponent</span> <span class=\"f\">significand</span>"
            }
        };
        write!(
            out,
            "<p class=\"hint\">{} of {}, in index order. Bits of {format}: {legend}; \
             <span class=\"bits\"><b>marked</b></span> where the two differ.</p>\n\
             <table class=\"first\">\n<thead><tr><th scope=\"col\">index</th><th scope=\"col\">reproduced, above what {result} holds</th>\
             <th scope=\"col\">values</th><th scope=\"col\">ulps</th><th scope=\"col\">class</th></tr></thead>\n<tbody>\n",
            grouped(c.first.len() as u64),
            grouped(c.mismatches),
        )?;
        for mismatch in &c.first {
            row(mismatch, format, &group(mismatch), out)?;
        }
        out.write_all(b"</tbody></table>\n")
    })
}

fn row(m: &Mismatch, format: Format, group: &str, out: &mut dyn Write) -> io::Result<()> {
    let code = |hex: &str| u64::from_str_radix(hex, 16).expect("written as hexadecimal");
    let xor = code(&m.xor);
    let line = |name: &str, hex: &str| {
        format!(
            "<div class=\"code\"><span class=\"unseen\">{name} </span><code>0x{hex}</code> {}</div>",
            bits(format, code(hex), xor)
        )
    };
    let ulp = m.ulp.map_or("\u{2013}".to_owned(), number);
    writeln!(
        out,
        "<tr><th scope=\"row\">{group}{:?}</th><td>{}{}</td>\
         <td class=\"values\"><div>{}</div><div>{}</div></td><td class=\"count\">{ulp}</td><td>{}</td></tr>",
        m.index,
        line("reproduced", &m.reproduced),
        line("given", &m.given),
        escaped(&m.reproduced_value),
        escaped(&m.given_value),
        class(m.class)
    )
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
fn bits(format: Format, code: u64, xor: u64) -> String {
    let width = 8 * format.bytes() as u32;
    let signed = format.sign_mask() != 0;
    let low = width - u32::from(signed) - format.exponent_bits();
    let fields = match format.is_integer() {
        true => vec![("s", width - 1..width), ("f", 0..width - 1)],
        false => vec![
            ("s", width - 1..width),
            ("e", low..low + format.exponent_bits()),
            ("f", 0..low),
        ],
    };
    let mut text = String::from("<span class=\"bits\">");
    for (class, range) in fields {
        write!(text, "<span class=\"{class}\">").expect("a string");
        let mut marked = false;
        for bit in range.rev() {
            let differs = xor >> bit & 1 == 1;
            if differs != marked {
                text += if differs { "<b>" } else { "</b>" };
                marked = differs;
            }
            text.push(if code >> bit & 1 == 1 { '1' } else { '0' });
        }
        text += if marked { "</b></span>" } else { "</span>" };
    }
    text + "</span>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_marks() {
        assert_eq!(
            bits(Format::Fp16, 0x8403, 0x0003),
            "<span class=\"bits\"><span class=\"s\">1</span><span class=\"e\">00001</span>\
             <span class=\"f\">00000000<b>11</b></span></span>"
        );
        let plain = |format: Format, code| {
            let text = bits(format, code, 0);
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
