//! Codes under every descr that occurs in practice.

use tcverify::io::npy::NpyFile;
use tcverify::num::Format::{self, *};

use super::{codes, read};
use crate::support::{Folder, Npy, Says, floats, lines, listed, table};

/// How 1.0 looks: descr and bytes, by the format that it is to be read as.
const ONES: &str = "
    # NumPy's own floats.
    fp16 | <f2 003c | >f2 3c00
    fp32 | <f4 0000803f | >f4 3f800000
    tf32 | <f4 0000803f | >f4 3f800000
    fp64 | <f8 000000000000f03f | >f8 3ff0000000000000
    # ml_dtypes: bfloat16, also seen through a void view and in the other byte order.
    bf16 | <V2 803f | >V2 3f80 | |V2 803f
    # ml_dtypes: float8_e4m3fn, float6_*, float4_*, one code a byte.
    e4m3 | <V1 38 | |V1 38
    e2m3 | <V1 08 | |V1 08
    e3m2 | <V1 0c | |V1 0c
    e2m1 | <V1 02 | |V1 02
    # ml_dtypes: float8_e5m2, whose descr np.load itself refuses.
    e5m2 | <f1 3c | |f1 3c
    # torch through .view(torch.uint16), int16, uint8, int8.
    bf16 | <u2 803f | <i2 803f | >u2 3f80
    fp16 | <u2 003c | <i2 003c
    e4m3 | |u1 38 | |i1 38
    e5m2 | |u1 3c | |i1 3c | |V1 3c
    e3m2 | |u1 0c
    e2m3 | |i1 08
    e2m1 | |u1 02
    fp32 | <u4 0000803f
    tf32 | <i4 0000803f
    fp64 | <u8 000000000000f03f
    int8 | |i1 01 | |u1 01 | <i8 0100000000000000 | <f4 0000803f
    uint8 | |u1 01
    int4 | |V1 01 | |i1 01
    uint4 | |u1 01
    int32 | <i4 01000000
    ue8m0 | |u1 7f | |V1 7f | <f4 0000803f
    ue4m3 | |u1 38
    # A name where a type string should be.
    bf16 | bfloat16 803f
    e4m3 | float8_e4m3fn 38
    e5m2 | float8_e5m2 3c
    e4m3fnuz | float8_e4m3fnuz 40
    e5m2fnuz | float8_e5m2fnuz 40
";

/// 1.0 as a code.
fn one(format: Format) -> u64 {
    match format {
        Fp16 => 0x3c00,
        Bf16 => 0x3f80,
        E4m3 => 0x38,
        E5m2 => 0x3c,
        E3m2 => 0x0c,
        E2m3 => 0x08,
        E2m1 => 0x02,
        E4m3fnuz | E5m2fnuz => 0x40,
        Fp32 | Tf32 | Xf32 => 0x3f80_0000,
        Fp64 => 0x3ff0_0000_0000_0000,
        Int8 | Uint8 | Int4 | Uint4 | Int32 => 1,
        Ue8m0 => 0x7f,
        Ue4m3 => 0x38,
    }
}

#[test]
fn one_in_every_guise() {
    for row in lines(ONES).into_iter().map(listed) {
        let format = Format::from_name(row[0]).expect(row[0]);
        for written in &row[1..] {
            let (descr, hex) = written.split_once(' ').expect("DESCR BYTES");
            let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect(written);
            let bytes = (0..hex.len()).step_by(2).map(byte).collect();
            let tensor = read(&Npy::new(descr, &[1, 1], bytes), format);
            let tensor = tensor.unwrap_or_else(|e| panic!("{written} as {format}: {e}"));
            assert_eq!(codes(&tensor), [one(format)], "{written} as {format}");
        }
    }
}

#[test]
fn bits_survive_whatever_they_mean() {
    // -0, subnormals, infinities, quiet and signalling NaNs of both signs.
    let strange = table! {
        0x8000_0000, 1, 0x807f_ffff, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f80_0001, 0xffff_ffff,
    };
    let array = Npy::new("<f4", &[8], crate::support::le32(&strange));
    for format in [Fp32, Tf32] {
        let tensor = read(&array, format).unwrap();
        assert!(codes(&tensor).into_iter().eq(strange.map(u64::from)));
    }
}

