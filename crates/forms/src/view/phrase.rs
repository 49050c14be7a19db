//! Numbers and lists, as sentences write them.

use tcverify_num::Format;
use tcverify_report::Mismatch;

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

/// A signed number with thousands in ASCII, for tables and files.
pub fn ulps(n: i128) -> String {
    signed(n).replace('\u{2212}', "-")
}

/// From how many ulps on a distance only tells that a sign, a zero or orders of magnitude lie between: 2^30 of FP32.
fn far(format: Format) -> Option<u128> {
    let bits = 8 * format.bytes();
    let is_float = format != Format::Int32;
    (is_float && bits >= 32).then(|| 1 << (bits - 2))
}

/// How far apart two codes are: `+3`, `sign crossed`, `zero crossed`; a NaN has no distance.
pub fn distance(m: &Mismatch, format: Format) -> Option<String> {
    let ulp = m.ulp?;
    if far(format).is_some_and(|far| ulp.unsigned_abs() >= far) {
        let values = [&m.reproduced_value, &m.given_value];
        let [one, other] = values.map(|value| value.starts_with('-'));
        if values
            .iter()
            .any(|value| value.trim_start_matches('-') == "0")
        {
            return Some("zero crossed".to_owned());
        }
        if one != other {
            return Some("sign crossed".to_owned());
        }
    }
    Some(ulps(ulp))
}

/// The distance with its unit.
pub fn in_ulps(m: &Mismatch, format: Format) -> Option<String> {
    let distance = distance(m, format)?;
    let is_count = distance.starts_with(['+', '-']);
    Some(if is_count {
        format!("{distance} ulp")
    } else {
        distance
    })
}

/// The largest distance of all.
pub fn largest(ulp: i128, format: Format) -> String {
    match far(format) {
        Some(far) if ulp.unsigned_abs() >= far => {
            format!(
                "2^{} ulp or more (sign or zero crossed, or another magnitude)",
                far.ilog2()
            )
        }
        _ => format!("{} ulp", ulps(ulp)),
    }
}

/// `3 of 1,024`
pub fn of(part: u64, all: u64) -> String {
    format!("{} of {}", grouped(part), grouped(all))
}

/// The share of elements that differ, if any do.
pub fn percent(percent: f64) -> String {
    // Six decimals would show one mismatch among billions as none.
    // Three digits, and all only if it is all.
    let millionths = (percent * 1e6).round() as u64;
    if millionths == 0 {
        return "< 0.000001 %".to_owned();
    }
    let beyond = (millionths.ilog10() + 1).saturating_sub(3).min(6);
    let unit = 10u64.pow(beyond);
    let nearest = (millionths + unit / 2) / unit * unit;
    let shown = if nearest < 100_000_000 {
        nearest
    } else {
        millionths / unit * unit
    };
    format!("{} %", shown as f64 / 1e6)
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

/// A sentence about such a result, with its terms in the brackets that it ends with.
pub fn in_brackets(sentence: &str, terms: &[String]) -> String {
    let terms = terms.join(", ");
    match sentence.strip_suffix(')') {
        _ if terms.is_empty() => sentence.to_owned(),
        Some(open) => format!("{open}; {terms})"),
        None => format!("{sentence} ({terms})"),
    }
}

#[cfg(test)]
mod tests {
    use super::{distance, grouped, largest, percent, share, signed};
    use tcverify_num::Format;
    use tcverify_report::{Kind, Mismatch};

    #[test]
    fn three_digits_and_never_more_than_there_are() {
        assert_eq!(percent(21.428571), "21.4 %");
        assert_eq!(percent(25.0), "25 %");
        assert_eq!(percent(99.999999), "99.9 %");
        assert_eq!(percent(100.0), "100 %");
        assert_eq!(percent(0.000001), "0.000001 %");
        assert_eq!(percent(0.012355), "0.0124 %");
        assert_eq!(percent(0.0), "< 0.000001 %");
    }

    #[test]
    fn distances_that_count_nothing() {
        let of = |ulp: i128, one: &str, other: &str| Mismatch {
            index: vec![0],
            reproduced: String::new(),
            given: String::new(),
            reproduced_value: one.to_owned(),
            given_value: other.to_owned(),
            ulp: Some(ulp),
            xor: String::new(),
            class: Kind::Sign,
        };
        let far = 1 << 30;
        assert_eq!(
            distance(&of(far, "-1", "1"), Format::Fp32).unwrap(),
            "sign crossed"
        );
        assert_eq!(
            distance(&of(far, "0", "2"), Format::Fp32).unwrap(),
            "zero crossed"
        );
        assert_eq!(
            distance(&of(far, "1", "9e30"), Format::Fp32).unwrap(),
            "+1,073,741,824"
        );
        assert_eq!(
            distance(&of(1 - far, "-1", "1"), Format::Fp32).unwrap(),
            "-1,073,741,823"
        );
        assert_eq!(
            distance(&of(far, "-1", "1"), Format::Fp64).unwrap(),
            "+1,073,741,824"
        );
        assert_eq!(
            distance(&of(far, "-1", "1073741823"), Format::Int32).unwrap(),
            "+1,073,741,824"
        );
        assert_eq!(largest(-3000, Format::Fp32), "-3,000 ulp");
        assert!(largest(-far, Format::Fp32).starts_with("2^30 ulp or more"));
    }

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
