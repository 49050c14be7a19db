//! NaN and infinities of operands are named where D has one too many or too few.

use serde_json::json;

use crate::support::{Folder, Npy};

/// A (2x16) and B (16x3) of ones in BF16, but for one code of A; D (2x3) of these codes.
fn given(odd: Option<(usize, u16)>, d: [u32; 6]) -> Folder {
    let folder = Folder::new();
    let mut a = [0x3f80u16; 32];
    if let Some((at, code)) = odd {
        a[at] = code;
    }
    let bytes = |codes: &[u16]| codes.iter().flat_map(|code| code.to_le_bytes()).collect();
    folder.save("a.npy", &Npy::new("<u2", &[2, 16], bytes(&a)));
    folder.save("b.npy", &Npy::new("<u2", &[16, 3], bytes(&[0x3f80; 48])));
    let d: Vec<u8> = d.iter().flat_map(|code| code.to_le_bytes()).collect();
    folder.save("d.npy", &Npy::new("<f4", &[2, 3], d));
    folder
}

const SIXTEEN: u32 = 0x4180_0000;
const NAN: u32 = 0x7fff_ffff;

#[test]
fn operands_that_are_no_numbers_are_named() {
    let check = "check --arch h100 --dtype bf16 a.npy b.npy d.npy --json report.json";
    for (odd, d, code, said, nonfinite) in [
        // A's NaN is not in D.
        (
            Some((19, 0x7fc0)),
            [SIXTEEN; 6],
            1,
            "operands  A holds 1 NaN at [1, 3]",
            json!({"nan": 1, "infinite": 0, "first_nan": [1, 3]}),
        ),
        (
            Some((2, 0xff80)),
            [SIXTEEN; 6],
            1,
            "operands  A holds 1 infinite number at [0, 2]",
            json!({"nan": 0, "infinite": 1, "first_infinite": [0, 2]}),
        ),
        // D's NaN comes from no operand.
        (
            None,
            [SIXTEEN, SIXTEEN, NAN, SIXTEEN, SIXTEEN, SIXTEEN],
            1,
            "operands  A, B hold finite numbers alone",
            json!({"nan": 0, "infinite": 0}),
        ),
        // Nothing of it is said where it explains nothing.
        (
            Some((19, 0x7fc0)),
            [SIXTEEN, SIXTEEN, SIXTEEN, NAN, NAN, NAN],
            0,
            "IDENTICAL",
            json!(null),
        ),
        (None, [SIXTEEN ^ 1; 6], 1, "DIFFERENT", json!(null)),
    ] {
        let folder = given(odd, d);
        let run = folder.tcverify(check).expect(code);
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
        let report = folder.read("report.json");
        let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
        assert_eq!(report["inputs"]["a"]["nonfinite"], nonfinite, "{said}");
        folder.tcverify("verify-report report.json").expect(0);
    }
}
