//! What a log and its witnesses say of when a commitment was there.

use std::sync::Barrier;

use serde_json::Value;
use tcverify::io::tree::{Hash, leaf};
use tcverify::sign::Signer;
use tcverify::tlog::is_consistent;
use tcverify::tlog::{Checkpoint, KeyKind, Log, Note, OpenLog, TlogProof, rfc3339};

use super::{
    EIGHT, ORIGIN, WITNESS, commit, cosignature, cosigned, folder, key, log_key, prove, verify,
    witness_key,
};
use crate::support::{Folder, Says, claims, ran};

fn text(folder: &Folder, name: &str) -> String {
    folder.text(name)
}

#[test]
fn a_commitment_is_proven_to_be_in_its_log() {
    let folder = folder();
    let run = commit(&folder, "d.npy", "c").expect(0);
    assert!(
        run.stdout
            .ends_with(&format!("leaf 0 of the log {}\n", log_key(&folder))),
        "{run:?}"
    );
    commit(&folder, "bad.npy", "e").expect(0);
    let log = Log::parse(&text(&folder, "log.txt")).unwrap();
    let leaves = ["c.json", "e.json"].map(|name| leaf([&folder.read(name)[..]]));
    assert_eq!(
        (log.origin.as_str(), &log.leaves[..]),
        (ORIGIN, &leaves[..])
    );
    for (name, size) in [("c", 1), ("e", 2)] {
        let proof = TlogProof::parse(&text(&folder, &format!("{name}.tlog-proof"))).unwrap();
        assert_eq!(proof.text(), text(&folder, &format!("{name}.tlog-proof")));
        assert_eq!(
            Checkpoint::parse(&proof.checkpoint.text).unwrap().size,
            size
        );
    }
    // The log cosigns nothing itself.
    verify(&folder, "c", "")
        .expect(1)
        .mentions(&["0 of the witnesses cosigned"]);
    cosigned(&folder, "c", EIGHT);
    let run = verify(&folder, "c", "--before 2026-11-23T08:00:01Z").expect(0);
    run.says_all([
        "PUBLISHED  c.json\n",
        "no later than 2026-11-23T08:00:00Z, unless 1 of 1 witnesses lie\n",
        "before 2026-11-23T08:00:01Z\n",
        "leaf 0 of 2 in the log example.com/log+",
    ]);
    // Not the second before, and not the same second.
    for time in ["2026-11-23T08:00:00Z", "2026-11-23T07:59:59Z"] {
        let run = verify(&folder, "c", &format!("--before {time}")).expect(1);
        run.mentions(&["c.tlog-proof: proves nothing", "which is not before"]);
    }
    // A commitment that is in the log is not there twice.
    commit(&folder, "d.npy", "c").expect(0);
    assert_eq!(Log::parse(&text(&folder, "log.txt")).unwrap(), log);
    // Of an operation, too.
    let layer = crate::operations::copied();
    crate::attest::keys(&layer);
    claims! {layer, "commit --op rms_norm --eps 1e-6 f_x.npy f_w.npy f_hf.npy -o c.json --checkpoint {ORIGIN} --log log.txt --log-key 0.pem --proof c.tlog-proof
    | 0"}
    cosigned(&layer, "c", EIGHT);
    verify(&layer, "c", "").expect(0);
}

/// Every character of a proof, and what else may be wrong.
#[test]
fn nothing_of_a_proof_may_be_changed() {
    let folder = folder();
    commit(&folder, "bad.npy", "e").expect(0);
    commit(&folder, "worse.npy", "f").expect(0);
    commit(&folder, "d.npy", "c").expect(0);
    cosigned(&folder, "c", EIGHT);
    let good = text(&folder, "c.tlog-proof");
    verify(&folder, "c", "").expect(0);
    let log = log_key(&folder).parse().unwrap();
    let witness = witness_key(&folder).parse().unwrap();
    let committed = leaf([&folder.read("c.json")[..]]);
    let accepted = |text: &str| {
        let proof = TlogProof::parse(text).ok()?;
        proof.confirm(committed, &log).ok()?;
        proof.checkpoint.cosigned(&witness).ok()?
    };
    assert_eq!(accepted(&good), Some(EIGHT));
    for (at, c) in good.char_indices() {
        for other in ['A', '1', ' ', '\n'] {
            if other != c {
                let mut changed = good.clone();
                changed.replace_range(at..at + c.len_utf8(), &other.to_string());
                assert_eq!(accepted(&changed), None, "{at} as {other:?}");
            }
        }
        assert_eq!(accepted(&good[..at]), None, "cut off at {at}");
    }
    // What is extra is not signed and not looked at.
    let extra = good.replacen("\nindex", "\nextra AAAA\nindex", 1);
    assert_eq!(accepted(&extra), Some(EIGHT));
    for (from, to, words) in [
        ("index 2", "index 3", "not leaf 3"),
        ("index 2", "index 02", "no index"),
        ("@v1", "@v2", "first line"),
        (ORIGIN, "example.com/gol", "example.com/log did not sign it"),
    ] {
        folder.write("c.tlog-proof", good.replace(from, to));
        let run = verify(&folder, "c", "");
        assert!(matches!(run.code, Some(1 | 2)), "{run:?}");
        run.mentions(&["c.tlog-proof", words]);
    }
    // Another commitment.
    folder.write("e.tlog-proof", &good);
    verify(&folder, "e", "")
        .expect(1)
        .mentions(&["is not leaf 2"]);
}

#[test]
fn a_quorum_is_of_different_witnesses_that_cosigned() {
    let folder = folder();
    // A third key: RFC 8032, section 7.1, test 3.
    folder.write(
        "2.pem",
        "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIMWqjfQ/n4N77bdELzHct7Fm04U1B28JS4XOOi4LRFj3\n-----END PRIVATE KEY-----\n",
    );
    let signer = tcverify::sign::Signer::read(&folder.path("2.pem")).unwrap();
    let third = tcverify::tlog::Key::new("third.example", KeyKind::Cosignature, signer.public());
    let third = third.unwrap().to_string();
    commit(&folder, "d.npy", "c").expect(0);
    cosigned(&folder, "c", EIGHT);
    let checkpoint = text(&folder, "checkpoint");
    let note = Note::parse(&checkpoint).unwrap();
    let (log, witness) = (log_key(&folder), witness_key(&folder));
    let ask = |witnesses: &[&str], quorum: usize| {
        let witnesses: String = witnesses
            .iter()
            .map(|key| format!(" --witness {key}"))
            .collect();
        ran! {folder, "log verify c.json c.tlog-proof --log-key {log}{witnesses} --quorum {quorum}"}
    };
    ask(&[&witness, &third], 1).expect(0);
    ask(&[&witness, &third], 2)
        .expect(1)
        .mentions(&["1 of the witnesses cosigned the checkpoint, but 2 are required"]);
    // Later than the first: two must be believed, so that the later time counts.
    let later = cosignature(&folder, &note, "third.example", "2.pem", EIGHT + 60);
    folder.write("checkpoint", format!("{checkpoint}{later}"));
    prove(&folder, "c").expect(0);
    let run = ask(&[&witness, &third], 2).expect(0);
    run.says("no later than 2026-11-23T08:01:00Z, unless 2 of 2");
    let run = ask(&[&witness, &third], 1).expect(0);
    run.says("no later than 2026-11-23T08:00:00Z, unless 1 of 2");
    // One key under two names is one witness, the log is none, and neither is a log's key.
    let again = key(&folder, "again.example", KeyKind::Cosignature, "1.pub.pem");
    ask(&[&witness, &again], 2).refuses(&["count as one witness"]);
    let own = key(&folder, "own.example", KeyKind::Cosignature, "0.pub.pem");
    ask(&[&own], 1).refuses(&["cannot vouch for itself"]);
    let plain = key(&folder, WITNESS, KeyKind::Ed25519, "1.pub.pem");
    ask(&[&plain], 1).refuses(&["is not a witness's key: its type is not 4"]);
    ask(&[&witness], 2).refuses(&["the quorum must be 1 to 1"]);
    ask(&[&witness], 0).refuses(&["the quorum must be 1 to 1"]);
    ask(&[], 1).refuses(&["the quorum must be 1 to 0"]);
    claims! {folder, "log verify c.json c.tlog-proof | refused | --log-key"}
    // A cosignature of another checkpoint, in the witness's name.
    let mut other = note.clone();
    other.text = other.text.replace("\n1\n", "\n2\n");
    let forged = cosignature(&folder, &other, WITNESS, "1.pem", EIGHT);
    folder.write("checkpoint", format!("{checkpoint}{forged}"));
    prove(&folder, "c").expect(0);
    ask(&[&witness], 1)
        .expect(1)
        .mentions(&["is not by that witness over this checkpoint"]);
}

/// What a witness is asked: that the tree that it knows is the beginning of the new one.
#[test]
fn a_witness_is_asked_with_a_proof_that_nothing_was_taken_back() {
    let folder = folder();
    let mut checkpoints = Vec::new();
    for (d, name) in [("d.npy", "c"), ("bad.npy", "e"), ("worse.npy", "f")] {
        commit(&folder, d, name).expect(0);
        folder.passes("log checkpoint log.txt --log-key 0.pem -o checkpoint");
        let note = Note::parse(&text(&folder, "checkpoint")).unwrap();
        checkpoints.push(Checkpoint::parse(&note.text).unwrap());
    }
    let ask = |old: u64| folder.tcverify(&format!("log ask log.txt checkpoint --old {old}"));
    for (old, first) in checkpoints.iter().enumerate() {
        let run = ask(old as u64 + 1).expect(0);
        let (head, note) = run.stdout.split_once("\n\n").unwrap();
        assert_eq!(note, text(&folder, "checkpoint"));
        let mut lines = head.lines();
        assert_eq!(lines.next(), Some(&*format!("old {}", old + 1)));
        let hash = |line: &str| Hash(tcverify::attest::decoded(line).unwrap().try_into().unwrap());
        let proof: Vec<_> = lines.map(hash).collect();
        let last = &checkpoints[2];
        assert!(is_consistent(
            (first.size, first.root),
            (last.size, last.root),
            &proof
        ));
    }
    ask(0).expect(0).begins("old 0\n\nexample.com/log\n3\n");
    ask(4).refuses(&["checkpoint", "fewer than the earlier 4"]);
    // A log from which a leaf was taken, or whose leaf is another, is not the checkpoint's.
    let log = text(&folder, "log.txt");
    let lines: Vec<_> = log.lines().collect();
    folder.write("log.txt", format!("{}\n", lines[..4].join("\n")));
    ask(1).refuses(&["does not match the leaves of this log"]);
    prove(&folder, "c").refuses(&["does not match the leaves of this log"]);
    folder.write("log.txt", log.trim_end());
    ask(1).refuses(&["log.txt", "remove that line"]);
    folder.write("log.txt", log.replace("tcverify.log/1", "tcverify.log/2"));
    ask(1).refuses(&["log.txt", "first line"]);
    folder.write("log.txt", log.replacen(lines[3], &lines[3][1..], 1));
    ask(1).refuses(&["log.txt", "line 4"]);
}

#[test]
fn a_log_is_added_to_and_nothing_else() {
    let folder = folder();
    commit(&folder, "d.npy", "c").expect(0);
    let before = text(&folder, "log.txt");
    let of = super::PRODUCT;
    folder.create("dir");
    claims! {folder, r#"
        each commit {of} d.npy -o n.json ~
        --checkpoint other.example --log log.txt --log-key 0.pem --proof n.tlog-proof | refused | log.txt
            | is the log "example.com/log"
        --checkpoint a+b --log log.txt --log-key 0.pem --proof n.tlog-proof | refused | without spaces or +
        --checkpoint o.example | 2 | --log
        --log log.txt | 2 | --checkpoint
        --checkpoint example.com/log --log-key 0.pem --proof n.tlog-proof --log d.npy | refused | d.npy
        --checkpoint example.com/log --log-key 0.pem --proof n.tlog-proof --log n.json | refused
            | cannot go to the same place
        --checkpoint example.com/log --log-key 0.pem --proof n.tlog-proof --log dir | 2
    "#}
    // While another command holds it.
    let held = std::fs::File::open(folder.path("log.txt")).unwrap();
    held.lock().unwrap();
    claims! {folder, "commit {of} d.npy -o n.json --checkpoint {ORIGIN} --log log.txt --log-key 0.pem --proof n.tlog-proof
    | refused | log.txt | is in use"}
    drop(held);
    assert_eq!(text(&folder, "log.txt"), before);
    assert!(!folder.path("n.tlog-proof").exists());
}

/// Several that begin one log at once begin one, and lose no leaf.
#[test]
fn a_log_is_begun_once() {
    let folder = folder();
    let signer = Signer::read(&folder.path("0.pem")).unwrap();
    for round in 0..20 {
        let path = folder.path(&format!("log{round}.txt"));
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for file in 0..4u8 {
                let (path, start, signer) = (&path, &start, &signer);
                scope.spawn(move || {
                    start.wait();
                    let mut log = loop {
                        match OpenLog::open(path, ORIGIN, signer) {
                            Ok(log) => break log,
                            Err(error) if error.to_string().contains("is in use") => {
                                std::thread::yield_now();
                            }
                            Err(error) => panic!("{error}"),
                        }
                    };
                    log.add(&[file], signer).unwrap();
                });
            }
        });
        assert_eq!(Log::read(&path).unwrap().leaves.len(), 4);
    }
}

#[test]
fn an_audit_takes_a_cosigned_checkpoint() {
    let folder = folder();
    commit(&folder, "d.npy", "c").expect(0);
    cosigned(&folder, "c", EIGHT);
    for command in [
        "audit challenge c.json --beacon 1 --elements 9 -o ch.json".to_owned(),
        format!(
            "audit open {} d.npy --commitment c.json --challenge ch.json -o o.bin -q",
            super::PRODUCT
        ),
    ] {
        folder.passes(&command);
    }
    let (log, witness) = (log_key(&folder), witness_key(&folder));
    let audit = |rest: &str| {
        folder.tcverify(&format!(
            "audit verify --arch a100 --dtype fp16 --commitment c.json o.bin --own-challenge ch.json {rest}"
        ))
    };
    let keys = format!("--checkpoint c.tlog-proof --log-key {log} --witness {witness} --quorum 1");
    claims! {folder, "audit verify --arch a100 --dtype fp16 --commitment c.json o.bin --own-challenge ch.json {keys} \
        --before 2026-11-23T09:00:00Z | 0 | no later than 2026-11-23T08:00:00Z
        | nobody knew the beacon's value before 2026-11-23T09:00:00Z"}
    let run = audit(&format!("{keys} --before 2026-11-23T09:00:00Z --json - -q")).expect(0);
    let report = run.json();
    assert_eq!(report["published"]["no_later_than"], rfc3339(EIGHT));
    assert_eq!(
        report["published"]["witnesses"][0]["key"],
        Value::from(witness.clone())
    );
    // Without the beacon's time the assumption stays.
    let run = audit(&keys).expect(0);
    run.says("the commitment was published before anyone could know");
    let run = audit(&format!("{keys} --before 2026-11-23T08:00:00Z")).expect(1);
    assert_eq!(run.stdout, "");
    run.mentions(&["c.tlog-proof: proves nothing", "not before"]);
    audit(&format!("--log-key {log}")).refuses(&["--checkpoint"]);
    audit("--checkpoint c.tlog-proof").refuses(&["--log-key"]);
    // Of another commitment.
    commit(&folder, "bad.npy", "e").expect(0);
    cosigned(&folder, "e", EIGHT);
    let other = keys.replace("c.tlog-proof", "e.tlog-proof");
    claims! {folder, "audit verify --arch a100 --dtype fp16 --commitment c.json o.bin --own-challenge ch.json {other}
    | 1 | &e.tlog-proof: proves nothing | &is not leaf 1"}
}
