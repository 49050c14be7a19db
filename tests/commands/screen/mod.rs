//! Screening: suites, faults that are found, fleets that are judged, and what is refused.

mod causes;
pub mod challenged;
mod fleet;
mod kernels;
mod nodes;
mod recorded;
mod refused;
mod scaled;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use tcverify::emu::Catalogue;
use tcverify::screen::{
    Kind, Level, Library, Place, Placement, Simulated, Suite, make, measure, simulate,
};
use tcverify::words::Word;

use crate::support::{Folder, claims, words};

/// A suite, made once for all tests of this program.
fn suite(arch: &str, level: Level) -> Suite {
    type Made = Mutex<HashMap<(String, &'static str), Arc<OnceLock<Suite>>>>;
    static MADE: LazyLock<Made> = LazyLock::new(Made::default);
    let architecture = Catalogue::builtin().find(arch).unwrap();
    let key = (architecture.name.clone(), level.word());
    let slot = Arc::clone(MADE.lock().unwrap().entry(key).or_default());
    let made = || make(arch, level, &Library::default(), &()).unwrap();
    slot.get_or_init(made).clone()
}

/// A folder with `suite.json` for a V100, the smallest there is.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.passes("screen make --arch v100 -o suite.json --quiet");
    folder
}

/// Suites stay below a mebibyte, say what each family exercises, and hold every instruction and format.
#[test]
fn suites_are_small_and_whole() {
    for arch in
        words! {"volta | turing | ampere | ada | hopper | blackwell | rtx-blackwell | cdna3"}
    {
        let suite = suite(arch, Level::Quick);
        assert!(suite.text().unwrap().len() < 1 << 20);
        let architecture = Catalogue::builtin().find(arch).unwrap();
        for instruction in &architecture.instructions {
            for rule in instruction.rules.iter().filter(|r| r.addend.is_none()) {
                for [a, b] in &rule.operands {
                    let there = suite.products.iter().filter(|p| {
                        p.check.instruction.as_ref() == Some(&instruction.name)
                            && (p.check.dtype, p.check.dtype_b) == (Some(*a), Some(*b))
                            && p.check.acc == Some(rule.accumulator)
                            && p.check.scale_dtype == rule.scale.map(|scale| scale.format)
                            && p.check.scale_block == rule.scale.map(|scale| scale.block)
                    });
                    assert!(there.count() >= 3, "{arch} {} {a} {b}", instruction.name);
                }
            }
        }
        for product in &suite.products {
            assert!(
                suite.families.contains_key(&product.family),
                "{}",
                product.name
            );
        }
    }
}

/// A suite of another model is another: no family is so tame that a wrong model passes it, but zeros and
/// sums that need no rounding.
#[test]
fn a_wrong_model_gives_other_digests() {
    let right = suite("a100", Level::Quick);
    let wrong = suite("h100", Level::Quick);
    let mut differ = Vec::new();
    for product in right
        .products
        .iter()
        .filter(|p| p.name.starts_with("mma.fp16.fp16.fp32."))
    {
        let other = wrong
            .products
            .iter()
            .find(|p| p.name == product.name)
            .unwrap();
        // Chains of A100 are of other lengths; only those of one length compare.
        if other.check.a == product.check.a {
            differ.push((product.family.clone(), product.sha256 != other.sha256));
        }
    }
    assert!(differ.iter().any(|(_, differs)| *differs), "{differ:?}");
}

/// A unit whose fault never acts gives every digest, also where zeros fill up the instruction; one whose fault
/// acts does not.
#[test]
#[ignore = "long"]
fn a_sound_unit_gives_every_digest() {
    for arch in words! {"volta | ada | hopper | blackwell | rtx-blackwell | cdna1 | cdna2 | cdna3"}
    {
        let mut suite = suite(arch, Level::Quick);
        suite.products.retain(|p| p.placement == Placement::EverySm);
        let computed = simulate(&suite, &()).unwrap();
        let wrong = |one_in: u64, lane: usize| {
            let fault = format!("rounding:bit=13,stuck=flip,lane={lane},one-in={one_in}");
            let device = Simulated {
                injection: Some(fault.parse().unwrap()),
                ..Simulated::default()
            };
            computed.run(&device).unwrap()
        };
        for lane in 0..32 {
            let sound = wrong(1 << 40, lane);
            let names: Vec<_> = sound.failures.iter().map(|f| &f.product).collect();
            assert!(names.is_empty(), "{arch}, lane {lane}: {names:?}");
        }
        // Some chains of special numbers end in an infinity or a NaN whatever their bit 13 was before, and where products
        // cancel, it is inverted to and fro.
        let broken = wrong(1, 5);
        assert!(
            broken.wrong() as usize * 5 > suite.products.len() * 4,
            "{arch}: {}",
            broken.wrong()
        );
    }
}

