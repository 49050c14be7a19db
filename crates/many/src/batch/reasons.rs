//! Reasons why a value of a manifest is refused, in the words of whoever wrote it. A reason of other words stays as it is.

/// A reason of the JSON reader: `it is the number 5, and text is expected` for ``invalid type: integer `5`, expected a
/// string``.
pub fn plain(reason: &str) -> String {
    // Where a text ends is of use; what stands before it is a sentence.
    let (reason, place) = match reason.split_once(" at line ") {
        Some((reason, place)) => (reason, format!(" at line {place}")),
        None => (reason, String::new()),
    };
    let quoted = |name: &str| name.trim().replace('`', "\"");
    let known = |list: &str| list.trim_start_matches("one of ").replace('`', "");
    let plain = if let Some((found, wanted)) = either(reason, ["invalid type: ", "invalid value: "])
    {
        format!("it is {}, and {} is expected", value(found), kind(wanted))
    } else if let Some((name, list)) = either(reason, ["unknown variant "]) {
        format!(
            "{} is not one of {}",
            quoted(name),
            known(list).replace(" or ", ", ")
        )
    } else if let Some((name, list)) = either(reason, ["unknown field "]) {
        format!(
            "there is no field {}; there are {}",
            quoted(name),
            known(list)
        )
    } else if let Some(name) = reason.strip_prefix("missing field ") {
        format!("field {} is missing", quoted(name))
    } else {
        reason.to_owned()
    };
    plain + &place
}

/// A reason after its place in the document, as `cases[0].arch: ...`.
pub fn placed(reason: &str) -> String {
    let is_place = |place: &&str| {
        let mut all = place.chars();
        all.all(|c| c.is_ascii_alphanumeric() || "_.[]".contains(c))
    };
    match reason.split_once(": ").filter(|(place, _)| is_place(place)) {
        Some((place, reason)) => format!("{place}: {}", plain(reason)),
        None => plain(reason),
    }
}

/// What stands after one of these words, before and after what is expected.
fn either<'r, const N: usize>(reason: &'r str, words: [&str; N]) -> Option<(&'r str, &'r str)> {
    let rest = words.iter().find_map(|word| reason.strip_prefix(word))?;
    rest.split_once(", expected ")
}

/// A value that was found.
fn value(found: &str) -> String {
    let number = ["integer ", "floating point "];
    if let Some(number) = number.iter().find_map(|word| found.strip_prefix(word)) {
        return format!("the number {}", number.trim_matches('`'));
    }
    if let Some(text) = found.strip_prefix("string ") {
        return format!("the text {text}");
    }
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "an object".to_owned(),
        _ => found
            .trim_start_matches("boolean ")
            .trim_matches('`')
            .to_owned(),
    }
}

/// What is expected.
fn kind(wanted: &str) -> &str {
    match wanted {
        "a string" | "string" | "string or map" => "text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        "usize" | "u64" | "u32" | "u16" | "u8" => "a whole number, 0 or more,",
        "isize" | "i64" | "i32" | "i16" | "i8" => "a whole number",
        "f32" | "f64" => "a number",
        wanted => wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::{placed, plain};

    #[test]
    fn reasons_are_sentences() {
        for (reason, sentence) in [
            (
                "invalid type: integer `5`, expected a string",
                "it is the number 5, and text is expected",
            ),
            (
                "invalid type: string \"two\", expected usize",
                "it is the text \"two\", and a whole number, 0 or more, is expected",
            ),
            (
                "invalid type: map, expected a sequence",
                "it is an object, and a list is expected",
            ),
            (
                "invalid type: boolean `true`, expected a string at line 3 column 7",
                "it is true, and text is expected at line 3 column 7",
            ),
            (
                "unknown variant `bf17`, expected one of `fp16`, `bf16`",
                "\"bf17\" is not one of fp16, bf16",
            ),
            (
                "unknown variant `maybe`, expected `exact` or `any`",
                "\"maybe\" is not one of exact, any",
            ),
            (
                "unknown field `case`, expected one of `schema`, `cases`",
                "there is no field \"case\"; there are schema, cases",
            ),
            ("missing field `schema`", "field \"schema\" is missing"),
            ("write a decimal number", "write a decimal number"),
        ] {
            assert_eq!(plain(reason), sentence);
        }
        let reason = "cases: invalid type: map, expected a sequence";
        assert_eq!(
            placed(reason),
            "cases: it is an object, and a list is expected"
        );
        assert_eq!(
            placed("missing field `schema`"),
            "field \"schema\" is missing"
        );
    }
}
