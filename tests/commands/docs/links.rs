//! Every link to a file of the repository leads to one, and to a heading that is there.

use crate::support::rows;

use super::{all_pages, in_repository, read};

#[test]
fn every_link_leads_somewhere() {
    let mut links = 0;
    let mut dead = Vec::new();
    for page in all_pages() {
        let text = read(&page);
        for link in links_of(&text) {
            links += 1;
            if !leads_somewhere(&page, link) {
                dead.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
    assert!(links > 100, "{links} links");
}

#[test]
fn a_dead_link_is_found() {
    for (link, there) in [
        ("batch.md", true),
        ("batch.md#folders", true),
        ("../src", true),
        ("no-such-page.md", false),
        ("batch.md#no-such-heading", false),
    ] {
        assert_eq!(leads_somewhere("docs/scaling.md", link), there, "{link}");
    }
}

/// What everybody asks first: the README leads to the one page that answers it, and so does the list of questions.
#[test]
fn the_first_questions_have_a_row_and_a_page() {
    let (readme, list) = (read("README.md"), read("docs/questions.md"));
    for [question, page] in rows! {"
        What does IDENTICAL prove | reading-a-report.md#what-a-verdict-proves
        Which kernel or GPU made my D | identifying.md
        How do I gate my CI | ci.md
        How do I audit a provider | audits.md
        What does *captured* mean | reading-a-report.md#evidence
        What must I trust | trust.md
    "}
    {
        let row = list
            .lines()
            .find(|line| line.starts_with(&format!("| {question}")));
        let row = row.unwrap_or_else(|| panic!("no row: {question}"));
        assert!(links_of(row).contains(&page), "{row}");
        assert!(leads_somewhere("docs/questions.md", page), "{page}");
        let link = format!("docs/{page}");
        assert!(links_of(&readme).contains(&link.as_str()), "{link}");
    }
}

/// Pages that nobody lists are not found: the site's sidebar and the index have every one.
#[test]
fn every_page_is_listed() {
    for list in ["docs/SUMMARY.md", "docs/README.md"] {
        let text = read(list);
        let listed = links_of(&text);
        for page in all_pages() {
            let link = match page.strip_prefix("docs/") {
                Some("SUMMARY.md" | "README.md") => continue,
                Some(page) if page.contains('/') && !page.ends_with("/README.md") => continue,
                Some(page) => page.to_owned(),
                None => format!("../{page}"),
            };
            assert!(listed.contains(&link.as_str()), "{list} lacks {page}");
        }
    }
}

/// Targets of `[text](target)` outside of code.
fn links_of(page: &str) -> Vec<&str> {
    let prose = page.split("```").step_by(2);
    let after = prose.flat_map(|prose| prose.split("](").skip(1));
    let targets = after.filter_map(|after| Some(after.split_once(')')?.0));
    targets
        .filter(|target| !target.contains("://") && !target.contains(' '))
        .collect()
}

fn leads_somewhere(page: &str, link: &str) -> bool {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let target = match file {
        "" => page.to_owned(),
        _ => format!("{folder}/{file}")
            .trim_start_matches('/')
            .to_owned(),
    };
    if !in_repository(&target).exists() {
        return false;
    }
    heading.is_empty()
        || read(&target)
            .lines()
            .any(|line| anchor(line).as_deref() == Some(heading))
}

/// What a heading is called in a link.
fn anchor(line: &str) -> Option<String> {
    let title = line
        .strip_prefix('#')?
        .trim_start_matches('#')
        .strip_prefix(' ')?;
    let kept = title
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}
