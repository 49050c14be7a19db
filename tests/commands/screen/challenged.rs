//! Signed results, and challenges: what is believed, and what is refused.

use tcverify::screen::{Fleet, Suite, Whose};

use super::folder;
use crate::support::{Folder, Run, Says, claims};
use tcverify::words::Word;

/// Results do not choose what they are judged by: a faulty GPU that answers one product is not clean.
#[test]
fn every_product_is_answered() {
    use tcverify::screen::{Results, Route};
    use tcverify::sign::Signer;
    let folder = keys();
    challenged(&folder, "n", "8430af44c2b90c8d");
    let path = folder.path("challenge.json");
    let (challenge, id) = Suite::read(&path).unwrap();
    let all = challenge.products.len();
    let read = || {
        let read = Results::read(&folder.path("r.json"), &challenge, id);
        read.unwrap().0
    };
    answer(&folder, "n", "");
    let right = read();
    answer(
        &folder,
        "n",
        "--inject adder:bit=12,stuck=flip,one-in=50,sm=3",
    );
    judge(&folder, "challenge.json", "").expect(1);
    let wrong = read();
    let signer = Signer::read(&folder.path("one.pem")).unwrap();
    let keep = |whole: &Results, kept: &dyn Fn(&str) -> bool| {
        let mut some = whole.clone();
        some.runs.retain(|ran| kept(&ran.product));
        some.failures.retain(|answer| kept(&answer.product));
        some.halves = None;
        folder.write("r.json", some.signed(Some(&signer)).unwrap());
    };
    let library = |name: &str| {
        let mut products = challenge.products.iter();
        products.any(|p| p.name == name && p.route == Route::Library)
    };
    // The one that its fault does not reach.
    let answers = |of: &Results, name: &str| {
        let answers = of.failures.iter().filter(|answer| answer.product == name);
        answers.map(|answer| answer.d_sha256).collect::<Vec<_>>()
    };
    let mut products = challenge.products.iter();
    let one = products.find(|p| answers(&right, &p.name) == answers(&wrong, &p.name));
    let one = one.expect("a product without a wrong D");
    keep(&wrong, &|name| name == one.name);
    let run = judge(
        &folder,
        "challenge.json",
        "--trust one.pub.pem --json f.json",
    )
    .expect(1);
    run.says("1 incomplete");
    let missed = format!("{} of {all} products were not run", all - 1);
    assert!(run.stdout.contains(&missed), "{run:#?}");
    let fleet: Fleet = folder.typed("f.json");
    assert_eq!(fleet.gpus[0].answered, [1, all]);
    assert_eq!(fleet.gpus[0].condition.word(), "incomplete");
    // All of a library's: only the operator may ask for no more.
    keep(&right, &library);
    claims! {folder, "screen judge --suite challenge.json r.json | 1 | '--route library'"}
    claims! {folder, "screen judge --suite challenge.json r.json --route library --json f.json | 0 | route library"}
    let fleet: Fleet = folder.typed("f.json");
    assert_eq!(fleet.route, Some(Route::Library));
    let claims = fleet.claims(Vec::new());
    assert!(
        claims.properties.is_empty(),
        "not the whole suite: {claims:?}"
    );
    judge(&folder, "challenge.json", "--route instruction").expect(1);
    // The same of a suite.
    claims! {folder, "screen run suite.json --device simulated --host n --quiet -o r.json | 0"}
    let (suite, id) = Suite::read(&folder.path("suite.json")).unwrap();
    let (mut some, _) = Results::read(&folder.path("r.json"), &suite, id).unwrap();
    some.runs.truncate(1);
    folder.write("r.json", some.signed(None).unwrap());
    let run = judge(&folder, "suite.json", "").expect(1);
    let missed = format!(
        "{} of {} products",
        suite.products.len() - 1,
        suite.products.len()
    );
    assert!(run.stdout.contains(&missed), "{run:#?}");
}

/// A folder with a suite and two keys.
fn keys() -> Folder {
    let folder = folder();
    write_keys(&folder);
    folder
}

pub fn write_keys(folder: &Folder) {
    crate::attest::keys_as(folder, ["one", "two"], 0);
}

/// Commits as this host, and draws a challenge.
fn challenged(folder: &Folder, host: &str, beacon: &str) {
    let commit = format!(
        "screen commit --host {host} --key one.pem --time 2026-11-23T08:00:00Z -o {host}.json"
    );
    let digest = folder.stdout(&commit);
    let digest = &digest[..64];
    let draw = format!("--commitment {digest} --beacon {beacon} --time 2026-11-23T08:01:00Z");
    claims! {folder, "screen challenge suite.json {draw} --products 20 -o challenge.json | 0"}
}

fn answer(folder: &Folder, host: &str, more: &str) {
    let run = format!(
        "screen run challenge.json --device simulated --host {host} --key one.pem --commitment {host}.json -o r.json {more}"
    );
    claims! {folder, r"{run} | 0 | ^ANSWERED \_"}
}

fn judge(folder: &Folder, suite: &str, more: &str) -> Run {
    folder.tcverify(&format!("screen judge --suite {suite} r.json {more}"))
}

