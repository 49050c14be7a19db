//! JUnit XML, read by a parser that is not ours.

use crate::support::Says;

use super::{CHECK, EVIL, example};

#[test]
fn it_is_xml_whatever_files_are_called() {
    let folder = example();
    folder.copy("a.npy", EVIL);
    for (d, code) in [("d.npy", 1), ("good.npy", 0)] {
        let words = "check --arch a100 --dtype fp16 --c c.npy".split(' ');
        let files = [EVIL, "b.npy", d, "--junit", "r.xml", "-q"];
        folder.words(words.chain(files)).expect(code);
        let text = folder.text("r.xml");
        let document = roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let root = document.root_element();
        assert_eq!(root.tag_name().name(), "testsuites");
        let all = |name: &'static str| {
            let nodes = document.descendants();
            nodes
                .filter(move |node| node.has_tag_name(name))
                .collect::<Vec<_>>()
        };
        for suite in [root, all("testsuite")[0]] {
            let counts = ["tests", "failures", "errors"].map(|name| suite.attribute(name).unwrap());
            assert_eq!(counts, ["1", if code == 1 { "1" } else { "0" }, "0"]);
        }
        assert_eq!((all("testsuite").len(), all("testcase").len()), (1, 1));
        assert_eq!(all("failure").len(), code as usize);
        let shown = EVIL.replace('\u{1b}', "\\u{1b}").replace('\n', "\\n");
        let name = all("testcase")[0].attribute("name").unwrap();
        assert_eq!(name, format!("{d} = {shown} * b.npy + c.npy"));
        let path = all("property")
            .into_iter()
            .find(|p| p.attribute("name") == Some("A.path"));
        assert_eq!(path.unwrap().attribute("value"), Some(shown.as_str()));
        if let [failure] = all("failure")[..] {
            assert_eq!(
                failure.attribute("message"),
                Some("1 of 4 elements of D differ (25 %; plus C)")
            );
            assert!(
                failure
                    .text()
                    .unwrap()
                    .contains("[1, 1]  0x42640000  0x42640001")
            );
        }
    }
}

#[test]
fn a_digest_is_a_case_too() {
    let folder = example();
    let wanted = "0".repeat(64);
    folder.differs(&format!("{CHECK} --d-digest {wanted} --junit r.xml -q"));
    let text = folder.text("r.xml");
    assert!(roxmltree::Document::parse(&text).is_ok());
    text.says(&format!("name=\"{wanted} = a.npy * b.npy + c.npy\""));
    assert_eq!(text.matches("<failure").count(), 1);
}
