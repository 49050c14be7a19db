//! The programs for nodes, without a GPU: the CUDA program's host part, and the module for PyTorch.

use std::process::Command;

use tcverify::screen::{Level, Library, Route, Suite, make};

use super::folder;
use crate::support::{Folder, say};

const SCREEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/screen");

fn here(what: &str, probe: &mut Command) -> bool {
    let there = probe.output().is_ok_and(|output| output.status.success());
    if !there {
        say(format_args!("not checked: {what} is not here"));
    }
    there
}

/// Writes the right D of every product of a route, for the stand-ins of GPUs.
fn write_results(folder: &Folder, route: Route) {
    let (suite, _) = Suite::read(&folder.path("suite.json")).unwrap();
    std::fs::create_dir_all(folder.path("right")).unwrap();
    for product in suite
        .products
        .iter()
        .filter(|product| product.route == route)
    {
        let prepared = product.check().unwrap().prepare().unwrap();
        let d = prepared.replay().collect(&|_| {});
        folder.write(
            &format!("right/{}.bin", product.name),
            d.as_payload().unwrap(),
        );
    }
}

/// What screen.cu does but for the GPU: an SM that inverts a bit is found, and its cases are cases.
#[test]
fn the_host_part_of_the_cuda_program() {
    if !here("g++", Command::new("g++").arg("--version")) {
        return;
    }
    let folder = folder();
    write_results(&folder, Route::Instruction);
    let program = folder.path("screencheck");
    let mut compile = Command::new("g++");
    compile.args([
        "-std=c++17",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "screencheck.cpp",
        "-o",
    ]);
    let compiled = compile.arg(&program).current_dir(SCREEN).output().unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let run = |words: &str| {
        let mut command = folder.shell(program.to_str().unwrap());
        folder.run(command.args(words.split(' ')))
    };
    std::fs::create_dir(folder.path("results")).unwrap();
    run("suite.json right results/good.json").expect(0);
    let judge = "screen judge --suite suite.json results";
    let clean = folder.tcverify(judge).expect(0);
    assert!(clean.stdout.contains("1 clean"), "{clean:#?}");
    std::fs::remove_file(folder.path("results/good.json")).unwrap();
    // An SM that nothing ran on is not known to be right.
    run("suite.json right results/part.json 6 0 0").expect(0);
    let part = folder.tcverify(judge).expect(1);
    assert!(part.stdout.contains("1 incomplete"), "{part:#?}");
    assert!(part.stdout.contains("some on 5 of 6 SMs only"), "{part:#?}");
    std::fs::remove_file(folder.path("results/part.json")).unwrap();

    // Byte 40 is in element 10 of D in FP32, row 1, column 2: lane 5.
    run("suite.json right results/bad.json 3 40 5").expect(1);
    let faulty = folder.tcverify(judge).expect(1);
    assert!(faulty.stdout.contains("on SM 3"), "{faulty:#?}");
    assert!(faulty.stdout.contains("element [1, 2]"), "{faulty:#?}");
    assert!(
        faulty.stdout.contains("case: results/bad.json.cases/"),
        "{faulty:#?}"
    );
    let batch = folder.tcverify("batch results/bad.json.cases").expect(1);
    assert!(
        batch.stdout.contains("8 different, 0 could not be judged"),
        "{batch:#?}"
    );

    // What is no suite.
    let text = String::from_utf8(folder.read("suite.json")).unwrap();
    for (changed, words) in [
        (
            text.replacen("\"k\":16", "\"k\":32", 1),
            "edited or damaged",
        ),
        (text[..text.len() / 2].to_owned(), "cut short"),
        (
            text.replacen("screen-suite/1", "screen-suite/9", 1),
            "no tcverify.screen-suite/1",
        ),
    ] {
        folder.write("other.json", changed);
        let run = run("other.json right x.json").expect(2);
        assert!(run.stderr.contains(words), "{run:#?}");
        assert_eq!(run.stderr.matches('\n').count(), 1);
    }
}

