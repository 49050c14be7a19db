//! `.npz`: a ZIP archive of `.npy` files, stored or deflated.
//!
//! Readers of ZIP differ in what they make of odd archives. One that they could read differently is
//! refused: with two directories, a comment, bytes before the first member, members that overlap or
//! share a name, or local headers that contradict the directory.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};
use std::sync::Arc;

use rawzip::{CompressionMethod, ZipArchive, ZipFileHeaderRecord, ZipSliceArchive};

use super::shorten;
use crate::io::error::{bail, ensure};
use crate::io::npy::Header;
use crate::io::{Fault, FaultKind, MappedFile, printable};
use crate::memory::{Block, Memory};
use crate::tensor::Bytes;

/// A member that is an array, checked but not yet read.
#[derive(Debug)]
pub struct Member {
    /// Without the ending `.npy`.
    pub name: String,
    /// Its data in the archive, as they lie there.
    start: usize,
    end: usize,
    /// Bytes of the `.npy` file, as the directory has it.
    size: usize,
    crc: u32,
    how: How,
}

#[derive(Debug)]
enum How {
    Stored,
    Deflated,
    /// Why not.
    NotRead(String),
}

/// Records at the end of an archive.
const END: usize = 22;
const END64: usize = 56;
const LOCATOR: usize = 20;

pub fn looks_like_one(file: &[u8]) -> bool {
    file.starts_with(b"PK\x03\x04") || file.starts_with(b"PK\x05\x06")
}

/// Whether it is what `torch.save` writes: an archive with a pickle, before version 1.6 a pickle that
/// begins with a number of its own.
pub fn is_pytorch(file: &[u8]) -> bool {
    const OLD: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
    let pickled = || {
        let archive = ZipArchive::from_slice(file).ok()?;
        let mut entries = archive.entries();
        while let Some(record) = entries.next_entry().ok()? {
            let name = record.file_path().as_bytes();
            if name == b"data.pkl" || name.ends_with(b"/data.pkl") {
                return Some(());
            }
        }
        None
    };
    file.starts_with(OLD) || looks_like_one(file) && pickled().is_some()
}

/// Whether it begins as a binary pickle does.
pub fn is_pickle(file: &[u8]) -> bool {
    matches!(file, [0x80, 2..=5, ..])
}

/// The arrays of an archive in the order of its directory.
///
/// # Errors
/// What is wrong, to be read after the file's name.
pub fn members(file: &[u8]) -> Result<Vec<Member>, Fault> {
    ensure!(
        looks_like_one(file),
        "is no .npz file: it does not begin as a ZIP archive does"
    );
    let archive = ZipArchive::from_slice(file).map_err(broken)?;
    let mut end = place(archive.directory_offset())?;
    let mut entries = archive.entries();
    let mut members = Vec::new();
    let mut names = BTreeSet::new();
    let mut places = Vec::new();
    let mut count = 0;
    while let Some(record) = entries.next_entry().map_err(broken)? {
        count += 1;
        let raw = record.file_path().as_bytes();
        // The fixed part is 46 bytes.
        end += 46
            + raw.len()
            + record.extra_fields().remaining_bytes().len()
            + record.comment().as_bytes().len();
        let name = String::from_utf8_lossy(raw).into_owned();
        ensure!(
            names.insert(raw.to_owned()),
            "has the member {:?} twice",
            shorten(&name)
        );
        let member = member(&archive, &record, name.clone())
            .map_err(|fault| fault.within(format_args!("its member {:?}", shorten(&name))))?;
        let header = place(record.local_header_offset())?;
        places.push((header, member.end));
        if let Some(name) = member.name.strip_suffix(".npy") {
            members.push(Member {
                name: name.to_owned(),
                ..member
            });
        }
    }
    ensure!(
        count == archive.entries_hint(),
        "its directory has {count} members, but is said to have {}",
        archive.entries_hint()
    );
    let start = place(archive.directory_offset())?;
    check_end(file, count, start, end)?;
    // NumPy looks for a member of the very name first.
    for member in &mut members {
        if names.contains(member.name.as_bytes()) {
            member.how = How::NotRead("is one of two that its name could mean".to_owned());
        }
    }
    places.push((start, end));
    places.sort_unstable();
    ensure!(
        places[0].0 == 0,
        "has {} bytes before its first member",
        places[0].0
    );
    ensure!(
        places.windows(2).all(|pair| pair[0].1 <= pair[1].0),
        "has members that overlap"
    );
    Ok(members)
}

/// Every reader must find the same directory: it ends where the records begin that tell where it is,
/// and they end with the file.
fn check_end(file: &[u8], count: u64, start: usize, end: usize) -> Result<(), Fault> {
    let number = |at: usize, width: usize| -> Option<u64> {
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(file.get(at..at + width)?);
        Some(u64::from_le_bytes(bytes))
    };
    let size = (end - start) as u64;
    let last = file.len().saturating_sub(END);
    ensure!(
        file.get(last..last + 4) == Some(b"PK\x05\x06") && number(last + 20, 2) == Some(0),
        "has a comment or other bytes after its directory"
    );
    let locator = last.saturating_sub(LOCATOR);
    let large = file.get(locator..locator + 4) == Some(b"PK\x06\x07");
    // Two disk numbers, the members of this disk and of all, the directory's size and place.
    let facts = [0, 0, count, count, size, start as u64];
    let small = [(4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4)];
    // Beside a record of 64 bits, all ones mean: see there.
    let mut fits = facts.iter().zip(small).all(|(&fact, (at, width))| {
        let ones = u64::MAX >> (64 - 8 * width);
        let said = number(last + at, width);
        said == Some(fact) || large && said == Some(ones)
    });
    fits &= if large {
        let wide = [(16, 4), (20, 4), (24, 8), (32, 8), (40, 8), (48, 8)];
        let same = |(&fact, (at, width))| number(end + at, width) == Some(fact);
        locator.checked_sub(END64) == Some(end)
            && number(locator + 4, 4) == Some(0)
            && number(locator + 8, 8) == Some(end as u64)
            && number(end + 4, 8) == Some(END64 as u64 - 12)
            && facts.iter().zip(wide).all(same)
    } else {
        last == end
    };
    ensure!(fits, "its directory does not lie where it is said to");
    Ok(())
}

