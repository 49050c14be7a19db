//! How the bytes of operands are held: privately, once, within a limit; and operands from pipes.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Stdio;

use tcverify::generate::{Spec, Specified};
use tcverify::io::npy::write_npy;
use tcverify::io::{FaultKind, Files, MappedFile, PRIVATE_BYTES, Privacy, payload_sha256};
use tcverify::memory::{Limits, Memory};
use tcverify::num::Format;
use tcverify::role::Role;

use super::write::{Member, safetensors, zip};
use super::{npy, refused};
use crate::support::{Folder, Npy, Says, claims, say, sha256, words};

fn files(max_bytes: u64) -> Files {
    Files::new(Privacy::Auto, Limits { max_bytes })
}

/// Changes the last byte of a file in place and sets its time stamp back, as one who holds a writable
/// mapping can.
fn toggle(path: &Path) {
    let mut options = OpenOptions::new();
    let mut file = options.read(true).write(true).open(path).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    let last = std::fs::read(path).unwrap().pop().unwrap();
    file.seek(SeekFrom::End(-1)).unwrap();
    file.write_all(&[last ^ 1]).unwrap();
    file.set_modified(time).unwrap();
}

#[test]
fn nobody_changes_bytes_that_are_judged() {
    let folder = Folder::new();
    let path = folder.write("a.npy", npy(&[1.0, 2.0]));
    let honest = std::fs::read(&path).unwrap();
    let source = files(1 << 20).source(&path).unwrap();
    let tensor = source.tensor(Format::Fp32).unwrap();
    assert!(source.file().is_private());
    let before = payload_sha256(&tensor);
    toggle(&path);
    assert_eq!(payload_sha256(&tensor), before);
    assert_eq!(source.file().sha256(), sha256(&honest));
    assert_eq!(tensor.planes().plane(0).code(0, 1), 0x4000_0000);
    source.file().confirm_unchanged().unwrap();

    // What the attack does to a mapping: another number, under the digest of the first.
    folder.write("a.npy", &honest);
    let mapped = files(0).source(&path).unwrap();
    assert!(!mapped.file().is_private());
    let tensor = mapped.tensor(Format::Fp32).unwrap();
    assert_eq!(mapped.file().sha256(), sha256(&honest));
    toggle(&path);
    assert_ne!(tensor.planes().plane(0).code(0, 1), 0x4000_0000);
    mapped.file().confirm_unchanged().unwrap();
}

#[test]
fn a_file_is_opened_and_hashed_once_until_it_changes() {
    let folder = Folder::new();
    let members = ["a.npy", "b.npy"].map(|name| Member::stored(name, &npy(&[1.0])));
    let path = folder.write("x.npz", zip(&members));
    let files = files(1 << 20);
    let digest = |name: &str| {
        let source = files.source(&folder.path(name)).unwrap();
        source.file().sha256().as_ptr()
    };
    let first = digest("x.npz#a");
    assert_eq!(first, digest("x.npz#b"), "one digest for all arrays");
    let source = files.source(&folder.path("x.npz#a")).unwrap();
    // Written anew: another file, and another digest.
    std::fs::write(&path, zip(&[Member::stored("a.npy", &npy(&[2.0]))])).unwrap();
    let now = files.source(&folder.path("x.npz#a")).unwrap();
    assert_ne!(source.file().sha256(), now.file().sha256());
    assert_eq!(now.file().sha256(), sha256(std::fs::read(&path).unwrap()));
    let tensor = now.tensor(Format::Fp32).unwrap();
    assert_eq!(tensor.planes().plane(0).code(0, 0), 0x4000_0000);
}

#[test]
fn what_nobody_uses_makes_room() {
    let folder = Folder::new();
    let write = |name: &str| folder.write(name, Npy::new("|u1", &[600], vec![1; 600]).bytes());
    let (a, b) = (write("a.npy"), write("b.npy"));
    let files = files(1000);
    let first = files.source(&a).unwrap();
    assert!(first.file().is_private());
    // No room beside the first: mapped, and it says so.
    assert!(!files.source(&b).unwrap().file().is_private());
    drop(first);
    let memory = || files.memory().used();
    assert!(files.source(&b).unwrap().file().is_private());
    assert!(memory() <= 1000);
    // Who must have it privately is refused.
    let strict = Files::new(Privacy::Private, Limits { max_bytes: 100 });
    let error = strict.source(&a).unwrap_err();
    assert_eq!((error.fault.kind, &error.path), (FaultKind::Memory, &a));
    assert_eq!(strict.memory().used(), 0);
}

#[test]
fn large_files_are_mapped_unless_they_must_be_private() {
    let folder = Folder::new();
    let path = folder.path("x.bin");
    let large = File::create(&path).unwrap();
    // A hole that takes no room on the disk.
    if large.set_len(PRIVATE_BYTES + 1).is_err() {
        say(format_args!(
            "not checked: large files, as there is no room for a sparse one"
        ));
        return;
    }
    let memory = Memory::new(Limits {
        max_bytes: PRIVATE_BYTES,
    });
    let open = |privacy| MappedFile::open_as(&path, privacy, &memory);
    assert!(!open(Privacy::Auto).unwrap().is_private());
    assert_eq!(open(Privacy::Private).unwrap_err().kind, FaultKind::Memory);
}

