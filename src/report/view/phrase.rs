//! Numbers and lists, as sentences write them.

/// The text with a capital letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// `1 model`, `1,024 models`.
pub fn counted(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {what}{s}", grouped(count))
}

/// `1234567` as `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// With a sign and thousands.
pub fn signed(n: i128) -> String {
    let sign = if n < 0 { '\u{2212}' } else { '+' };
    let n = n.unsigned_abs();
    // No format has distances of more than 64 bits.
    let digits = u64::try_from(n).map_or(n.to_string(), grouped);
    sign.to_string() + &digits
}

/// `3 of 1,024`
pub fn of(part: u64, all: u64) -> String {
    format!("{} of {}", grouped(part), grouped(all))
}

/// The share of elements that differ, if any do.
pub fn percent(percent: f64) -> String {
    // Six decimals would show one mismatch among billions as none.
    match percent {
        0.0 => "< 0.000001 %".to_owned(),
        percent => format!("{percent} %"),
    }
}

/// A part in percent: 100 only if it is all, never 0 if it is not nothing.
pub fn share(part: u64, all: u64) -> String {
    if part == all {
        return "100 %".to_owned();
    }
    let percent = 100.0 * part as f64 / all as f64;
    let decimals = (1..=6).find(|&decimals| percent >= 10.0 * 10f64.powi(-decimals));
    let Some(decimals) = decimals else {
        return "less than 0.00001 %".to_owned();
    };
    let unit = 10f64.powi(decimals);
    format!(
        "{:.*} %",
        decimals as usize,
        (percent * unit).floor() / unit
    )
}

/// `one, another and a third`
pub fn listed(names: &[String]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// Some names, and how many more there are.
pub fn some(names: &[String], most: usize) -> String {
    let shown = names[..names.len().min(most)].join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {} more", grouped(more as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::{grouped, share, signed};

    #[test]
    fn less_than_all_is_never_all() {
        assert_eq!(share(4_096_000, 16_777_216), "24.4 %");
        assert_eq!(share(16_777_215, 16_777_216), "99.9 %");
        assert_eq!(share(1, 16_777_216), "less than 0.00001 %");
        assert_eq!(share(100_000, 1 << 26), "0.14 %");
        assert_eq!(share(3, 3), "100 %");
        assert_eq!(share(1, 1_000_000), "0.00010 %");
    }

    #[test]
    fn thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
        assert_eq!(signed(-1_234_567), "\u{2212}1,234,567");
        assert_eq!(signed(1), "+1");
    }
}
