//! Operations between products.

use super::Session;
use crate::operations::copied;

#[test]
fn operations() {
    let mut session = Session::new(copied());
    let files = "f_x.npy f_w.npy";
    session.run(&format!(
        "check --op rms_norm --eps 1e-6 --variant vllm {files} f_vllm.npy"
    ));
    session.run(&format!(
        "check --op rms_norm --eps 1e-6 --variant vllm {files} f_hf.npy \
         --json r.json --html r.html --junit r.xml --markdown r.md --github"
    ));
    for file in ["r.json", "r.html", "r.xml", "r.md"] {
        session.show(file);
    }
    session.keep("operation");
}

#[test]
fn everything_that_is_asked_of_an_operation() {
    let mut session = Session::new(copied());
    let silu = "--op silu --dtype fp32 f_x.npy f_silu.npy";
    session.run(&format!("identify {silu}"));
    session.run(&format!("check {silu} --rows 0..1 --json r.json"));
    session.show("r.json");
    session.run(&format!("commit {silu} -o c.json"));
    session.show("c.json");
    let drawn = "--sample 3 --seed-from c.json --beacon abcdef0123456789abcdef0123456789";
    session.run(&format!("check {silu} {drawn} --json r.json --quiet"));
    session.show("r.json");
    let gelu = "--op gelu --dtype fp32 f_x.npy";
    session.run(&format!("explain {gelu} f_gelu.npy --at 0,1"));
    session.run(&format!("check {gelu} f_silu.npy --brief"));
    session.run(&format!("replay {gelu} -o y.npy"));
    session.digest("y.npy");
    session.run("sweep sqrt --write sweep.json --blocks 63");
    session.show("sweep.json");
    session.run("ops");
    session.run("ops silu");
    session.keep("operation-asked");
}
