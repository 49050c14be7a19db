//! ZIP archives that lie, or that two programs could read differently.

use super::write::{Member, zip, zip_as};
use super::{npy, refused};
use crate::support::{Folder, Npy, Says, claims, listed, table, words};

fn with(members: &[Member]) -> Folder {
    raw(zip(members))
}

fn raw(bytes: Vec<u8>) -> Folder {
    let folder = Folder::new();
    folder.write("x.npz", bytes);
    folder
}

fn good() -> Member {
    Member::stored("a.npy", &npy(&[1.0, 2.0]))
}

/// Fails unless an archive's `a` is refused with these words, between bars.
#[track_caller]
fn wrong(file: Vec<u8>, words: &str) {
    refused(&raw(file), "x.npz#a", &listed(words));
}

/// As [`wrong`], of an archive with this member alone.
#[track_caller]
fn not(member: Member, words: &str) {
    wrong(zip(&[member]), words);
}

#[test]
fn members_that_are_not_read() {
    for flags in [1, 1 << 6, 1 << 13] {
        not(Member { flags, ..good() }, "is encrypted");
    }
    for method in [1, 9, 12, 14, 93, 95, 99] {
        let said = format!("is compressed by method {method};");
        not(Member { method, ..good() }, &said);
    }
    let extra = [&0x7075u16.to_le_bytes()[..], &[5, 0, 1, 0, 0, 0, 0]].concat();
    not(Member { extra, ..good() }, "has two names");
    for of in [good(), Member::deflated("a.npy", &npy(&[1.0]))] {
        not(Member { crc: 7, ..of }, "is damaged | 00000007");
    }
    not(Member::stored("a.npy", b"no array"), "is not a .npy file");
    not(Member::deflated("a.npy", b"no array"), "is not a .npy file");
}

