//! Small mistakes in the text of a shader do not pass the self-test.

use std::sync::Arc;

use rayon::prelude::*;
use tcverify::gpu::{Device, Gpu, Vetted, adapters, source};

use crate::{adapter, models};

/// What is written in a shader, and what stands there instead.
type Mutant = (&'static str, &'static str);

const TERMS: &[Mutant] = &[
    ("(kept & 1u) == 1u);", "true);"),
    ("(kept & 1u) == 1u);", "false);"),
    ("(kept & 1u) == 1u);", "(kept & 1u) == 0u);"),
    (
        "let rest = magnitude << u32(32 - right);",
        "let rest = (magnitude << u32(32 - right)) & 0x80000000u;",
    ),
    (
        "let rest = magnitude << u32(32 - right);",
        "let rest = (magnitude << u32(32 - right)) & 0xc0000000u;",
    ),
    (
        "let rest = magnitude << u32(32 - right);",
        "let rest = (magnitude << u32(32 - right)) & 0xe0000000u;",
    ),
    (
        "- i32(countLeadingZeros(magnitude)), C_MIN_EXPONENT)",
        "- i32(countLeadingZeros(magnitude)), C_MIN_EXPONENT + 1)",
    ),
    ("i32(max(field, 1u)) - C_BIAS", "i32(field) - C_BIAS"),
    (
        "select(fraction, 0u, C_FLUSH)",
        "select(fraction, 0u, !C_FLUSH)",
    ),
    (
        "if (magnitude == 0u) { return 0u; }",
        "if (magnitude == 0u) { return C_SIGN; }",
    ),
    ("leading + C_BIAS - 1", "leading + C_BIAS"),
];

const ALIGNED: &[Mutant] = &[
    (
        "let shift = min(vec4<i32>(top) - exponents, vec4<i32>(31));",
        "let shift = min(vec4<i32>(top) - exponents, vec4<i32>(24));",
    ),
    (
        "let shift = min(vec4<i32>(top) - exponents, vec4<i32>(31));",
        "let shift = min(vec4<i32>(top + 1) - exponents, vec4<i32>(31));",
    ),
    (
        "return select(kept, -kept, terms < vec4<i32>(0));",
        "return terms >> vec4<u32>(shift);",
    ),
];

const FEW: &[Mutant] = &[
    ("max(top - PRODUCT_BITS,", "max(top - PRODUCT_BITS + 1,"),
    ("- LEADING_BITS)", "- LEADING_BITS + 1)"),
    ("- LEADING_BITS)", "- LEADING_BITS - 1)"),
    ("max(lead_of(c), LEAST)", "max(lead_of(c), LEAST + 1)"),
    ("max(lead_of(c), LEAST)", "max(lead_of(c), LEAST - 1)"),
    (
        "significand >> u32(clamp(-up, 0, 31))",
        "significand / i32(1u << u32(clamp(-up, 0, 30)))",
    ),
    (
        "significand >> u32(clamp(-up, 0, 31))",
        "significand >> u32(clamp(-up, 0, 23))",
    ),
    (
        "return select(code, code & 0xffff0000u, UPPER && code != FLAG);",
        "return select(code, (code + 0x8000u) & 0xffff0000u, UPPER && code != FLAG);",
    ),
    (
        "i32(C_FRACTION) + 1, true);",
        "i32(C_FRACTION) + 1, false);",
    ),
    ("i32(C_FRACTION) + 1, true);", "i32(C_FRACTION), true);"),
];

const FLUSH: &[Mutant] = &[
    (
        ">= ~(0xffffffffu >> (C_FRACTION + 2u))",
        ">= ~(0xffffffffu >> (C_FRACTION + 1u))",
    ),
    ("select(0, 1, carries)", "0"),
    ("select(0, 1, carries)", "1"),
    (
        "< C_MIN_EXPONENT) { return 0u; }",
        "< C_MIN_EXPONENT) { return select(0u, C_SIGN, negative); }",
    ),
    (
        "< C_MIN_EXPONENT) { return 0u; }",
        "<= C_MIN_EXPONENT) { return 0u; }",
    ),
];

const COMPLEMENT: &[Mutant] = &[
    (
        "abs(products) >> vec2<u32>(min(down, vec2<i32>(31)));",
        "abs(products) >> vec2<u32>(min(down, vec2<i32>(24)));",
    ),
    (
        "let terms = units ^ unlike;",
        "let terms = select(units, -units, unlike != vec2<i32>(0));",
    ),
    (
        "let terms = units ^ unlike;",
        "let terms = units ^ select(unlike, vec2<i32>(0), products == vec2<i32>(0));",
    ),
    (
        "let terms = units ^ unlike;",
        "let terms = units ^ select(unlike, vec2<i32>(0), units == vec2<i32>(0));",
    ),
    (
        "let c_negative = (code & C_SIGN) != 0u;",
        "let c_negative = c.x < 0;",
    ),
];

