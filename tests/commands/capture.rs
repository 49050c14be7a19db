//! docs/generator.md specifies the generator of operands, with test values; the three programs that
//! implement it give them. Compiles the host's half of the CUDA program where g++ is there.

use std::fs;
use std::process::Command;

use crate::support::{Folder, Members, claims, ran, read_rows, say};

const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/capture");

/// A row of the page's table.
struct Row {
    class: String,
    format: String,
    role: String,
    /// The first four codes, in hexadecimal.
    codes: String,
    digest: String,
}

fn rows() -> Vec<Row> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/generator.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once("| SHA-256 of the payload |").unwrap();
    // The rest of the title's line, and the rule below it.
    let lines = table.lines().skip(2);
    let rows: Vec<_> = lines
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells = line.trim_matches('|').split('|');
            let cells: Vec<_> = cells.map(|c| c.trim().replace('`', "")).collect();
            let [class, format, role, codes, digest] = cells.try_into().unwrap();
            Row {
                class,
                format,
                role,
                codes,
                digest,
            }
        })
        .collect();
    assert!(rows.len() > 30);
    rows
}

/// What torch draws on a GPU, with every step.
const TORCH: &str = "
    generate:torch-cuda-randn:420:4:132:76x14336:times-3c08d677:pairs-plus-3727c5ac | bf16
    generate:torch-cuda-randn:18446744073709551615:292:108:3x5x77:silu-times-4 | fp32
    generate:torch-cuda-randn:7:8:1:33x1024:pairs-negated | fp16
    generate:torch-cuda-randn:7:4294967296:2:9x2000:times-bf400000:silu-times-12:pairs-negated | fp32
    generate:torch-cuda-rand:420:4:132:76x14336 | bf16
    generate:torch-cuda-rand-of-format:420:4:132:76x1433 | bf16
    generate:torch-cuda-rand:7:8:1:33x1024:times-bf400000:pairs-plus-3727c5ac | fp32
    generate:torch-cuda-randint:-128:127:7:4:2:9x2000 | int8
    generate:torch-cuda-rand:7:4:2:9x2000:silu-times-12 | bf16
    generate:torch-cuda-randint:-300:301:7:4:2:9x2000:times-3dcccccd:pairs-negated | fp16
";

/// What a command printed.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// What this program says of a file.
fn digest(folder: &Folder, name: &str) -> String {
    folder.words(["digest", name]).expect(0).stdout
}

fn assert_is_the_row(row: &Row, folder: &Folder, name: &str) {
    let said = digest(folder, name);
    let Row {
        class,
        format,
        role,
        digest,
        ..
    } = row;
    assert!(said.contains(digest), "{class} {format} {role}: {said}");
}

/// Whether something that a check needs is here; if not, says so past the capture of what tests print.
fn here(what: &str, probe: &mut Command) -> bool {
    let there = probe.output().is_ok_and(|output| output.status.success());
    if !there {
        say(format_args!("not checked: {what} is not here"));
    }
    there
}

#[test]
fn this_program_generates_the_page_s_values() {
    let folder = Folder::new();
    for row in rows() {
        let Row {
            class,
            format,
            role,
            ..
        } = &row;
        claims! {folder, "generate generate:1:{class}:4x6 --dtype {format} --role {role} -o x.npy | 0"}
        assert_is_the_row(&row, &folder, "x.npy");

        let bytes = folder.read("x.npy");
        let codes: Vec<_> = row.codes.split(' ').collect();
        let width = codes[0].len() / 2;
        let payload = &bytes[bytes.len() - 24 * width..];
        for (code, bytes) in codes.iter().zip(payload.chunks(width)) {
            let found: String = bytes.iter().rev().map(|b| format!("{b:02x}")).collect();
            assert_eq!(&found, code);
        }
    }
}

#[test]
fn the_cuda_program_generates_the_page_s_values() {
    if !here("g++", Command::new("g++").arg("--version")) {
        return;
    }
    let folder = Folder::new();
    let [program, file] = ["selfcheck", "x.npy"].map(|name| folder.path(name));
    let options = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"];
    run(Command::new("g++")
        .args(options)
        .args(["selfcheck.cpp", "-o"])
        .arg(&program)
        .current_dir(CAPTURE));
    run(Command::new(&program).arg("layouts"));
    for row in rows() {
        let words = ["generate", "1", &row.class, "4x6", &row.role, &row.format];
        run(Command::new(&program).args(words).arg(&file));
        assert_is_the_row(&row, &folder, "x.npy");
        // Its own SHA-256, of the whole file.
        let own = run(Command::new(&program).arg("sha256").arg(&file));
        let said = digest(&folder, "x.npy");
        assert!(said.contains(own.trim()), "{own} {said}");
    }
}

