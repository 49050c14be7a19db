//! The verdict as workflow commands of GitHub Actions: an annotation for it, and one for every case that is not
//! identical.

use std::io::{self, Write};

use crate::view::{Tone, View, in_ulps};
use tcverify_io::{escaped as line, without_commands};

/// Mismatches that an annotation lists.
const LISTED: usize = 5;

/// The workflow commands.
///
/// # Errors
/// Those of the writer.
pub fn github(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let title = format!("tcverify: {}", view.title().to_lowercase());
    let mut lines = vec![view.sentence.clone()];
    for cause in &view.causes {
        lines.push(format!("likely cause: {}", cause.sentence));
        lines.extend(cause.command.clone());
    }
    lines.extend(view.tried.iter().map(|tried| tried.short.clone()));
    lines.extend(view.next.iter().map(|next| format!("next: {next}")));
    lines.extend(
        view.summary()
            .map(|fact| format!("{}: {}", fact.label, fact.lines.join("; "))),
    );
    let cards = view.sections.iter().flat_map(|section| &section.cards);
    lines.extend(cards.map(|card| format!("{}: {}", card.name, card.path)));
    if let Some(differences) = &view.differences {
        let [one, other] = differences.names;
        lines.extend(differences.first.iter().take(LISTED).map(|(_, m)| {
            let ulp =
                in_ulps(m, differences.format).map_or(String::new(), |ulp| format!(", {ulp}"));
            let [left, right] = [&m.reproduced, &m.given];
            format!("{:?}: 0x{left} {one}, 0x{right} {other}{ulp}", m.index)
        }));
    }
    annotation(view.tone, &title, &lines, out)?;
    for case in view.uncovered.iter().chain(&view.cases) {
        if case.tone == Tone::Good && case.qualified.is_empty() {
            continue;
        }
        let title = format!("tcverify: {}: {}", case.name, case.title().to_lowercase());
        let mut lines = vec![case.said.clone()];
        let cause = case.cause.iter();
        lines.extend(cause.map(|cause| format!("likely cause: {cause}")));
        lines.extend(case.next.iter().map(|next| format!("next: {next}")));
        annotation(case.tone.min(Tone::Part), &title, &lines, out)?;
    }
    Ok(())
}

fn annotation(tone: Tone, title: &str, lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    let level = match tone {
        Tone::Good => "notice",
        Tone::Part => "warning",
        Tone::Bad | Tone::Unsure => "error",
    };
    let lines: Vec<_> = lines.iter().map(|text| line(text)).collect();
    writeln!(
        out,
        "::{level} title={}::{}",
        property(&line(title)),
        data(&lines.join("\n"))
    )
}

fn data(text: &str) -> String {
    let text = without_commands(text).replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_line() {
        let lines = [
            "50 %\r".to_owned(),
            "::error::x".to_owned(),
            "##[error]x\n##vso[task]".to_owned(),
        ];
        let mut out = Vec::new();
        annotation(Tone::Bad, "a: b, c", &lines, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "::error title=a%3A b%2C c::50 %25\\r%0A:\\u003aerror::x%0A#\\u0023[error]x\\n#\\u0023vso[task]\n"
        );
    }
}
