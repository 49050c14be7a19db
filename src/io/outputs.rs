//! All outputs of a command, beside all of its inputs: nothing is overwritten.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::console::Console;
use super::container::{on_disk, split};
use super::{Fault, FaultKind, FileError, Output, escaped_path};

/// The outputs of a command, opened before its work starts: each in a place of its own, none in that of a
/// file that is protected.
///
/// ```
/// use std::path::Path;
/// use tcverify_io::Outputs;
///
/// # let folder = tempfile::tempdir()?;
/// # let (a, model) = (folder.path().join("x.npz#a"), folder.path().join("my.json"));
/// # std::fs::write(&model, "{}")?;
/// let mut outputs = Outputs::new();
/// outputs.protect("A", &a).protect("the model", &model);
/// let report = outputs.open("the JSON report", &folder.path().join("report.json"))?;
/// let refused = outputs.open("the page", &model).unwrap_err();
/// assert!(refused.to_string().ends_with("my.json: the page would overwrite the model"));
/// report.commit(|out| out.write_all(b"{}\n"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Outputs {
    /// By the paths that they were named with, each once: a batch may name one a hundred thousand times.
    protected: BTreeMap<PathBuf, Claim>,
    claimed: Vec<Claim>,
    /// Folders that nothing is written into, as sentences have them.
    closed: Vec<(String, PathBuf)>,
}

/// A place that an input or another output has.
#[derive(Debug)]
struct Claim {
    /// As a sentence has it: "the model".
    role: String,
    path: PathBuf,
    place: Place,
}

/// Where a path leads, whether or not something is there.
#[derive(Debug)]
struct Place {
    /// The name itself, in its folder.
    name: PathBuf,
    /// What it leads to if it is a link, over all links.
    end: PathBuf,
    /// What is there already, by device and number: a file can have many names.
    there: Option<(u64, u64)>,
}

impl Outputs {
    pub fn new() -> Outputs {
        Outputs::default()
    }

    /// A file that is read: nothing may be written there. Of `x.npz#name` that is `x.npz`, of a
    /// link what it leads to as well. Paths that are not files ([`STDIN`](super::STDIN), pipes,
    /// `generate:…`) are ignored.
    ///
    /// # Panics
    /// If an output has been opened: it would not have been compared with this.
    pub fn protect(&mut self, role: &str, path: &Path) -> &mut Outputs {
        assert!(self.claimed.is_empty(), "inputs first");
        if self.protected.contains_key(path) {
            return self;
        }
        // One that means two things is refused where it is read; each of them stays as it is.
        let file = on_disk(path);
        let folder_or_file = |about: fs::Metadata| about.is_file() || about.is_dir();
        if path != Path::new(super::STDIN) && fs::metadata(&file).map_or(true, folder_or_file) {
            let claim = Claim::new(role, &file);
            self.protected.insert(path.to_owned(), claim);
        }
        self
    }

    /// A folder that nothing is written into, whichever links lead there or from there.
    pub fn close(&mut self, role: &str, folder: &Path) -> &mut Outputs {
        let here = if folder == Path::new("") {
            Path::new(".")
        } else {
            folder
        };
        let folder = fs::canonicalize(here).unwrap_or_else(|_| folder.to_owned());
        self.closed.push((role.to_owned(), folder));
        self
    }

    /// Opens an output; `-` is standard output.
    ///
    /// # Errors
    /// If something would be written over, or nothing can be written there.
    pub fn open(&mut self, role: &str, path: &Path) -> Result<Output, FileError> {
        self.claim(role, path)?;
        Output::prepare(path)
    }

    /// Opens an output if it is requested.
    pub fn open_if(
        &mut self,
        role: &str,
        path: Option<impl AsRef<Path>>,
    ) -> Result<Option<Output>, FileError> {
        path.map(|path| self.open(role, path.as_ref())).transpose()
    }

    /// Opens an output that goes to the end of what is there.
    pub fn append(&mut self, role: &str, path: &Path) -> Result<Output, FileError> {
        self.claim(role, path)?;
        Output::append(path)
    }

