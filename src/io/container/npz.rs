//! `.npz`: a ZIP archive of `.npy` files, stored or deflated.
//!
//! Readers of ZIP differ in what they make of odd archives: some go by the directory at the end, some from
//! member to member. Both must find the same, so there is one layout: members lie one after another from the
//! file's first byte to the directory, each once, and values that are given twice are equal.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::sync::Arc;

use super::shorten;
use crate::deadline;
use crate::memory::{Block, Memory};
use crate::npy::Header;
use crate::tensor::Bytes;
use crate::{Fault, FaultKind, MappedFile};
use crate::{bail, ensure};

/// A member that is an array, checked but not yet read.
#[derive(Debug)]
pub struct Member {
    /// Without the ending `.npy`.
    pub name: String,
    /// Its data in the archive, as they lie there.
    data: Range<usize>,
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

/// A member's record in the directory.
struct Record<'a> {
    name: &'a [u8],
    extra: Vec<(u16, &'a [u8])>,
    flags: u16,
    method: u16,
    crc: u64,
    /// In the archive, and inflated.
    sizes: [u64; 2],
    /// Where its local header begins.
    place: usize,
}

/// Records at the end of an archive.
const END: usize = 22;
const END64: usize = 56;
const LOCATOR: usize = 20;

/// The fixed parts of a record of the directory, and of a local header.
const RECORD: usize = 46;
const LOCAL: usize = 30;

/// The extra field that has numbers of 64 bits.
const WIDE: u16 = 1;

/// The extra field that has another name.
const UNICODE_PATH: u16 = 0x7075;

/// What 32 bits hold where the extra field has the number.
const SEE_THERE: u64 = u32::MAX as u64;

/// Flags: encrypted, strongly encrypted, header masked.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;

/// CRC and sizes follow the data, because the writer did not know them before.
const STREAMED: u16 = 1 << 3;

const UTF8: u16 = 1 << 11;

pub fn looks_like_one(file: &[u8]) -> bool {
    file.starts_with(b"PK\x03\x04") || file.starts_with(b"PK\x05\x06")
}

/// Whether it is what `torch.save` writes: an archive with a pickle, before version 1.6 a pickle that
/// begins with a number of its own.
pub fn is_pytorch(file: &[u8]) -> bool {
    const OLD: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
    let pickled = || {
        let records = directory(file).and_then(|(place, _)| records(file, place));
        let is_pickle =
            |record: &Record| record.name == b"data.pkl" || record.name.ends_with(b"/data.pkl");
        records.is_ok_and(|records| records.iter().any(is_pickle))
    };
    file.starts_with(OLD) || looks_like_one(file) && pickled()
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
        "is not a .npz file: it does not begin like a ZIP archive"
    );
    let (place, [here, declared]) = directory(file)?;
    let records = records(file, place.clone())?;
    ensure!(
        records.len() as u64 == declared,
        "its directory has {} members, but declares {declared}",
        records.len()
    );
    ensure!(
        here == declared,
        "its directory is not at its declared position"
    );
    let mut names = BTreeSet::new();
    for record in &records {
        let name = shown(record.name);
        ensure!(names.insert(record.name), "has the member {name:?} twice");
    }
    // Where the next one begins, of each.
    let mut places: Vec<usize> = records.iter().map(|record| record.place).collect();
    places.push(place.start);
    places.sort_unstable();
    let first = places[0];
    ensure!(first == 0, "has {first} bytes before its first member");
    let mut members = Vec::new();
    for record in &records {
        let next = places[places.partition_point(|&place| place <= record.place)..].first();
        let Some(&next) = next else {
            bail!("has members that overlap");
        };
        let within =
            |fault: Fault| fault.within(format_args!("its member {:?}", shown(record.name)));
        let mut member = member(file, record, next).map_err(within)?;
        if let Some(name) = member.name.strip_suffix(".npy") {
            member.name = name.to_owned();
            // NumPy looks for a member of the very name first.
            if names.contains(member.name.as_bytes()) {
                member.how = How::NotRead("shares its name with another member".to_owned());
            }
            members.push(member);
        }
    }
    // No two begin at one place, as every one of them ends where the next begins.
    ensure!(
        places.windows(2).all(|pair| pair[0] < pair[1]) || records.is_empty(),
        "has members that overlap"
    );
    Ok(members)
}

fn shown(name: &[u8]) -> String {
    shorten(&String::from_utf8_lossy(name))
}

/// A little-endian number of `width` bytes.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let mut eight = [0; 8];
    eight[..width].copy_from_slice(bytes.get(at..at.checked_add(width)?)?);
    Some(u64::from_le_bytes(eight))
}

fn not_whole(what: &str) -> Fault {
    Fault::from(format!("is not a complete ZIP archive: {what}"))
}

fn index(at: u64) -> Result<usize, Fault> {
    match usize::try_from(at) {
        Ok(at) => Ok(at),
        Err(_) => bail!("is larger than this machine can address"),
    }
}

