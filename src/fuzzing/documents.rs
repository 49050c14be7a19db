//! JSON that users write or get from others, and specifications of operands.

use crate::commit::{Commitment, Proof, Rows};
use crate::emu::schedule::Schedule;
use crate::emu::{Architecture, Arithmetic};
use crate::generate::{Role, Spec};
use crate::memory::Memory;
use crate::num::Format;
use crate::tensor::Tensor;

use super::engines::{Product, agree};
use super::sentence;

/// An architecture file: what is taken computes the same on every engine.
pub fn architecture(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let architecture = match Architecture::from_json(text) {
        Ok(architecture) => architecture,
        Err(reason) => return sentence(&reason),
    };
    let again = serde_json::to_string(&architecture).expect("plain data");
    assert_eq!(Architecture::from_json(&again), Ok(architecture.clone()));
    let rules = architecture.instructions.iter().flat_map(|i| &i.rules);
    for (seed, rule) in rules.take(4).enumerate() {
        let arithmetic = Arithmetic::of(rule, rule.operands[0]);
        let most = arithmetic.longest_k().unwrap_or(usize::MAX);
        let k = (arithmetic.step.span() + 1).min(most).min(300);
        let product = Product::draw(&arithmetic, [2, 3, k], seed as u64);
        agree(&product.replay(&product.problem(), &arithmetic));
    }
}

/// A schedule file: what is taken and suits a small product computes the same on every engine.
pub fn schedule(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let schedule = match Schedule::from_json(text) {
        Ok(schedule) => schedule,
        Err(reason) => return sentence(&reason),
    };
    let again = serde_json::to_string(&schedule).expect("plain data");
    assert_eq!(Schedule::from_json(&again), Ok(schedule.clone()));
    for (arch, format) in [
        ("a100", Format::Fp16),
        ("a100", Format::Tf32),
        ("h100", Format::E4m3),
    ] {
        super::engines::run_schedule(arch, format, &schedule.spec);
    }
}

/// A manifest of a batch.
pub fn manifest(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let cases = || crate::batch::parsed(text, "manifest.json".as_ref(), None);
    match cases() {
        Ok(found) => assert_eq!(cases().map(|again| again.len()).ok(), Some(found.len())),
        Err(error) => sentence(&error.to_string()),
    }
}

/// A commitment.
pub fn commitment(data: &[u8]) {
    let commitment = match Commitment::parse(data) {
        Ok(commitment) => commitment,
        Err(error) => return sentence(&format!("{error:#}")),
    };
    let again = serde_json::to_vec(&commitment).expect("plain data");
    let again = Commitment::parse(&again).expect("what was written can be read");
    assert_eq!(again, commitment);
    assert_eq!(commitment.differences(&again), Vec::<String>::new());
    let rows = commitment.d.rows().expect("looked at when it was read");
    let last = rows.of_block(rows.blocks() - 1);
    assert!(!last.is_empty());
}

/// A proof, of a D that everybody knows and of another.
pub fn proof(data: &[u8]) {
    let proof = match Proof::parse(data) {
        Ok(proof) => proof,
        Err(error) => return sentence(&format!("{error:#}")),
    };
    let d = Tensor::from_codes(Format::Fp32, vec![5, 2], &[7; 10]);
    let rows = Rows::new(Format::Fp32, vec![5, 2], 2).expect("five rows");
    let tree = rows.tree(&d);
    let known = crate::commit::CommittedD {
        format: Format::Fp32,
        shape: vec![5, 2],
        block_rows: 2,
        root: rows.root(tree.root()),
    };
    for d in [
        known.clone(),
        crate::commit::CommittedD {
            shape: vec![1 << 40, 2],
            root: proof.root,
            ..known
        },
    ] {
        let blocks: Vec<_> = proof.blocks.iter().map(|b| b.block).collect();
        match proof.check(&d, None) {
            Err(error) => sentence(&format!("{error:#}")),
            // Nobody but its maker can prove anything of this D.
            Ok(()) => assert_eq!(proof, Proof::of(d.root, &tree, &blocks)),
        }
    }
}

/// `generate:SEED:CLASS:SHAPE`, with or without the prefix.
pub fn generate(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let spec = match Spec::parse(text) {
        None => return,
        Some(Ok(spec)) => spec,
        // The words of a command line are shown as they were typed.
        Some(Err(reason)) => return assert!(!reason.is_empty()),
    };
    // Of more, one format alone takes longer than reading a thousand others.
    if spec.shape.iter().product::<usize>() > 1 << 8 {
        return;
    }
    for format in Format::ALL {
        for role in [Role::A, Role::B, Role::C] {
            let made = || spec.tensor(format, role, &Memory::default());
            let tensor = made().expect("256 elements fit");
            assert_eq!(tensor.shape(), spec.shape);
            let again = made().expect("256 elements fit");
            assert_eq!(tensor.as_payload(), again.as_payload());
        }
    }
}
