//! JSON that users write or get from others, and specifications of operands.

use std::sync::LazyLock;

use tcverify::audit::{Challenge, Opening, OwnCopies, Proven};
use tcverify::check::{Check, Prepared, Tensors};
use tcverify::commit::{Commitment, Proof};
use tcverify::engines::resources;

use tcverify::emu::schedule::Schedule;
use tcverify::emu::{Architecture, Arithmetic};
use tcverify::generate::Spec;
use tcverify::io::tree::{Hash, Rows};
use tcverify::memory::Memory;
use tcverify::num::Format;
use tcverify::role::Role;
use tcverify::tensor::Tensor;

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
    let cases = || tcverify::batch::parsed(text, "manifest.json".as_ref(), None);
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
    let rows = commitment
        .result
        .rows()
        .expect("looked at when it was read");
    let last = rows.of_block(rows.blocks() - 1);
    assert!(!last.is_empty());
    // Nobody can answer a challenge to it with nothing.
    let digest = Hash::of([data]);
    match Challenge::new((&commitment, digest), "1", 2) {
        Err(error) => sentence(&format!("{error:#}")),
        Ok(challenge) => {
            let text = serde_json::to_vec(&challenge).expect("plain data");
            let again = Challenge::parse(&text, (&commitment, digest));
            assert_eq!(again.expect("what was written can be read"), challenge);
            let nothing = Proven::new(&commitment, &challenge, b"", &OwnCopies::new());
            sentence(&format!("{:#}", nothing.expect_err("no lines")));
        }
    }
}

/// A product that everybody knows, a challenge to it, and its only answer.
static KNOWN: LazyLock<(Commitment, Challenge, Vec<u8>)> = LazyLock::new(|| {
    let codes: Vec<u64> = (0..15).map(|i| 0x3c00 + i).collect();
    let tensor = |shape: &[usize]| Tensor::from_codes(Format::Fp16, shape.to_vec(), &codes);
    let d = Tensor::from_codes(Format::Fp32, vec![5, 5], &[7; 25]);
    let check = Check::in_memory("a100", Format::Fp16);
    let tensors = Tensors::of(tensor(&[5, 3]), tensor(&[3, 5]), d);
    let prepared = Prepared::from_tensors(&check, &resources(), tensors).expect("a product");
    let commitment = tcverify::compose::commitment(&prepared, Some(2)).expect("of a product");
    let digest = Hash([0; 32]);
    let challenge = Challenge::new((&commitment, digest), "1", 4).expect("of 25 elements");
    let mut bytes = Vec::new();
    let opening =
        Opening::new(&prepared, &commitment, &challenge, &[]).expect("what was committed");
    opening.write(&mut bytes).expect("memory takes everything");
    (commitment, challenge, bytes)
});

/// An opening of a challenge that everybody knows: there is one answer.
pub fn opening(data: &[u8]) {
    let (commitment, challenge, known) = &*KNOWN;
    match Proven::new(commitment, challenge, data, &OwnCopies::new()) {
        Ok(_) => assert_eq!(data, known),
        Err(error) => sentence(&format!("{error:#}")),
    }
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
    let known = tcverify::commit::CommittedResult {
        format: Format::Fp32,
        shape: vec![5, 2],
        block_rows: 2,
        root: rows.root(tree.root()),
    };
    for d in [
        known.clone(),
        tcverify::commit::CommittedResult {
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
    let spec = match Spec::read(text) {
        Ok(spec) => spec,
        // The words of a command line are shown as they were typed.
        Err(reason) => return assert!(!reason.is_empty()),
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
