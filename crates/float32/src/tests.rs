use super::*;
use tcverify_num::random::SplitMix64;

#[test]
fn both_engines_give_the_same_bits() {
    let (exact, native) = (Exactly, Natively::new());
    let mut random = SplitMix64(21);
    let edges = [
        0,
        SIGN,
        1,
        0x8000_0001,
        0x007f_ffff,
        0x0080_0000,
        0x0080_0001,
        ONE,
        0xbf80_0000,
        0x3f7f_ffff,
        0x3f80_0001,
        0x7f7f_ffff,
        0xff7f_ffff,
        INFINITY,
        MINUS_INFINITY,
        0x7fc0_0000,
        0xff80_0001,
        0x2000_0000,
        0x7e80_0000,
        0x7e80_0001,
        0xc2fc_0000,
        0xc2fc_0001,
        0x4300_0000,
        0x4200_0000,
        0x437c_0000,
    ];
    let mut operand = || {
        let word = random.word();
        match word % 5 {
            0 => edges[(word >> 32) as usize % edges.len()],
            1 => (word >> 32) as u32,
            2 => 0x3f00_0000 | (word >> 32) as u32 & 0x80ff_ffff,
            3 => 0x4000_0000 | (word >> 32) as u32 & 0x83ff_ffff,
            _ => 0x1f00_0000 | (word >> 32) as u32 & 0x81ff_ffff,
        }
    };
    fn all<A: Arith>(a: A, [x, y, z]: [u32; 3]) -> Vec<u64> {
        let codes = [
            a.add(x, y),
            a.sub(x, y),
            a.mul(x, y),
            a.fma(x, y, z),
            a.div(x, y),
            a.sqrt(x),
            a.mufu(Function::Rcp, x),
            a.mufu(Function::Rsq, x),
            a.mufu(Function::Ex2, x),
            rcp_approx(a, x, false),
            rsqrt_approx(a, x, false),
            ex2_approx(a, x, false),
            expf(a, x),
            tanhf(a, x),
            divide(a, Divide::Full, x, y, false),
            divide(a, Divide::Approx, x, y, true),
            exponential(a, Exponential::Fast, x, true),
        ];
        let mut codes: Vec<u64> = codes.into_iter().map(u64::from).collect();
        codes.extend([Format::Bf16, Format::Fp16, Format::E4m3].map(|to| a.round(x, to)));
        codes
    }
    for _ in 0..60_000 {
        let operands = [operand(), operand(), operand()];
        assert_eq!(all(exact, operands), all(native, operands), "{operands:x?}");
        assert_eq!(
            all(Flushing(exact), operands),
            all(Flushing(native), operands),
            "{operands:x?}, flushing"
        );
    }
}

#[test]
fn division_and_roots_by_hand() {
    let e = Exactly;
    for (x, y, quotient) in [
        (ONE, 0x4040_0000, 0x3eaa_aaab), // 1/3
        (ONE, 0, INFINITY),
        (0, 0, NAN),
        (0x0000_0001, 0x4000_0000, 0),           // a tie, to even
        (0x0000_0003, 0x4000_0000, 0x0000_0002), // a tie, to even
        (0x7f7f_ffff, 0x3f00_0000, INFINITY),
        (0x8080_0000, 0x4000_0000, 0x8040_0000),
    ] {
        assert_eq!(e.div(x, y), quotient, "{x:x} / {y:x}");
    }
    for (x, root) in [
        (0x4000_0000, 0x3fb5_04f3),
        (0x4080_0000, 0x4000_0000),
        (SIGN, SIGN),
        (0xbf80_0000, NAN),
        (1, 0x1a35_04f3),
        (INFINITY, INFINITY),
    ] {
        assert_eq!(e.sqrt(x), root, "sqrt {x:x}");
    }
}

#[test]
fn extremes_are_where_they_belong() {
    assert_eq!(max(0x7fc0_0000, ONE), ONE);
    assert_eq!(min(0x7fc0_0000, ONE), ONE);
    assert_eq!(max(SIGN, 0), 0);
    assert_eq!(max(MINUS_INFINITY, 0xff7f_ffff), 0xff7f_ffff);
    assert_eq!(min(ONE, 0xbf80_0000), 0xbf80_0000);
    for (function, x, y) in [
        (Function::Rcp, 0, INFINITY),
        (Function::Rcp, 1, INFINITY),
        (Function::Rcp, SIGN, MINUS_INFINITY),
        (Function::Rcp, MINUS_INFINITY, SIGN),
        (Function::Rcp, ONE, ONE),
        (Function::Rcp, 0x7e80_0000, 0x0080_0000),
        (Function::Rcp, 0x7e80_0001, 0),
        (Function::Rcp, 0x7fc0_0000, NAN),
        (Function::Rsq, SIGN, MINUS_INFINITY),
        (Function::Rsq, 0xbf80_0000, NAN),
        (Function::Rsq, INFINITY, 0),
        (Function::Rsq, 0x4080_0000, 0x3f00_0000),
        (Function::Ex2, 0x4300_0000, INFINITY),
        (Function::Ex2, 0xc300_0000, 0),
        (Function::Ex2, 0xc2fc_0000, 0x0080_0000),
        (Function::Ex2, 0xc2fc_0001, 0),
        (Function::Ex2, MINUS_INFINITY, 0),
        (Function::Ex2, 0x8000_0001, ONE),
    ] {
        assert_eq!(Exactly.mufu(function, x), y, "{} of {x:x}", function.name());
    }
    // Not flushed, subnormals come out.
    assert_eq!(ex2_approx(Exactly, 0xc300_0000, false), 0x0020_0000);
    assert_eq!(rcp_approx(Exactly, 0x7f00_0000, false), 0x0040_0000);
}
