//! `tcverify archs`: the catalogue for people and for machines.

use serde_json::Value;

use crate::support::{Folder, Members, Says, listed, ran};

const NAMES: &str = "
    volta | turing | ampere | ada | hopper | blackwell | rtx-blackwell | cdna1 | cdna2 | cdna3 | rdna3
    | rdna3.5 | rdna4 | wormhole | blackhole | avx512 | avx10 | amx | arm | ieee-fma | exact
    | vortex-tfr | vortex-drl | gpgpu-sim
";

fn run(arguments: &str) -> String {
    let run = Folder::new().passes(arguments);
    assert_eq!(run.stderr, "");
    run.stdout
}

fn json(arguments: &str) -> Value {
    serde_json::from_str(&run(arguments)).unwrap()
}

#[test]
fn the_list_has_a_line_for_each() {
    let text = run("archs");
    for name in listed(NAMES) {
        let line = text
            .lines()
            .find(|line| line.split(' ').next() == Some(name));
        assert!(line.is_some(), "{name} is not in {text}");
    }
}

#[test]
fn one_shows_its_rules_constants_and_sources() {
    for name in listed(NAMES) {
        let text = run(&format!("archs {name}"));
        let about = &json(&format!("archs {name} --json"));
        assert!(text.starts_with(about.string("title")), "{text}");
        for instruction in about.list("instructions") {
            let name = instruction.string("name");
            assert!(text.contains(&format!("\n{name}: ")), "{name}: {text}");
            for rule in instruction.list("rules") {
                let evidence = rule.string("evidence");
                text.says(&format!("[{evidence}]"));
                for constant in rule.object("step").keys() {
                    let shown = ["kind", "half"].contains(&constant.as_str());
                    assert!(shown || text.contains(constant), "{constant}: {text}");
                }
            }
        }
        for citation in about.object("sources").values() {
            assert!(text.contains(citation.as_str().unwrap()), "{citation}");
        }
    }
}

#[test]
fn any_of_its_names_will_do() {
    let hopper = run("archs hopper");
    for name in ["h100", "H200", "sm_90", "Hopper"] {
        assert_eq!(run(&format!("archs {name}")), hopper);
    }
}

#[test]
fn json_is_the_catalogue() {
    let all = json("archs --json");
    let names = all.as_array().unwrap().iter().map(|arch| &arch["name"]);
    assert!(names.eq(listed(NAMES)));
    for (arch, name) in all.as_array().unwrap().iter().zip(listed(NAMES)) {
        assert_eq!(*arch, json(&format!("archs {name} --json")));
        // What it prints, the library reads.
        let again = tcverify::emu::Architecture::from_json(&arch.to_string());
        assert_eq!(again.unwrap().name, name);
    }
}

#[test]
fn an_unknown_name_has_a_nearest() {
    ran! {Folder::new(), "archs amper"}.refuses(&["\"amper\"", "did you mean \"ampere\"?"]);
}

#[cfg(unix)]
#[test]
fn a_reader_may_leave_early() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_tcverify"))
        .args(["archs", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}
