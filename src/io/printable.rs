//! Messages that quote files.

/// A message that may quote a file: without control characters, and not endless.
pub fn printable(text: &str) -> String {
    let plain = escaped(text);
    if plain.chars().count() <= 200 {
        return plain;
    }
    plain.chars().take(197).chain("...".chars()).collect()
}

/// A longer message that may quote a file and says at its end where: nothing of either end is lost.
pub fn printable_ends(text: &str) -> String {
    const START: usize = 1200;
    const END: usize = 300;
    let plain: Vec<char> = escaped(text).chars().collect();
    if plain.len() <= START + END {
        return plain.into_iter().collect();
    }
    let (start, end) = (&plain[..START], &plain[plain.len() - END..]);
    start
        .iter()
        .chain(&[' ', '.', '.', '.', ' '])
        .chain(end)
        .collect()
}

/// What would move a cursor or colour a terminal, written out.
pub fn escaped(text: &str) -> String {
    let plain = text.chars().flat_map(|c| {
        let escaped = c.is_control().then(|| c.escape_default());
        let kept = (!c.is_control()).then_some(c);
        escaped.into_iter().flatten().chain(kept)
    });
    plain.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_a_terminal() {
        assert_eq!(escaped("a\u{1b}[31m\u{7f}\n"), "a\\u{1b}[31m\\u{7f}\\n");
        let long = format!("start {} line 7", "x".repeat(5000));
        let short = printable_ends(&long);
        assert!(short.len() < 1600 && short.starts_with("start x") && short.ends_with("x line 7"));
        assert_eq!(printable_ends("as it is"), "as it is");
    }
}
