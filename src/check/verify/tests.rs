//! Reports as they are, and with one thing changed each.

use serde_json::{Value, json};

use super::*;
use crate::check::tests::{product, sum, tensor};
use crate::check::{Draw, Scope, Seed, Source, Tensors};
use crate::num::Format;
use crate::report::{ReproducedTree, Verdict};
use crate::role::Role;

const SHAPE: [usize; 3] = [6, 5, 16];

/// D with this many added to its last element.
fn tensors(wrong: i64) -> Tensors {
    let [m, n, k] = SHAPE;
    let number = |row, column| {
        let last = [row, column] == [m - 1, n - 1];
        sum([row, column], k) + if last { wrong } else { 0 }
    };
    product(Format::Fp16, SHAPE).with(Role::D, tensor(Format::Fp32, [m, n], number))
}

fn prepared(wrong: i64, ask: impl Fn(&mut Check)) -> Prepared {
    let mut check = Check::in_memory("a100", Format::Fp16);
    ask(&mut check);
    Prepared::from_tensors(&check, tensors(wrong)).expect("a check")
}

/// What is found wrong, by name.
fn found(prepared: &Prepared, report: &Report) -> Vec<&'static str> {
    let findings = prepared.confirm_report(report).expect("arrays in memory");
    let wrong = findings.iter().filter(|finding| !finding.wrong.is_empty());
    wrong.map(|finding| finding.what).collect()
}

fn whole(_: &mut Check) {}

fn drawn(check: &mut Check) {
    check.scope.sample = Some(Draw {
        elements: 7,
        seed: Seed::Number(5),
    });
}

fn rows(check: &mut Check) {
    check.scope = Scope {
        rows: "2..".parse().expect("rows"),
        ..Scope::default()
    };
}

fn tree(check: &mut Check) {
    check.naming = Naming::Tree {
        block_rows: Some(2),
    };
}

/// Each way to ask, of a D that agrees and of one that does not.
#[test]
fn true_reports_and_the_other_verdict() {
    for (wrong, verdict) in [(0, Verdict::Identical), (1, Verdict::Different)] {
        for ask in [whole, rows, tree] {
            let prepared = prepared(wrong, ask);
            let report = prepared.run(&()).expect("a verdict");
            assert_eq!(found(&prepared, &report), [""; 0]);
            // Nothing is said of what is not there.
            let all = prepared.confirm_report(&report).expect("arrays in memory");
            for absent in ["the schedule", "the commitment", "C", "the bias"] {
                assert!(all.iter().all(|finding| finding.what != absent));
            }
            let part = report.reproduced.sample.is_some();
            let expected = match (verdict, part) {
                (Verdict::Identical, true) => Verdict::IdenticalInPart,
                (verdict, _) => verdict,
            };
            assert_eq!(report.verdict, expected);
            for other in [
                Verdict::Identical,
                Verdict::IdenticalInPart,
                Verdict::Different,
            ] {
                let mut forged = report.clone();
                forged.verdict = other;
                let says = found(&prepared, &forged).contains(&"the verdict");
                assert_eq!(says, other != expected);
            }
        }
    }
    let prepared = prepared(0, drawn);
    let report = prepared.run(&()).expect("a verdict");
    assert_eq!(found(&prepared, &report), [""; 0]);
    assert_eq!(report.verdict, Verdict::IdenticalInPart);
}

/// The report on a D that agrees, told of one that does not: its digests are others'.
#[test]
fn digests_of_another_d() {
    for ask in [whole, rows, tree] {
        let report = prepared(0, ask).run(&()).expect("a verdict");
        let other = prepared(1, ask);
        let wrong = found(&other, &report);
        assert!(wrong.contains(&"the verdict"), "{wrong:?}");
        assert!(wrong.contains(&"D"), "{wrong:?}");
        // And the other way round: what differs is said not to.
        let report = prepared(1, ask).run(&()).expect("a verdict");
        let wrong = found(&prepared(0, ask), &report);
        assert!(wrong.contains(&"the outcome"), "{wrong:?}");
        assert!(wrong.contains(&"the verdict"), "{wrong:?}");
    }
}