const FLOORED: &[Mutant] = &[
    (
        "let kept = products >> vec2<u32>(min(down, vec2<i32>(31)));",
        "let kept = sign(products) * (abs(products) >> vec2<u32>(min(down, vec2<i32>(31))));",
    ),
    (
        "let kept = products >> vec2<u32>(min(down, vec2<i32>(31)));",
        "let kept = products >> vec2<u32>(min(down, vec2<i32>(20)));",
    ),
    (
        "if (lead_of(c) < grid && grid > VANISHING) { units = 0; }",
        "",
    ),
    ("lead_of(c) < grid", "lead_of(c) <= grid"),
    ("lead_of(c) < grid", "lead_of(c) < grid - 1"),
    ("grid > VANISHING", "grid >= VANISHING"),
    ("grid > VANISHING", "grid > VANISHING + 1"),
    (
        "(one.x >> u32(min(top - one.y, 31)))",
        "(sign(one.x) * (abs(one.x) >> u32(min(top - one.y, 31))))",
    ),
    (
        "(other.x >> u32(min(top - other.y, 31)))",
        "(sign(other.x) * (abs(other.x) >> u32(min(top - other.y, 31))))",
    ),
    (
        "(other.x >> u32(min(top - other.y, 31)))",
        "(other.x >> u32(min(top - other.y, 24)))",
    ),
    (
        "let top = max(exponents.x, exponents.y);",
        "let top = max(exponents.x, exponents.y) + 1;",
    ),
];

const FLOOR: &[Mutant] = &[
    (
        "return value >> u32(clamp(down, 0, 31));",
        "return sign(value) * (abs(value) >> u32(clamp(down, 0, 31)));",
    ),
    (
        "return value >> u32(clamp(down, 0, 31));",
        "return value >> u32(clamp(down, 0, 24));",
    ),
    (
        "floored(one.x, top - one.y) + floored(other.x, top - other.y)",
        "floored(one.x, top - one.y) - floored(-other.x, top - other.y)",
    ),
    (
        "floored(one.x, top - one.y) + floored(other.x, top - other.y)",
        "floored(one.x + other.x, top - min(one.y, other.y))",
    ),
    ("select(low, (0u - low) & finer, negative)", "low"),
    ("select(0u, 1u, low != 0u), negative)", "0u, negative)"),
    (
        "if (width == 0) { return 0u; }",
        "if (width == 0) { return C_SIGN; }",
    ),
    (
        "leading - RESULT_BITS - lsb",
        "leading - RESULT_BITS - lsb + 1",
    ),
    (
        "leading - RESULT_BITS - lsb",
        "leading - RESULT_BITS - lsb - 1",
    ),
    ("lost = few & ((1u << u32(down)) - 1u);", "lost = 0u;"),
    ("lost = few | (many & ((1u << rest) - 1u));", "lost = few;"),
    (
        "lost = few | (many & ((1u << rest) - 1u));",
        "lost = many & ((1u << rest) - 1u);",
    ),
    (
        "if (negative && lost != 0u && kept != 0xffffffffu) { kept += 1u; }",
        "",
    ),
    ("if (negative && lost", "if (lost"),
    ("select(c.y, ZERO_EXPONENT, c.x == 0)", "c.y"),
    (
        "let units = floored(c.x << C_UP, top + C_DOWN - c_exponent);",
        "let units = sign(c.x) * floored(abs(c.x) << C_UP, top + C_DOWN - c_exponent);",
    ),
    ("c_exponent >= top - WINDOW", "c_exponent > top - WINDOW"),
    (
        "c_exponent >= top - WINDOW",
        "c_exponent >= top - WINDOW - 1",
    ),
    (
        "floored(sum.x, down - MORE)",
        "floored(sum.x, down - MORE + 1)",
    ),
    (
        "clamp(MORE - down, 0, 31)), down <= MORE)",
        "clamp(MORE - down, 0, 31)) & 0xfffffffeu, down <= MORE)",
    ),
    (
        "let high = floored(sum.x, down)",
        "let high = sign(sum.x) * floored(abs(sum.x), down)",
    ),
];

