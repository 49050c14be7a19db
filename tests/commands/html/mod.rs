//! The page that `check --html` writes: what is in it, that nothing of it comes from elsewhere, and
//! that a browser shows it.

mod browser;
mod page;

pub use browser::shown;

use crate::support::Folder;

/// 512 x 384 times a column of ones, so that D's elements are the row's number; the elements that
/// `wrong` names are another number.
pub fn folder(wrong: &dyn Fn(usize, usize) -> bool) -> Folder {
    let folder = Folder::new();
    let a: Vec<f32> = (0..512).map(|i| i as f32).collect();
    let d = (0..512 * 384).map(|i| {
        if wrong(i / 384, i % 384) {
            -1.5
        } else {
            (i / 384) as f32
        }
    });
    folder.f16("a.npy", &[512, 1], &a);
    folder.f16("b.npy", &[1, 384], &[1.0; 384]);
    let d: Vec<f32> = d.collect();
    folder.f32("d.npy", &[512, 384], &d);
    folder
}

pub const CHECK: &str = "check --arch ampere --dtype fp16 a.npy b.npy d.npy -q --html page.html";

/// The page of a comparison.
pub fn page(folder: &Folder, code: i32) -> String {
    folder.tcverify(CHECK).expect(code);
    folder.text("page.html")
}
