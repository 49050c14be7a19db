//! Files written with ndarray-npy, judged, and the command that asks for the same:
//! cargo run --example check_files

use ndarray::Array2;
use ndarray_npy::write_npy;
use tcverify::check::{Check, Source, Verb, command_line, shell_line};
use tcverify::engines::resources;
use tcverify::forms::{Layout, View};
use tcverify::num::Format;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let a = Array2::from_shape_fn((4, 32), |(i, k)| (i * 32 + k) as f32 / 64.0);
    let b = Array2::from_shape_fn((32, 4), |(k, j)| (k * 4 + j) as f32 / 32.0 - 2.0);
    write_npy(path("a.npy"), &a)?;
    write_npy(path("b.npy"), &b)?;
    write_npy(path("d.npy"), &a.dot(&b))?;

    // FP32 files are taken as TF32 operands, as cuBLAS does.
    let files = ["a.npy", "b.npy", "d.npy"].map(|name| Source::from(path(name).as_path()));
    let check = Check::new("a100", Format::Tf32, files);
    let report = check.prepare(&resources())?.run(&())?;
    println!("{}", View::of(&report).plain_text(Layout::default()));
    println!("{}", shell_line(command_line(Verb::Check, &check)));
    println!("{}", serde_json::to_string_pretty(&check)?);
    Ok(())
}