#[test]
fn signed_results() {
    let folder = keys();
    let run = "screen run suite.json --device simulated --host n --quiet -o r.json";
    claims! {folder, "
        {run} | 0
        screen judge --suite suite.json r.json | 0 | 1 of a node's own word, not signed
        screen judge --suite suite.json r.json --trust one.pub.pem | refused | r.json | is not signed
        {run} --key one.pem | 0
        screen judge --suite suite.json r.json --trust two.pub.pem --trust one.pub.pem --json f.json | 0
            | trusted   1 signed
        screen judge --suite suite.json r.json --trust two.pub.pem | refused | is signed by d75a9801 | --trust
    "}
    let fleet: Fleet = folder.typed("f.json");
    assert_eq!(fleet.gpus[0].trusted.whose, Whose::Signed);
    // A signature of other results.
    let text = folder.text("r.json");
    folder.passes(&format!("{run} --gpu 1 --key one.pem"));
    let other = folder.text("r.json");
    let of = |text: &str| text.split("\"ed25519\":\"").nth(1).unwrap()[..128].to_owned();
    folder.write("r.json", text.replace(&of(&text), &of(&other)));
    claims! {folder, "screen judge --suite suite.json r.json | refused | has a signature that d75a9801
    | did not make for it"}
}

#[test]
fn a_challenge_is_answered() {
    let folder = keys();
    challenged(&folder, "n", "8430af44c2b90c8d");
    let (challenge, _) = Suite::read(&folder.path("challenge.json")).unwrap();
    assert!(challenge.products.len() > 20);
    let text = folder.text("challenge.json");
    assert!(text.contains(&"0".repeat(64)));
    answer(&folder, "n", "");
    claims! {folder, "screen judge --suite challenge.json r.json --trust one.pub.pem --json f.json | 0
    | 1 signed, of products drawn after the node committed"}
    let fleet: Fleet = folder.typed("f.json");
    let trusted = &fleet.gpus[0].trusted;
    assert_eq!(trusted.whose, Whose::Challenged);
    assert_eq!(trusted.committed.as_deref(), Some("2026-11-23T08:00:00Z"));
    // A fault is found as without.
    answer(
        &folder,
        "n",
        "--inject product:bit=13,stuck=1,k=3,lane=5,sm=5",
    );
    claims! {folder, "screen judge --suite challenge.json r.json --trust one.pub.pem | 1 | ^FAULTY  1 GPU: 1 stuck
    | in lane 5 on SM 5"}
    answer(
        &folder,
        "n",
        "--inject adder:bit=12,stuck=flip,one-in=50,sm=3 --rounds 2",
    );
    judge(&folder, "challenge.json", "").expect(1);
}

#[test]
fn what_is_not_believed() {
    let folder = keys();
    challenged(&folder, "m", "1111");
    answer(&folder, "m", "");
    // Answers to an older challenge, and those of another GPU.
    challenged(&folder, "n", "2222");
    let judge = "screen judge --suite challenge.json r.json";
    claims! {folder, "{judge} | refused | belongs to the suite | not to this one"}
    answer(&folder, "m", "");
    let run = "screen run challenge.json --device simulated -o r.json";
    claims! {folder, "
        {judge} | refused | is not one that the challenge was drawn for
        {run} | 0
        {judge} | refused | is not signed; a challenge
        {run} --key one.pem | 0
        {judge} | refused | has no commitment
        {run} --host n --key two.pem --commitment n.json | 0
        {judge} | refused | is signed by 3d4017c3 | the key that committed is d75a9801
        {run} --host n --gpu 3 --key one.pem --commitment n.json | 0
        {judge} | refused | is of GPU 3 of n; the commitment is to GPU 0 of n
    "}
    answer(&folder, "n", "");
    claims! {folder, "
        {judge} --received 2026-11-23T09:01:00Z --within 3600 | 0
        {judge} --received 2026-11-23T09:01:00Z --within 3599 | refused
            | came 3600 s after the challenge was drawn | too old
        screen judge --suite suite.json r.json --received 2026-11-23T09:01:00Z --within 3600 | refused
            | --within is of a challenge
    "}
    // Somebody who only claims that all is right.
    let mut claimed = folder.document("r.json");
    claimed["content"]["failures"] = serde_json::json!([]);
    let results: tcverify::screen::Results =
        serde_json::from_value(claimed["content"].clone()).unwrap();
    let signer = tcverify::sign::Signer::read(&folder.path("one.pem")).unwrap();
    folder.write("r.json", results.signed(Some(&signer)).unwrap());
    // A challenge that gives its answers away.
    let (mut open, _) = Suite::read(&folder.path("challenge.json")).unwrap();
    open.products[0].sha256 = tcverify::io::tree::Hash([1; 32]);
    folder.write("open.json", open.text().unwrap());
    let zeros = "0".repeat(64);
    claims! {folder, "
        {judge} | refused | answers 0 of | wants the digest of every D
        screen run open.json --device simulated -o x.json | refused | is a challenge, and says what is right
        screen challenge challenge.json --beacon 1 -o x.json --commitment {zeros} | refused
            | drawn from a suite of 'tcverify screen make'
    "}
}
