//! Sums at the ends of 32-bit integers, where an engine that computes in those has to stop.

use tcverify::num::Format;
use tcverify::tensor::Tensor;

use super::tiles::{Product, rule};

/// Elements that all are `count` times x * x and C, or the negative of that: 64, which is 2^31 units
/// of the grid, or a few codes of C beside it. They stand apart, since one sum out of range would
/// send its whole neighbourhood to the exact engine.
fn verify(arch: &str, format: Format, x: u64, count: usize, c: f32) {
    const SIDE: usize = 4;
    let mut results = Vec::new();
    for negative in [false, true] {
        for off in 0..13 {
            let c = u64::from(c.to_bits() + off - 6) | Format::Fp32.zero(negative);
            let tensor = |format, shape: [usize; 2], code| {
                let codes = vec![code; shape[0] * shape[1]];
                Tensor::from_codes(format, shape.to_vec(), &codes)
            };
            let product = Product {
                arithmetic: rule(arch, [format; 2], Format::Fp32),
                a: tensor(format, [SIDE, count], x),
                b: tensor(format, [count, SIDE], x | format.zero(negative)),
                c: Some(tensor(Format::Fp32, [SIDE, SIDE], c)),
            };
            let expected = product.element_by_element();
            product.verify(&expected, arch);
            results.push(f32::from_bits(expected[0] as u32));
        }
    }
    assert!(
        results.contains(&64.0) && results.contains(&-64.0),
        "{arch}"
    );
}

#[test]
fn sums_of_two_to_the_31() {
    // 16 * (63/32)^2 + 127/64 and 18 * 1.875^2 + 0.71875
    verify("hopper", Format::Fp16, 0x3fe0, 16, 1.984_375);
    verify("rtx-blackwell", Format::E4m3, 0x3f, 18, 0.718_75);
}
