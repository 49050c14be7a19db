//! Every small thing that can be wrong with a file, tried in turn.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use tcverify::io::npy::{Header, NpyFile};
use tcverify::num::Format;

use crate::support::{Folder, Npy, floats};

/// Small files of every version and several kinds.
fn seeds() -> Vec<Npy> {
    let words = vec![0x80, 0x3f, 0x00, 0x3c];
    vec![
        Npy::new("<f4", &[2, 1], floats(&[1.0, -2.5])),
        Npy::fortran("<V2", &[1, 2], words).version(2, 0),
        Npy::new("|u1", &[3], vec![0, 0x3f, 0xff]).version(3, 0),
        Npy::fortran(">f8", &[], vec![0x3f, 0xf0, 0, 0, 0, 0, 0, 0]),
    ]
}

/// Reads a file in every way there is. It may be taken or refused, but with a sentence.
fn survives(path: &Path, bytes: &[u8], what: &str) -> bool {
    // A new file each time: some file systems hasten to store one that is written over.
    let _ = std::fs::remove_file(path);
    std::fs::write(path, bytes).unwrap();
    let taken = catch_unwind(AssertUnwindSafe(|| read(path, what)));
    taken.unwrap_or_else(|_| panic!("{what}: panics"))
}

fn read(path: &Path, what: &str) -> bool {
    let file = match NpyFile::open(path) {
        Ok(file) => file,
        Err(error) => {
            sentence(&format!("{error:#}"), what);
            return false;
        }
    };
    for format in Format::ALL {
        match file.tensor(format) {
            Ok(tensor) => {
                let mut payload = 0;
                tensor.for_each_payload_chunk(|chunk| payload += chunk.len());
                assert_eq!(payload, tensor.len() * format.bytes(), "{what}");
            }
            Err(error) => sentence(&format!("{error:#}"), what),
        }
    }
    true
}

fn sentence(message: &str, what: &str) {
    let told = message.split_once("x.npy: ").map(|(_, cause)| cause);
    assert!(told.is_some_and(|c| !c.is_empty()), "{what}: {message:?}");
    let printable = message.chars().all(|c| !c.is_control());
    assert!(printable && message.len() < 600, "{what}: {message:?}");
}

#[test]
fn any_byte_of_the_header_changed() {
    let folder = Folder::new();
    let path = folder.path("x.npy");
    for seed in seeds() {
        let good = seed.bytes();
        assert!(survives(&path, &good, "unchanged"));
        for at in 0..seed.data_start() {
            let old = good[at];
            for new in [
                0,
                0xff,
                b'(',
                b'9',
                b' ',
                b'\'',
                b'\n',
                b'-',
                old ^ 1,
                old ^ 0x10,
                old ^ 0x80,
                old.wrapping_add(1),
            ] {
                let mut bad = good.clone();
                bad[at] = new;
                survives(&path, &bad, &format!("byte {at} is 0x{new:02x}: {seed:?}"));
            }
        }
    }
}

#[test]
fn cut_short_anywhere_or_too_long() {
    let folder = Folder::new();
    let path = folder.path("x.npy");
    for seed in seeds() {
        let good = seed.bytes();
        for length in 0..good.len() {
            let what = format!("cut to {length} bytes: {seed:?}");
            assert!(!survives(&path, &good[..length], &what), "{what}: is taken");
        }
        for more in 1..=9 {
            let long = [good.as_slice(), &[0; 9][..more]].concat();
            let what = format!("{more} bytes too long: {seed:?}");
            assert!(!survives(&path, &long, &what), "{what}: is taken");
        }
    }
}

#[test]
fn a_byte_taken_out_or_put_in() {
    let folder = Folder::new();
    let path = folder.path("x.npy");
    for seed in seeds() {
        let good = seed.bytes();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad.remove(at);
            let what = format!("without byte {at}: {seed:?}");
            assert!(!survives(&path, &bad, &what), "{what}: is taken");
            bad.insert(at, good[at]);
            bad.insert(at, b'1');
            let what = format!("with a byte at {at}: {seed:?}");
            assert!(!survives(&path, &bad, &what), "{what}: is taken");
        }
    }
}

#[test]
fn any_length_field() {
    let folder = Folder::new();
    let path = folder.path("x.npy");
    for seed in seeds() {
        let good = seed.bytes();
        let field = if good[6] == 1 { 8..10 } else { 8..12 };
        let start = field.end;
        let right = (seed.data_start() - start) as u64;
        let most = if start == 10 { 0xffff } else { 0xffff_ffff };
        let near = (0..200).chain([0x7fff, 0x8000, 0xfffe, 0xffff, 0x10000, 0x10001]);
        for length in near.chain([0x7fff_ffff, 0x8000_0000, 0xffff_fff0, 0xffff_ffff]) {
            if length == right || length > most {
                continue;
            }
            let mut bad = good.clone();
            let bytes = length.to_le_bytes();
            bad[field.clone()].copy_from_slice(&bytes[..start - 8]);
            let what = format!("header of {length} bytes: {seed:?}");
            assert!(!survives(&path, &bad, &what), "{what}: is taken");
        }
    }
}

#[test]
fn random_bytes_in_random_places() {
    let seeds: Vec<_> = seeds().iter().map(Npy::bytes).collect();
    // xorshift: the same bytes on every run.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    let alphabet = b"{}()[]',:\"\\ 0123456789LTrueFalse<>|=fuVOi-+.\n\x00\xff\x93";
    for round in 0..20_000 {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..=random(4) {
            let at = random(bytes.len().min(80));
            bytes[at] = alphabet[random(alphabet.len())];
        }
        match catch_unwind(|| Header::parse(&bytes).map_err(|e| format!("{e:#}"))) {
            Ok(Ok(_)) => {}
            Ok(Err(message)) => sentence(&format!("x.npy: {message}"), "random bytes"),
            Err(_) => panic!("panics on {:?}", String::from_utf8_lossy(&bytes)),
        }
    }
}