/// Where the directory lies, and how many members it declares, in this file and in all. Every reader must find the same
/// one: it ends where the records begin that tell where it is, and they end with the file.
fn directory(file: &[u8]) -> Result<(Range<usize>, [u64; 2]), Fault> {
    let last = file.len().saturating_sub(END);
    ensure!(
        file.get(last..last + 4) == Some(b"PK\x05\x06") && number(file, last + 20, 2) == Some(0),
        "has a comment or other bytes after its directory"
    );
    let fields = |at: usize, places: [(usize, usize); 6]| {
        let fields = places.map(|(place, width)| number(file, at + place, width));
        fields.map(|field| field.unwrap_or(u64::MAX))
    };
    // Two disk numbers, the members of this disk and of all, the directory's size and place.
    let small = [(4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4)];
    let narrow = fields(last, small);
    let locator = last.checked_sub(LOCATOR);
    let locator = locator.filter(|&at| file[at..].starts_with(b"PK\x06\x07"));
    let (facts, end) = match locator {
        None => (narrow, last),
        Some(locator) => {
            let Some(record) = locator.checked_sub(END64) else {
                bail!("its directory is not at its declared position");
            };
            let wide = [(16, 4), (20, 4), (24, 8), (32, 8), (40, 8), (48, 8)];
            let facts = fields(record, wide);
            // Beside a record of 64 bits, all ones mean: see there.
            let agree = facts
                .iter()
                .zip(narrow)
                .zip(small)
                .all(|((&fact, narrow), (_, width))| {
                    narrow == fact || narrow == u64::MAX >> (64 - 8 * width)
                });
            let fits = file[record..].starts_with(b"PK\x06\x06")
                && number(file, record + 4, 8) == Some(END64 as u64 - 12)
                && number(file, locator + 4, 4) == Some(0)
                && number(file, locator + 8, 8) == Some(record as u64)
                && number(file, locator + 16, 4) == Some(1);
            ensure!(
                agree && fits,
                "its directory is not at its declared position"
            );
            (facts, record)
        }
    };
    let [disk, first_disk, here, count, size, start] = facts;
    ensure!(
        disk == 0 && first_disk == 0 && start.checked_add(size) == Some(end as u64),
        "its directory is not at its declared position"
    );
    Ok((index(start)?..end, [here, count]))
}

/// The records of a directory, to its end.
fn records(file: &[u8], place: Range<usize>) -> Result<Vec<Record<'_>>, Fault> {
    let cut = || not_whole("its directory is cut off");
    let mut rest = &file[place];
    let mut records = Vec::new();
    while !rest.is_empty() {
        let fixed = rest.get(..RECORD).ok_or_else(cut)?;
        ensure!(
            fixed.starts_with(b"PK\x01\x02"),
            "is not a complete ZIP archive: its directory contains something else"
        );
        let field = |at, width| number(fixed, at, width).expect("within");
        let length = |at| field(at, 2) as usize;
        let (name, extra) = (RECORD + length(28), length(30));
        let end = name + extra + length(32);
        let name_bytes = rest.get(RECORD..name).ok_or_else(cut)?;
        let extra = extras(rest.get(name..name + extra).ok_or_else(cut)?)?;
        let narrow = [field(24, 4), field(20, 4), field(42, 4)];
        let [size, packed, place] = wide(narrow, &extra).ok_or_else(|| {
            not_whole("the 64-bit numbers in its directory do not match those that are missing")
        })?;
        ensure!(field(34, 2) == 0, "is one part of a multi-file archive");
        records.push(Record {
            name: name_bytes,
            extra,
            flags: field(8, 2) as u16,
            method: field(10, 2) as u16,
            crc: field(16, 4),
            sizes: [packed, size],
            place: index(place)?,
        });
        rest = rest.get(end..).ok_or_else(cut)?;
    }
    Ok(records)
}

/// The extra fields of a record, which fill their place.
fn extras(mut bytes: &[u8]) -> Result<Vec<(u16, &[u8])>, Fault> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let field = |at| number(bytes, at, 2);
        let end = field(2).map(|length| 4 + length as usize);
        let (Some(id), Some(end)) = (field(0), end.filter(|&end| end <= bytes.len())) else {
            return Err(not_whole("an extra field is cut off"));
        };
        all.push((id as u16, &bytes[4..end]));
        bytes = &bytes[end..];
    }
    Ok(all)
}

/// Numbers; those that are all ones are in the extra field of 64-bit numbers, which holds nothing else.
fn wide<const N: usize>(narrow: [u64; N], extra: &[(u16, &[u8])]) -> Option<[u64; N]> {
    let mut fields = extra.iter().filter(|(id, _)| *id == WIDE);
    let field = fields.next().map_or(&[][..], |(_, bytes)| bytes);
    let there = narrow.iter().filter(|&&value| value == SEE_THERE).count();
    let fits = fields.next().is_none() && field.len() == 8 * there;
    let mut next = (0..there).map(|i| number(field, 8 * i, 8).unwrap_or(0));
    fits.then(|| {
        narrow.map(|field| {
            if field == SEE_THERE {
                next.next().unwrap_or(0)
            } else {
                field
            }
        })
    })
}

