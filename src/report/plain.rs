//! Text that others will read as markup: what of it they must not see.

/// Controls, and what changes the order in which text is shown: a file name could lie by it.
pub fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// One line: hidden characters and line ends shown as what they are.
pub fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match hidden(c) {
            true => shown += &format!("\\u{{{:x}}}", u32::from(c)),
            false => shown.push(c),
        }
    }
    shown
}

/// Several lines, each as [`line`] shows it.
pub fn lines(text: &str) -> String {
    let shown: Vec<_> = text.split('\n').map(line).collect();
    shown.join("\n")
}
