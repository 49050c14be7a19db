//! `tcverify inspect`: what files contain.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::values::any_format;
use super::{Ending, show};
use crate::emu::shape_text;
use crate::inspect::Census;
use crate::inspect::document::{Array, Counts, File, Found, INSPECTION, Inspection, Read};
use crate::io::{Container, FileError, Source, escaped, escaped_path, payload_sha256};
use crate::num::{Format, decimal};
use crate::report::Tool;

/// List the arrays in files, with digests and counts of special numbers
///
/// Shows each array's element type, shape and the SHA-256 of its payload. If the file states the
/// format, it also counts NaN, infinite, zero and subnormal elements, and shows the least and the
/// greatest.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  All tensors of a model:
    tcverify inspect model.safetensors

  One of them, as JSON:
    tcverify inspect --json model.safetensors#layers.0.q_proj.weight

  Bytes that hold E4M3 codes:
    tcverify inspect --dtype e4m3 dump.npz#a

Exit codes: 0 all arrays were read, 2 one was not (its line says why), or another error.")]
pub struct Inspect {
    /// Files: x.npy, x.npz, x.safetensors, or one array in them as FILE#NAME
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Format of the elements, if the file does not state it
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format())]
    dtype: Option<Format>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub fn run(self) -> Result<Ending> {
        let files: Result<Vec<_>> = self.files.iter().map(|path| self.file(path)).collect();
        let inspection = Inspection {
            schema: INSPECTION,
            tool: Tool::default(),
            files: files?,
        };
        show::either(self.json, &inspection, |out| {
            let mut files = inspection.files.iter();
            files.try_for_each(|file| text(file, out))
        })?;
        let arrays = inspection.files.iter().flat_map(|file| &file.arrays);
        let failed = arrays
            .filter(|array| matches!(array.found, Found::NotRead { .. }))
            .count();
        match failed {
            0 => Ok(Ending::Done),
            1 => anyhow::bail!("one array was not read; the list says why"),
            n => anyhow::bail!("{n} arrays were not read; the list says why"),
        }
    }

    fn file(&self, path: &std::path::Path) -> Result<File> {
        let container = Container::open(path)?;
        let array = |number| {
            let source = container.source(number);
            let found = source.and_then(|source| self.read(&source));
            let name = container.name(number).map(str::to_owned);
            let found = match found {
                Ok(read) => Found::Read(Box::new(read)),
                // The line begins with the array's name already.
                Err(error) => Found::NotRead {
                    error: format!("{:#}", error.fault),
                },
            };
            Array { name, found }
        };
        let meant = container.meant();
        let only = (meant.len() == 1).then_some(meant.start);
        let named = only.is_some() && path != container.file().path();
        let arrays: Vec<_> = meant.map(array).collect();
        // An array requested by name is an error of its own, not a line of a list.
        if let Some(Array {
            found: Found::NotRead { error },
            ..
        }) = arrays.first()
            && (named || container.name(0).is_none())
        {
            return Err(anyhow::anyhow!("{error}")).with_context(|| escaped_path(path));
        }
        let file_sha256 = container.file().sha256().to_owned();
        container.file().confirm_unchanged()?;
        Ok(File {
            path: path.display().to_string(),
            file_sha256,
            arrays,
        })
    }

    fn read(&self, source: &Source) -> Result<Read, FileError> {
        let header = source.header();
        let format = self.dtype.or(header.descr.number_format());
        let tensor = source.tensor(format.unwrap_or(header.descr.as_stored()))?;
        let counts = format.map(|format| {
            let census = Census::of(&tensor);
            let extremes = census.extremes();
            let [min, max] =
                [0, 1].map(|which| extremes.map(|codes| decimal(format, codes[which])));
            Counts {
                nan: census.nan,
                infinite: census.infinite,
                zero: census.zero,
                subnormal: census.subnormal,
                min,
                max,
            }
        });
        Ok(Read {
            descr: header.descr.text().to_owned(),
            fortran_order: header.fortran_order,
            format,
            shape: header.shape.clone(),
            payload_sha256: payload_sha256(&tensor),
            counts,
        })
    }
}

/// The table of a file's arrays.
fn text(file: &File, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", escaped(&file.path))?;
    writeln!(out, "  file  {}", file.file_sha256)?;
    let title = [
        "array",
        "type",
        "read as",
        "shape",
        "NaN",
        "Inf",
        "zero",
        "subnormal",
        "min",
        "max",
        "payload",
    ];
    let mut rows = vec![title.map(str::to_owned).to_vec()];
    rows.extend(file.arrays.iter().map(cells));
    let width = |column: usize| {
        let full = rows.iter().filter(|row| row.len() > 2);
        let lengths = full.map(|row| row[column].chars().count());
        lengths.max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..title.len()).map(width).collect();
    let names = rows.iter().map(|row| row[0].chars().count());
    let names = names.max().unwrap_or(0);
    for row in &rows {
        let mut line = format!("  {:names$}", row[0]);
        for (column, cell) in row.iter().enumerate().skip(1) {
            // Numbers are aligned to the right.
            let width = if row.len() > 2 { widths[column] } else { 0 };
            line += &match column {
                4..=9 => format!("  {cell:>width$}"),
                _ => format!("  {cell:width$}"),
            };
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// One line of the table.
fn cells(array: &Array) -> Vec<String> {
    let name = array.name.as_deref().unwrap_or("-");
    let name = escaped(name);
    let read = match &array.found {
        Found::NotRead { error } => return vec![name, format!("not read: {error}")],
        Found::Read(read) => read,
    };
    let format = read.format;
    let format = format.map_or("-".to_owned(), |format| format.to_string());
    let mut cells = vec![name, read.descr.clone(), format, shape_text(&read.shape)];
    cells.extend(match &read.counts {
        None => vec!["-".to_owned(); 6],
        Some(counts) => {
            let or = |number: &Option<String>| number.clone().unwrap_or("-".to_owned());
            let extremes = [&counts.min, &counts.max].map(or);
            let counts = [counts.nan, counts.infinite, counts.zero, counts.subnormal];
            let counts = counts.map(|count| count.to_string());
            counts.into_iter().chain(extremes).collect()
        }
    });
    cells.push(read.payload_sha256.clone());
    cells
}
