//! Files that import each other in a circle. A name that a module hands on is its file's that defines it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Sources by their paths below src, without tests.
pub type Files = BTreeMap<String, String>;

pub fn read(root: &Path, folder: &Path, files: &mut Files) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap();
        let name = name.to_str().unwrap().replace('\\', "/");
        if name
            .split(['/', '.'])
            .any(|part| ["tests", "examples"].contains(&part))
        {
            continue;
        }
        if path.is_dir() {
            // A room with a manifest is a crate of its own.
            if !path.join("Cargo.toml").exists() {
                read(root, &path, files);
            }
        } else if name.ends_with(".rs") {
            files.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The circles, each sorted.
pub fn of(files: &Files) -> Vec<Vec<String>> {
    let house = House::new(files);
    let ties: BTreeMap<&str, BTreeSet<&str>> = house
        .modules
        .values()
        .map(|module| (module.file, house.imports(module)))
        .collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> = ties
        .keys()
        .map(|file| (*file, reached(&ties, file)))
        .collect();
    let mut circles = BTreeSet::new();
    for (file, others) in &reached {
        if others.contains(file) {
            let back = |other: &&&str| reached[**other].contains(file);
            let circle: Vec<_> = others
                .iter()
                .filter(back)
                .map(|f| (*f).to_owned())
                .collect();
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// Every file that can be come to from one, by at least one import.
fn reached<'a>(ties: &BTreeMap<&str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = ties[from].iter().copied().collect();
    while let Some(file) = next.pop() {
        if found.insert(file) {
            next.extend(&ties[file]);
        }
    }
    found
}

/// A path of words, `crate::a::B`.
type Words = Vec<String>;

struct Module<'a> {
    file: &'a str,
    at: Words,
    /// Names that `use` brings in, with what they stand for and whether they are handed on.
    names: BTreeMap<String, (Words, bool)>,
    /// Paths in the code itself.
    paths: Vec<Words>,
}

struct House<'a> {
    modules: BTreeMap<Words, Module<'a>>,
}

impl<'a> House<'a> {
    fn new(files: &'a Files) -> House<'a> {
        let modules = files.iter().filter(|(file, _)| *file != "main.rs");
        let modules = modules.map(|(file, source)| {
            let module = Module::new(file, source);
            (module.at.clone(), module)
        });
        House {
            modules: modules.collect(),
        }
    }

    /// Files that a module imports from; what it only hands on is no tie.
    fn imports(&self, module: &Module) -> BTreeSet<&'a str> {
        let names = module.names.values().filter(|(_, handed_on)| !handed_on);
        let paths = names.map(|(path, _)| path).chain(&module.paths);
        let files = paths.filter_map(|path| self.file_of(module, path, 8));
        files.filter(|file| *file != module.file).collect()
    }

    /// The file that defines what a path in a module names.
    fn file_of(&self, module: &Module, path: &[String], depth: usize) -> Option<&'a str> {
        let depth = depth.checked_sub(1)?;
        let first = path.first()?;
        let (mut at, mut rest) = match first.as_str() {
            "crate" => (Words::new(), &path[1..]),
            "self" | "super" => (module.at.clone(), path),
            _ if self.modules.contains_key(&child(&module.at, first)) => (module.at.clone(), path),
            _ => {
                let (stands_for, _) = module.names.get(first).filter(|(to, _)| to[..] != *path)?;
                let whole = [stands_for, &path[1..]].concat();
                return self.file_of(module, &whole, depth);
            }
        };
        while let Some(word) = rest
            .first()
            .filter(|word| ["self", "super"].contains(&word.as_str()))
        {
            if word == "super" {
                at.pop();
            }
            rest = &rest[1..];
        }
        for (i, word) in rest.iter().enumerate() {
            let inner = child(&at, word);
            if self.modules.contains_key(&inner) {
                at = inner;
                continue;
            }
            let here = self.modules.get(&at)?;
            // A name that comes from another crate is no file's.
            return match here.names.get(word) {
                Some((to, _)) => {
                    let whole = [&to[..], &rest[i + 1..]].concat();
                    self.file_of(here, &whole, depth)
                }
                None => Some(here.file),
            };
        }
        self.modules.get(&at).map(|module| module.file)
    }
}

fn child(at: &[String], word: &str) -> Words {
    [at, &[word.to_owned()]].concat()
}

impl<'a> Module<'a> {
    fn new(file: &'a str, source: &str) -> Module<'a> {
        let mut at: Words = file
            .trim_end_matches(".rs")
            .split('/')
            .map(str::to_owned)
            .collect();
        if at.last().is_some_and(|last| last == "mod" || last == "lib") {
            at.pop();
        }
        let lines = source
            .lines()
            .map(|line| line.split("//").next().unwrap_or(""));
        let source: Vec<_> = lines.collect();
        let source = source.join("\n");
        // Tests at the end of a file may use what they like.
        let source = source
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or("");
        let mut module = Module {
            file,
            at,
            names: BTreeMap::new(),
            paths: Vec::new(),
        };
        let mut code = String::new();
        for statement in source.split_inclusive(';') {
            let begin = statement.rfind("use ").filter(|begin| {
                let before = statement[..*begin].rsplit('\n').next().unwrap_or("").trim();
                before.is_empty()
                    || before == "pub"
                    || before.starts_with("pub(") && before.ends_with(')')
            });
            let Some(begin) = begin else {
                code += statement;
                continue;
            };
            let line = statement[..begin].rfind('\n').map_or(0, |end| end + 1);
            let handed_on = !statement[line..begin].trim().is_empty();
            code += &statement[..line];
            let tree = statement[begin + 4..].trim_end_matches(';');
            module.tree(tree, &[], handed_on);
        }
        for (start, first) in code
            .match_indices("crate::")
            .chain(code.match_indices("super::"))
        {
            let before = code[..start].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let rest = &code[start + first.len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
            let rest = rest[..end.unwrap_or(rest.len())].trim_end_matches(':');
            let words = rest.split("::").filter(|word| !word.is_empty());
            let path = std::iter::once(first.trim_end_matches(':')).chain(words);
            module.paths.push(path.map(str::to_owned).collect());
        }
        module
    }

    /// A tree of names: `a::{b, c as d, e::{self, F}}`.
    fn tree(&mut self, tree: &str, before: &[String], handed_on: bool) {
        let tree = tree.trim();
        if let Some((head, group)) = tree.split_once('{') {
            let head = head
                .split("::")
                .map(str::trim)
                .filter(|word| !word.is_empty());
            let before = [before, &head.map(str::to_owned).collect::<Words>()].concat();
            let group = group.trim_end().trim_end_matches('}');
            let (mut depth, mut from) = (0, 0);
            for (at, c) in group.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        self.tree(&group[from..at], &before, handed_on);
                        from = at + 1;
                    }
                    _ => {}
                }
            }
            return self.tree(&group[from..], &before, handed_on);
        }
        if tree.is_empty() {
            return;
        }
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        let words = path.split("::").map(|word| word.trim().to_owned());
        let mut path = [before, &words.collect::<Words>()].concat();
        path.pop_if(|last| last == "self");
        let Some(last) = path.last().cloned() else {
            return;
        };
        let name = if name.is_empty() {
            last
        } else {
            name.trim().to_owned()
        };
        self.names.insert(name, (path, handed_on));
    }
}
