//! NaN and infinities of operands are named where D has one too many or too few.

use serde_json::json;

use crate::support::{Folder, Npy, table};

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
    for (odd, d, code, said, nonfinite) in table! {
        // A's NaN is not in D.
        (Some((19, 0x7fc0)), [SIXTEEN; 6], 1, "operands  A holds 1 NaN at [1, 3]",
            json!({"nan": 1, "infinite": 0, "first_nan": [1, 3]})),
        (Some((2, 0xff80)), [SIXTEEN; 6], 1, "operands  A holds 1 infinite number at [0, 2]",
            json!({"nan": 0, "infinite": 1, "first_infinite": [0, 2]})),
        // D's NaN comes from no operand.
        (None, [SIXTEEN, SIXTEEN, NAN, SIXTEEN, SIXTEEN, SIXTEEN], 1, "operands  A, B hold finite numbers alone",
            json!({"nan": 0, "infinite": 0})),
        // Nothing of it is said where it explains nothing.
        (Some((19, 0x7fc0)), [SIXTEEN, SIXTEEN, SIXTEEN, NAN, NAN, NAN], 0, "IDENTICAL", json!(null)),
        (None, [SIXTEEN ^ 1; 6], 1, "DIFFERENT", json!(null)),
    } {
        let folder = given(odd, d);
        let run = folder.tcverify(check).expect(code);
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
        let report = folder.read("report.json");
        let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
        assert_eq!(report["inputs"]["a"]["nonfinite"], nonfinite, "{said}");
        folder.passes("verify-report report.json");
    }
}

/// Overflows everywhere prove little, which both verdicts say.
#[test]
fn a_result_without_a_finite_number_is_remarked() {
    const INFINITE: u32 = 0x7f80_0000;
    let check = "check --arch h100 --dtype bf16 a.npy b.npy d.npy --json report.json";
    for (odd, d, code, said) in table! {
        // A's row 0 has an infinity, row 1 a NaN.
        ([(2, 0x7f80), (19, 0x7fc0)], [INFINITE, INFINITE, INFINITE, NAN, NAN, NAN], 0,
            Some("no element of D is finite (3 infinite, 3 NaN)")),
        ([(2, 0x7f80), (19, 0x7f80)], [INFINITE, INFINITE, INFINITE, INFINITE, INFINITE, NAN], 1,
            Some("no element of D is finite (5 infinite, 1 NaN)")),
        ([(2, 0x7f80), (3, 0x7f80)], [INFINITE, INFINITE, INFINITE, SIXTEEN, SIXTEEN, SIXTEEN], 0, None),
    } {
        let folder = given(Some(odd[0]), d);
        let mut a = folder.read("a.npy");
        let (at, value) = odd[1];
        let place = a.len() - 64 + 2 * at;
        a[place..place + 2].copy_from_slice(&u16::to_le_bytes(value));
        folder.write("a.npy", a);
        let run = folder.tcverify(check).expect(code);
        let remark = run.stdout.contains("no element of D is finite");
        assert_eq!(remark, said.is_some(), "{}", run.stdout);
        assert!(
            run.stdout.contains(said.unwrap_or("IDENTICAL")),
            "{}",
            run.stdout
        );
        folder.passes("verify-report report.json");
    }
}
