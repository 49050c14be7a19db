//! The same numbers lying otherwise in memory make the same product.

use std::sync::Arc;

use tcverify::emu::{Engine, Problem, Replay};
use tcverify::num::{Format, Rounding, convert_exact, round_code};
use tcverify::tensor::{Encoding, Order, Stored, Tensor, unravel};

use super::tiles::{Product, kinds, replay, rule};
use crate::support::case::codes;
use crate::support::engines::engines;
use crate::support::random::Random;

const BATCH: [usize; 1] = [2];
const SHAPE: [usize; 3] = [37, 41, 43];

/// The tensor with its last two axes exchanged, in memory too.
fn transposed(tensor: &Tensor) -> Tensor {
    let planes = tensor.planes().transposed();
    let shape = [planes.batch_shape(), &[planes.rows(), planes.columns()]].concat();
    let mut all = Vec::with_capacity(tensor.len());
    for batch in 0..planes.batches() {
        let plane = planes.plane(batch);
        for row in 0..plane.rows {
            all.extend((0..plane.columns).map(|column| plane.code(row, column)));
        }
    }
    Tensor::from_codes(tensor.format(), shape, &all)
}

/// The tensor in another order, byte order or type of element.
fn stored(tensor: &Tensor, order: Order, big_endian: bool, encoding: Encoding) -> Tensor {
    let shape = tensor.shape().to_vec();
    let codes = codes(tensor);
    let format = tensor.format();
    let wide = match encoding {
        Encoding::Code => format,
        Encoding::Value(wide) => wide,
        Encoding::Integer { .. } => unreachable!("no integers here"),
    };
    let mut bytes = vec![0xee; 5]; // it starts anywhere
    for position in 0..tensor.len() {
        let index = unravel(position, &shape, order);
        let mut at = 0;
        for (axis, i) in index.into_iter().enumerate() {
            at = at * shape[axis] + i;
        }
        let code = convert_exact(format, codes[at], wide).expect("wider formats hold it");
        let code = &code.to_le_bytes()[..wide.bytes()];
        if big_endian {
            bytes.extend(code.iter().rev());
        } else {
            bytes.extend(code);
        }
    }
    let stored = Stored {
        width: wide.bytes(),
        big_endian,
        encoding,
    };
    let tensor = Tensor::new(format, shape, order, stored, Arc::new(bytes), 5);
    tensor.expect("every element has a code")
}

#[test]
fn transposed_operands() {
    for arithmetic in kinds() {
        let product = Product::random(arithmetic, &BATCH, SHAPE);
        let expected = product.replay(Engine::Exact);
        let (at, bt) = (transposed(&product.a), transposed(&product.b));
        let c = product.c.as_ref().map(Tensor::planes);
        let [a, b] = [product.a.planes(), product.b.planes()];
        let [at, bt] = [at.planes().transposed(), bt.planes().transposed()];
        for (a, b) in [(at, b), (a, bt), (at, bt)] {
            let problem = Problem::new(a, b, c).expect("shapes fit");
            for engine in engines() {
                let replayed = replay(problem, &product.arithmetic, engine);
                assert!(replayed == expected, "{engine:?}");
            }
        }
    }
}

#[test]
fn orders_and_byte_orders() {
    for arithmetic in kinds() {
        let mut product = Product::random(arithmetic, &BATCH, SHAPE);
        let expected = product.replay(Engine::Exact);
        for (order, big_endian) in [
            (Order::C, true),
            (Order::Fortran, false),
            (Order::Fortran, true),
        ] {
            let stored = |tensor: &Tensor| stored(tensor, order, big_endian, Encoding::Code);
            product.a = stored(&product.a);
            product.verify(&expected, &format!("A {order:?} {big_endian}"));
            product.b = stored(&product.b);
            product.c = product.c.as_ref().map(stored);
            product.verify(&expected, &format!("all {order:?} {big_endian}"));
        }
    }
}

/// FP16 numbers kept in FP32 or FP64 elements.
#[test]
fn numbers_in_wider_elements() {
    let mut product = Product::random(
        rule("hopper", [Format::Fp16; 2], Format::Fp32),
        &BATCH,
        SHAPE,
    );
    let expected = product.replay(Engine::Exact);
    for wide in [Format::Fp32, Format::Fp64] {
        let stored = |tensor: &Tensor| stored(tensor, Order::C, false, Encoding::Value(wide));
        (product.a, product.b) = (stored(&product.a), stored(&product.b));
        product.verify(&expected, wide.name());
    }
}

/// Bits that TF32 lacks are ignored, or rounded away first where that is asked for.
#[test]
fn low_bits_of_tf32_registers() {
    let tf32 = || rule("ampere", [Format::Tf32; 2], Format::Fp32);
    let noisy = Product::random(tf32(), &BATCH, SHAPE);
    let treated = |treat: &dyn Fn(u64) -> u64| {
        let treat = |tensor: &Tensor| {
            let codes: Vec<u64> = codes(tensor).into_iter().map(treat).collect();
            Tensor::from_codes(tensor.format(), tensor.shape().to_vec(), &codes)
        };
        let (a, b) = (treat(&noisy.a), treat(&noisy.b));
        Product {
            a,
            b,
            ..Product::random(tf32(), &BATCH, SHAPE)
        }
        .replay(Engine::Exact)
    };
    let ignored = treated(&|code| code & !0x1fff);
    let away = Rounding::NearestAway;
    let rounded = treated(&|code| round_code(Format::Fp32, code, Format::Tf32, away, 0));
    assert_ne!(ignored, rounded);

    noisy.verify(&ignored, "ignored");
    let nearest = Product {
        a: noisy.a.clone().rounding_tf32(),
        b: noisy.b.clone().rounding_tf32(),
        ..noisy
    };
    nearest.verify(&rounded, "rounded");
}

/// A D that was stored as FP16 or BF16 is the FP32 result rounded once, any NaN 0x7fff.
#[test]
fn results_rounded_to_a_narrower_format() {
    let arithmetic = rule("hopper", [Format::Bf16; 2], Format::Fp32);
    let mut product = Product::random(arithmetic, &BATCH, SHAPE);
    let mut random = Random::named("codes of every kind");
    let any: Vec<u64> = (0..product.a.len())
        .map(|_| random.bits() & 0xffff)
        .collect();
    product.a = Tensor::from_codes(Format::Bf16, product.a.shape().to_vec(), &any);
    let full = product.replay(Engine::Exact);

    for (to, engine) in [
        (Format::Fp16, Engine::Exact),
        (Format::Bf16, Engine::Exact),
        (Format::Fp16, engines()[1]),
        (Format::Bf16, engines()[1]),
    ] {
        let replay = Replay {
            problem: product.problem(),
            arithmetic: &product.arithmetic,
            convert_to: Some(to),
            engine,
            kernel: None,
        };
        let rounded = codes(&replay.collect(&|_| {}));
        for (&wide, narrow) in full.iter().zip(rounded) {
            let number = f32::from_bits(wide as u32);
            let expected = match to {
                _ if number.is_nan() => 0x7fff,
                Format::Fp16 => half::f16::from_f32(number).to_bits(),
                _ => half::bf16::from_f32(number).to_bits(),
            };
            assert_eq!(narrow, u64::from(expected), "{number:e} to {to}");
        }
    }
}
