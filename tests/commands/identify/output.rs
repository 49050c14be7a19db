//! What is printed can be used: commands are complete, ties are a page, filters filter.

use serde_json::Value;

use crate::support::{Folder, Members, Npy, Says, claims, ran, words};

/// Where the program lies, first on the path.
fn pasted(folder: &Folder, line: &str) -> Option<i32> {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_tcverify"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut all = vec![program.parent().unwrap().to_path_buf()];
    all.extend(std::env::split_paths(&path));
    let mut shell = folder.shell("sh");
    shell.args(["-c", &format!("{line} --quiet")]);
    shell.env("PATH", std::env::join_paths(all).unwrap());
    folder.run(&mut shell).code
}

/// What `identify` says, and its JSON.
fn identified(folder: &Folder, arguments: &[&str]) -> (String, Value) {
    let words = ["identify", "--json", "found.json"];
    let run = folder.words(words.iter().chain(arguments));
    assert!(matches!(run.code, Some(0 | 1)), "{}", run.stderr);
    let json = folder.read("found.json");
    (run.stdout, serde_json::from_slice(&json).unwrap())
}

fn list<'v>(report: &'v Value, key: &str) -> &'v [Value] {
    report[key].as_array().unwrap()
}

/// Every command of a report does what it is said to do: a fit's is identical, another's is not.
fn all_paste(folder: &Folder, what: &str, (text, report): &(String, Value)) {
    let mut pasted_lines = 0;
    for (key, code) in [("fits", 0), ("others", 1)] {
        for model in list(report, key).iter().take(4) {
            let names = list(model, "names");
            let command = names[0].string("command");
            assert_eq!(pasted(folder, command), Some(code), "{what}: {command}");
            pasted_lines += 1;
        }
    }
    // Those of the text are whole lines.
    let printed = text
        .lines()
        .filter(|line| line.trim().starts_with("tcverify "));
    for command in printed {
        assert_eq!(pasted(folder, command.trim()), Some(0), "{what}: {command}");
        pasted_lines += 1;
    }
    assert!(pasted_lines > 1, "{what}: {text}");
}

#[test]
fn every_command_can_be_pasted() {
    let folder = Folder::new();
    let make = |line: &str| {
        folder.passes(line);
    };
    let product = "generate:1:normal:12x96 generate:2:normal:96x16";
    claims! {folder, "replay --arch ampere --dtype bf16 --d-dtype bf16 --schedule cublas-workspace --split-k 3 \
    {product} -o d16.npy | 0"}
    let found = identified(
        &folder,
        &words! {"--dtype | bf16 | generate:1:normal:12x96 | generate:2:normal:96x16 | d16.npy"},
    );
    all_paste(&folder, "generated operands under schedules", &found);
    // Files with names that a shell takes apart, C, and operands as they lie.
    make("generate generate:3:normal:48x12 --dtype fp16 --role a -o a.npy");
    make("generate generate:4:normal:16x48 --dtype fp16 --role b -o b.npy");
    make("generate generate:5:normal:12x16 --dtype fp32 --role c -o c.npy");
    claims! {folder, "replay --arch hopper --dtype fp16 --transpose-a --transpose-b --c c.npy a.npy b.npy -o d.npy | 0"}
    let names = [
        ("a.npy", "it's A.npy"),
        ("c.npy", "$HOME c;.npy"),
        ("d.npy", "d `x`.npy"),
    ];
    for (from, to) in names {
        folder.rename(from, to);
    }
    let found = identified(
        &folder,
        &words! {"--transpose-a | --transpose-b | --c | $HOME c;.npy | it's A.npy | b.npy | d `x`.npy"},
    );
    all_paste(&folder, "names for a shell", &found);
    // Codes without a type, and FP32 registers that are rounded to TF32.
    make("replay --arch ada --dtype e4m3 generate:6:normal:8x64 generate:7:normal:64x8 -o d8.npy");
    let found = identified(
        &folder,
        &words! {"--dtype | e4m3 | generate:6:normal:8x64 | generate:7:normal:64x8 | d8.npy"},
    );
    all_paste(&folder, "fp8", &found);
    make("generate generate:8:normal:8x64 --dtype fp32 --role a -o wide-a.npy");
    make("generate generate:9:normal:64x8 --dtype fp32 --role b -o wide-b.npy");
    make("replay --arch ampere --dtype tf32 --tf32-input nearest wide-a.npy wide-b.npy -o dt.npy");
    let found = identified(
        &folder,
        &words! {"--tf32-input | nearest | --dtype | tf32 | wide-a.npy | wide-b.npy | dt.npy"},
    );
    all_paste(&folder, "tf32", &found);
    // The control: a command whose D is another's is not identical.
    let (_, report) = found;
    let command = list(&report, "fits")[0]["names"][0].string("command");
    let other = command.replace("dt.npy", "d8.npy");
    assert_eq!(pasted(&folder, &other), Some(1), "{other}");
}