const FUSED: &[Mutant] = &[
    ("top < ZERO_EXPONENT", "top < ZERO_EXPONENT - 1"),
    ("{ top = ZERO_EXPONENT; }", "{ top = ZERO_EXPONENT - 1; }"),
    (
        "let shift = u32(min(top + C_DOWN - c.y, 31));",
        "let shift = u32(min(top + C_DOWN - c.y, 23));",
    ),
    (
        "let kept = (abs(c.x) << C_UP) >> shift;",
        "let kept = ((abs(c.x) << C_UP) >> shift) & -2;",
    ),
    (
        "let one = added(first) + select(kept, -kept, c.x < 0);",
        "let one = added(first) + ((c.x << C_UP) >> shift);",
    ),
    (
        "let lost = u32(max(32 - i32(countLeadingZeros(magnitude)) - SUM_BITS, 0));",
        "let lost = 0u;",
    ),
    (
        "let negative = select(sum < 0, one < 0, alike);",
        "let negative = one < 0;",
    ),
    (
        "FRACTION_BITS, PRECISION, NEAREST",
        "FRACTION_BITS, PRECISION, !NEAREST",
    ),
    (
        "FRACTION_BITS, PRECISION, NEAREST",
        "FRACTION_BITS, PRECISION - 1, NEAREST",
    ),
];

const HALVES: &[Mutant] = &[
    (
        "let kept = i32(shifted | select(0u, 1u, (shifted << shift) != whole));",
        "let kept = i32(shifted);",
    ),
    ("u32(abs(y.x)) << 3u;", "(u32(abs(y.x)) & ~1u) << 3u;"),
    (
        "x.y - fraction - 3, fraction + 1, true)",
        "x.y - fraction - 3, fraction + 1, false)",
    ),
    (
        "let swap = other.y > one.y;",
        "let swap = other.y >= one.y;",
    ),
    (
        "fused(half, row, column, quad + STEP_QUADS / 2u)",
        "fused(0u, row, column, quad + STEP_QUADS / 2u)",
    ),
];

/// A device whose shaders have a mistake.
fn device((from, to): Mutant) -> Arc<Vetted> {
    let text = move |plan: &_| {
        let text = source(plan);
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    let number = std::env::var("TCVERIFY_TEST_GPU").ok();
    let number = number.map_or(0, |number| number.parse().expect("a number"));
    let device: Box<dyn Device> = adapters()[number].open_with(text).expect("it opens");
    Arc::new(Vetted::new(device))
}

/// Those that a model's self-test does not see.
fn unseen(model: &str, mutants: &[Mutant]) -> Vec<Mutant> {
    let model = models::named(model);
    let passes = |mutant: &&Mutant| Gpu::if_sound(device(**mutant), &model.arithmetic).is_some();
    mutants.par_iter().filter(passes).copied().collect()
}

/// Some are no mistakes for a model, as its numbers never get there; some stay unseen. There are no more than these.
#[test]
#[ignore = "long"]
fn small_mistakes_in_shaders_fail_the_self_test() {
    if adapter().is_none() {
        return;
    }
    for (model, tables, most) in [
        (
            "rdna4 wmma-wave32 fp16*fp16->fp16",
            &[TERMS, FEW, FLOORED][..],
            14,
        ),
        (
            "rdna3 wmma bf16*bf16->fp32",
            &[TERMS, FEW, FLUSH, COMPLEMENT][..],
            8,
        ),
        (
            "cdna3 mfma bf16*bf16->fp32",
            &[TERMS, ALIGNED, FLOOR][..],
            9,
        ),
        (
            "rdna4 wmma-wave32 fp16*fp16->fp32",
            &[TERMS, FEW, FLOORED][..],
            6,
        ),
        (
            "cdna3 mfma e4m3fnuz*e4m3fnuz->fp32",
            &[ALIGNED, FLOOR][..],
            7,
        ),
        (
            "hopper wgmma fp16*fp16->fp32",
            &[TERMS, ALIGNED, FUSED][..],
            9,
        ),
        ("hopper mma e4m3*e4m3->fp32", &[HALVES][..], 1),
    ] {
        let unseen = unseen(model, &tables.concat());
        assert!(unseen.len() <= most, "{model}: {unseen:#?}");
    }
}

/// Those that numbers without cancellation do not show.
#[test]
fn what_only_cancelled_sums_show() {
    if adapter().is_none() {
        return;
    }
    let negative: Mutant = (
        "if (magnitude == 0u) { return 0u; }",
        "if (magnitude == 0u) { return C_SIGN; }",
    );
    for (model, mutants) in [
        (
            "rdna4 wmma-wave32 fp16*fp16->fp16",
            &[FLOORED[0], FLOORED[8]][..],
        ),
        ("rdna3 wmma fp16*fp16->fp32", &[negative]),
    ] {
        assert_eq!(unseen(model, mutants), []);
    }
}
