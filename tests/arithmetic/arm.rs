//! Arm's dot products by hand, and what the catalogue says of them.

use serde_json::{Value, json};
use tcverify::emu::{Arithmetic, Catalogue, Evidence};
use tcverify::num::Format;

fn rule(instruction: &str, format: Format, accumulator: Format) -> Arithmetic {
    let arch = Catalogue::builtin().find("graviton3").expect("it is there");
    let choice = arch.select(Some(instruction), [format; 2], Some(accumulator));
    choice.expect("a rule").arithmetic
}

fn with(arithmetic: &Arithmetic, changes: &Value) -> Arithmetic {
    let mut all = serde_json::to_value(arithmetic).expect("plain data");
    for (name, value) in changes.as_object().expect("constants") {
        all["step"][name] = value.clone();
    }
    serde_json::from_value(all).expect("an arithmetic")
}

fn dot(arithmetic: &Arithmetic, a: &[u64], b: &[u64], c: u64) -> u64 {
    let formats = arithmetic.formats();
    let unpacked = |format: Format, codes: &[u64]| -> Vec<_> {
        codes.iter().map(|&code| format.unpack(code)).collect()
    };
    let (a, b) = (unpacked(formats.a, a), unpacked(formats.b, b));
    let step = &arithmetic.step;
    let mut carried = step.start(formats, c);
    for (a, b) in a.chunks(step.span()).zip(b.chunks(step.span())) {
        step.run(formats, a, b, &mut carried);
    }
    step.finish(formats, &carried)
}

const ONE: u64 = 0x3f80;
const NAN: u64 = 0x7fc0_0000;

/// A product, its result, and a changed constant that gives another one.
type Row = (&'static [u64], &'static [u64], u64, u64, Value, u64);

fn rows(arithmetic: &Arithmetic, rows: &[Row]) {
    for (a, b, c, d, changes, other) in rows {
        assert_eq!(dot(arithmetic, a, b, *c), *d, "{a:x?} {b:x?} {c:x}");
        let wrong = with(arithmetic, changes);
        assert_eq!(
            dot(&wrong, a, b, *c),
            *other,
            "{changes} {a:x?} {b:x?} {c:x}"
        );
        assert_ne!(d, other);
    }
}

/// 3380 is 2^-24, 3480 is 2^-22, 0080 is 2^-126.
#[test]
fn pairs_rounded_to_odd() {
    let bfdot = rule("bfdot", Format::Bf16, Format::Fp32);
    let nearest = || json!({"rounding": "rne"});
    rows(
        &bfdot,
        &[
            // 1 + 2^-24: the last bit is set.
            (
                &[ONE, 0x3380],
                &[ONE, ONE],
                0,
                0x3f80_0001,
                nearest(),
                0x3f80_0000,
            ),
        ],
    );
    assert_eq!(dot(&bfdot, &[ONE, 0x3480], &[ONE, ONE], 0), 0x3f80_0002);
    // The pair first: 1 - 1 is zero before 2^-30 of C is added.
    assert_eq!(
        dot(&bfdot, &[ONE, 0xbf80], &[ONE, ONE], 0x3080_0000),
        0x3080_0000
    );
    rows(
        &bfdot,
        &[
            // The largest numbers overflow to infinity, toward zero as it is.
            (
                &[0x7f7f, 0x7f7f],
                &[ONE, ONE],
                0,
                0x7f80_0000,
                json!({"rounding": "rz"}),
                0x7f7f_ffff,
            ),
            // 2^-126 times 0.5 counts as zero; its sign stays.
            (
                &[0x8080, 0],
                &[0x3f00, 0x8000],
                0x8000_0000,
                0x8000_0000,
                json!({"flush": false}),
                0x8040_0000,
            ),
            // A subnormal C does, too.
            (&[0, 0], &[0, 0], 1, 0, json!({"flush": false}), 1),
            (
                &[0x7f80, 0],
                &[0, 0],
                0,
                NAN,
                json!({"nan": "ffc00000"}),
                0xffc0_0000,
            ),
            // A payload of C is lost.
            (
                &[0, 0],
                &[0, 0],
                0x7f80_1234,
                NAN,
                json!({"payloads": true}),
                0x7fc0_1234,
            ),
        ],
    );
    // Opposite zeros are +0, equal ones stay.
    assert_eq!(
        dot(&bfdot, &[0x8000, 0x8000], &[ONE, ONE], 0x8000_0000),
        0x8000_0000
    );
    assert_eq!(dot(&bfdot, &[0x8000, 0], &[ONE, ONE], 0x8000_0000), 0);
    // One rule for three instructions.
    let sha256 = |name| rule(name, Format::Bf16, Format::Fp32).sha256();
    assert_eq!(
        [sha256("bfmmla"), sha256("bfmopa")],
        [sha256("bfdot"), sha256("bfdot")]
    );
    assert_ne!(sha256("bfdot-ebf"), sha256("bfdot"));
}