#[test]
fn names_that_are_no_text() {
    let [latin, plain] =
        [b"\xff.npy".to_vec(), "é.npy".into()].map(|name| Member { name, ..good() });
    let folder = with(&[latin, plain, good()]);
    claims! {folder, "
        digest x.npz#é | refused | not marked as UTF-8
        digest x.npz#\u{fffd} | refused | not marked as UTF-8
        digest x.npz#a | 0
    "}
}

#[test]
fn names_that_two_readers_take_for_different_members() {
    let names = ["a.npy", "a", "b.npy", "b.npy.npy", "c.npy\0.npy", "d.npy"];
    let folder = with(&names.map(|name| Member::stored(name, &npy(&[1.0]))));
    claims! {folder, "
        digest x.npz#a | refused | shares its name with another member
        digest x.npz#b.npy | refused | shares its name with another member
        digest x.npz#b x.npz#d | 0
    "}
    folder.fails("inspect x.npz").says("has a NUL in its name");
}

#[test]
fn two_readers_must_see_the_same() {
    let twice = [good(), Member::stored("a.npy", &npy(&[3.0]))];
    wrong(zip(&twice), r#"the member "a.npy" twice"#);
    let local_name = Some(b"b.npy".to_vec());
    let other = Member {
        local_name,
        ..good()
    };
    not(other, "a different name at its data");
    // The second begins within the first.
    let file = zip(&[good()]);
    let outer = Member::stored("b.npy", &file);
    let inner = Member {
        place: Some(35),
        ..good()
    };
    wrong(zip(&[outer, inner]), "overlaps the next");
    wrong([b"junk", &file[..]].concat(), "is not a .npz file");
    wrong([&file[..], b"junk"].concat(), "after its directory");
    // A file within a file: both directories are whole.
    wrong([&file[..], &file].concat(), "x.npz");
    let end = file.len();
    let changed = |back: usize, byte: u8| {
        let mut lie = file.clone();
        lie[end - back] = byte;
        lie
    };
    wrong([&changed(2, 3)[..], b"abc"].concat(), "a comment");
    // How many members, how long the directory is, and where.
    for (back, byte, said) in table! {
        (14, file[end - 14] ^ 1, "is not at its declared position"),
        (10, file[end - 10] ^ 1, "is not at its declared position"),
        (6, file[end - 6] ^ 1, "x.npz"),
        (12, 9, "has 1 members, but declares 9"),
    } {
        wrong(changed(back, byte), said);
    }
}

#[test]
fn records_of_64_bits() {
    let wide = |zip64| [Member { zip64, ..good() }];
    for (of_member, of_archive) in [(true, true), (true, false), (false, true)] {
        raw(zip_as(&wide(of_member), of_archive)).passes("digest x.npz#a");
    }
    let file = zip_as(&wide(true), true);
    let record = file.len() - 22 - 20 - 56;
    for at in [4, 24, 32, 40, 48, 56 + 8] {
        for bit in [1, 0x80] {
            let mut lie = file.clone();
            lie[record + at] ^= bit;
            wrong(lie, "x.npz");
        }
    }
}

#[test]
fn sizes_that_lie() {
    let small = || Member::deflated("a.npy", &npy(&[1.0]));
    for size in [0, 1, 7, 135, 137, u64::from(u32::MAX) - 1] {
        not(Member { size, ..good() }, "is stored in 136 bytes");
        let deflated = Member::deflated("a.npy", &npy(&[1.0, 2.0]));
        not(Member { size, ..deflated }, "x.npz#a");
    }
    let (size, zip64) = (u64::MAX, true);
    let huge = Member {
        size,
        zip64,
        ..good()
    };
    not(huge, "x.npz");
    type Change = fn(&mut Vec<u8>);
    for (words, change) in table! {
        ("does not inflate to the", (|data| data.push(0)) as Change),
        ("x.npz#a", |data| data.truncate(data.len() - 1)),
        ("cannot be inflated", |data| *data = vec![0xff; 40]),
    } {
        let mut member = small();
        change(&mut member.data);
        not(member, words);
    }
}

/// A member that says that it holds 2^40 elements, and inflates to a little.
fn boast() -> Member {
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }";
    let start = Npy::with_header(text, vec![0; 64]);
    Member {
        size: (1 << 42) + start.data_start() as u64,
        zip64: true,
        ..Member::deflated("a.npy", &start.bytes())
    }
}

/// Half a gigabyte of zeros in a member that is said to hold two numbers.
fn bomb() -> Member {
    let mut bytes = npy(&[1.0, 2.0]);
    let size = bytes.len() as u64;
    let crc = crc32fast::hash(&bytes);
    bytes.resize(1 << 29, 0);
    Member {
        size,
        crc,
        ..Member::deflated("a.npy", &bytes)
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_lie_costs_no_memory() {
    let cramped =
        |folder: &Folder| folder.limited("ulimit -v 400000", "--threads 1 digest x.npz#a");
    cramped(&with(&[boast()])).refuses(&["x.npz#a", "does not inflate to the 43980465"]);
    cramped(&with(&[bomb()])).refuses(&["x.npz#a", "does not inflate to the 136 bytes"]);
    // What is truly too large is an error too, and no crash.
    let text = "{'descr': '|u1', 'fortran_order': False, 'shape': (536870912,), }";
    let honest = Npy::with_header(text, vec![0; 1 << 29]).bytes();
    cramped(&with(&[Member::deflated("a.npy", &honest)])).refuses(&words! {"
        x.npz#a | needs 5368 | bytes of memory, which the system does not provide
    "});
    cramped(&with(&[good()])).expect(0);
}

fn word(value: u64, width: usize) -> Vec<u8> {
    value.to_le_bytes()[..width].to_vec()
}

/// A member as one writes it who cannot go back: CRC and sizes after the data, `wide` bytes each.
struct Streamed {
    descriptor: Vec<u8>,
    /// What the local header has for CRC and sizes.
    local: [u64; 3],
    /// Its extra field.
    extra: Vec<u8>,
}

fn descriptor(crc: u64, packed: u64, size: u64, wide: usize) -> Vec<u8> {
    let signature = b"PK\x07\x08".to_vec();
    [
        signature,
        word(crc, 4),
        word(packed, wide),
        word(size, wide),
    ]
    .concat()
}

/// The archive of one streamed member, `a.npy`.
fn streamed(how: &Streamed) -> Vec<u8> {
    let data = npy(&[1.0, 2.0]);
    let (crc, size) = (u64::from(crc32fast::hash(&data)), data.len() as u64);
    let common = |[crc, packed, size]: [u64; 3]| {
        let fields = table! {(45, 2), (8, 2), (0, 2), (0, 4), (crc, 4), (packed, 4), (size, 4)};
        fields.map(|(value, width)| word(value, width)).concat()
    };
    let mut file = b"PK\x03\x04".to_vec();
    file.extend(common(how.local));
    file.extend([word(5, 2), word(how.extra.len() as u64, 2)].concat());
    file.extend(b"a.npy");
    file.extend(&how.extra);
    file.extend(&data);
    file.extend(&how.descriptor);
    let start = file.len() as u64;
    let mut directory = [b"PK\x01\x02".to_vec(), word(45, 2)].concat();
    directory.extend(common([crc, size, size]));
    directory.extend([word(5, 2), vec![0; 16]].concat());
    directory.extend(b"a.npy");
    let length = directory.len() as u64;
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    file.extend([word(length, 4), word(start, 4), word(0, 2)].concat());
    file
}

#[test]
fn what_is_streamed_is_read_if_it_says_the_same() {
    let data = npy(&[1.0, 2.0]);
    let (crc, size) = (u64::from(crc32fast::hash(&data)), data.len() as u64);
    let ones = u64::from(u32::MAX);
    let wide =
        |packed: u64, size: u64| [word(1, 2), word(16, 2), word(size, 8), word(packed, 8)].concat();
    let all = |descriptor: Vec<u8>, local: [u64; 3], extra: Vec<u8>| {
        streamed(&Streamed {
            descriptor,
            local,
            extra,
        })
    };
    let right = descriptor(crc, size, size, 4);
    for good in [
        // zipfile to a pipe; the same with force_zip64, as NumPy has it; and one who knew.
        all(right.clone(), [0; 3], vec![]),
        all(descriptor(crc, size, size, 8), [0, ones, ones], wide(0, 0)),
        all(right.clone(), [crc, size, size], vec![]),
    ] {
        raw(good).passes("digest x.npz#a");
    }
    let after = "has a data descriptor that differs from the directory";
    let at = "has a local header that differs from the directory";
    for (bad, words) in table! {
        (all(vec![], [0; 3], vec![]), after),
        (all(right[4..].to_vec(), [0; 3], vec![]), after),
        (all(descriptor(crc ^ 1, size, size, 4), [0; 3], vec![]), after),
        (all(descriptor(crc, size + 1, size, 4), [0; 3], vec![]), after),
        (all(descriptor(crc, size, size - 1, 4), [0; 3], vec![]), after),
        (all(descriptor(crc, size, size + 1, 8), [0; 3], vec![]), after),
        (all([right.clone(), vec![0]].concat(), [0; 3], vec![]), after),
        (all([right.clone(), right.clone()].concat(), [0; 3], vec![]), after),
        (all(right.clone(), [crc ^ 1, 0, 0], vec![]), at),
        (all(right.clone(), [0, size - 1, size], vec![]), at),
        (all(right.clone(), [0, ones, ones], vec![]), at),
        (all(right.clone(), [0; 3], wide(size, size)), at),
        (all(right.clone(), [0, ones, ones], wide(size, size + 1)), at),
        (all(right.clone(), [0, ones, ones], [wide(0, 0), wide(0, 0)].concat()), at),
        (all(right.clone(), [0, ones, ones], wide(0, 0)[..12].to_vec()), "an extra field is cut off"),
    } {
        refused(&raw(bad), "x.npz#a", &[words]);
    }
}

/// What a reader that goes from member to member sees, and one that goes by the directory does not.
#[test]
fn nothing_lies_between_members() {
    let file = zip(&[good(), Member::stored("b.npy", &npy(&[3.0]))]);
    let end = file.len();
    let start = u32::from_le_bytes(file[end - 6..end - 2].try_into().unwrap()) as usize;
    // A member that is in no directory, before the others: bad first, good last.
    let ghost = zip(&[Member::stored("a.npy", &npy(&[9.0]))]);
    let ghost = &ghost[..30 + 5 + npy(&[9.0]).len()];
    let shifted = |at: usize, more: &[u8]| {
        let mut shifted = [&file[..at], more, &file[at..]].concat();
        let n = more.len() as u32;
        let mut add = |place: usize| {
            let old = u32::from_le_bytes(shifted[place..place + 4].try_into().unwrap());
            shifted[place..place + 4].copy_from_slice(&(old + n).to_le_bytes());
        };
        add(end + more.len() - 6);
        let first = start + more.len() + 42;
        if at == 0 {
            add(first);
        }
        if at < start {
            add(first + 46 + 5);
        }
        shifted
    };
    let second = 30 + 5 + npy(&[1.0, 2.0]).len();
    raw(shifted(0, &[])).passes("digest x.npz#a x.npz#b");
    for (bad, words) in [
        (shifted(0, ghost), "bytes before its first member"),
        (shifted(second, ghost), "belong to no member"),
        (shifted(start, ghost), "belong to no member"),
        (shifted(second, &[0]), "belong to no member"),
        (shifted(start, &[0; 16]), "belong to no member"),
    ] {
        refused(&raw(bad), "x.npz#a", &[words]);
    }
    // Every number of a local header that the directory has, too.
    for (at, width) in [(6, 2), (8, 2), (14, 4), (18, 4), (22, 4)] {
        for bit in 0..8 * width {
            let mut lie = file.clone();
            lie[at + bit / 8] ^= 1 << (bit % 8);
            refused(
                &raw(lie),
                "x.npz#a",
                &["has a local header that differs from the directory"],
            );
        }
    }
    // UTF-8 in one of them alone.
    let mut flag = file.clone();
    flag[start + 9] ^= 8;
    refused(&raw(flag), "x.npz#a", &["differs from the directory"]);
}

/// What NumPy writes, to a file and to a pipe.
#[test]
fn numpys_own_archives() {
    let script = "import io, sys, numpy as np\n\
        a = {'a': np.arange(6, dtype=np.float16).reshape(2, 3), 'b': np.ones((3, 2), np.float32)}\n\
        np.savez('x.npz', **a)\n\
        np.savez_compressed('y.npz', **a)\n\
        class Pipe(io.RawIOBase):\n    def __init__(self, f): self.f = f\n    def writable(self): return True\n\
        \x20   def write(self, b): return self.f.write(b)\n    def seekable(self): return False\n    def read(self, n=-1): return b''\n\
        np.savez(Pipe(open('s.npz', 'wb')), **a)\n\
        np.savez_compressed(Pipe(open('t.npz', 'wb')), **a)\n";
    let folder = Folder::new();
    folder.write("write.py", script);
    let mut python = folder.shell("python3");
    let made = python.arg("write.py").output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("not checked: NumPy is not here, so that none of its archives was read");
        return;
    }
    let digest = |name: &str| folder.json(&format!("digest {name}.npz#a {name}.npz#b --json"));
    let payloads = |name: &str| -> Vec<String> {
        let text = digest(name).to_string();
        text.split("\"payload_sha256\":\"")
            .skip(1)
            .map(|rest| rest[..64].to_owned())
            .collect()
    };
    assert_eq!(payloads("x").len(), 2);
    for other in ["y", "s", "t"] {
        assert_eq!(payloads(other), payloads("x"), "{other}");
    }
}
