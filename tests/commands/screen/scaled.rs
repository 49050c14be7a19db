//! Block-scaled formats: suites, faults in scales, and what is no suite.

use tcverify::check::{RequestFields, Source};
use tcverify::engines::resources;
use tcverify::generate::Spec;
use tcverify::screen::{
    Condition, Injection, Kind, Level, Place, Product, Simulated, Suite, judge, measure, simulate,
};

use super::suite;
use crate::support::{Folder, claims, rows};

/// How the scales of A are generated.
fn scales_of(product: &Product) -> Spec {
    match &product.check.scale_a {
        Some(Source::Generated(text)) => Spec::read(text).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The products of one instruction that are placed on every SM.
fn of(arch: &str, instruction: &str) -> Suite {
    let mut suite = suite(arch, Level::Quick);
    suite.products.retain(|product| {
        product.check.instruction.as_deref() == Some(instruction) && product.family != "load"
    });
    suite
}

/// Scales are operands like others: D follows from them, and from what they are of.
#[test]
fn scales_decide_digests() {
    let suite = of("rtx-blackwell", "mma-mxf4nvf4");
    let named = |name: &str| {
        let found = suite.products.iter().find(|product| product.name == name);
        found.unwrap_or_else(|| panic!("{name} is missing"))
    };
    let nv = named("mma-mxf4nvf4.e2m1.e2m1.ue4m3x16.fp32.random.1");
    named("mma-mxf4nvf4.e2m1.e2m1.ue8m0x16.fp32.random.1");
    named("mma-mxf4nvf4.e2m1.e2m1.ue8m0x32.fp32.random.1");
    let digest = |fields: &RequestFields| {
        let check = tcverify::check::Check::try_from(fields.clone()).unwrap();
        let d = check
            .prepare(&resources())
            .unwrap()
            .replay()
            .collect(&|_| {});
        tcverify::io::tree::Hash::of([d.as_payload().unwrap()])
    };
    assert_eq!(digest(&nv.check), nv.sha256);
    let mut scales = scales_of(nv);
    scales.reseed(99);
    let other = RequestFields {
        scale_a: Some(Source::Generated(scales.to_string())),
        ..nv.check.clone()
    };
    assert_ne!(digest(&other), nv.sha256);
}

/// A bit of a scale that is stuck is found, named, and leaves other units right; both where scales move exponents
/// and where they are multiplied.
#[test]
#[ignore = "long"]
fn a_broken_scale_is_named() {
    for [arch, instruction, fault] in rows! {"
        rtx-blackwell | mma-mxf4nvf4 | scale:bit=1,stuck=1,k=2,lane=9,sm=3
        blackwell | tcgen05-mxf8f6f4 | scale:bit=0,stuck=0,k=0,lane=9,sm=3
    "}
    {
        let suite = of(arch, instruction);
        let computed = simulate(&suite, &()).unwrap();
        let device = |inject: Option<&str>| {
            let device = Simulated {
                injection: inject.map(|text| text.parse::<Injection>().unwrap()),
                ..Simulated::default()
            };
            let results = computed.run(&device).unwrap();
            judge(&suite, suite.id(), vec![("r.json".into(), results)], &[]).unwrap()
        };
        assert_eq!(device(None).gpus[0].condition, Condition::Clean);
        let fleet = device(Some(fault));
        let gpu = &fleet.gpus[0];
        assert_eq!(gpu.condition, Condition::Stuck, "{arch}: {gpu:?}");
        assert!(
            gpu.wrong.fits.contains(&fault.to_owned()),
            "{arch}: {:?}",
            gpu.wrong.fits
        );
    }
    // A unit without scales has not this fault.
    let mut plain = suite("v100", Level::Quick);
    plain.products.truncate(4);
    let computed = simulate(&plain, &()).unwrap();
    let device = Simulated {
        injection: Some("scale:bit=1".parse().unwrap()),
        ..Simulated::default()
    };
    assert_eq!(computed.run(&device).unwrap().wrong(), 0);
}

/// Every bit of UE8M0 scales that is stuck is found; UE4M3's sign bit, which is not there, is none.
#[test]
fn stuck_scales_are_found() {
    let suite = of("rtx-blackwell", "mma-mxf4nvf4");
    let coverage = measure(&suite, (Kind::Stuck, 100_000), [1, 1], 1, &()).unwrap();
    assert_eq!(coverage.len(), 3);
    for unit in &coverage {
        let scales = unit
            .found
            .iter()
            .find(|found| found.place == Place::Scale)
            .unwrap();
        assert_eq!(scales.detected, scales.injected, "{unit:?}");
        assert!(scales.injected >= 32);
    }
}

#[test]
fn scales_that_do_not_fit() {
    let folder = Folder::new();
    let whole = of("rtx-blackwell", "mma-mxf4");
    let scales = scales_of(&whole.products[0]);
    let mut other = whole.clone();
    let shape = vec![scales.shape[0], scales.shape[1] + 1];
    other.products[0].check.scale_a = Some(Source::Generated(Spec { shape, ..scales }.to_string()));
    folder.write("other.json", other.text().unwrap());
    claims! {folder, "screen run other.json --device simulated -o out.json | refused
    | other.json: mma-mxf4.e2m1.e2m1.ue8m0x32.fp32.toggle.1 | `scale_a` does not have the size"}
}
