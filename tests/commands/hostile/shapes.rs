//! Arrays that are sound each by itself and do not make a product.

use super::refuses;
use crate::support::{Folder, Npy, floats, halves};

const CHECK: &str = "check --arch ampere --dtype fp16";

fn array(shape: &[usize]) -> Npy {
    Npy::new("<f2", shape, halves(&vec![1.0; shape.iter().product()]))
}

fn result(shape: &[usize]) -> Npy {
    Npy::new("<f4", shape, floats(&vec![1.0; shape.iter().product()]))
}

fn folder(a: &[usize], b: &[usize], d: &[usize]) -> Folder {
    let folder = Folder::new();
    folder.save("a.npy", &array(a));
    folder.save("b.npy", &array(b));
    folder.save("d.npy", &result(d));
    folder
}

#[track_caller]
fn wrong(a: &[usize], b: &[usize], d: &[usize], words: &[&str]) {
    let folder = folder(a, b, d);
    refuses(&folder, &format!("{CHECK} a.npy b.npy d.npy"), words);
}

#[test]
fn ranks_below_two() {
    let names = "A = a.npy, B = b.npy: ";
    wrong(&[], &[3, 2], &[2, 2], &[names, "A has 0 dimensions"]);
    // Vectors are rows and columns, as in NumPy.
    wrong(&[3], &[3, 2], &[2, 2], &["D is 2x2, but A*B is 1x2"]);
    wrong(&[2, 3], &[3], &[2, 2], &["D is 2x2, but A*B is 2x1"]);
    let words = ["A is 1x3 and B is 4x2, so K is 3 for A and 4 for B"];
    wrong(&[3], &[4, 2], &[2], &words);
    wrong(
        &[2, 3],
        &[3],
        &[1, 2],
        &["D is 1x2, but A*B is 2x1; D seems to be stored transposed"],
    );
    wrong(&[2, 3], &[], &[2, 2], &[names, "B has 0 dimensions"]);
}

#[test]
fn inner_dimensions() {
    let words = [
        "A = a.npy, B = b.npy: ",
        "A is 2x3 and B is 4x2, so K is 3 for A and 4 for B",
    ];
    wrong(&[2, 3], &[4, 2], &[2, 2], &words);
    let words = ["so K is 3 for A and 5 for B; B would fit", "--transpose-b"];
    wrong(&[2, 3], &[5, 3], &[2, 5], &words);
    let words = ["so K is 2 for A and 3 for B; A would fit", "--transpose-a"];
    wrong(&[3, 2], &[3, 5], &[2, 5], &words);
}

#[test]
fn batches() {
    let words = [
        "batch dimensions differ: A is 2x1x3, B is 3x3x1",
        "must be equal, or B must be one matrix",
    ];
    wrong(&[2, 1, 3], &[3, 3, 1], &[2, 1, 1], &words);
    let words = ["batch dimensions differ: A is 1x1x3, B is 2x3x1"];
    wrong(&[1, 1, 3], &[2, 3, 1], &[2, 1, 1], &words);
}

#[test]
fn nothing_to_multiply() {
    let words = ["A is 2x0: it has no elements", "at least 1"];
    wrong(&[2, 0], &[0, 2], &[2, 2], &words);
    wrong(&[0, 3], &[3, 2], &[0, 2], &["A is 0x3: it has no elements"]);
    wrong(&[2, 3], &[3, 0], &[2, 0], &["B is 3x0: it has no elements"]);
    let words = ["A is 0x2x3: it has no elements"];
    wrong(&[0, 2, 3], &[0, 3, 2], &[0, 2, 2], &words);
}

#[test]
fn d_of_another_shape() {
    for (shape, text) in [
        (&[2, 3][..], "2x3"),
        (&[3, 2], "3x2"),
        (&[4], "4"),
        (&[2, 2, 2], "2x2x2"),
        (&[], "scalar"),
        (&[0, 2], "0x2"),
    ] {
        let sentence = format!("d.npy: D is {text}, but A*B is 2x2\n");
        wrong(&[2, 3], &[3, 2], shape, &[&sentence]);
    }
}

#[test]
fn c_of_another_shape() {
    let folder = folder(&[2, 3], &[3, 2], &[2, 2]);
    for (shape, text) in [
        (&[3, 2][..], "C is 3x2, but D is 2x2"),
        (&[1, 2], "C is 1x2, but D is 2x2"),
        (&[2, 2, 1], "C is 2x2x1, but D is 2x2"),
        (&[2], "C has 1 dimension;"),
    ] {
        folder.save("c.npy", &result(shape));
        for rest in ["a.npy b.npy d.npy", "a.npy b.npy d.npy --json r.json"] {
            let arguments = format!("{CHECK} --c c.npy {rest}");
            refuses(&folder, &arguments, &["C = c.npy: ", text]);
        }
    }
}

#[test]
fn formats_that_do_not_fit() {
    let folder = folder(&[2, 3], &[3, 2], &[2, 2]);
    let wide = Npy::new("<u2", &[2, 3], vec![0; 12]);
    folder.save("a.npy", &wide);
    let arguments = "check --arch hopper --dtype e4m3 a.npy b.npy d.npy";
    refuses(
        &folder,
        arguments,
        &["a.npy: its elements are 2 bytes wide"],
    );
    folder.save("a.npy", &array(&[2, 3]));
    let third = Npy::new(
        "<f4",
        &[3, 2],
        floats(&[1.0, 2.0, 1.0 / 3.0, 0.0, 0.0, 0.0]),
    );
    folder.save("b.npy", &third);
    let words = ["b.npy: element [1, 0] is 0.33333334 (fp32 0x3eaaaaab), which fp16"];
    refuses(&folder, &format!("{CHECK} a.npy b.npy d.npy"), &words);
    folder.save("b.npy", &array(&[3, 2]));
    folder.save("c.npy", &Npy::new("<u2", &[2, 2], vec![0; 8]));
    let arguments = format!("{CHECK} --c c.npy a.npy b.npy d.npy");
    refuses(
        &folder,
        &arguments,
        &["c.npy: its elements are 2 bytes wide", "fp32"],
    );
}

#[test]
fn what_is_wrong_is_said_of_whichever_file() {
    for name in ["a.npy", "b.npy", "c.npy", "d.npy"] {
        let folder = folder(&[2, 3], &[3, 2], &[2, 2]);
        folder.save("c.npy", &result(&[2, 2]));
        let arguments = format!("{CHECK} --c c.npy a.npy b.npy d.npy");
        folder.differs(&arguments);
        let mut bytes = folder.read(name);
        bytes.pop();
        folder.write(name, bytes);
        refuses(&folder, &arguments, &[&format!("{name}: is truncated")]);
    }
}
