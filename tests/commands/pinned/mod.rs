//! What the program says of a corpus, kept as snapshots: text, documents, pages and exit codes, and the digests of
//! models, schedules and rules. `INSTA_UPDATE=always cargo test --test commands pinned` rewrites them; read the
//! difference before you commit it.

mod batches;
mod commands;
mod digests;
mod documents;
mod operations;
mod products;
mod screens;
mod searches;

use crate::support::{Folder, Npy, Run, sha256};

/// Commands in one folder, and what came of each.
struct Session {
    folder: Folder,
    text: String,
}

impl Session {
    fn new(folder: Folder) -> Session {
        Session {
            folder,
            text: String::new(),
        }
    }

    /// A command that only makes what others need.
    fn given(&self, words: &str) {
        self.folder.passes(words);
    }

    /// A command, what it prints and how it ends.
    fn run(&mut self, words: &str) {
        let Run {
            code,
            stdout,
            stderr,
            ..
        } = self.folder.tcverify(words);
        let code = code.map_or("a signal".to_owned(), |code| code.to_string());
        self.add(&format!("$ tcverify {words}"), &stdout);
        if !stderr.is_empty() {
            self.add("standard error:", &stderr);
        }
        self.add(&format!("exit code {code}"), "");
    }

    /// What a command wrote.
    fn show(&mut self, file: &str) {
        let text = self.folder.text(file);
        let text = if file.ends_with(".html") {
            text_of_page(&text)
        } else {
            text
        };
        self.add(&format!("--- {file}"), &text);
    }

    /// A file that holds no text, or a long one.
    fn digest(&mut self, file: &str) {
        let digest = sha256(self.folder.read(file));
        self.add(&format!("--- SHA-256 of {file}"), &digest);
    }

    fn add(&mut self, title: &str, text: &str) {
        self.text += &format!("{title}\n{}\n", text.trim_end());
        if !text.is_empty() {
            self.text.push('\n');
        }
    }

    /// Fails unless all of it is what it was.
    #[track_caller]
    fn keep(self, name: &str) {
        let folder = self.folder.path("");
        let folder = folder.to_str().expect("a path in UTF-8");
        keep(
            name,
            &self.text.replace(folder.trim_end_matches('/'), "FOLDER"),
        );
    }
}

/// Fails unless `text` is what it was under this name.
#[track_caller]
pub fn keep(name: &str, text: &str) {
    // A new version says nothing else.
    let text = text.replace(env!("CARGO_PKG_VERSION"), "{VERSION}");
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// What a reader of a page sees, a line a block: no markup, no drawings. What markup there is, is tested by `html`.
fn text_of_page(html: &str) -> String {
    /// Elements that do not begin a line.
    const INLINE: [&str; 10] = [
        "a", "abbr", "b", "code", "em", "i", "small", "span", "strong", "sup",
    ];
    /// Elements whose content is no text.
    const SILENT: [&str; 3] = ["style", "script", "svg"];
    let mut text = String::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        text += &rest[..start].replace('\n', " ");
        let end = rest[start..]
            .find('>')
            .map_or(rest.len(), |end| start + end + 1);
        let tag = rest[start..end].trim_matches(['<', '>', '/']);
        let name = tag.split_whitespace().next().unwrap_or_default();
        let closes = rest[start..].starts_with("</");
        rest = &rest[end..];
        match name {
            _ if SILENT.contains(&name) && !closes => {
                let end = rest.find(&format!("</{name}>")).unwrap_or(rest.len());
                rest = &rest[end..];
            }
            // Cells of a row stay beside each other.
            "td" | "th" => text.push(' '),
            _ if INLINE.contains(&name) => {}
            _ => text.push('\n'),
        }
    }
    let plain = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&");
    let lines = plain
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// `a.npy` (12x40) and `b.npy` (40x20) in BF16, and D as an H100 gives it.
fn product() -> Session {
    let session = Session::new(Folder::new());
    session.given("generate generate:7:normal:12x40 --dtype bf16 --role a -o a.npy");
    session.given("generate generate:8:normal:40x20 --dtype bf16 --role b -o b.npy");
    session.given(&format!("replay {H100} -o d.npy --quiet"));
    session
}

const H100: &str = "--arch h100 --dtype bf16 a.npy b.npy";

/// Adds a D of the same shape whose bytes are others.
fn damaged(session: &Session, name: &str, damage: impl Fn(&mut [u8])) {
    let whole = session.folder.read("d.npy");
    let mut data = whole[whole.len() - 12 * 20 * 4..].to_vec();
    damage(&mut data);
    session.folder.save(name, &Npy::new("<f4", &[12, 20], data));
}

/// A snapshot that no test keeps proves nothing.
#[test]
fn every_snapshot_is_of_a_test() {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/pinned");
    let names = |folder: String| {
        let entries = std::fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
    };
    let source: String = names(place.to_owned())
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let mut seen = 0;
    for path in names(format!("{place}/snapshots")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let name = name
            .strip_suffix(".snap")
            .unwrap_or_else(|| panic!("{name} is to be looked at"));
        assert!(
            source.contains(&format!("(\"{name}\"")) || source.contains(&format!(" \"{name}\"")),
            "no test keeps {name}"
        );
        seen += 1;
    }
    assert!(seen >= 20, "{seen}");
}