#[test]
fn every_code_of_a_whole_byte_or_two_is_taken() {
    let bytes: Vec<u8> = (0..=255).collect();
    for format in [E4m3, E5m2] {
        let tensor = read(&Npy::new("|u1", &[256], bytes.clone()), format).unwrap();
        assert!(codes(&tensor).into_iter().eq(0..256));
    }
    let words: Vec<u16> = (0..=u16::MAX).collect();
    for format in [Fp16, Bf16] {
        let array = Npy::new("<u2", &[1 << 16], crate::support::le16(&words));
        let all = codes(&read(&array, format).unwrap());
        assert!(all.into_iter().eq(0..1 << 16));
    }
}

#[test]
fn high_bits_that_a_format_lacks_are_refused() {
    for (format, bits) in [(E3m2, 6), (E2m3, 6), (E2m1, 4)] {
        let most = (1u8 << bits) - 1;
        let all: Vec<u8> = (0..=most).collect();
        let tensor = read(&Npy::new("|V1", &[all.len()], all), format).unwrap();
        assert!(codes(&tensor).into_iter().eq(0..=u64::from(most)));
        for bad in [most + 1, 0x80, 0xff] {
            let array = Npy::new("|u1", &[2, 2], vec![0, 0, bad, bad]);
            let message = read(&array, format).unwrap_err();
            message.says_all([
                "x.npy: element [1, 0]",
                &format!("0x{bad:02x}"),
                format.name(),
                &format!("{bits} bits"),
            ]);
        }
    }
}

#[test]
fn a_width_that_does_not_fit_is_refused() {
    for (descr, width, format, words) in [
        ("<u2", 2, E4m3, "2 bytes wide"),
        ("|u1", 1, Fp16, "1 byte wide"),
        ("<V2", 2, Fp32, "fp32 codes need 4"),
        ("<u4", 4, Bf16, "bf16 codes need 2"),
        ("<u8", 8, Tf32, "tf32 codes need 4"),
        ("|V1", 1, Fp64, "fp64 codes need 8"),
    ] {
        let array = Npy::new(descr, &[1], vec![0; width]);
        let message = read(&array, format).unwrap_err();
        message.says("x.npy: ");
        assert!(message.contains(words), "{words} is not in {message}");
        assert!(message.contains(descr), "{message}");
    }
}

#[test]
fn a_name_that_contradicts_is_refused() {
    for (descr, width, format) in [("bfloat16", 2, Fp16), ("<f1", 1, E4m3)] {
        let message = read(&Npy::new(descr, &[1], vec![0; width]), format).unwrap_err();
        message.says("the request says");
    }
}

#[test]
fn the_header_says_which_format_it_can() {
    for (descr, own) in [
        ("<f2", Some(Fp16)),
        ("<f8", Some(Fp64)),
        ("<V2", Some(Bf16)),
        ("<f1", Some(E5m2)),
        ("bfloat16", Some(Bf16)),
        ("<u2", None),
        ("|V1", None),
        ("|u1", None),
    ] {
        let width = match own.map(Format::bytes) {
            Some(width) => width,
            None => descr[2..].parse().unwrap(),
        };
        let folder = Folder::new();
        let path = folder.save("x.npy", &Npy::new(descr, &[1], vec![0; width]));
        let file = NpyFile::open(&path).unwrap();
        assert_eq!(file.header().descr.own_format(), own, "{descr}");
        assert_eq!(file.header().descr.text(), descr);
    }
}

#[test]
fn types_without_numbers_or_codes_are_refused() {
    for (descr, words) in [
        ("|O", "pickled Python objects"),
        ("|b1", "element type"),
        ("<c8", "element type"),
        ("<U4", "element type"),
        ("|S4", "element type"),
        ("<M8[ns]", "element type"),
        ("<f16", "element type"),
        ("|V16", "element type"),
        ("=f4", "byte order"),
        ("|f4", "byte order"),
        ("f4", "byte order"),
    ] {
        let message = read(&Npy::new(descr, &[1], floats(&[1.0])), Fp32).unwrap_err();
        assert!(message.contains(words), "{words} is not in {message}");
        message.says(&format!("{descr:?}"));
    }
}
