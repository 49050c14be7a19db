//! PyTorch's own files: named as what they are, never loaded.

use crate::support::{Folder, Npy, halves};

#[test]
fn a_pickle_is_called_one() {
    let folder = Folder::new();
    let one = Npy::new("<f2", &[1, 1], halves(&[1.0]));
    for name in ["b.npy", "d.npy"] {
        folder.save(name, &one);
    }
    let save = "safetensors.torch.save_file";
    for (name, bytes, said) in [
        ("m.pt", &b"anything"[..], "is named like a PyTorch file"),
        ("m.PTH", b"\x80\x04\x95more", "is a pickle"),
        ("m.bin", b"\x80\x02}q\x00.", "is a pickle"),
    ] {
        folder.write(name, bytes);
        for command in ["inspect", "check --arch h100 --dtype fp16"] {
            let words = format!("{command} {name} b.npy d.npy");
            let run = folder.fails(&words);
            let all = format!("{}{}", run.stdout, run.stderr);
            for word in [name, said, save] {
                assert!(all.contains(word), "{words}: {word}: {run:?}");
            }
            assert!(!all.contains("\\x93NUMPY"), "{run:?}");
        }
    }
    // By its name alone nothing is refused that is something else; a raw .bin is not taken for a pickle.
    folder.write("array.pt", folder.read("b.npy"));
    folder.passes("inspect array.pt");
    folder.write("raw.bin", [1, 2, 3]);
    let run = folder.fails("inspect raw.bin");
    assert!(!format!("{run:?}").contains("pickle"), "{run:?}");
}
