//! A directory of probes: operands as `.npy`, and a manifest that says what each case is for.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Suite;
use crate::emu::{Scale, shape_text};
use crate::io::ensure;
use crate::io::npy::{NpyFile, write_npy};
use crate::io::{Fault, FaultKind, FileError, Fleeting, MAX_DOCUMENT, printable, read_text};
use crate::num::Format;
use crate::tensor::Tensor;

/// Value of the manifest's `schema` field.
pub const SCHEMA: &str = "tcverify.probes/1";

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub schema: String,
    /// Version of the program that wrote it.
    pub version: String,
    pub a: Format,
    pub b: Format,
    pub accumulator: Format,
    /// Of A and B, if they have scales.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    pub k: usize,
    pub cases: Vec<Entry>,
}

/// What one case is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub index: usize,
    pub family: String,
    pub purpose: String,
    /// What its answer tells apart.
    pub tells: String,
}

impl Manifest {
    pub fn of(suite: &Suite) -> Manifest {
        let entry = |(index, case): (usize, &super::Case)| Entry {
            index,
            family: case.family.to_owned(),
            purpose: case.purpose.clone(),
            tells: case.tells.to_owned(),
        };
        Manifest {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            a: suite.a,
            b: suite.b,
            accumulator: suite.accumulator,
            scale: suite.scale,
            k: suite.k,
            cases: suite.cases.iter().enumerate().map(entry).collect(),
        }
    }

    /// Reads a manifest, whatever cases it lists.
    ///
    /// # Errors
    /// If the text is not a manifest.
    pub fn parse(text: &str) -> Result<Manifest, Fault> {
        let manifest: Manifest = crate::words::from_json(text).map_err(|error| {
            Fault::from(printable(&error)).within("is not a manifest of probes")
        })?;
        ensure!(
            manifest.schema == SCHEMA,
            "its schema is {:?}, not {SCHEMA:?}",
            printable(&manifest.schema)
        );
        Ok(manifest)
    }

    /// Checks that it lists the cases of a suite of the same formats.
    ///
    /// # Errors
    /// If it lists others.
    pub fn confirm(&self, suite: &Suite) -> Result<(), Fault> {
        let own = Manifest::of(suite);
        ensure!(
            own.cases == self.cases && own.k == self.k,
            "does not list the cases that tcverify {} writes for {}*{} -> {} (it is of version {}); {AGAIN}",
            own.version,
            suite.a,
            suite.b,
            suite.accumulator,
            printable(&self.version)
        );
        Ok(())
    }
}

/// A, B and C of a suite: n independent dot products, as (n,1,K), (n,K,1) and (n,1,1), then scales of A and B if
/// they have some, (n,1,K/block) and (n,K/block,1).
pub fn operands(suite: &Suite) -> Vec<Tensor> {
    let (n, k) = (suite.cases.len(), suite.k);
    let all = |codes: fn(&super::Case) -> &[u64]| -> Vec<u64> {
        suite.cases.iter().flat_map(codes).copied().collect()
    };
    let mut tensors = vec![
        Tensor::from_codes(suite.a, vec![n, 1, k], &all(|case| &case.a)),
        Tensor::from_codes(suite.b, vec![n, k, 1], &all(|case| &case.b)),
        Tensor::from_codes(
            suite.accumulator,
            vec![n, 1, 1],
            &all(|case| std::slice::from_ref(&case.c)),
        ),
    ];
    if let Some(scale) = suite.scale {
        let blocks = k / scale.block;
        tensors.extend([
            Tensor::from_codes(
                scale.format,
                vec![n, 1, blocks],
                &all(|case| &case.scales[0]),
            ),
            Tensor::from_codes(
                scale.format,
                vec![n, blocks, 1],
                &all(|case| &case.scales[1]),
            ),
        ]);
    }
    tensors
}

/// Files of operands, in the order of [`operands`].
pub const NAMES: [&str; 5] = ["a.npy", "b.npy", "c.npy", "scale_a.npy", "scale_b.npy"];

/// Writes a suite as a directory that appears whole or not at all.
///
/// # Errors
/// If there is something at that place already, or nothing can be written there.
pub fn write(suite: &Suite, folder: &Path) -> Result<(), FileError> {
    make(suite, folder).map_err(|fault| fault.of(folder))
}

fn make(suite: &Suite, folder: &Path) -> Result<(), Fault> {
    let occupied = |phrase| Err(Fault::new(FaultKind::Unwritable, phrase));
    let unwritable = |error| Fault::caused(FaultKind::Unwritable, "cannot be written", error);
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(unwritable(error)),
        Ok(there) if !there.is_dir() => return occupied("exists and is not a directory"),
        Ok(_) => {
            let mut entries = fs::read_dir(folder).map_err(unwritable)?;
            if entries.next().is_some() {
                return occupied(
                    "is not empty; name a new directory, because nothing is overwritten",
                );
            }
        }
    }
    let parent = match folder.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    if !parent.is_dir() {
        let none = format!("there is no directory {}", parent.display());
        return Err(unwritable(io::Error::other(none)));
    }
    let temporary = TemporaryFolder::make(parent).map_err(unwritable)?;
    // Guards live until the files have moved: on a signal, the directory must be empty when it is removed.
    let _guards = fill(suite, &temporary.0).map_err(unwritable)?;
    fs::rename(&temporary.0, folder).map_err(unwritable)
}