fn member(
    archive: &ZipSliceArchive<&[u8]>,
    record: &ZipFileHeaderRecord,
    name: String,
) -> Result<Member, Fault> {
    let entry = archive.get_entry(record.wayfinder()).map_err(broken)?;
    let local = entry.local_header();
    ensure!(
        local.file_path().as_bytes() == record.file_path().as_bytes(),
        "has another name at its data"
    );
    ensure!(
        local.compression_method() == record.compression_method()
            && (local.flags().bits() ^ record.flags().bits()) & ENCRYPTED == 0,
        "is described otherwise at its data"
    );
    let (start, end) = entry.compressed_data_range();
    let unicode = record.extra_fields().chain(local.extra_fields());
    let raw = record.file_path().as_bytes();
    let how = if record.flags().bits() & ENCRYPTED != 0 {
        How::NotRead("is encrypted".to_owned())
    } else if std::str::from_utf8(raw).is_err() || !raw.is_ascii() && !record.flags().is_utf8() {
        How::NotRead("has a name that is not marked as UTF-8, or is none".to_owned())
    } else if raw.contains(&0) {
        How::NotRead("has a name with a NUL, where others end it".to_owned())
    } else if unicode.into_iter().any(|(id, _)| id.as_u16() == 0x7075) {
        How::NotRead("has two names".to_owned())
    } else {
        match record.compression_method() {
            CompressionMethod::STORE => How::Stored,
            CompressionMethod::DEFLATE => How::Deflated,
            other => How::NotRead(format!(
                "is compressed by method {}; stored and deflated members are read",
                other.as_u16()
            )),
        }
    };
    Ok(Member {
        name,
        start: place(start)?,
        end: place(end)?,
        size: place(record.uncompressed_size_hint())?,
        crc: record.crc32(),
        how,
    })
}

/// Encrypted, strongly encrypted, header masked.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;

fn broken(error: rawzip::Error) -> Fault {
    let why = printable(&error.to_string());
    Fault::from(format!("is not a whole ZIP archive: {why}"))
}

fn place(at: u64) -> Result<usize, Fault> {
    match usize::try_from(at) {
        Ok(at) => Ok(at),
        Err(_) => bail!("is larger than this machine's memory can be"),
    }
}

impl Member {
    /// Its header, and the bytes that offsets in the header count in: the archive's own for a stored
    /// member.
    ///
    /// # Errors
    /// If it is not a whole and undamaged `.npy` file, or inflates to more than memory may hold. A
    /// member that says it is longer than its data can be is given no memory for that.
    pub fn read(&self, file: Arc<MappedFile>, memory: &Memory) -> Result<(Header, Bytes), Fault> {
        let data = &file.bytes()[self.start..self.end];
        match &self.how {
            How::NotRead(why) => bail!("{why}"),
            How::Stored => {
                ensure!(
                    data.len() == self.size,
                    "is stored in {} bytes, but is said to have {}",
                    data.len(),
                    self.size
                );
                self.check_crc(data)?;
                let mut header = Header::parse(data)?;
                header.data_start += self.start;
                Ok((header, file))
            }
            How::Deflated => {
                let inflated = self.inflate(data, memory)?;
                let header = Header::parse(inflated.as_ref())?;
                Ok((header, Arc::new(inflated)))
            }
        }
    }

    fn inflate(&self, data: &[u8], memory: &Memory) -> Result<Block, Fault> {
        /// A block of 258 bytes takes 2 bits at least.
        const MAX_RATIO: usize = 1032;
        let other = || {
            Fault::from(format!(
                "does not inflate to the {} bytes that it is said to have",
                self.size
            ))
        };
        let damaged = |error| Fault::caused(FaultKind::Malformed, "cannot be inflated", error);
        if self.size / MAX_RATIO > data.len() {
            return Err(other());
        }
        let mut decoder = flate2::bufread::DeflateDecoder::new(data);
        // The header first: it must promise that length, too.
        let mut start = Vec::new();
        let mut first = decoder.by_ref().take(Header::ENOUGH.min(self.size) as u64);
        first.read_to_end(&mut start).map_err(damaged)?;
        Header::parse_start(&start, self.size)?;
        let mut inflated = memory.zeroed(self.size)?;
        let (head, rest) = inflated.as_mut().split_at_mut(start.len());
        head.copy_from_slice(&start);
        match decoder.read_exact(rest) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(other()),
            done => done.map_err(damaged)?,
        }
        // Nothing may be left, of either.
        let more = decoder.read(&mut [0]).map_err(damaged)?;
        if more > 0 || decoder.total_in() != data.len() as u64 {
            return Err(other());
        }
        self.check_crc(inflated.as_ref())?;
        Ok(inflated)
    }

    fn check_crc(&self, bytes: &[u8]) -> Result<(), Fault> {
        let found = crc32fast::hash(bytes);
        ensure!(
            found == self.crc,
            "is damaged: its CRC-32 is {found:08x}, the archive says {:08x}",
            self.crc
        );
        Ok(())
    }
}
