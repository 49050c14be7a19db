//! One table of all digests: who commits to one today must find the same tomorrow.

use std::fmt::Write;

use tcverify::emu::schedule::presets;
use tcverify::emu::{Arithmetic, Catalogue};
use tcverify::ops::{of, operations};

use super::keep;
use crate::support::sha256;

/// One line a rule: the digest of its model, or that of the digests of all.
#[test]
fn of_models() {
    let mut table = String::new();
    for architecture in Catalogue::builtin().architectures() {
        for instruction in &architecture.instructions {
            for rule in &instruction.rules {
                let of = |&operands| Arithmetic::of(rule, operands).sha256();
                let digests: Vec<_> = rule.operands.iter().map(of).collect();
                let digest = match &digests[..] {
                    [one] => one.clone(),
                    several => sha256(several.concat()),
                };
                let pairs = rule.operands.iter().map(|[a, b]| format!("{a}*{b}"));
                let pairs = match rule.operands.len() {
                    0..=3 => pairs.collect::<Vec<_>>().join(" "),
                    many => format!("{many} pairs"),
                };
                let plus = rule.addend.map_or(String::new(), |c| format!("+{c}"));
                let scale = rule.scale.as_ref();
                let scale = scale.map_or(String::new(), |s| format!(" {}/{}", s.format, s.block));
                let [place, to] = [architecture.name.as_str(), rule.accumulator.name()];
                let name = &instruction.name;
                writeln!(table, "{digest}  {place} {name} {pairs}{plus}->{to}{scale}").unwrap();
            }
        }
    }
    keep("digests-models", &table);
}

#[test]
fn of_schedules_and_operations() {
    let mut table = String::new();
    for schedule in presets() {
        writeln!(
            table,
            "{}  schedule {}",
            schedule.spec.sha256(),
            schedule.name
        )
        .unwrap();
    }
    for operation in operations() {
        for variant in of(operation).expect("an operation that is listed") {
            let name = format!("{operation} {}", variant.name);
            writeln!(table, "{}  operation {name}", variant.sha256()).unwrap();
        }
    }
    keep("digests-rules", &table);
}