#[test]
fn what_inflates_beyond_the_limit_is_refused_before_it_does() {
    let folder = Folder::new();
    let shape = "{'descr': '|u1', 'fortran_order': False, 'shape': (4194304,), }";
    let bytes = Npy::with_header(shape, vec![0; 4 << 20]).bytes();
    folder.write("x.npz", zip(&[Member::deflated("a.npy", &bytes)]));
    let path = folder.path("x.npz#a");
    let small = files(1 << 20);
    let error = small.source(&path).unwrap_err();
    assert_eq!(error.fault.kind, FaultKind::Memory);
    let said = error.to_string();
    said.says("x.npz#a: needs 4194");
    // And one that fits is read.
    let source = files(8 << 20).source(&path).unwrap();
    assert_eq!(source.tensor(Format::Uint8).unwrap().len(), 4 << 20);
}

#[test]
fn generated_operands_have_the_same_limit() {
    let error = files(1 << 30)
        .generating(&Specified)
        .generated("generate:1:normal:60000x60000", Format::Fp16, Role::A)
        .unwrap_err();
    assert_eq!(error.fault.kind, FaultKind::Memory);
    let text = "generate:1:normal:3x5";
    let small = Spec::read(text).unwrap();
    // Nobody generates one where nobody was handed over.
    let nobody = files(1 << 20).generated(text, Format::Fp16, Role::A);
    assert!(nobody.is_err());
    let files = files(1 << 20).generating(&Specified);
    let source = files.generated(text, Format::Fp16, Role::A).unwrap();
    let made = small.tensor(Format::Fp16, Role::A, files.memory()).unwrap();
    let read = source.tensor(Format::Fp16).unwrap();
    assert_eq!(payload_sha256(&read), payload_sha256(&made));
    // The file it stands for is the one that would be written.
    let mut file = Vec::new();
    write_npy(&made, &mut file).unwrap();
    assert_eq!(source.file().bytes(), file);
    assert!(source.file().is_made());
}

/// With 400 MB of address space: an error of the operand, and no abort.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_cannot_be_had_is_an_error() {
    let folder = Folder::new();
    folder.write("d.npy", npy(&[1.0]));
    let arguments = "--threads 1 check --arch ampere --dtype fp16 \
        generate:1:normal:60000x60000 generate:2:normal:60000x60000 d.npy";
    let run = folder.limited("ulimit -v 400000", arguments);
    run.refuses(&words! {"generate:1:normal:60000x60000 | needs 72000 | bytes of memory"});
}

/// The program, given bytes on standard input through a pipe.
#[cfg(unix)]
fn piped(folder: &Folder, arguments: &str, bytes: &[u8]) -> crate::support::Run {
    folder.write("piped", bytes);
    let mut cat = folder.shell("cat");
    let mut cat = cat.arg("piped").stdout(Stdio::piped()).spawn().unwrap();
    let mut command = folder.command();
    let stdin = cat.stdout.take().unwrap();
    let run = folder.run(command.args(arguments.split_whitespace()).stdin(stdin));
    cat.wait().unwrap();
    run
}

#[cfg(unix)]
#[test]
fn standard_input_is_a_file() {
    let folder = Folder::new();
    let array = npy(&[1.0, 2.0, 3.0]);
    let whole = sha256(&array);
    let archive = zip(&[Member::deflated("a.npy", &array)]);
    let tensors = safetensors(&[("w", "F32", &[3], &array[array.len() - 12..])]);
    let payload = sha256(&array[array.len() - 12..]);
    for (arguments, bytes) in [
        ("digest --json -", &array),
        ("digest --json /dev/stdin", &array),
        ("digest --json -- -#a", &archive),
        ("digest --json /dev/stdin#w", &tensors),
    ] {
        let found = piped(&folder, arguments, bytes).expect(0).json();
        assert_eq!(found[0]["payload_sha256"], *payload, "{arguments}");
        assert_eq!(found[0]["file_sha256"], *sha256(bytes), "{arguments}");
    }
    assert_eq!(sha256(&array), whole);
    piped(&folder, "digest -", b"").refuses(&["-: is empty"]);
    piped(&folder, "digest -", b"nonsense").refuses(&["-: is text, not an array"]);
    folder.f16("b.npy", &[1, 1], &[1.0]);
    folder.f32("d.npy", &[1, 1], &[1.0]);
    let check = "check --arch ampere --dtype fp16 - b.npy d.npy";
    piped(&folder, check, &folder.read("b.npy")).expect(0);
}

#[test]
fn a_pytorch_file_is_called_that() {
    let folder = Folder::new();
    let members = ["x/data.pkl", "x/data/0"].map(|name| Member::stored(name, b"\x80\x02}q\x00."));
    for name in ["x.pt", "x.bin", "x.npz"] {
        folder.write(name, zip(&members));
        let instead = &["a PyTorch file", "safetensors.torch.save_file"];
        refused(&folder, name, instead);
        refused(&folder, &format!("{name}#w"), &["a PyTorch file"]);
    }
    let old = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.";
    folder.write("old.pth", old);
    refused(&folder, "old.pth", &["a PyTorch file"]);
}

#[cfg(unix)]
#[test]
fn a_case_that_a_link_lost_is_missed() {
    let folder = Folder::new();
    folder.create("cases");
    std::os::unix::fs::symlink("gone", folder.path("cases/one")).unwrap();
    claims! {folder, "batch cases | refused | cases/one | is a broken link, or cannot be examined"}
}
