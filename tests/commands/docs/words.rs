//! Pages are short and plain: no sentence is too long, none is a riddle, and all together stay within a number of words.
//! CONTRIBUTING.md, "Words", has the style.

use super::{all_pages, read};

/// Words of all hand-written pages together, and of one sentence.
const ALL_WORDS: usize = 46_900;
const LONGEST_SENTENCE: usize = 30;

/// What a piece of code counts as in prose: one word.
const CODE: &str = "CODE";

/// Phrases that no page uses, and what to write in their place.
const RIDDLES: &[(&str, &str)] = &[
    ("is no function of", "does not depend on"),
    ("says nothing of", "does not cover"),
    ("say nothing of", "do not cover"),
    ("what is so", "the facts"),
    ("that it is so", "that the claim is true"),
    ("in the place of", "instead of"),
    ("in their place", "instead"),
    ("can be had", "is available"),
    ("cannot be had", "is not available"),
    ("at the least", "at least"),
    ("is made ready", "is prepared"),
    ("whereof", "of which"),
    ("thereof", "of it"),
    ("two a lane", "two per lane"),
    ("a core-second", "per core-second"),
    ("put together of", "made of"),
    ("of ours", "of tcverify"),
    ("multiply so alone", "are compatible only in this layout"),
    ("nothing is known of", "is unknown"),
    ("falls to", "belongs to"),
    ("the more so", "especially"),
];

/// What may follow "is no" or "are no": a comparison.
const AFTER_IS_NO: &[&str] = &[
    "longer", "more", "less", "fewer", "larger", "smaller", "better", "worse", "faster", "slower",
    "wider", "later", "earlier", "higher", "lower", "greater",
];

#[test]
fn every_sentence_of_the_pages_can_be_read_once() {
    let mut bad = Vec::new();
    let mut sentences = 0;
    let mut pages = hand_written_pages();
    // Heads of sources are written by hand, too.
    pages.push(Page {
        name: "the heads on docs/steps.md".into(),
        text: read("docs/steps.md"),
    });
    for page in pages {
        for sentence in sentences_of(&page.text) {
            sentences += 1;
            let found = faults_of(&sentence);
            bad.extend(
                found
                    .into_iter()
                    .map(|fault| format!("{}: {fault}: {sentence}", page.name)),
            );
        }
    }
    assert!(
        bad.is_empty(),
        "{} sentences to rewrite\n{}",
        bad.len(),
        bad.join("\n")
    );
    assert!(sentences > 1000, "{sentences} sentences");
}

#[test]
fn the_pages_stay_short() {
    let pages = hand_written_pages();
    let words = |page: &Page| words_of(&without_comments(&page.text));
    let all: usize = pages.iter().map(words).sum();
    let each = pages
        .iter()
        .map(|page| format!("{:6} {}\n", words(page), page.name));
    assert!(
        all <= ALL_WORDS,
        "{all} words, {ALL_WORDS} at most\n{}",
        each.collect::<String>()
    );
    assert!(pages.len() > 20 && all > 10_000, "{all} words");
}

#[test]
fn a_riddle_and_a_long_sentence_are_found() {
    let long = format!("It is {} long.", "very ".repeat(LONGEST_SENTENCE - 2));
    for bad in [
        "Of these codes two are unpacked.",
        "The count is no function of K.",
        "A file that is no JSON is refused.",
        "The log says nothing of it.",
        "- First.\n- Otherwise the file stays.",
        "| a | b |\n|---|---|\n| x | as of the aligner |",
        "Read [the page of\nthem](otherwise.md). Otherwise\nread another.",
        &long,
    ] {
        let faults: Vec<_> = sentences_of(bad)
            .iter()
            .flat_map(|s| faults_of(s))
            .collect();
        assert_eq!(faults.len(), 1, "{bad}: {faults:?}");
    }
    let words = "word ".repeat(LONGEST_SENTENCE - 1);
    for good in [
        format!("It {words}.").as_str(),
        &format!("One {words}. It is sm_90, e.g. 4.5 of them. Two {words}!"),
        &format!("- One {words}\n- Two {words}\n\nThree {words}"),
        &format!("# Title {words}\nText {words}"),
        &format!("| one {words} | two {words} |"),
        &format!("`{words} otherwise` [{words}](otherwise.md)"),
        "There is no other way, and K is no longer than 9.",
        "Otherwise, the file stays, unless a field says otherwise; as of version 2 it goes.",
        "```sh\notherwise\n```\n",
        "<!-- Of which\notherwise -->\n",
        "<!-- begin x: written by y -->\notherwise\n<!-- end x -->\n",
        "The office of whatever, as offered.",
    ] {
        for sentence in sentences_of(&without_generated(good)) {
            assert!(faults_of(&sentence).is_empty(), "{sentence}");
        }
    }
    let text = without_generated(
        "One two.\n<!-- begin x: y -->\nthree\n<!-- end x -->\n| four | 5 |\n|---|---|\n",
    );
    assert_eq!(words_of(&text), 4);
}

struct Page {
    name: String,
    text: String,
}

/// Those at the top of docs/, README.md and CONTRIBUTING.md, without what tests and benchmarks write into them.
fn hand_written_pages() -> Vec<Page> {
    let names = all_pages().into_iter();
    let names = names.filter(|name| match name.strip_prefix("docs/") {
        Some(page) => !page.contains('/') && page != "SUMMARY.md",
        None => name != "CHANGELOG.md",
    });
    let page = |name: String| Page {
        text: without_generated(&read(&name)),
        name,
    };
    names.map(page).collect()
}