/// Every instruction of a suite for a GPU that `screen` runs on is one of its program, but tcgen05: else none of
/// these GPUs could be clean.
#[test]
fn the_cuda_program_leaves_nothing_out() {
    if !here("g++", Command::new("g++").arg("--version")) {
        return;
    }
    let folder = Folder::new();
    let list = "#define LINE(A, B, ACC, TEXT) @ #A #B #ACC \"\" TEXT
#define MMA(NAME, A, B, ACC, LAYOUT_, REGISTER, REGISTERS, GUARD, TEXT) LINE(A, B, ACC, TEXT)
#define CORE(NAME, A, B, ACC, GUARD, TEXT) LINE(A, B, ACC, TEXT)
#define WGMMA(NAME, A, B, ACC, LAYOUT_, REGISTERS, GUARD, TEXT, REST) LINE(A, B, ACC, TEXT)
#define SCALED(NAME, A, B, SCALE, BLOCK, LAYOUT_, GUARD, TEXT) @ #A #B \"FP32\" #SCALE \" for \" #BLOCK TEXT
MMA_UNITS(MMA) CORE_UNITS(CORE) WGMMA_UNITS(WGMMA) SCALED_UNITS(SCALED)\n";
    folder.write(
        "list.cpp",
        format!("#include \"{SCREEN}/../capture/units.h\"\n{list}"),
    );
    let output = Command::new("g++")
        .args(["-E", "-P"])
        .arg(folder.path("list.cpp"))
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let issued: std::collections::BTreeSet<String> = text
        .split('@')
        .skip(1)
        .map(|line| {
            let words: Vec<_> = line.split('"').skip(1).step_by(2).collect();
            let text = words[3..].concat();
            let (scale, ptx) = match text.find("mma.sync") {
                Some(at) => text.split_at(at),
                None => ("", &text[..]),
            };
            let scaled = ptx.split("kind::mx").nth(1);
            let scaled = scaled.and_then(|rest| rest.split('.').next());
            let scaled = scaled.map_or(String::new(), |kind| format!("-mx{kind}"));
            let kind = match ptx {
                ptx if ptx.starts_with("wgmma") => "wgmma",
                ptx if ptx.starts_with("mma") => "mma",
                _ => "ffma",
            };
            let clamps = if ptx.contains(".satfinite") {
                "-satfinite"
            } else {
                ""
            };
            let shape = if ptx.contains(".m8n8k4.") && words[0] == "FP16" {
                " m8n8k4"
            } else {
                ""
            };
            format!(
                "{kind}{scaled}{clamps}{shape} {}*{} {scale} {}",
                words[0], words[1], words[2]
            )
        })
        .collect();
    assert!(issued.len() > 120, "{issued:?}");
    let scaled = issued.iter().filter(|unit| unit.contains(" for "));
    assert_eq!(scaled.count(), 29, "{issued:?}");
    let missing = |arch: &str| -> Vec<String> {
        let suite = make(arch, Level::Quick, &Library::default(), &()).unwrap();
        let products = suite
            .products
            .iter()
            .filter(|p| p.route == Route::Instruction);
        let units = products.map(|p| {
            let check = &p.check;
            let format = |f: Option<tcverify::num::Format>| f.unwrap().to_string().to_uppercase();
            let instruction = check.instruction.as_deref().unwrap();
            // Volta has no other shape.
            let instruction = match instruction {
                "mma-m8n8k4" => "mma m8n8k4",
                "mma" if arch == "volta" => "mma m8n8k4",
                other => other,
            };
            let (a, b) = (format(check.dtype), format(check.dtype_b));
            let scale = match check.scale_block {
                Some(block) => format!("{} for {block}", format(check.scale_dtype)),
                None => String::new(),
            };
            format!("{instruction} {a}*{b} {scale} {}", format(check.acc))
        });
        let mut missing: Vec<_> = units.filter(|unit| !issued.contains(unit)).collect();
        missing.dedup();
        missing
    };
    for arch in [
        "volta",
        "turing",
        "ampere",
        "ada",
        "hopper",
        "rtx-blackwell",
    ] {
        assert_eq!(missing(arch), Vec::<String>::new(), "{arch}");
    }
    let of_servers = missing("blackwell");
    assert!(
        of_servers.iter().all(|unit| unit.starts_with("tcgen05")),
        "{of_servers:?}"
    );
    assert!(!of_servers.is_empty());
}

/// The module for PyTorch: its own tests, which need the standard library alone, with operands of
/// 'tcverify generate' and D of this program beside.
#[test]
fn the_module_for_pytorch() {
    if !here("Python", Command::new("python3").arg("--version")) {
        return;
    }
    let folder = folder();
    write_results(&folder, Route::Library);
    let formats = [
        "fp16", "bf16", "tf32", "fp64", "e4m3", "e5m2", "e4m3fnuz", "e2m1", "ue8m0", "int8",
        "uint4",
    ];
    let classes = [
        "normal",
        "wide",
        "subnormal",
        "special",
        "cancel",
        "toggle",
        "carry",
        "align",
        "alternate",
    ];
    let mut list = String::new();
    for format in formats {
        for class in classes {
            for (role, seed) in [("a", 1u64), ("b", u64::MAX)] {
                let name = format!("{format}.{class}.{role}.npy");
                let spec = format!("generate:{seed}:{class}:4x6");
                let options = format!("--dtype {format} --role {role} -o {name} --quiet");
                folder
                    .tcverify(&format!("generate {spec} {options}"))
                    .expect(0);
                list += &format!("{format} {class} {role} {seed} {name}\n");
            }
        }
    }
    folder.write("operands.txt", list);
    let mut python = folder.shell("python3");
    python.args(["-B", &format!("{SCREEN}/test_tcverify_screen.py")]);
    python
        .env("SCREEN_FOLDER", folder.path(""))
        .env_remove("PYTHONPATH");
    folder.run(&mut python).expect(0);
    let judged = folder
        .tcverify("screen judge --suite suite.json bad.json")
        .expect(1);
    // One wrong element, each time: a fault, on no SM that is known; never an unknown kernel.
    assert!(judged.stdout.starts_with("FAULTY  1 GPUs"), "{judged:#?}");
    assert!(
        judged
            .stdout
            .contains("in lane 0 on an SM that is not known"),
        "{judged:#?}"
    );
    let judged = folder
        .tcverify("screen judge --suite suite.json good.json")
        .expect(0);
    assert!(judged.stdout.contains("1 clean"), "{judged:#?}");
    let batch = folder.tcverify("batch bad.json.cases").expect(1);
    assert!(batch.stdout.contains("1 different"), "{batch:#?}");
}
