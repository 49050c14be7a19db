//! Sample workflows of CI servers: they are YAML, and each of their commands of tcverify runs.

use yaml_rust2::{Yaml, YamlLoader};

use crate::support::{Folder, claims};

/// Every text under a key of this name, wherever it stands; of a list each of its texts.
fn under(yaml: &Yaml, key: &str, found: &mut Vec<String>) {
    match yaml {
        Yaml::Hash(fields) => {
            for (name, value) in fields {
                if name.as_str() == Some(key) {
                    let all = value.as_vec().cloned().unwrap_or(vec![value.clone()]);
                    found.extend(all.iter().filter_map(Yaml::as_str).map(str::to_owned));
                }
                under(value, key, found);
            }
        }
        Yaml::Array(all) => all.iter().for_each(|value| under(value, key, found)),
        _ => {}
    }
}

/// Two products of an H100, in folders.
fn captures(folder: &Folder) {
    let formats = "--dtype bf16";
    for (name, seed) in [("first", 1), ("second", 2)] {
        std::fs::create_dir_all(folder.path(&format!("captures/{name}"))).unwrap();
        for (role, shape) in [("a", "16x32"), ("b", "32x8")] {
            claims! {folder, "generate generate:{seed}:normal:{shape} {formats} --role {role} -o \
            captures/{name}/{role}.npy | 0"}
        }
        let [a, b, d] = ["a", "b", "d"].map(|role| format!("captures/{name}/{role}.npy"));
        claims! {folder, "replay --arch h100 {formats} {a} {b} -o {d} | 0"}
        let case = r#"{"arch": "h100", "dtype": "bf16"}"#;
        folder.write(&format!("captures/{name}/case.json"), case);
    }
}

#[test]
fn every_command_of_a_workflow_runs() {
    let program = env!("CARGO_BIN_EXE_tcverify");
    for (file, key, commands) in [
        ("github-workflow.yml", "run", 2),
        ("gitlab-ci.yml", "script", 1),
    ] {
        let text = std::fs::read_to_string(
            std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("scripts/ci")
                .join(file),
        )
        .unwrap();
        let yaml = YamlLoader::load_from_str(&text).unwrap();
        assert_eq!(yaml.len(), 1, "{file}");
        let mut found = Vec::new();
        under(&yaml[0], key, &mut found);
        let folder = Folder::new();
        captures(&folder);
        let mut ran = 0;
        for command in found {
            let mut words = command.split_whitespace();
            let first = words.next().unwrap_or_default();
            if !first.ends_with("tcverify") {
                continue;
            }
            ran += 1;
            let words: Vec<_> = words.collect();
            let mut shell = folder.shell(program);
            folder.run(shell.args(&words)).expect(0);
        }
        assert_eq!(ran, commands, "{file}");
        // What a later step keeps is there.
        let mut kept = Vec::new();
        under(&yaml[0], "path", &mut kept);
        under(&yaml[0], "paths", &mut kept);
        under(&yaml[0], "junit", &mut kept);
        let kept = kept.iter().flat_map(|lines| lines.lines());
        let kept: Vec<_> = kept.filter(|path| !path.ends_with('/')).collect();
        assert!(kept.len() >= 3, "{file}: {kept:?}");
        for path in kept {
            assert!(folder.path(path).exists(), "{file}: {path}");
        }
        // A D that differs fails the job.
        let bytes = folder.read("captures/second/d.npy");
        let (last, rest) = bytes.split_last().unwrap();
        folder.write("captures/second/d.npy", [rest, &[last ^ 1]].concat());
        folder.differs("batch captures/ --quiet");
    }
}

#[test]
fn the_citation_is_of_this_version() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("CITATION.cff")).unwrap();
    let yaml = &YamlLoader::load_from_str(&text).unwrap()[0];
    assert_eq!(yaml["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
    for field in ["cff-version", "message", "title", "type", "abstract"] {
        assert!(yaml[field].as_str().is_some(), "{field}");
    }
    assert!(!yaml["authors"].as_vec().unwrap().is_empty());
}
