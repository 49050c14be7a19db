//! A K that is no multiple of the instruction's: it is filled up with products of +0 and +0, which turn
//! a result of -0 into +0. Every engine, and models without the instruction's K beside.

use tcverify::emu::step::{PairwiseFlush, Step};
use tcverify::emu::{Arithmetic, Catalogue, Problem, Replay};
use tcverify::num::Format::{self, *};
use tcverify::tensor::Tensor;

use crate::support::engines::engines;
use crate::support::hidden::number::Dice;

fn arithmetic(arch: &str, format: Format) -> Arithmetic {
    let arch = Catalogue::builtin().find(arch).unwrap();
    arch.select(None, [format; 2], None).unwrap().arithmetic
}

/// -0 in FP32.
const MINUS: u64 = 0x8000_0000;

/// Every element of D, from the same A and B everywhere: `k` products, `x * y` the last one and ones
/// times +0 before. C is -0.
fn results(arithmetic: &Arithmetic, k: usize, x: u64, y: u64) -> Vec<u64> {
    results_from(arithmetic, k, (x, y), arithmetic.accumulator.zero(true))
}

/// The same from another C.
fn results_from(arithmetic: &Arithmetic, k: usize, (x, y): (u64, u64), c: u64) -> Vec<u64> {
    let (m, n) = (6, 40);
    let mut row = vec![0; k];
    row[k - 1] = x;
    let a = Tensor::from_codes(arithmetic.a, vec![m, k], &row.repeat(m));
    let mut of_b = vec![0; (k - 1) * n];
    of_b.extend(vec![y; n]);
    let b = Tensor::from_codes(arithmetic.b, vec![k, n], &of_b);
    let c = Tensor::from_codes(arithmetic.accumulator, vec![m, n], &vec![c; m * n]);
    let mut found = Vec::new();
    for engine in engines() {
        let problem = Problem::new(a.planes(), b.planes(), Some(c.planes())).unwrap();
        let replay = Replay {
            problem,
            arithmetic,
            convert_to: None,
            engine,
            kernel: None,
        };
        let mut codes = Vec::new();
        let whole = replay.run(&|_| {}, |band| {
            let width = arithmetic.accumulator.bytes();
            for bytes in band.payload.chunks(width) {
                let mut code = [0; 8];
                code[..width].copy_from_slice(bytes);
                codes.push(u64::from_le_bytes(code));
            }
            Ok::<(), ()>(())
        });
        whole.unwrap();
        assert_eq!(codes.len(), m * n);
        found.extend(codes);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The smallest product of each format is below every result, and negative.
#[test]
fn the_sign_of_a_vanishing_product_follows_the_instruction() {
    let tiny_bf16 = (0x8001, 0x0001);
    let tiny_f64 = (0x8001_0000_0000_0000, 0x0010_0000_0000_0000);
    let tiny_f32 = (0x8080_0000, 0x0080_0000);
    for (arch, format, (x, y), whole) in [
        ("cdna3", Bf16, tiny_bf16, 16),
        ("cdna1", Bf16, tiny_bf16, 8),
        ("cdna3", Fp32, tiny_f32, 4),
        ("cdna3", Fp64, tiny_f64, 4),
        ("ampere", Fp64, tiny_f64, 4),
        ("ada", Fp64, tiny_f64, 4),
        ("hopper", Fp64, tiny_f64, 16),
        ("blackwell", Fp64, tiny_f64, 16),
        ("rtx-blackwell", Fp64, tiny_f64, 16),
    ] {
        let model = arithmetic(arch, format);
        assert_eq!(model.instruction_k, Some(whole), "{arch} {format}");
        let (plus, minus) = (model.accumulator.zero(false), model.accumulator.zero(true));
        // The last product of a full instruction leaves its sign; in any other, zeros follow.
        for k in [1, 2, whole, whole + 1, 2 * whole, 3 * whole - 1] {
            let span = model.step.span();
            let full = k.next_multiple_of(span) % whole == 0;
            let expected = if full { minus } else { plus };
            assert_eq!(results(&model, k, x, y), [expected], "{arch} {format} {k}");
            // A model that ends with the step, as if that were the instruction.
            let wrong = Arithmetic {
                instruction_k: None,
                ..model.clone()
            };
            assert_eq!(results(&wrong, k, x, y), [minus], "{arch} {format} {k}");
            // Nothing else changes.
            let one = tcverify::num::convert_exact(Fp32, 0x3f80_0000, format).unwrap();
            assert_eq!(results(&model, k, one, one), results(&wrong, k, one, one));
        }
    }
}

/// A fused dot-add gives +0 whatever is added: the K of its instruction is known and changes nothing, so
/// that it is no part of the arithmetic.
#[test]
fn tensor_cores_of_nvidia_have_nothing_to_fill_up() {
    for arch in [
        "volta",
        "turing",
        "ampere",
        "ada",
        "hopper",
        "blackwell",
        "rtx-blackwell",
    ] {
        let arch = Catalogue::builtin().find(arch).unwrap();
        // CUDA cores have no K.
        let units = arch.instructions.iter().filter(|i| i.name != "ffma");
        for rule in units.flat_map(|i| &i.rules) {
            assert!(rule.instruction_k.is_some(), "{}", arch.name);
            if rule.accumulator != Fp64 {
                let model = Arithmetic::of(rule, rule.operands[0]);
                assert_eq!(model.instruction_k, None, "{}", arch.name);
            }
        }
    }
    let references = ["ieee-fma", "exact"];
    for arch in references {
        assert_eq!(arithmetic(arch, Fp64).instruction_k, None);
    }
}

/// CDNA 2: C and a product cancel but for a subnormal number, which becomes -0. What is missing of the
/// instruction after it makes +0 of that; after the last product nothing does.
#[test]
fn groups_that_are_missing_are_added() {
    let model = arithmetic("cdna2", Bf16);
    assert_eq!(model.instruction_k, None, "a step is an instruction");
    let tiny = 0x2000; // 2^-63
    let c = 0x80c0_0000; // -1.5 * 2^-126
    for (k, expected) in [
        (1, 0),
        (4, 0),
        (5, 0),
        (12, 0),
        (13, MINUS),
        (16, MINUS),
        (17, 0),
        (32, MINUS),
    ] {
        // At the end; an instruction before it leaves C as it is.
        assert_eq!(results_from(&model, k, (tiny, tiny), c), [expected], "{k}");
        let Step::PairwiseFlush(step) = &model.step else {
            unreachable!()
        };
        // A model that ends with the group, as if that were the instruction.
        let wrong = Arithmetic {
            step: Step::PairwiseFlush(PairwiseFlush {
                span: step.group,
                ..step.clone()
            }),
            ..model.clone()
        };
        assert_eq!(results_from(&wrong, k, (tiny, tiny), c), [MINUS], "{k}");
    }
}

/// What a kind of step says of zeros is so: where it says that they change nothing, none of the numbers that
/// its steps return is changed by a step of them.
#[test]
fn zeros_change_nothing_where_a_step_says_so() {
    let mut asked = 0;
    for arch in Catalogue::builtin().architectures() {
        for rule in arch.instructions.iter().flat_map(|i| &i.rules) {
            let model = Arithmetic::of(rule, rule.operands[0]);
            let formats = model.formats();
            if rule.scale.is_some()
                || model.addend() != model.accumulator
                || !model.step.rounds()
                || model.step.notices_zeros(formats)
            {
                continue;
            }
            asked += 1;
            let mut dice = Dice(0x5eed);
            let span = model.step.span();
            let zeros = vec![formats.a.unpack(0); span];
            for _ in 0..2000 {
                let mut draw = |format: Format| format.unpack(dice.next() & format.max_code());
                let few = 1 + (asked % span.min(3));
                let a: Vec<_> = (0..few).map(|_| draw(formats.a)).collect();
                let b: Vec<_> = (0..few).map(|_| draw(formats.b)).collect();
                let c = dice.next() & formats.accumulator.max_code();
                let mut carried = model.step.start(formats, c);
                model.step.run(formats, &a, &b, &mut carried);
                let before = model.step.finish(formats, &carried);
                model.step.run(formats, &zeros, &zeros, &mut carried);
                let after = model.step.finish(formats, &carried);
                assert_eq!(before, after, "{} {}", arch.name, model.step.summary());
            }
        }
    }
    assert!(asked > 40, "{asked}");
}