/// A temporary directory beside the suite's, which is removed unless it was renamed.
struct TemporaryFolder(
    PathBuf,
    #[expect(dead_code, reason = "removes it upon a signal")] Fleeting,
);

impl TemporaryFolder {
    fn make(parent: &Path) -> io::Result<TemporaryFolder> {
        let mut builder = tempfile::Builder::new();
        let made = builder.prefix(".tcverify-").make_in(parent, |path| {
            // The guard comes first, so that no moment is unguarded.
            let guard = Fleeting::new(path);
            fs::create_dir(path).map(|()| guard)
        });
        // The whole error would name the temporary directory, which means nothing to anyone.
        let (guard, path) = made.map_err(|e| io::Error::from(e.kind()))?.into_parts();
        Ok(TemporaryFolder(path.keep()?, guard))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // If it has moved, there is nothing to remove.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn fill(suite: &Suite, folder: &Path) -> io::Result<Vec<Fleeting>> {
    let guards = RefCell::new(Vec::new());
    let save = |name: &str, content: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
        let path = folder.join(name);
        guards.borrow_mut().push(Fleeting::new(&path));
        let mut out = io::BufWriter::new(fs::File::create(path)?);
        content(&mut out)?;
        out.flush()?;
        out.get_ref().sync_all()
    };
    for (name, tensor) in NAMES.into_iter().zip(operands(suite)) {
        save(name, &|out| write_npy(&tensor, out))?;
    }
    let manifest = Manifest::of(suite);
    save("manifest.json", &|out| {
        serde_json::to_writer_pretty(&mut *out, &manifest)?;
        writeln!(out)
    })?;
    Ok(guards.into_inner())
}

/// The suite of a directory that [`write`](self::write()) made.
///
/// # Errors
/// If the directory holds anything else: conclusions from answers depend on the operands, so these must be this
/// version's for their formats.
pub fn read(folder: &Path) -> Result<Suite, FileError> {
    let path = folder.join("manifest.json");
    let suite = described(&path).map_err(|fault| fault.of(&path))?;
    for (file, expected) in NAMES.into_iter().zip(operands(&suite)) {
        let path = folder.join(file);
        let (found, _) = codes(&path, expected.format(), expected.shape())?;
        if found != all_codes(&expected) {
            let other =
                format!("does not contain the operands that the manifest describes; {AGAIN}");
            return Err(Fault::from(other).of(&path));
        }
    }
    Ok(suite)
}

const AGAIN: &str = "write the probes again with this version, and run them again";

/// The suite that a manifest describes.
fn described(path: &Path) -> Result<Suite, Fault> {
    let text = read_text(path, "manifest of probes", MAX_DOCUMENT);
    let manifest = Manifest::parse(&text.map_err(|error| *error.fault)?)?;
    let suite = Suite::scaled(manifest.a, manifest.b, manifest.accumulator, manifest.scale);
    let suite = suite.map_err(Fault::from)?;
    manifest.confirm(&suite)?;
    Ok(suite)
}

/// The answers of a machine to a suite, one code each, and the SHA-256 of their file.
///
/// # Errors
/// If the file does not hold one number of the accumulator's format for each case.
pub fn read_answers(suite: &Suite, path: &Path) -> Result<(Vec<u64>, String), FileError> {
    codes(path, suite.accumulator, &[suite.cases.len(), 1, 1])
}

fn codes(path: &Path, format: Format, shape: &[usize]) -> Result<(Vec<u64>, String), FileError> {
    let file = NpyFile::open(path)?;
    let found = &file.header().shape;
    if found != shape {
        let (found, expected) = (shape_text(found), shape_text(shape));
        let other = format!("is {found}; expected {expected}, in the order of the manifest");
        return Err(Fault::new(FaultKind::Elements, other).of(path));
    }
    let tensor = file.tensor(format)?;
    let codes = all_codes(&tensor);
    let sha256 = file.file().sha256().to_owned();
    file.file().confirm_unchanged()?;
    Ok((codes, sha256))
}

/// Codes in C order.
fn all_codes(tensor: &Tensor) -> Vec<u64> {
    let planes = tensor.planes();
    let (rows, columns) = (planes.rows(), planes.columns());
    let mut codes = Vec::with_capacity(tensor.len());
    for batch in 0..planes.batches() {
        let plane = planes.plane(batch);
        for row in 0..rows {
            codes.extend((0..columns).map(|column| plane.code(row, column)));
        }
    }
    codes
}