#[test]
fn digests_that_are_none_or_of_something_else() {
    let zeros = || "00".repeat(32);
    let change = |ask: fn(&mut Check), change: &dyn Fn(&mut Reproduced)| {
        let prepared = prepared(0, ask);
        let mut report = prepared.run(&()).expect("a verdict");
        change(&mut report.reproduced);
        found(&prepared, &report)
    };
    let (digest, reproduced) = ("the verdict", "what was reproduced");
    for ask in [whole, tree, rows, drawn] {
        // A digest that belongs there, of other bits: what was reproduced is not D.
        let wrong = change(ask, &|said| match (
            &mut said.payload_sha256,
            &mut said.tree,
            &mut said.sample,
        ) {
            (Some(payload), None, None) => *payload = zeros(),
            (None, Some(tree), None) => tree.root = zeros(),
            (None, None, Some(sample)) => sample.sha256 = zeros(),
            other => panic!("{other:?}"),
        });
        assert_eq!(wrong, [digest]);
        // None, or what is no digest.
        let wrong = change(ask, &|said| match (
            &mut said.payload_sha256,
            &mut said.tree,
            &mut said.sample,
        ) {
            (payload @ Some(_), None, None) => *payload = None,
            (None, Some(tree), None) => tree.root.make_ascii_uppercase(),
            (None, None, Some(sample)) => sample.sha256.truncate(63),
            other => panic!("{other:?}"),
        });
        assert!(wrong.contains(&reproduced), "{wrong:?}");
    }
    // One that does not belong there.
    for ask in [tree, rows, drawn] {
        let wrong = change(ask, &|said| said.payload_sha256 = Some(zeros()));
        assert!(wrong.contains(&reproduced), "{wrong:?}");
    }
    let stranger = |said: &mut Reproduced| {
        said.tree = Some(ReproducedTree {
            block_rows: 2,
            root: zeros(),
        });
    };
    for ask in [whole, rows, drawn] {
        let wrong = change(ask, &stranger);
        assert!(wrong.contains(&reproduced), "{wrong:?}");
    }
    let wrong = change(tree, &|said| said.tree.as_mut().unwrap().block_rows = 3);
    assert!(wrong.contains(&reproduced), "{wrong:?}");
    for ask in [rows, drawn] {
        let wrong = change(ask, &|said| said.sample = None);
        assert!(wrong.contains(&reproduced), "{wrong:?}");
    }
}

/// A D of which the digest alone is known.
#[test]
fn a_digest_in_place_of_d() {
    let payload = prepared(0, whole).run(&()).expect("a verdict").reproduced;
    let payload = payload.payload_sha256.expect("all of D");
    for (asked, verdict) in [
        (payload.clone(), Verdict::Identical),
        ("00".repeat(32), Verdict::Different),
    ] {
        let mut check = Check::in_memory("a100", Format::Fp16);
        check.claim = Claim::PayloadSha256(asked.clone());
        let mut operands = tensors(0);
        operands.tensors.remove(&Role::D);
        let prepared = Prepared::from_tensors(&check, operands).expect("a check");
        let report = prepared.run(&()).expect("a verdict");
        assert_eq!(report.verdict, verdict);
        assert_eq!(found(&prepared, &report), [""; 0]);
        assert_eq!(prepared.alike(&report).expect("no D"), None);

        let mut forged = report.clone();
        forged.outcome = Outcome::Digest {
            expected_payload_sha256: "11".repeat(32),
        };
        assert!(found(&prepared, &forged).contains(&"the outcome"));
        let mut forged = report.clone();
        forged.tried = vec!["everything".into()];
        assert_eq!(found(&prepared, &forged), ["the outcome"]);
        // Judged by elements, of which nobody has any.
        let mut forged = report.clone();
        forged.outcome = self::prepared(0, whole)
            .run(&())
            .expect("a verdict")
            .outcome;
        assert!(found(&prepared, &forged).contains(&"the outcome"));
    }
}