    /// Takes a place for something that is written later: with [`Output::prepare`], or a folder.
    ///
    /// # Errors
    /// If that would write over something.
    pub fn claim(&mut self, role: &str, path: &Path) -> Result<(), FileError> {
        let refused = |why: String| Err(Fault::new(FaultKind::Unwritable, why).of(path));
        let claim = Claim::new(role, path);
        if let Some(input) = self.protected.values().find(|other| claim.meets(other)) {
            let called = claim.called(input);
            return refused(format!("{role} would overwrite {}{called}", input.role));
        }
        let within = |folder: &PathBuf| {
            let ends = [&claim.place.name, &claim.place.end];
            ends.iter().any(|end| end.starts_with(folder))
                || path != Path::new("-") && leads_through(path, folder)
        };
        if let Some((closed, _)) = self.closed.iter().find(|(_, folder)| within(folder)) {
            return refused(format!(
                "{role} would be inside {closed}; choose another place"
            ));
        }
        if let Some(other) = self.claimed.iter().find(|other| claim.meets(other)) {
            let called = claim.called(other);
            return refused(format!(
                "{role} and {}{called} cannot go to the same place",
                other.role
            ));
        }
        if let Ok((file, Some(_))) = split(path) {
            return refused(format!(
                "{role} cannot become an array of {}; name a separate file",
                escaped_path(&file)
            ));
        }
        self.claimed.push(claim);
        Ok(())
    }
}

/// Whether a path as it is typed passes a folder and stays in it: a link there may lead out of it, `..` does.
fn leads_through(path: &Path, folder: &Path) -> bool {
    let mut above = vec![fs::canonicalize(".")];
    let mut typed = PathBuf::new();
    for part in path.parent().unwrap_or(Path::new("")).components() {
        typed.push(part);
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir if above.len() > 1 => drop(above.pop()),
            std::path::Component::RootDir => above = vec![fs::canonicalize(&typed)],
            _ => above.push(fs::canonicalize(&typed)),
        }
    }
    above
        .into_iter()
        .any(|above| above.is_ok_and(|above| above == *folder))
}

impl Claim {
    fn new(role: &str, path: &Path) -> Claim {
        Claim {
            role: role.to_owned(),
            path: path.to_owned(),
            place: Place::of(path),
        }
    }

    fn meets(&self, other: &Claim) -> bool {
        let (one, two) = (&self.place, &other.place);
        let ends = [&one.name, &one.end];
        let same = ends.contains(&&two.name) || ends.contains(&&two.end);
        let thrown_away = [&one.end, &two.end].contains(&&PathBuf::from("/dev/null"));
        !thrown_away && (same || one.there.is_some() && one.there == two.there)
    }

    /// The other's path, if it differs.
    fn called(&self, other: &Claim) -> String {
        if self.path == other.path {
            String::new()
        } else {
            format!(" ({})", escaped_path(&other.path))
        }
    }
}

impl Place {
    fn of(path: &Path) -> Place {
        if path == Path::new("-") {
            return Place {
                name: path.to_owned(),
                end: path.to_owned(),
                there: match Console::current() {
                    // A buffer is not a file.
                    Some(_) => None,
                    None => fs::metadata("/dev/stdout").ok().and_then(number),
                },
            };
        }
        let name = spelled(path);
        let mut end = name.clone();
        // As many links as Linux follows.
        for _ in 0..40 {
            let Ok(next) = fs::read_link(&end) else { break };
            end = spelled(&end.parent().unwrap_or(Path::new("/")).join(next));
        }
        Place {
            // Of what is there the system knows better, magic links of /dev included.
            end: fs::canonicalize(path).unwrap_or(end),
            name,
            there: fs::metadata(path).ok().and_then(number),
        }
    }
}

/// The canonical folder of what need not be there, and its name.
fn spelled(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return fs::canonicalize(&absolute).unwrap_or(absolute);
    };
    // File systems there take two cases for one letter.
    let name = if cfg!(any(windows, target_os = "macos")) {
        name.to_ascii_lowercase()
    } else {
        name.to_owned()
    };
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    folder.join(name)
}

#[cfg(unix)]
fn number(about: fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((about.dev(), about.ino()))
}