/// A step is arithmetic and its trace: an observer returns nothing, and broken datapaths stand in screening alone.
#[test]
fn faults_stay_in_screening() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("crates")];
    let (mut inside, mut elsewhere) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            match text.contains("Datapath") {
                true if path.starts_with(root.join("crates/screen")) => inside += 1,
                true => elsewhere.push(path),
                false => {}
            }
        }
    }
    assert!(inside > 5 && elsewhere.is_empty(), "{inside} {elsewhere:?}");
    let trace = std::fs::read_to_string(root.join("src/emu/step/trace.rs")).unwrap();
    let observer = trace.split("pub trait TraceObserver {").nth(1).unwrap();
    let observer = observer.split("\n}").next().unwrap();
    let methods: Vec<&str> = observer
        .lines()
        .filter(|line| line.contains("fn "))
        .collect();
    assert!(methods.len() > 3);
    assert!(
        methods.iter().all(|line| line.ends_with(") {}")),
        "{methods:#?}"
    );
}

/// Bits that are always stuck are found by the quick suite of a V100; by one family alone they are not.
#[test]
fn stuck_bits_are_found() {
    let all = suite("v100", Level::Quick);
    let coverage = measure(&all, (Kind::Stuck, 100_000), [1, 1], 1, &()).unwrap();
    assert_eq!(coverage.len(), 4);
    for unit in &coverage {
        assert_eq!(unit.found.len(), 5);
        for found in &unit.found {
            let rate = found.detected as f64 / found.injected as f64;
            // docs/screening-coverage.md has the rates of an H100. What is rounded to FP16 hides low bits.
            let least = match (unit.unit.starts_with("mma"), unit.unit.ends_with("fp32")) {
                (true, true) => 0.97,
                // As does the rounding of a multiply-add's product.
                _ => 0.75,
            };
            assert!(rate > least, "{} {found:?}", unit.unit);
            assert!(found.injected >= 30);
        }
    }
    let mut one = all.clone();
    one.products.retain(|product| product.family == "special");
    let special = measure(&one, (Kind::Stuck, 100_000), [1, 1], 1, &()).unwrap();
    let products = special[0]
        .found
        .iter()
        .find(|f| f.place == Place::Product)
        .unwrap();
    assert!(
        2 * products.detected < 2 * products.injected,
        "{products:?}"
    );
    assert!(!products.missed.is_empty());
}

/// What acts rarely is found the more often the more is run.
#[test]
fn rare_faults_need_time() {
    let mut suite = suite("v100", Level::Quick);
    suite
        .products
        .retain(|product| product.check.acc == Some(tcverify::num::Format::Fp32));
    let found = |rounds| {
        let coverage = measure(&suite, (Kind::Stuck, 20), [10_000, rounds], 1, &()).unwrap();
        coverage[0]
            .found
            .iter()
            .map(|found| found.detected)
            .sum::<u64>()
    };
    let (once, often) = (found(1), found(100));
    assert!(once < often && often > 20, "{once} {often}");
}

/// Four layers of words: what a suite says on a terminal, and its file again.
#[test]
fn the_command_says_what_is_exercised() {
    let folder = Folder::new();
    claims! {folder, "screen make --arch v100 --suite quick -o suite.json | 0 | volta quick | toggle
    | every distance of the aligner | heat"}
    let again = folder.passes("screen make --arch sm_70 -o again.json --quiet");
    assert_eq!(again.stdout, "");
    assert_eq!(folder.read("suite.json"), folder.read("again.json"));
    claims! {folder, "
        screen coverage suite.json --faults 10 --unit fp16->fp32 | 2 | no unit
        screen coverage suite.json --faults 10 --unit mma | 0 | mma fp16*fp16 -> fp32
    "}
}
