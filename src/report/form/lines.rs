//! Text in lines of so many columns.

/// A text in lines that are not wider, cut at spaces alone: a longer word has a line of its own. At least
/// one line.
pub fn wrapped(text: &str, width: usize) -> Vec<&str> {
    if text.len() <= width {
        return vec![text];
    }
    let mut lines = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (at, word) in words(text) {
        let past = at + word.len();
        if end > start && text[start..past].chars().count() > width {
            lines.push(&text[start..end]);
            start = at;
        }
        end = past;
    }
    lines.push(&text[start..end]);
    lines
}

/// Words and where they begin; the spaces before the first are its own.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut place = 0;
    let words = text.split(' ').map(move |word| {
        let at = place;
        place += word.len() + 1;
        (at, word)
    });
    words.filter(|(_, word)| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn nothing_is_lost_and_no_line_is_wider_than_a_word() {
        let text = "one of 16,384 elements differs: größe [12, 5] abcdefghijklmnopqrstuvwxyz end";
        for width in 1..100 {
            let lines = wrapped(text, width);
            assert_eq!(lines.join(" "), text);
            let fits = |line: &&str| line.chars().count() <= width || !line.contains(' ');
            assert!(lines.iter().all(fits), "{width}: {lines:?}");
        }
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped(text, usize::MAX), [text]);
        assert_eq!(wrapped("a  b", 3), ["a", "b"]);
    }
}