/// One element fits hundreds of orders: the page says them in lines that differ in more than slices.
#[test]
#[ignore = "long"]
fn ties_fold_into_a_page() {
    let folder = Folder::new();
    let product = ["generate:1:normal:1x512", "generate:2:normal:512x1"];
    folder
        .passes(&format!(
            "replay --arch ampere --dtype fp16 --d-dtype fp16 --schedule cublas-workspace --split-k 4 {} -o d.npy",
            product.join(" ")
        ));
    let arguments = |more: &[&'static str]| -> Vec<&'static str> {
        [&["--dtype", "fp16"], more, &product, &["d.npy"]].concat()
    };
    let (text, report) = identified(&folder, &arguments(&[]));
    let fits = list(&report, "fits").len();
    assert!(fits > 100, "an easy tie: {fits}");
    assert!(text.lines().count() < 64, "{text}");
    text.says("4 and 8 slices");
    // Nothing is lost: what is shown and what is left are all.
    let (long, all) = identified(&folder, &arguments(&["--limit", "10000"]));
    assert_eq!(list(&all, "fits").len(), fits, "a limit is the text's");
    long.lacks(" more fit: see --limit");
    let (short, _) = identified(&folder, &arguments(&["--limit", "1"]));
    short.says(" more fit: see --limit");
    let commands = |text: &str| {
        let lines = text.lines().map(str::trim_start);
        lines
            .filter(|line| line.starts_with("tcverify check"))
            .count()
    };
    assert_eq!(commands(&short), 1, "{short}");
    assert!(commands(&long) > 1 && commands(&long) < 40, "{long}");
}

#[test]
fn one_architecture_can_be_asked_alone() {
    let folder = Folder::new();
    let product = "generate:1:normal:32x64 generate:2:normal:64x32";
    claims! {folder, "replay --arch ampere --dtype bf16 {product} -o d.npy | 0"}
    let ask = |more: &str| {
        let run = ran! {folder, "identify --dtype bf16 {more} --json found.json --schedules always {product} d.npy"};
        let json: Value = folder.document("found.json");
        (run.code, run.stdout, json)
    };
    let architectures = |report: &Value| -> Vec<String> {
        let models = list(report, "fits").iter().chain(list(report, "others"));
        let names = models.flat_map(|model| list(model, "names"));
        let mut all: Vec<_> = names
            .map(|name| name.string("architecture").to_owned())
            .collect();
        all.sort();
        all.dedup();
        all
    };
    let (code, text, report) = ask("--arch rtx3090 --arch sm_90");
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(architectures(&report), ["ampere", "hopper"]);
    assert_eq!(
        report["architectures"],
        serde_json::json!(["ampere", "hopper"])
    );
    text.says("models alone and");
    text.says("of ampere, hopper");
    text.says("architectures other than ampere, hopper");
    // Of few that were looked at, none is the one.
    assert!(!text.starts_with("ONE"), "{text}");
    // The wrong architecture has nothing that fits, and says who was not asked.
    let (code, text, report) = ask("--arch volta --arch hopper");
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(architectures(&report), ["hopper"]);
    let (_, text, report) = ask("");
    assert_eq!(report["architectures"], Value::Null);
    text.lacks("architectures other than");
    claims! {folder, "identify --dtype bf16 --arch hoper {product} d.npy | refused | hoper | hopper"}
    folder.save("codes.npy", &Npy::new("|u1", &[1, 1], vec![0x38]));
    folder.save(
        "one.npy",
        &Npy::new("<f4", &[1, 1], 1f32.to_le_bytes().to_vec()),
    );
    claims! {folder, "identify --dtype e4m3 --arch volta codes.npy codes.npy one.npy | refused
    | no model of volta"}
}