/// Every part of a report that follows from what was asked, changed.
#[test]
fn fields_that_follow_from_what_was_asked() {
    let prepared = prepared(1, whole);
    let report = prepared.run(&()).expect("a verdict");
    let written = serde_json::to_value(&report).expect("plain data");
    for (place, value, what) in [
        ("/tool/name", json!("other"), "the tool"),
        ("/request/arch", json!("h100"), "the request"),
        ("/command", json!("tcverify check"), "the command"),
        ("/model/instruction", json!("wgmma"), "the model"),
        ("/model/sha256", json!("00".repeat(32)), "the model"),
        ("/product/m", json!(7), "the product"),
        ("/inputs/a/payload_sha256", json!("00".repeat(32)), "A"),
        ("/inputs/b/payload_sha256", json!("00".repeat(32)), "B"),
        ("/inputs/d/payload_sha256", json!("00".repeat(32)), "D"),
        ("/outcome/nan", json!("any"), "the outcome"),
        ("/outcome/comparison/mismatches", json!(2), "the outcome"),
        ("/outcome/comparison/first", json!([]), "the outcome"),
    ] {
        let mut forged: Value = written.clone();
        *forged.pointer_mut(place).expect(place) = value;
        let forged: Report = serde_json::from_value(forged).expect("a report");
        let wrong = found(&prepared, &forged);
        assert!(wrong.contains(&what), "{place}: {wrong:?}");
    }
    // Figures that no D has, whatever it is.
    assert_eq!(report.contradictions(), [""; 0]);
    for (place, value) in [
        ("/outcome/comparison/mismatches", json!(0)),
        ("/outcome/comparison/mismatches", json!(31)),
        ("/outcome/comparison/histogram/0/count", json!(0)),
        ("/outcome/comparison/first/0/index", json!([6, 0])),
        ("/outcome/comparison/first/0/xor", json!("0")),
        ("/reproduced/shape", json!([30])),
    ] {
        let mut forged: Value = written.clone();
        *forged.pointer_mut(place).expect(place) = value;
        let forged: Report = serde_json::from_value(forged).expect("a report");
        assert_ne!(forged.contradictions(), [""; 0], "{place}");
    }
    // An input that is none.
    let mut forged = report.clone();
    let another = forged.inputs[Role::A].clone();
    forged.inputs.insert(Role::C, another);
    assert_eq!(found(&prepared, &forged), ["C"]);
    let mut forged = report.clone();
    forged.inputs.remove(&Role::D);
    assert!(found(&prepared, &forged).contains(&"D"));
    // What would be alike, of a D that differs.
    let mut forged = report;
    forged.discrimination = self::prepared(0, whole)
        .run(&())
        .expect("a verdict")
        .discrimination;
    assert!(forged.discrimination.is_some());
    assert_eq!(found(&prepared, &forged), ["what is alike"]);
}

/// A schedule that is said and not asked for, or the other way round.
#[test]
fn schedules_that_are_not_there() {
    let mut scheduled = Check::in_memory("a100", Format::Fp16);
    scheduled.schedule = crate::check::ScheduleRequest::preset("cublas-sm80", &Default::default());
    let scheduled = Prepared::from_tensors(&scheduled, tensors(0)).expect("a check");
    let with = scheduled.run(&()).expect("a verdict");
    assert_eq!(found(&scheduled, &with), [""; 0]);
    let plain = prepared(0, whole);
    let mut forged = plain.run(&()).expect("a verdict");
    forged.schedule = with.schedule.clone();
    assert_eq!(found(&plain, &forged), ["the schedule"]);
    let mut forged = with;
    forged.schedule = None;
    assert!(found(&scheduled, &forged).contains(&"the schedule"));
    assert_eq!(scheduled.check().operands.arrays[&Role::A], Source::Memory);
}