/// The program that runs an Arm processor's instructions, under QEMU: the models give what it stores.
#[test]
fn an_arm_processor_s_products_are_reproduced() {
    let compiler = "aarch64-linux-gnu-g++";
    let simulators = ["qemu-aarch64-static", "qemu-aarch64"];
    let version = |name: &&str| {
        let output = Command::new(name).arg("--version").output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        Some(said.split_whitespace().nth(2)?.to_owned())
    };
    let simulator = simulators
        .iter()
        .find_map(|name| Some((name, version(name)?)));
    let Some((simulator, version)) = simulator else {
        return say(format_args!("not checked: {simulators:?} are not here"));
    };
    if !here(compiler, Command::new(compiler).arg("--version")) {
        return;
    }
    let folder = Folder::new();
    let [program, cases] = ["arm", "cases"].map(|name| folder.path(name));
    let options = [
        "-std=c++17",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-static",
    ];
    run(Command::new(compiler)
        .args(options)
        .args(["arm.cpp", "-o"])
        .arg(&program)
        .current_dir(CAPTURE));
    let emulated = Command::new(simulator)
        .args(["-cpu", "max"])
        .arg(&program)
        .arg(&cases)
        .arg("QEMU")
        .output()
        .unwrap();
    assert!(emulated.status.success(), "{emulated:?}");
    // QEMU 7.2 takes a wrong quarter of them; which version was the first without is not known here.
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse().ok());
    if major.is_none_or(|major: u32| major < 11) {
        say(format_args!(
            "not checked: integer outer products, which QEMU {version} has wrong"
        ));
        for case in fs::read_dir(&cases).unwrap() {
            let case = case.unwrap();
            let name = case.file_name().into_string().unwrap();
            let name = name.split('-').next().unwrap();
            if ["smopa", "umopa", "usmopa", "sumopa"].contains(&name) {
                fs::remove_dir_all(case.path()).unwrap();
            }
        }
    }
    let report = folder.json("batch cases --json -");
    let identical = report["totals"].number("identical");
    // BFDOT, BFMMLA, BFMLAL, six of integers, FMMLA, three outer products: six classes of operands.
    assert!(identical >= 78, "{identical}");
    say(format_args!(
        "arm.cpp under QEMU {version}: {identical} cases identical"
    ));
    // Another rule, and another order of C and products.
    let files = ["a", "b", "d"].map(|name| format!("cases/bfdot-wide/{name}.npy"));
    let [a, b, d] = &files;
    let check = format!(
        "check --arch arm --dtype bf16 --c cases/bfdot-wide/c.npy {a} {b} {d} --instruction"
    );
    for (instruction, code) in [("bfdot", 0), ("bfmmla", 0), ("bfdot-ebf", 1), ("bfmlal", 1)] {
        ran! {folder, "{check} {instruction}"}.expect(code);
    }
}

#[test]
fn the_python_programs_generate_the_page_s_values() {
    if !here(
        "NumPy",
        Command::new("python3").args(["-c", "import numpy"]),
    ) {
        return;
    }
    let python = || {
        let mut command = Command::new("python3");
        command.arg("-B").current_dir(CAPTURE);
        command
    };
    run(python().arg("test_capture_torch.py"));
    let program = env!("CARGO_BIN_EXE_tcverify");
    run(python()
        .arg("test_capture_layers.py")
        .env("TCVERIFY", program));
    // All in one process: NumPy takes long to start.
    let folder = Folder::new();
    let mut program = "import sys, numpy, tcgenerate as t\n".to_owned();
    for (index, row) in rows().iter().enumerate() {
        let Row {
            class,
            format,
            role,
            ..
        } = row;
        program += &format!(
            "numpy.save(sys.argv[1] + '/{index}.npy', t.generate(1, '{class}', (4, 6), '{role}', '{format}'))\n"
        );
    }
    for (index, [spec, format]) in read_rows(TORCH).iter().enumerate() {
        program += &format!(
            "numpy.save(sys.argv[1] + '/torch{index}.npy', t.torch_operand('{spec}', '{format}'))\n"
        );
    }
    run(python().args(["-c", &program]).arg(folder.path("")));
    for (index, [spec, format]) in read_rows(TORCH).iter().enumerate() {
        claims! {folder, "generate {spec} --dtype {format} --role a -o torch.npy | 0"}
        let shape = spec.split(':').nth(5).expect("a shape").split('x');
        let elements: usize = shape.map(|axis| axis.parse::<usize>().unwrap()).product();
        let width = if *format == "fp32" { 4 } else { 2 };
        let [ours, theirs] = ["torch.npy", &format!("torch{index}.npy")].map(|name| {
            let bytes = folder.read(name);
            bytes[bytes.len() - elements * width..].to_vec()
        });
        assert!(ours.iter().any(|byte| *byte != 0));
        assert_eq!(ours, theirs, "{spec} {format}");
    }
    for (index, row) in rows().iter().enumerate() {
        assert_is_the_row(row, &folder, &format!("{index}.npy"));
    }
}
