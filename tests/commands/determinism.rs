//! The same question has one answer, to the byte: on any number of threads, with every kernel, with
//! the exact engine, however the operands are stored, and again.

use crate::support::{Folder, Says, claims, sha256};
use tcverify::kernels::Platform;

const OUTPUTS: [&str; 4] = ["x.json", "x.html", "x.xml", "x.md"];
const SHAPES: [(&str, usize, usize, usize); 4] = [
    ("a.npy", 37, 70, 2),
    ("b.npy", 70, 41, 2),
    ("c.npy", 37, 41, 4),
    ("d.npy", 37, 41, 4),
];

/// A product whose D is wrong in some places.
fn product() -> Folder {
    let folder = Folder::new();
    for (name, m, n, width) in &SHAPES[..3] {
        let role = &name[..1];
        let format = if *width == 2 { "fp16" } else { "fp32" };
        claims! {folder, "generate generate:{m}:special:{m}x{n} --dtype {format} --role {role} -o {name} | 0"}
    }
    claims! {folder, "replay --arch hopper --dtype fp16 --c c.npy a.npy b.npy -o d.npy | 0"}
    let mut d = folder.read("d.npy");
    let count = d.len();
    for at in [700, 701, 2900, 4404] {
        d[count - at] ^= 0x81;
    }
    folder.write("d.npy", d);
    folder
}

/// The same arrays in Fortran order.
fn turned(folder: &Folder) -> Folder {
    let other = Folder::new();
    for (name, rows, columns, width) in SHAPES {
        let bytes = folder.read(name);
        let start = bytes.len() - rows * columns * width;
        let head = String::from_utf8(bytes[10..start].to_vec()).unwrap();
        // As long as before: the spaces that fill up lose one.
        let head = head.replace("'fortran_order': False", "'fortran_order': True ");
        let mut new = bytes[..10].to_vec();
        new.extend(head.bytes());
        for column in 0..columns {
            for row in 0..rows {
                let at = start + (row * columns + column) * width;
                new.extend(&bytes[at..at + width]);
            }
        }
        other.write(name, new);
    }
    other
}

/// What a check says, on standard output and in every report.
fn answers(folder: &Folder, options: &str, simd: Option<&str>) -> Vec<String> {
    let arguments = format!(
        "check --arch hopper --dtype fp16 --c c.npy a.npy b.npy d.npy --max-mismatches 3 \
         --json x.json --html x.html --junit x.xml --markdown x.md {options}"
    );
    let run = match simd {
        None => folder.tcverify(&arguments),
        Some(name) => {
            let mut command = folder.command();
            command.args(arguments.split_whitespace());
            folder.run(command.env(Platform::VARIABLE, name))
        }
    };
    let run = run.expect(1);
    let mut all = vec![run.stdout];
    all.extend(OUTPUTS.map(|name| folder.text(name)));
    for name in OUTPUTS {
        folder.remove(name);
    }
    all
}

/// What names the files themselves, and nothing else: their digests, and the order that they say.
fn without_layout(answers: &[String], folder: &Folder) -> Vec<String> {
    let plain = |text: &String| {
        let mut text = text.replace("\"fortran_order\": true", "\"fortran_order\": false");
        for (name, ..) in SHAPES {
            let digest = sha256(folder.read(name));
            text = text.replace(&digest, &format!("digest of {name}"));
        }
        text.replace(", Fortran order", "")
    };
    answers.iter().map(plain).collect()
}

#[track_caller]
fn same(found: &[String], expected: &[String], what: &str) {
    let names = ["standard output"].into_iter().chain(OUTPUTS);
    for ((found, expected), name) in found.iter().zip(expected).zip(names) {
        let lines = found.lines().zip(expected.lines());
        let first = lines.into_iter().find(|(x, y)| x != y);
        assert!(found == expected, "{what}: {name}: {first:?}");
    }
}

#[test]
fn one_answer() {
    let folder = product();
    let other = turned(&folder);
    let expected = answers(&folder, "--threads 1", None);
    expected[0].begins("DIFFERENT  4 of 1,517");
    let plain = without_layout(&expected, &folder);
    let mut names: Vec<Option<&str>> = Platform::available()
        .iter()
        .map(|platform| Some(platform.name()))
        .collect();
    names.push(None);
    for threads in [1, 2] {
        for (engine, names) in [("fast", &names[..]), ("exact", &[None])] {
            for &name in names {
                let options = format!("--threads {threads} --engine {engine}");
                let what = format!("{options}, {name:?}");
                let found = answers(&folder, &options, name);
                same(&found, &expected, &what);
                let turned = answers(&other, &options, name);
                same(
                    &without_layout(&turned, &other),
                    &plain,
                    &format!("{what}, Fortran"),
                );
                assert_ne!(turned, expected, "the files are others");
            }
        }
    }
}
