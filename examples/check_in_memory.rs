//! A product in memory, judged as if an H100 had computed it: cargo run --example check_in_memory
//!
//! D is computed here in plain FP32, which no tensor core does, so the report says what differs.

use half::f16;
use ndarray::Array2;
use tcverify::check::{Check, Prepared, Tensors};
use tcverify::engines::resources;
use tcverify::forms::{Layout, View};
use tcverify::num::Format;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let a = Array2::from_shape_fn((16, 64), |(i, k)| {
        f16::from_f32(0.1 + (i * k) as f32 / 97.0)
    });
    let b = Array2::from_shape_fn((64, 8), |(k, j)| f16::from_f32(0.3 - (j + k) as f32 / 89.0));
    let d = a.mapv(f32::from).dot(&b.mapv(f32::from));

    let check = Check::in_memory("h100", Format::Fp16);
    let prepared = Prepared::from_tensors(
        &check,
        &resources(),
        Tensors::of(a.into(), b.into(), d.into()),
    )?;
    let report = prepared.run(&())?;
    println!("{}", View::of(&report).plain_text(Layout::default()));
    Ok(())
}
