//! docs/steps.md shows the number formats as the program has them.

use std::fmt::Write;

use tcverify::num::{Format, Kind, Specials};

use super::keep;

const BEGIN: &str = "<!-- begin: written by tests/commands/docs/formats.rs -->\n";
const END: &str = "<!-- end -->\n";

#[test]
fn the_page_of_steps_lists_the_formats() {
    keep("docs/steps.md", |old| {
        let (before, rest) = old.split_once(BEGIN).expect("the page has the marker");
        let (_, after) = rest.split_once(END).expect("the page has the end marker");
        format!("{before}{BEGIN}{}{END}{after}", table())
    });
}

/// The formats with exponents.
fn table() -> String {
    let mut text = String::from(
        "| format | exponent bits | fraction bits f | bias | largest exponent field means | stored bytes |\n\
         |---|---|---|---|---|---|\n",
    );
    let exponents = |format: &Format| matches!(format.kind(), Kind::Float | Kind::Scale);
    for format in Format::ALL.into_iter().filter(exponents) {
        let special = match format.specials() {
            Specials::Ieee => "Inf, NaN (IEEE 754)",
            Specials::NanOnly if format.fraction_bits() == 0 => "NaN",
            Specials::NanOnly => "numbers; NaN if the fraction is all ones, no Inf",
            Specials::None => "numbers",
            Specials::Fnuz => "numbers; the code of -0 is the one NaN, no Inf",
        };
        let stored = match (format.ignored_bits(), format.kind()) {
            (0, Kind::Scale) if format.fraction_bits() > 0 => {
                ": the sign bit is ignored".to_owned()
            }
            (0, _) if format.width() < 8 => ", low bits".to_owned(),
            (0, _) => String::new(),
            (bits, _) => format!(": an FP32 register, low {bits} bits ignored"),
        };
        writeln!(
            text,
            "| `{format}` | {} | {} | {} | {special} | {}{stored} |",
            format.exponent_bits(),
            format.fraction_bits(),
            format.bias(),
            format.bytes(),
        )
        .unwrap();
    }
    text
}
