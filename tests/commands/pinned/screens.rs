//! Suites for fleets, and what is said of nodes.

use super::Session;
use crate::support::Folder;

#[test]
fn a_fleet() {
    let mut session = Session::new(Folder::new());
    session.run("screen make --arch v100 -o s.json");
    session.digest("s.json");
    session.run("screen run s.json --device simulated --host good -o good.json");
    session.run(
        "screen run s.json --device simulated --inject operand:bit=4,lane=3 --host bad -o bad.json",
    );
    session.run("screen judge --suite s.json good.json bad.json --html f.html --json j.json");
    session.show("f.html");
    session.show("j.json");
    session.keep("screen");
}
