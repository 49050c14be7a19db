//! Codes under every descr that occurs in practice.

use tcverify::io::npy::NpyFile;
use tcverify::num::Format::{self, *};

use super::{codes, read};
use crate::support::{Folder, Npy, Says, floats};

/// How 1.0 looks: descr, bytes, and the format it is to be read as.
const ONES: [(&str, &[u8], Format); 55] = [
    // NumPy's own floats.
    ("<f2", &[0x00, 0x3c], Fp16),
    (">f2", &[0x3c, 0x00], Fp16),
    ("<f4", &[0x00, 0x00, 0x80, 0x3f], Fp32),
    (">f4", &[0x3f, 0x80, 0x00, 0x00], Fp32),
    ("<f4", &[0x00, 0x00, 0x80, 0x3f], Tf32),
    (">f4", &[0x3f, 0x80, 0x00, 0x00], Tf32),
    ("<f8", &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f], Fp64),
    (">f8", &[0x3f, 0xf0, 0, 0, 0, 0, 0, 0], Fp64),
    // ml_dtypes: bfloat16, also seen through a void view and in the other byte order.
    ("<V2", &[0x80, 0x3f], Bf16),
    (">V2", &[0x3f, 0x80], Bf16),
    ("|V2", &[0x80, 0x3f], Bf16),
    // ml_dtypes: float8_e4m3fn, float6_*, float4_*, one code a byte.
    ("<V1", &[0x38], E4m3),
    ("|V1", &[0x38], E4m3),
    ("<V1", &[0x08], E2m3),
    ("|V1", &[0x08], E2m3),
    ("<V1", &[0x0c], E3m2),
    ("|V1", &[0x0c], E3m2),
    ("<V1", &[0x02], E2m1),
    ("|V1", &[0x02], E2m1),
    // ml_dtypes: float8_e5m2, whose descr np.load itself refuses.
    ("<f1", &[0x3c], E5m2),
    ("|f1", &[0x3c], E5m2),
    // torch through .view(torch.uint16), int16, uint8, int8.
    ("<u2", &[0x80, 0x3f], Bf16),
    ("<i2", &[0x80, 0x3f], Bf16),
    (">u2", &[0x3f, 0x80], Bf16),
    ("<u2", &[0x00, 0x3c], Fp16),
    ("<i2", &[0x00, 0x3c], Fp16),
    ("|u1", &[0x38], E4m3),
    ("|i1", &[0x38], E4m3),
    ("|u1", &[0x3c], E5m2),
    ("|i1", &[0x3c], E5m2),
    ("|V1", &[0x3c], E5m2),
    ("|u1", &[0x0c], E3m2),
    ("|i1", &[0x08], E2m3),
    ("|u1", &[0x02], E2m1),
    ("<u4", &[0x00, 0x00, 0x80, 0x3f], Fp32),
    ("<i4", &[0x00, 0x00, 0x80, 0x3f], Tf32),
    ("<u8", &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f], Fp64),
    ("|i1", &[1], Int8),
    ("|u1", &[1], Int8),
    ("<i8", &[1, 0, 0, 0, 0, 0, 0, 0], Int8),
    ("<f4", &[0, 0, 0x80, 0x3f], Int8),
    ("|u1", &[1], Uint8),
    ("|V1", &[1], Int4),
    ("|i1", &[1], Int4),
    ("|u1", &[1], Uint4),
    ("<i4", &[1, 0, 0, 0], Int32),
    ("|u1", &[0x7f], Ue8m0),
    ("|V1", &[0x7f], Ue8m0),
    ("<f4", &[0, 0, 0x80, 0x3f], Ue8m0),
    ("|u1", &[0x38], Ue4m3),
    // A name where a type string should be.
    ("bfloat16", &[0x80, 0x3f], Bf16),
    ("float8_e4m3fn", &[0x38], E4m3),
    ("float8_e5m2", &[0x3c], E5m2),
    ("float8_e4m3fnuz", &[0x40], E4m3fnuz),
    ("float8_e5m2fnuz", &[0x40], E5m2fnuz),
];

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
    for (descr, bytes, format) in ONES {
        let array = Npy::new(descr, &[1, 1], bytes.to_vec());
        let tensor = read(&array, format).unwrap_or_else(|e| panic!("{descr} {format}: {e}"));
        assert_eq!(codes(&tensor), [one(format)], "{descr} as {format}");
    }
}

#[test]
fn bits_survive_whatever_they_mean() {
    // -0, subnormals, infinities, quiet and signalling NaNs of both signs.
    let strange = [
        0x8000_0000u32,
        1,
        0x807f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7f80_0001,
        0xffff_ffff,
    ];
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
        assert!(
            codes(&read(&array, format).unwrap())
                .into_iter()
                .eq(0..1 << 16)
        );
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
