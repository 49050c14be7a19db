//! Suites, made of an architecture's rules.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::ScreenError;
use super::families::{FAMILIES, LIBRARY, LOAD, Level, OF_PAIRS};
use super::library::{self, Library, fields, spec, wanted};
use super::suite::{Product, Route, Suite};
use crate::check::{Check, EngineChoice, Prepared, Progress, RequestFields};
use crate::emu::{Catalogue, Rule};
use crate::engines::resources;
use crate::generate::Class;
use crate::io::tree::Hash;
use crate::num::Format;

/// Multiply-adds up to which the exact engine computes a product a second time.
const TWICE: u64 = 1 << 22;

/// What a level asks for.
struct Amount {
    /// Steps of a chain, and seeds of a family.
    steps: usize,
    seeds: u64,
    /// Size of products under load, and of a library.
    load: [usize; 3],
    library: [usize; 3],
}

fn amount(level: Level) -> Result<Amount, ScreenError> {
    let (steps, seeds, load, library) = match level {
        Level::Quick => (4, 1, [128, 128, 256], [256, 256, 256]),
        Level::Standard => (12, 1, [512, 512, 512], [512, 512, 512]),
        Level::Thorough => (32, 2, [1024, 1024, 1024], [1024, 1024, 1024]),
        Level::Recorded => {
            let reason = "a recorded suite is made of a capture: 'tcverify screen record'";
            return Err(reason.to_owned().into());
        }
    };
    Ok(Amount {
        steps,
        seeds,
        load,
        library,
    })
}

/// Makes a suite for an architecture, a compute capability or a GPU.
///
/// # Errors
/// If there is no such architecture, the schedule of the library does not fit, or this machine computes a
/// product in two ways that differ.
pub fn make(
    arch: &str,
    level: Level,
    library: &Library,
    progress: &dyn Progress,
) -> Result<Suite, ScreenError> {
    let found = Catalogue::builtin().find(arch);
    let architecture = found.map_err(|unknown| unknown.to_string())?;
    let amount = amount(level)?;
    let mut wanted = Vec::new();
    // Chains need a D that the next instruction takes as C.
    for (instruction, rule) in architecture
        .rules()
        .filter(|(_, rule)| rule.addend.is_none())
    {
        for &operands in &rule.operands {
            units(
                &architecture.name,
                &instruction.name,
                rule,
                operands,
                &amount,
                &mut wanted,
            );
        }
    }
    let prepared = wanted.into_iter().map(library::prepared);
    let mut prepared = prepared.collect::<Result<Vec<_>, _>>()?;
    prepared.extend(library::products(
        &architecture.name,
        library,
        amount.library,
    )?);
    progress.begin(prepared.iter().map(|(_, p)| p.problem().work()).sum());
    let mut products = Vec::new();
    for (product, prepared) in prepared {
        products.push(finished(product, &prepared, progress)?);
    }
    let used = |name: &str| products.iter().any(|p| p.family == name);
    let families = FAMILIES.iter().map(|f| [f.name, f.exercises]);
    let families = families
        .chain([LOAD, LIBRARY])
        .filter(|[name, _]| used(name));
    let families: BTreeMap<_, _> = families
        .map(|[name, exercises]| (name.to_owned(), exercises.to_owned()))
        .collect();
    Ok(Suite {
        arch: architecture.name.clone(),
        also: architecture.also.clone(),
        level,
        families,
        products,
        challenge: None,
        folder: PathBuf::new(),
    })
}

/// The products of one instruction and its formats.
fn units(
    arch: &str,
    instruction: &str,
    rule: &Rule,
    [a, b]: [Format; 2],
    amount: &Amount,
    into: &mut Vec<Product>,
) {
    let rows = if instruction.starts_with("wgmma") {
        64
    } else {
        16
    };
    let span = rule.step.span();
    let short = span == 1;
    // One unit computes a chain of single multiply-adds that no instruction groups.
    let turns = short && rule.instruction_k.is_some();
    let k = if short {
        8 * amount.steps
    } else {
        amount.steps * span
    };
    let scale = rule.scale.map_or(String::new(), |scale| {
        format!(".{}x{}", scale.format, scale.block)
    });
    let unit = format!("{instruction}.{a}.{b}{scale}.{}", rule.accumulator);
    // For two different formats, only the families that show most, and once.
    let (families, seeds) = if a == b {
        (FAMILIES.len(), amount.seeds)
    } else {
        (OF_PAIRS, 1)
    };
    for family in &FAMILIES[..families] {
        let lengths = family.lengths(span, k, turns);
        let all = (0..seeds).flat_map(|_| &lengths);
        for (&k, seed) in all.zip(1..) {
            let fields = fields(arch, [a, b], [family.class; 2], [rows, 8, k], seed);
            let c = family.addend.map(|class| spec(seed, class, [rows, 8]));
            let fields = RequestFields {
                c,
                ..of_rule(instruction, rule, fields, [rows, 8, k], seed)
            };
            let name = format!("{unit}.{}.{seed}", family.name);
            let size = [rows, 8, k];
            into.push(wanted(name, family.name, Route::Instruction, fields, size));
        }
    }
    if a == b && rule.accumulator != Format::Fp64 && rule.accumulator != Format::Fp16 {
        let size = amount.load;
        let fields = fields(arch, [a, b], [Class::Normal; 2], size, 7);
        let fields = of_rule(instruction, rule, fields, size, 7);
        let name = format!("{unit}.load");
        into.push(wanted(name, LOAD[0], Route::Instruction, fields, size));
    }
}

/// The fields of a rule: its instruction, its accumulator and its scales.
fn of_rule(
    instruction: &str,
    rule: &Rule,
    fields: RequestFields,
    [m, n, k]: [usize; 3],
    seed: u64,
) -> RequestFields {
    let fields = RequestFields {
        instruction: Some(instruction.into()),
        acc: Some(rule.accumulator),
        ..fields
    };
    let Some(scale) = rule.scale else {
        return fields;
    };
    let blocks = k.div_ceil(scale.block);
    RequestFields {
        scale_dtype: Some(scale.format),
        scale_block: Some(scale.block),
        // Scales have one class.
        scale_a: Some(spec(seed, Class::Normal, [m, blocks])),
        scale_b: Some(spec(seed, Class::Normal, [blocks, n])),
        ..fields
    }
}

/// Computes D, small ones by both engines: a machine that contradicts itself must not say what is right.
pub(super) fn finished(
    product: Product,
    prepared: &Prepared,
    progress: &dyn Progress,
) -> Result<Product, ScreenError> {
    let d = payload(prepared, progress);
    if prepared.problem().work() <= TWICE {
        let exact = Check {
            engine: EngineChoice::Exact,
            ..prepared.spelled_out()
        };
        if payload(&exact.prepare(&resources())?, &()) != d {
            let name = &product.name;
            return Err(format!(
                "{name}: two engines on this machine give different results; it cannot make a suite"
            )
            .into());
        }
    }
    let product = Product {
        model_sha256: prepared.model().arithmetic.sha256(),
        d: prepared.replay().format(),
        sha256: Hash::of([&d[..]]),
        ..product
    };
    Ok(Product {
        leaves: product.tiles().leaves(&d),
        ..product
    })
}

/// D's canonical payload.
pub fn payload(prepared: &Prepared, progress: &dyn Progress) -> Vec<u8> {
    let d = prepared.replay().collect(&|work| progress.advance(work));
    d.as_payload().expect("made here").to_vec()
}
