//! The programs for nodes, without a GPU: the CUDA program's host part, and the module for PyTorch.

use std::process::Command;
use tcverify::engines::resources;

use tcverify::screen::{Route, Suite};

use super::folder;
use crate::support::{Folder, claims, say, table, words};

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
    write_results_of(folder, "suite.json", "right", route);
}

fn write_results_of(folder: &Folder, suite: &str, right: &str, route: Route) {
    let (suite, _) = Suite::read(&folder.path(suite)).unwrap();
    std::fs::create_dir_all(folder.path(right)).unwrap();
    for product in suite
        .products
        .iter()
        .filter(|product| product.route == route)
    {
        let prepared = suite.check(product).unwrap().prepare(&resources()).unwrap();
        let d = prepared.replay().collect(&|_| {});
        folder.write(
            &format!("{right}/{}.bin", product.name),
            d.as_payload().unwrap(),
        );
    }
}

/// Draws a challenge for this commitment.
fn draw(folder: &Folder, commitment: &str) {
    let digest = tcverify::io::tree::Hash::of([&folder.read(commitment)[..]]);
    claims! {folder, "screen challenge suite.json --commitment {digest} --beacon 77 -o challenge.json --quiet | 0"}
}

/// Signs results by the program for nodes.
fn sign(folder: &Folder, results: &str) {
    let mut python = folder.shell("python3");
    python.args([
        "-B",
        &format!("{SCREEN}/tcverify_screen.py"),
        "sign",
        results,
    ]);
    python.args(["--key", "one.pem", "--commitment", "commitment.json"]);
    folder.run(&mut python).expect(0);
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
    compile.args(words! {"-std=c++17 | -O1 | -Wall | -Wextra | -Werror | screencheck.cpp | -o"});
    compile.arg(&program).arg("-ldl").current_dir(SCREEN);
    let compiled = compile.output().unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let run = |words: &str| {
        let mut command = folder.shell(program.to_str().unwrap());
        folder.run(command.args(words.split(' ')))
    };
    folder.create("results");
    run("suite.json right results/good.json").expect(0);
    let judge = "screen judge --route instruction --suite suite.json results";
    claims! {folder, "{judge} | 0 | 1 clean"}
    folder.remove("results/good.json");
    // An SM that nothing ran on is not known to be right.
    run("suite.json right results/part.json 6 0 0").expect(0);
    claims! {folder, "{judge} | 1 | 1 incomplete | some on 5 of 6 SMs only"}
    folder.remove("results/part.json");

    // Byte 40 is in element 10 of D in FP32, row 1, column 2: lane 5.
    run("suite.json right results/bad.json 3 40 5").expect(1);
    claims! {folder, "
        {judge} | 1 | on SM 3 | element [1, 2] | case      results/bad.json.cases/
        batch results/bad.json.cases | 1 | 8 different, 0 could not be judged
    "}

    // A challenge is answered, and signed by the other program.
    if here("openssl", Command::new("openssl").arg("version"))
        && here("Python", Command::new("python3").arg("--version"))
    {
        super::challenged::write_keys(&folder);
        folder.passes("screen commit --host check --key one.pem -o commitment.json");
        draw(&folder, "commitment.json");
        write_results_of(&folder, "challenge.json", "answers", Route::Instruction);
        for (more, code, said) in [
            ("", 0, "1 signed, of products drawn"),
            (" 3 40 5", 1, "on SM 3"),
        ] {
            run(&format!("challenge.json answers answers.json{more}")).expect(0);
            sign(&folder, "answers.json");
            let judge = "screen judge --route instruction --suite challenge.json --trust one.pub.pem answers.json";
            let judged = folder.tcverify(judge).expect(code);
            assert!(judged.stdout.contains(said), "{judged:#?}");
        }
        assert!(!folder.names().contains(&"answers.json.cases".to_owned()));
    }

    // What AMD's driver says in files; and a GPU of which it says nothing.
    let gpu = "root/sys/bus/pci/devices/0000:c1:00.0";
    for (name, text) in [
        (format!("{gpu}/hwmon/hwmon3/temp1_input"), "41000\n"),
        (format!("{gpu}/hwmon/hwmon3/temp2_input"), "57500\n"),
        (format!("{gpu}/hwmon/hwmon3/freq1_input"), "1700000000\n"),
        (format!("{gpu}/unique_id"), "4f2a\n"),
        ("root/sys/module/amdgpu/version".into(), "6.10.5\n"),
    ] {
        std::fs::create_dir_all(folder.path(&name).parent().unwrap()).unwrap();
        folder.write(&name, text);
    }
    let said = run("sensors root 0000:c1:00.0").expect(0);
    assert_eq!(said.stdout, "57 1700 6.10.5 4f2a\n");
    let said = run("sensors root 0000:c2:00.0").expect(0);
    assert_eq!(said.stdout, "-1 -1 6.10.5 \n");

    // What is no suite.
    let text = folder.text("suite.json");
    for (changed, words) in table! {
        (text.replacen("\"k\":16", "\"k\":32", 1), "edited or damaged"),
        (text[..text.len() / 2].to_owned(), "cut short"),
        (text.replacen("screen-suite/1", "screen-suite/9", 1), "no tcverify.screen-suite/1"),
    } {
        folder.write("other.json", changed);
        let run = run("other.json right x.json").expect(2);
        assert!(run.stderr.contains(words), "{run:#?}");
        assert_eq!(run.stderr.matches('\n').count(), 1);
    }
}

/// Every instruction of the catalogue is one of the program for its GPUs, block-scaled ones, tcgen05 and AMD's too: else
/// none of these GPUs could be clean.
#[test]
fn the_program_leaves_nothing_out() {
    if !here("g++", Command::new("g++").arg("--version")) {
        return;
    }
    let folder = Folder::new();
    // Guard, A, B, accumulator, scale, what says the instruction; words in quotes.
    let list = "#define LINE(GUARD, A, B, ACC, TEXT) @ #GUARD #A #B #ACC \"\" TEXT
#define MMA(NAME, A, B, ACC, LAYOUT_, REGISTER, REGISTERS, GUARD, TEXT) LINE(GUARD, A, B, ACC, TEXT)
#define CORE(NAME, A, B, ACC, GUARD, TEXT) LINE(GUARD, A, B, ACC, TEXT)
#define WGMMA(NAME, A, B, ACC, LAYOUT_, REGISTERS, GUARD, TEXT, REST) LINE(GUARD, A, B, ACC, TEXT)
#define SCALED(NAME, A, B, SCALE, BLOCK, LAYOUT_, GUARD, TEXT) @ #GUARD #A #B \"FP32\" #SCALE \" for \" #BLOCK TEXT
#define TENSOR(NAME, A, B, ACC, K, SATURATES, GUARD, KIND) LINE(GUARD, A, B, ACC, \"tcgen05 \" #SATURATES)
#define TENSOR_SCALED(NAME, A, B, SCALE, BLOCK, K, GUARD, KIND) @ #GUARD #A #B \"FP32\" #SCALE \" for \" #BLOCK \
    \"tcgen05 kind::\" KIND
#define MFMA(NAME, INSTRUCTION, A, B, ACC, LAYOUT_, REGISTER, A_OF, B_OF, D_OF, GUARD, BUILT_IN) \
    LINE(GUARD, A, B, ACC, INSTRUCTION)
MMA_UNITS(MMA) CORE_UNITS(CORE) WGMMA_UNITS(WGMMA) SCALED_UNITS(SCALED) TENSOR_UNITS(TENSOR)
TENSOR_SCALED_UNITS(TENSOR_SCALED) MFMA_UNITS(MFMA)\n";
    folder.write(
        "list.cpp",
        format!("#include \"{SCREEN}/../capture/units.h\"\n{list}"),
    );
    let output = Command::new("g++")
        .args(["-E", "-P"])
        .arg(folder.path("list.cpp"))
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let issued: Vec<(String, String)> = text
        .split('@')
        .skip(1)
        .map(|line| {
            let words: Vec<_> = line.split('"').skip(1).step_by(2).collect();
            let text = words[4..].concat();
            let at = ["mma.sync", "tcgen05"]
                .iter()
                .find_map(|word| text.find(word));
            let (scale, ptx) = text.split_at(at.unwrap_or(0));
            let scaled = ptx.split("kind::mx").nth(1);
            let scaled = scaled.and_then(|rest| rest.split('.').next());
            let scaled = scaled.map_or(String::new(), |kind| format!("-mx{kind}"));
            let kinds = ["wgmma", "mma", "tcgen05", "mfma-bf16", "mfma"];
            let kind = kinds.iter().find(|kind| ptx.starts_with(**kind));
            let clamps = if ptx.contains(".satfinite") || ptx == "tcgen05 true" {
                "-satfinite"
            } else {
                ""
            };
            let shape = if ptx.contains(".m8n8k4.") && words[1] == "FP16" {
                " m8n8k4"
            } else {
                ""
            };
            let unit = format!(
                "{}{scaled}{clamps}{shape} {}*{} {scale} {}",
                kind.unwrap_or(&"ffma"),
                words[1],
                words[2],
                words[3]
            );
            (words[0].to_owned(), unit)
        })
        .collect();
    assert!(issued.len() > 230, "{issued:?}");
    let scaled = issued.iter().filter(|(_, unit)| unit.contains(" for "));
    assert_eq!(scaled.count(), 58, "{issued:?}");
    let catalogue = tcverify::emu::Catalogue::builtin();
    let missing = |arch: &str, guards: &[&str]| -> Vec<String> {
        let architecture = catalogue.find(arch).unwrap();
        let mut missing = Vec::new();
        // Another rule for an instruction is no other instruction.
        let own = |name: &str| !name.ends_with("-window");
        for instruction in architecture.instructions.iter().filter(|i| own(&i.name)) {
            for rule in instruction.rules.iter().filter(|r| r.addend.is_none()) {
                // Volta has no other shape.
                let name = match &*instruction.name {
                    "mma-m8n8k4" => "mma m8n8k4",
                    "mma" if arch == "volta" => "mma m8n8k4",
                    other => other,
                };
                let scale = rule.scale;
                let scale = scale.map_or(String::new(), |scale| {
                    format!("{} for {}", scale.format, scale.block).to_uppercase()
                });
                let scale = scale.replace("FOR", "for");
                for [a, b] in &rule.operands {
                    let formats = format!("{a}*{b}").to_uppercase();
                    let to = rule.accumulator.to_string().to_uppercase();
                    let unit = format!("{name} {formats} {scale} {to}");
                    let there = issued
                        .iter()
                        .any(|(guard, issued)| guards.contains(&&**guard) && *issued == unit);
                    if !there {
                        missing.push(unit);
                    }
                }
            }
        }
        missing
    };
    let to_ada = ["SM70", "SM75", "SM80", "SM89", "SM89_PTX87"];
    let with = |more: &[&'static str]| [&to_ada, more].concat();
    for (arch, guards) in [
        ("volta", to_ada[..1].to_vec()),
        ("turing", to_ada[..2].to_vec()),
        ("ampere", to_ada[..3].to_vec()),
        ("ada", to_ada.to_vec()),
        ("hopper", with(&["SM90A"])),
        ("blackwell", with(&["SM100A", "SM100A_INTEGER"])),
        ("rtx-blackwell", with(&["SM120A", "SM120A_PTX91"])),
        ("cdna1", vec!["GFX908", "ONLY_GFX908"]),
        ("cdna2", vec!["GFX908", "GFX90A", "ONLY_GFX90A"]),
        ("cdna3", vec!["GFX908", "GFX90A", "ONLY_GFX942"]),
    ] {
        assert_eq!(missing(arch, &guards), Vec::<String>::new(), "{arch}");
    }
    // And what is missing is seen.
    assert!(!missing("blackwell", &with(&["SM100A"])).is_empty());
    assert!(!missing("cdna1", &["GFX908"]).is_empty());
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
    let mut list = String::new();
    for format in
        words! {"fp16 | bf16 | tf32 | fp64 | e4m3 | e5m2 | e4m3fnuz | e2m1 | ue8m0 | int8 | uint4"}
    {
        for class in words! {"
            normal | wide | subnormal | special | cancel | toggle | carry | align | alternate | stagger
        "}
        {
            for (role, seed) in [("a", 1u64), ("b", u64::MAX)] {
                let name = format!("{format}.{class}.{role}.npy");
                folder.generate(&format!("{role} {format} {seed}:{class}:4x6 {name}"));
                list += &format!("{format} {class} {role} {seed} {name}\n");
            }
        }
    }
    folder.write("operands.txt", list);
    let tests = |classes: &[&str]| {
        let mut python = folder.shell("python3");
        python
            .args(["-B", &format!("{SCREEN}/test_tcverify_screen.py")])
            .args(classes);
        python
            .env("SCREEN_FOLDER", folder.path(""))
            .env_remove("PYTHONPATH");
        folder.run(&mut python).expect(0);
    };
    tests(&["Operands", "Runs", "Stored"]);
    let judge = "screen judge --route library --suite";
    if here("openssl", Command::new("openssl").arg("version")) {
        super::challenged::write_keys(&folder);
        tests(&["Commits"]);
        draw(&folder, "commitment.json");
        write_results_of(&folder, "challenge.json", "right", Route::Library);
        tests(&["Answers"]);
        claims! {folder, r"
            {judge} challenge.json answers.json --trust one.pub.pem | 0 | 1 signed, of products drawn
            {judge} challenge.json answers.json --trust two.pub.pem | refused | --trust does not name
            {judge} challenge.json wrong.json | 1 | ^FAULTY  1 GPU:\_
            {judge} challenge.json unsigned.json | refused | is not signed
        "}
        write_results(&folder, Route::Library);
    }
    // One wrong element, each time: a fault, on no SM that is known; never an unknown kernel.
    claims! {folder, r"
        {judge} suite.json bad.json | 1 | ^FAULTY  1 GPU:\_ | in lane 0 on an unknown SM
        {judge} suite.json good.json | 0 | 1 clean
        batch bad.json.cases | 1 | 1 different
    "}
}
