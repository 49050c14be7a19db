//! Every input that fuzzing kept, through the bodies of the fuzz targets (`fuzz/README.md`).

use std::fs;
use std::path::Path;

#[path = "../fuzz/src/lib.rs"]
mod fuzzing;

use fuzzing::TARGETS;

fn corpus() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus")
}

#[test]
fn every_kept_input() {
    for (name, body) in TARGETS {
        let folder = corpus().join(name);
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
        let mut paths: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
        paths.sort();
        assert!(!paths.is_empty(), "no seed for {name}");
        for path in &paths {
            // What panics names the file.
            println!("{}", path.display());
            body(&fs::read(path).expect("a seed"));
        }
    }
}

#[test]
fn every_target_has_a_binary_and_every_folder_a_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("a folder");
        let stem = |e: std::io::Result<fs::DirEntry>| {
            let path = e.expect("an entry").path();
            path.file_stem().unwrap().to_string_lossy().into_owned()
        };
        let mut names: Vec<_> = entries.map(stem).collect();
        names.sort();
        names
    };
    let mut targets: Vec<_> = TARGETS.map(|(name, _)| name.to_owned()).into();
    targets.sort();
    assert_eq!(names(&root.join("fuzz_targets")), targets);
    assert_eq!(names(&corpus()), targets);
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("a manifest");
    for target in targets {
        assert!(
            manifest.contains(&format!("name = \"{target}\"\n")),
            "{target}"
        );
    }
}

/// The seeds are good enough to start from: each kind of file has some that are taken.
#[test]
fn seeds_are_taken() {
    use tcverify::attest::{Envelope, Predicate};
    use tcverify::commit::{Commitment, Proof};
    use tcverify::emu::{Architecture, schedule::Schedule};
    use tcverify::io::{Container, MappedFile};
    use tcverify::tlog::{Key, Log, TlogProof};

    let taken = |name: &str, file: &str, read: &dyn Fn(Vec<u8>) -> bool| {
        let bytes = fs::read(corpus().join(name).join(file)).expect("a seed");
        assert!(read(bytes), "{name}/{file}");
    };
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let container = |name: &'static str| {
        move |bytes| Container::of(MappedFile::made(Path::new(name), bytes)).is_ok()
    };
    taken("npy", "f4", &container("x.npy"));
    taken("npz", "compressed.npz", &container("x.npz"));
    taken("safetensors", "two", &container("x.safetensors"));
    taken("architecture", "ada-mma-fp32-fused", &|bytes| {
        Architecture::from_json(&text(bytes)).is_ok()
    });
    taken("schedule", "cutlass-stream-k", &|bytes| {
        Schedule::from_json(&text(bytes)).is_ok()
    });
    taken("commitment", "scheduled", &|bytes| {
        Commitment::parse(&bytes).is_ok()
    });
    taken("proof", "blocks-0-1-2", &|bytes| {
        Proof::parse(&bytes).is_ok()
    });
    for kind in ["test-result", "svr"] {
        taken("attestation", kind, &|bytes| {
            Envelope::parse(&text(bytes)).is_ok()
        });
        let statement = format!("statement-{kind}");
        taken("attestation", &statement, &|bytes| {
            Predicate::parse(&bytes).is_ok()
        });
    }
    taken("tlog", "key", &|bytes| text(bytes).parse::<Key>().is_ok());
    taken("tlog", "proof", &|bytes| {
        TlogProof::parse(&text(bytes)).is_ok()
    });
    taken("tlog", "log", &|bytes| Log::parse(&text(bytes)).is_ok());
}
