//! Messages that quote files.

/// A message that may quote a file: without control characters, and not endless.
pub fn printable(text: &str) -> String {
    let plain: String = text
        .chars()
        .flat_map(|c| {
            let escaped = c.is_control().then(|| c.escape_default());
            let kept = (!c.is_control()).then_some(c);
            escaped.into_iter().flatten().chain(kept)
        })
        .collect();
    if plain.chars().count() <= 200 {
        return plain;
    }
    plain.chars().take(197).chain("...".chars()).collect()
}
