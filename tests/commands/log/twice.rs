//! Two commitments to one product are found, if both are in one log.

use super::{EIGHT, PRODUCT, commit, cosigned, folder, log_key};
use crate::support::{Folder, Run, claims, ran};

fn twice(folder: &Folder, files: &str) -> Run {
    folder.passes("log checkpoint log.txt --log-key 0.pem -o checkpoint");
    let key = log_key(folder);
    ran! {folder, "log twice log.txt {files} --checkpoint checkpoint --log-key {key}"}
}

#[test]
fn a_second_commitment_to_one_product_is_found() {
    let folder = folder();
    commit(&folder, "d.npy", "c").expect(0);
    let run = twice(&folder, "c.json").expect(0);
    assert_eq!(
        run.stdout,
        "ONCE  every product of the 1 commitments in example.com/log\n"
    );
    // Other operands are another product.
    folder.passes("generate generate:3:normal:16x64 --dtype fp16 --role a -o a2.npy");
    folder
        .passes("commit --arch a100 --dtype fp16 a2.npy b.npy d.npy -o o.json --checkpoint example.com/log --log log.txt --log-key 0.pem --proof o.tlog-proof");
    twice(&folder, "c.json o.json").expect(0);
    // The same file under another name is no second one.
    folder.write("copy.json", folder.read("c.json"));
    twice(&folder, "c.json o.json copy.json").expect(0);
    commit(&folder, "bad.npy", "e").expect(0);
    twice(&folder, "c.json o.json e.json")
        .expect(1)
        .mentions(&["there is more than one commitment to a product: c.json, e.json"]);
    // A D cut in another way would be another root to choose by.
    claims! {folder, "commit {PRODUCT} d.npy --block-rows 3 -o g.json --checkpoint example.com/log --log log.txt \
    --log-key 0.pem --proof g.tlog-proof | 0"}
    twice(&folder, "c.json o.json g.json")
        .expect(1)
        .mentions(&["c.json, g.json"]);
}

#[test]
fn what_was_not_given_is_not_called_once() {
    let folder = folder();
    commit(&folder, "d.npy", "c").expect(0);
    commit(&folder, "bad.npy", "e").expect(0);
    twice(&folder, "c.json").refuses(&["1 of 2 leaves", "nothing is known about them"]);
    folder.passes(&format!("commit {PRODUCT} worse.npy -o f.json -q"));
    twice(&folder, "c.json e.json f.json").refuses(&["f.json: is not a leaf of the log"]);
    twice(&folder, "d.npy").refuses(&["d.npy", "is not a commitment"]);
    // The log must be the one that was signed.
    cosigned(&folder, "c", EIGHT);
    let log = folder.text("log.txt");
    let lines: Vec<_> = log.lines().collect();
    folder.write("log.txt", format!("{}\n", lines[..3].join("\n")));
    let key = log_key(&folder);
    claims! {folder, "log twice log.txt c.json --checkpoint checkpoint --log-key {key} | refused
    | checkpoint | does not match the leaves of this log"}
}
