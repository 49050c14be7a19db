//! Causes of a wrong D that the whole GPU returned.

use tcverify::engines::resources;
use tcverify::io::tree::Hash;
use tcverify::num::Format;
use tcverify::role::Role;
use tcverify::screen::{Condition, Failure, Level, Placement, WrongTile, judge};

use super::fleet::{device, results};
use super::suite;

/// What gives exactly a wrong D that every SM returned is named; a D that nothing gives is not.
#[test]
fn a_known_defect_on_every_sm_is_named() {
    let suite = suite("v100", Level::Quick);
    let clean = results(&suite, &[device("n0", None)]);
    let product = suite.products.iter().find(|product| {
        let check = &product.check;
        product.placement == Placement::EverySm
            && product.leaves.len() == 1
            && check.c.is_some()
            && product.d == Format::Fp32
    });
    let product = product.expect("a small product with C");
    let mut without_c = suite.check(product).unwrap();
    without_c.operands.arrays.remove(&Role::C);
    let prepared = without_c.prepare(&resources()).unwrap();
    let d = prepared.replay().collect(&|_| ());
    let without_c = d.as_payload().unwrap().to_vec();
    let zeros = vec![0; without_c.len()];
    let mut unknown = without_c.clone();
    for (index, byte) in unknown.iter_mut().enumerate() {
        *byte ^= (index * index / 7) as u8 & 0x3f;
    }
    let judged = |d: &[u8]| {
        let mut results = clean.clone();
        let one = &mut results[0].1;
        one.halves = None;
        one.failures.push(Failure {
            product: product.name.clone(),
            d_sha256: Hash::of([d]),
            times: one.ran(&product.name).unwrap().compared,
            sms: one.sms.clone(),
            temperature_c: None,
            tiles_different: 1,
            tiles: vec![WrongTile {
                index: 0,
                payload: Some(d.iter().map(|byte| format!("{byte:02x}")).collect()),
            }],
            case: None,
        });
        let fleet = judge(&suite, suite.id(), results, &[]).unwrap();
        let gpu = &fleet.gpus[0];
        assert_eq!(gpu.condition, Condition::Alike, "{gpu:?}");
        gpu.said.clone()
    };
    for (d, words) in [
        (&without_c, "C is left out"),
        (&zeros, "+0"),
        (&unknown, "do not tell which"),
    ] {
        let said = judged(d);
        assert!(said.contains(words), "{said}");
        let named = said.contains(&format!("across all of D; {}: ", product.name));
        assert_eq!(named, words != "do not tell which", "{said}");
    }
}