#[test]
fn pairs_with_ebf() {
    let ebf = rule("bfdot-ebf", Format::Bf16, Format::Fp32);
    rows(
        &ebf,
        &[
            // 1 + 2^-24 is a tie.
            (
                &[ONE, 0x3380],
                &[ONE, ONE],
                0,
                0x3f80_0000,
                json!({"rounding": "ru"}),
                0x3f80_0001,
            ),
            (
                &[0x8080, 0],
                &[0x3f00, 0],
                0,
                0x8040_0000,
                json!({"flush": true}),
                0,
            ),
            (
                &[0x7f7f, 0x7f7f],
                &[ONE, ONE],
                0,
                0x7f80_0000,
                json!({"rounding": "rd"}),
                0x7f7f_ffff,
            ),
            (
                &[0xff7f, 0xff7f],
                &[ONE, ONE],
                0,
                0xff80_0000,
                json!({"rounding": "ru"}),
                0xff7f_ffff,
            ),
            // Cancellation is +0, and -0 only toward minus infinity.
            (
                &[ONE, 0xbf80],
                &[ONE, ONE],
                0x8000_0000,
                0,
                json!({"rounding": "rd"}),
                0x8000_0000,
            ),
        ],
    );
    // Below the smallest normal number before rounding: a zero with FZ, though it would round up to it.
    let fz = rule("bfdot-ebf-fz", Format::Bf16, Format::Fp32);
    let (a, b) = ([0x0080, 0x8080], [ONE, 0x3180]);
    assert_eq!(dot(&ebf, &a, &b, 0), 0x0080_0000);
    assert_eq!(dot(&fz, &a, &b, 0), 0);
}

/// 38 is one, 78 is 256 in E4M3.
#[test]
fn sums_of_fp8() {
    let fdot4 = rule("fdot4", Format::E4m3, Format::Fp32);
    let fpmr = |lscale: u32, osm: bool| json!({"fpmr": {"lscale": lscale, "osm": osm}});
    rows(
        &fdot4,
        &[
            (
                &[0x38; 4],
                &[0x38; 4],
                0,
                0x4080_0000,
                fpmr(2, false),
                0x3f80_0000,
            ),
            // C is added before the one rounding: 2^24 + 1 + 1.
            (
                &[0x38, 0x38, 0, 0],
                &[0x38; 4],
                0x4b80_0000,
                0x4b80_0001,
                json!({"with_c": true, "group": 1, "fused": 1}),
                0x4b80_0000,
            ),
            (
                &[0x7f, 0, 0, 0],
                &[0; 4],
                0,
                NAN,
                json!({"nan": "ffc00000"}),
                0xffc0_0000,
            ),
        ],
    );
    let fdot2 = rule("fdot2", Format::E4m3, Format::Fp16);
    rows(
        &fdot2,
        &[(&[0x78; 2], &[0x78; 2], 0, 0x7c00, fpmr(0, true), 0x7bff)],
    );
    // An infinite C stays.
    assert_eq!(
        dot(&with(&fdot2, &fpmr(0, true)), &[0; 2], &[0; 2], 0x7c00),
        0x7c00
    );
}

#[test]
fn four_roundings_and_payloads() {
    let fmmla = rule("fmmla", Format::Fp32, Format::Fp32);
    let (one, tiny) = (0x3f80_0001, 0x3f7f_fffe);
    // (1 + 2^-23)(1 - 2^-23) = 1 - 2^-46 rounds to 1 before it meets -1.
    let (a, b) = ([one, 0xbf80_0000], [tiny, 0x3f80_0000]);
    assert_eq!(dot(&fmmla, &a, &b, 0), 0);
    assert_ne!(
        dot(
            &with(&fmmla, &json!({"fused": 2, "payloads": false})),
            &a,
            &b,
            0
        ),
        0
    );
    // The first NaN goes on, but a signalling one before a quiet one.
    let bfmlal = rule("bfmlal", Format::Bf16, Format::Fp32);
    assert_eq!(dot(&bfmlal, &[0x7fc1], &[0xffc2], 0x7fc0_0003), 0x7fc0_0003);
    assert_eq!(dot(&bfmlal, &[0x7fc1], &[0xff82], 0x7fc0_0003), 0xffc2_0000);
    assert_eq!(dot(&bfmlal, &[0x7f80], &[0], 0x7fc0_0003), NAN);
    assert_eq!(dot(&bfmlal, &[0x7f80], &[0], 0x7f80_0003), 0x7fc0_0003);
}

/// BFCVT keeps what it can of a NaN, and rounds to nearest.
#[test]
fn results_of_16_bits() {
    let bfdot = rule("bfdot", Format::Bf16, Format::Fp32);
    for (code, bf16, fp16) in [
        (NAN, 0x7fc0, 0x7e00),
        (0xffc1_2345, 0xffc1, 0xfe09),
        (0x3f80_8000, 0x3f80, 0x3c04),
        (0x3f81_8000, 0x3f82, 0x3c0c),
        (0x7f7f_ffff, 0x7f80, 0x7c00),
    ] {
        assert_eq!(bfdot.converted(code, Format::Bf16), bf16, "{code:x}");
        assert_eq!(bfdot.converted(code, Format::Fp16), fp16, "{code:x}");
    }
}

/// EBF is taken only where it is named, and nothing claims to be captured.
#[test]
fn what_is_taken_by_default() {
    let arm = Catalogue::builtin().find("arm").expect("it is there");
    let taken = |format, accumulator| {
        let choice = arm.select(None, [format; 2], accumulator);
        choice.map(|choice| choice.instruction.name.clone())
    };
    assert_eq!(taken(Format::Bf16, None).as_deref(), Ok("bfdot"));
    assert_eq!(taken(Format::Fp32, None).as_deref(), Ok("fmopa-f32"));
    assert_eq!(taken(Format::Int8, None).as_deref(), Ok("sdot"));
    let refused = taken(Format::E4m3, None).expect_err("a choice").to_string();
    assert!(refused.contains("fdot4 or fmmla-f32"), "{refused}");
    for (_, rule) in arm.rules() {
        assert!(rule.evidence < Evidence::Captured);
        let known = |known: &tcverify::emu::KnownBy| known.evidence < Evidence::Captured;
        assert!(
            rule.known_by
                .values()
                .chain(arm.known_by.values())
                .all(known)
        );
    }
}