fn without_generated(page: &str) -> String {
    let mut parts = page.split("<!-- begin");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, after) = part.split_once("<!-- end").expect("an end marker");
        let (_, after) = after.split_once("-->").expect("a comment's end");
        text += after;
    }
    text
}

/// Without comments, which hold what the page's commands need: nobody reads them on the page.
fn without_comments(page: &str) -> String {
    let mut parts = page.split("<!--");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += part.split_once("-->").map_or(part, |(_, after)| after);
    }
    text
}

/// Of all text, code and tables too: what has a letter or a digit.
fn words_of(text: &str) -> usize {
    text.split_whitespace()
        .filter(|word| word.contains(char::is_alphanumeric))
        .count()
}

/// Sentences of prose and cells of tables, with a word for each piece of code and without targets of links.
fn sentences_of(page: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in without_code(page).lines() {
        let line = line.trim();
        let (item, text) = list_item(line);
        let cell = line.starts_with('|');
        if item || cell || line.is_empty() || line.starts_with('#') {
            blocks.push(String::new());
        }
        if cell {
            // Cells list facts: a name in code counts as a number, which is not counted, and semicolons part them.
            let cells = line.replace(CODE, "0").replace("; ", " | ");
            blocks.extend(cells.split(" | ").map(str::to_owned));
            blocks.push(String::new());
            continue;
        }
        let block = blocks.last_mut().expect("a block");
        *block += text.trim_start_matches(['#', '>', ' ']);
        block.push(' ');
        if line.starts_with('#') {
            blocks.push(String::new());
        }
    }
    let blocks = blocks.iter().flat_map(|block| cut(block));
    blocks.filter(|s| s.contains(char::is_alphabetic)).collect()
}

/// Whether a line begins an item of a list, and its text.
fn list_item(line: &str) -> (bool, &str) {
    let numbered = line.split_once(". ").filter(|(number, _)| {
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    });
    let item = line.strip_prefix("- ").or(line.strip_prefix("* "));
    let text = item.or(numbered.map(|(_, text)| text));
    (text.is_some(), text.unwrap_or(line))
}

/// Without fenced code and comments; `code` between backticks becomes one word, a link its text.
fn without_code(page: &str) -> String {
    let mut prose: String = format!("\n{page}")
        .split("\n```")
        .step_by(2)
        .enumerate()
        .map(|(n, part)| match n {
            0 => part,
            _ => part.split_once('\n').map_or("", |(_, rest)| rest),
        })
        .collect::<Vec<_>>()
        .join("\n\n");
    while let Some(start) = prose.find("<!--") {
        let end = prose[start..]
            .find("-->")
            .map_or(prose.len(), |n| start + n + 3);
        prose.replace_range(start..end, "");
    }
    let code = prose.split('`').enumerate();
    let prose: String = code
        .map(|(n, part)| if n % 2 == 0 { part } else { CODE })
        .collect();
    let mut parts = prose.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += part.split_once(')').map_or(part, |(_, rest)| rest);
    }
    text
}

/// A paragraph in sentences.
fn cut(paragraph: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    for word in paragraph.split_whitespace() {
        let sentence = sentences.last_mut().expect("a sentence");
        *sentence += word;
        sentence.push(' ');
        let bare = word.trim_end_matches([')', '"', '*', '\'']);
        let short = ["...", "e.g.", "i.e.", "vs.", "cf.", "no.", "etc."].contains(&bare);
        if bare.ends_with(['.', '!', '?']) && !short {
            sentences.push(String::new());
        }
    }
    sentences.iter().map(|s| s.trim().to_owned()).collect()
}

/// What is wrong with a sentence.
fn faults_of(sentence: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let words = sentence
        .split_whitespace()
        .filter(|word| word.contains(char::is_alphabetic))
        .count();
    if words > LONGEST_SENTENCE {
        faults.push(format!("{words} words"));
    }
    if sentence.trim_start_matches(['(', '*']).starts_with("Of ") {
        faults.push("begins with \"Of\": begin with the subject".into());
    }
    let plain: Vec<_> = sentence
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    let text = format!(" {} ", plain.join(" "));
    for (riddle, better) in RIDDLES {
        if text.contains(&format!(" {riddle} ")) {
            faults.push(format!("\"{riddle}\": {better}"));
        }
    }
    for (at, word) in plain.iter().enumerate() {
        let near = |offset: isize| {
            let at = at.checked_add_signed(offset);
            at.and_then(|at| plain.get(at)).map_or("", String::as_str)
        };
        let (before, after) = (near(-1), near(1));
        let fault = match word.as_str() {
            "no" if !["is", "are"].contains(&before) => continue,
            "no" if near(-2) == "there" || AFTER_IS_NO.contains(&after) => continue,
            "no" if [after, near(2)] == ["function", "of"] => continue,
            "no" => "\"is no\": is not a",
            "otherwise" if ["say", "says", "stated", "noted"].contains(&before) => continue,
            "otherwise" if sentence.starts_with("Otherwise,") => continue,
            "otherwise" => "\"otherwise\": say what happens else",
            "as" if after != "of" => continue,
            "as" if near(2) == "version" || near(2).starts_with(|c: char| c.is_ascii_digit()) => {
                continue;
            }
            "as" => "\"as of\": as for, like",
            _ => continue,
        };
        faults.push(fault.into());
    }
    faults
}
