//! What another GPU would have computed from the same operands: cargo run --example replay

use half::bf16;
use ndarray::Array2;
use tcverify::check::{Check, Expected, Prepared, Tensors};
use tcverify::engines::resources;
use tcverify::num::Format;
use tcverify::role::Role;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let a = Array2::from_shape_fn((2, 256), |(i, k)| bf16::from_f32((i + k) as f32 / 7.0));
    let b = Array2::from_shape_fn((256, 2), |(k, j)| {
        bf16::from_f32((j * k) as f32 / 11.0 - 9.0)
    });
    for arch in ["a100", "h100", "mi300x"] {
        let mut check = Check::in_memory(arch, Format::Bf16);
        check.expected = Expected::Nothing;
        let operands = [(Role::A, a.clone().into()), (Role::B, b.clone().into())];
        let tensors = Tensors::from_iter(operands);
        let d = Prepared::from_tensors(&check, &resources(), tensors)?
            .replay()
            .collect(&|_| {});
        println!("{arch:<7} {:?}", d.view::<f32>().ok_or("D is FP32")?);
    }
    Ok(())
}
