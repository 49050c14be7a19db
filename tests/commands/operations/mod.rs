//! What stands between products, against arrays that an independent program made
//! (`tests/fixtures/layer/make.py`).

mod attention;
mod gguf;
mod hostile;
mod judging;
mod layer;
mod parts;
mod policy;
mod ranks;
mod sweep;

use std::path::PathBuf;

use crate::support::Folder;

fn fixtures() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/layer").into()
}

/// A folder with copies of all arrays and manifests.
pub fn copied() -> Folder {
    let folder = Folder::new();
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".npy") || name.ends_with(".json") {
            folder.write(&name, std::fs::read(path).unwrap());
        }
    }
    folder
}