/// A member that ends where the next one, or the directory, begins.
fn member(file: &[u8], record: &Record, next: usize) -> Result<Member, Fault> {
    let cut = || Fault::from("is cut off, or overlaps the next".to_owned());
    let here = file.get(record.place..next).ok_or_else(cut)?;
    let fixed = here.get(..LOCAL).ok_or_else(cut)?;
    ensure!(
        fixed.starts_with(b"PK\x03\x04"),
        "is not where the directory says it is"
    );
    let field = |at, width| number(fixed, at, width).expect("within");
    let name = LOCAL + field(26, 2) as usize;
    let start = name + field(28, 2) as usize;
    ensure!(
        here.get(LOCAL..name).ok_or_else(cut)? == record.name,
        "has a different name at its data"
    );
    let extra = extras(here.get(name..start).ok_or_else(cut)?)?;
    let otherwise = || Fault::from("has a local header that differs from the directory".to_owned());
    let [size, packed] = wide([field(22, 4), field(18, 4)], &extra).ok_or_else(otherwise)?;
    let streamed = record.flags & STREAMED != 0;
    let same = |here: u64, there: u64| here == there || streamed && here == 0;
    ensure!(
        field(6, 2) == u64::from(record.flags)
            && field(8, 2) == u64::from(record.method)
            && same(field(14, 4), record.crc)
            && same(packed, record.sizes[0])
            && same(size, record.sizes[1]),
        "has a local header that differs from the directory"
    );
    let end = usize::try_from(record.sizes[0]).ok();
    let end = end.and_then(|packed| start.checked_add(packed));
    let end = end.filter(|&end| end <= here.len()).ok_or_else(cut)?;
    check_descriptor(&here[end..], record)?;
    Ok(Member {
        name: String::from_utf8_lossy(record.name).into_owned(),
        data: record.place + start..record.place + end,
        size: index(record.sizes[1])?,
        crc: record.crc as u32,
        how: how(record, &extra),
    })
}

/// Checks what follows a member's data: nothing, or, if it was streamed, the same values as in the directory.
fn check_descriptor(bytes: &[u8], record: &Record) -> Result<(), Fault> {
    let streamed = record.flags & STREAMED != 0;
    ensure!(
        streamed || bytes.is_empty(),
        "is followed by {} bytes that belong to no member",
        bytes.len()
    );
    if !streamed {
        return Ok(());
    }
    let width = if bytes.len() == 24 { 8 } else { 4 };
    let [packed, size] = record.sizes;
    let fields = [(4, 4), (8, width), (8 + width, width)];
    let fields = fields.map(|(at, width)| number(bytes, at, width));
    ensure!(
        bytes.len() == 8 + 2 * width
            && bytes.starts_with(b"PK\x07\x08")
            && fields == [record.crc, packed, size].map(Some),
        "has a data descriptor that differs from the directory"
    );
    Ok(())
}

/// How it is read, or why not.
fn how(record: &Record, local: &[(u16, &[u8])]) -> How {
    let name = record.name;
    let mut extra = record.extra.iter().chain(local);
    if record.flags & ENCRYPTED != 0 {
        How::NotRead("is encrypted".to_owned())
    } else if std::str::from_utf8(name).is_err() || !name.is_ascii() && record.flags & UTF8 == 0 {
        How::NotRead("has a name that is not valid UTF-8, or is not marked as UTF-8".to_owned())
    } else if name.contains(&0) {
        How::NotRead("has a NUL in its name".to_owned())
    } else if extra.any(|(id, _)| *id == UNICODE_PATH) {
        How::NotRead("has two names".to_owned())
    } else {
        match record.method {
            0 => How::Stored,
            8 => How::Deflated,
            other => How::NotRead(format!(
                "is compressed by method {other}; supported are stored and deflated members"
            )),
        }
    }
}

impl Member {
    /// Its header, and the bytes that offsets in the header count in: the archive's own for a stored
    /// member.
    ///
    /// # Errors
    /// If it is not a whole and undamaged `.npy` file, or inflates to more than memory may hold. A
    /// member that declares more bytes than its data can hold gets no memory for them.
    pub fn read(&self, file: Arc<MappedFile>, memory: &Memory) -> Result<(Header, Bytes), Fault> {
        let data = &file.bytes()[self.data.clone()];
        match &self.how {
            How::NotRead(why) => bail!("{why}"),
            How::Stored => {
                ensure!(
                    data.len() == self.size,
                    "is stored in {} bytes, but declares {}",
                    data.len(),
                    self.size
                );
                self.check_crc(data)?;
                let mut header = Header::parse(data)?;
                header.data_start += self.data.start;
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
        /// Bytes that are inflated between two looks at the clock: some milliseconds.
        const PIECE: usize = 1 << 22;
        let other = || {
            Fault::from(format!(
                "does not inflate to the {} bytes that it declares",
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
        for piece in rest.chunks_mut(PIECE) {
            deadline::poll();
            match decoder.read_exact(piece) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(other()),
                done => done.map_err(damaged)?,
            }
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