/// Canonical paths have to do.
#[cfg(not(unix))]
fn number(_: fs::Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn with(names: &[&str]) -> Folder {
            let folder = Folder(tempfile::tempdir().unwrap());
            for name in names {
                fs::write(folder.path(name), "old").unwrap();
            }
            folder
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        /// The reasons for which outputs are refused, each after the ones before.
        fn refused(&self, protected: &[(&str, &str)], opened: &[(&str, &str)]) -> Vec<String> {
            let mut outputs = Outputs::new();
            for (role, name) in protected {
                outputs.protect(role, &self.path(name));
            }
            let opened = opened
                .iter()
                .map(|(role, name)| outputs.open(role, &self.path(name)));
            opened
                .filter_map(|opened| Some(opened.err()?.fault.to_string()))
                .collect()
        }
    }

    #[test]
    fn no_output_over_an_input() {
        let folder = Folder::with(&["a.npy", "my.json", "x.npz"]);
        let inputs = [("A", "a.npy"), ("the model", "my.json"), ("D", "x.npz#d")];
        let report = |name: &'static str| folder.refused(&inputs, &[("the report", name)]);
        assert_eq!(report("my.json"), ["the report would overwrite the model"]);
        assert_eq!(report("./a.npy"), ["the report would overwrite A"]);
        assert_eq!(report("x.npz"), ["the report would overwrite D"]);
        assert!(report("x.npz#d")[0].contains("cannot become an array"));
        assert!(report("new.json").is_empty());
        assert_eq!(fs::read(folder.path("my.json")).unwrap(), b"old");
        // An input that is not there yet, and will be complained of elsewhere.
        let gone = folder.refused(&[("C", "c.npy")], &[("the report", "c.npy")]);
        assert_eq!(gone, ["the report would overwrite C"]);
    }

    #[test]
    fn two_outputs_never_meet() {
        let folder = Folder::with(&["old.json"]);
        let two = |one, other| folder.refused(&[], &[("the page", one), ("the report", other)]);
        for (one, other) in [
            ("new.json", "new.json"),
            ("new.json", "./new.json"),
            ("old.json", "old.json"),
        ] {
            let why = two(one, other);
            assert!(
                why[0].starts_with("the report and the page"),
                "{one} {other} {why:?}"
            );
            assert!(why[0].ends_with("cannot go to the same place"), "{why:?}");
        }
        assert!(two("new.json", "old.json").is_empty());
        let mut outputs = Outputs::new();
        outputs.open("one", Path::new("-")).unwrap();
        assert!(outputs.open("two", Path::new("-")).is_err());
        let mut outputs = Outputs::new();
        outputs.protect("A", Path::new("-"));
        outputs.open("one", Path::new("-")).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_are_what_they_lead_to() {
        use std::os::unix::fs::symlink;
        let folder = Folder::with(&["a.npy"]);
        symlink("a.npy", folder.path("link")).unwrap();
        symlink("link", folder.path("second")).unwrap();
        symlink("new.json", folder.path("nowhere")).unwrap();
        fs::hard_link(folder.path("a.npy"), folder.path("hard")).unwrap();
        fs::create_dir(folder.path("below")).unwrap();
        symlink("..", folder.path("below/up")).unwrap();
        for (input, output) in [
            ("a.npy", "link"),
            ("a.npy", "second"),
            ("link", "a.npy"),
            ("second", "link"),
            ("a.npy", "hard"),
            ("a.npy", "below/up/a.npy"),
            ("nowhere", "new.json"),
            ("below/up/new.json", "nowhere"),
        ] {
            let why = folder.refused(&[("A", input)], &[("the report", output)]);
            assert_eq!(why.len(), 1, "{output} over {input}");
            let two = folder.refused(&[], &[("the page", input), ("the report", output)]);
            assert_eq!(two.len(), 1, "{output} and {input}");
        }
        let null = Path::new("/dev/null");
        let mut outputs = Outputs::new();
        outputs.open("one", null).unwrap();
        outputs.open("two", null).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn the_mode_of_a_replaced_file_is_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::with(&["secret.json", "open.json"]);
        for (name, mode) in [("secret.json", 0o600), ("open.json", 0o666)] {
            let path = folder.path(name);
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let output = Outputs::new().open("the report", &path).unwrap();
            output.commit(|out| out.write_all(b"new")).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            let now = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(now & 0o777, mode);
        }
    }

    #[test]
    fn what_is_appended_to_keeps_its_beginning() {
        let folder = Folder::with(&["summary.md"]);
        for (name, all) in [("summary.md", "oldnew"), ("other.md", "new")] {
            let mut outputs = Outputs::new();
            let summary = outputs.append("the summary", &folder.path(name)).unwrap();
            assert!(outputs.open("the report", &folder.path(name)).is_err());
            summary.commit(|out| out.write_all(b"new")).unwrap();
            assert_eq!(fs::read(folder.path(name)).unwrap(), all.as_bytes());
        }
        let none = Outputs::new().append("the summary", &folder.path("gone/x.md"));
        assert!(format!("{:#}", none.unwrap_err()).contains("there is no directory"));
    }
}
