//! How many broken bits a suite finds: each is injected into the exact engine.

use super::ScreenError;
use super::elements::Where;
use super::fault::{Fault, Injector, Place};
use super::fault_kinds::Kind;
use super::fault_search::bits;
use super::faulty_elements::Chain;
use super::make::payload;
use super::suite::{Placement, Product, Suite};
use super::tiles::codes;
use crate::check::{Prepared, Progress};
use crate::num::Format;
use crate::random::SplitMix64;
use crate::tensor::parallel;
use crate::words::Word;

/// What was injected and found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// The unit: instruction, formats, accumulator.
    pub unit: String,
    pub found: Vec<Found>,
}

/// Faults of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub place: Place,
    /// The fault acts in one of so many steps.
    pub one_in: u64,
    pub injected: u64,
    pub detected: u64,
    /// Of these, how many each family of operands finds alone.
    pub by_family: Vec<(String, u64)>,
    /// Some that nothing finds.
    pub missed: Vec<Fault>,
}

/// A unit, by which products of a suite are grouped.
pub fn unit(product: &Product) -> String {
    let fields = &product.check;
    let name = |format: Option<Format>| format.map_or(String::new(), |format| format.to_string());
    let scale = fields.scale_dtype.zip(fields.scale_block);
    let scale = scale.map_or(String::new(), |(format, block)| {
        format!(", {format} for {block}")
    });
    format!(
        "{} {}*{}{scale} -> {}",
        fields.instruction.as_deref().unwrap_or("library"),
        name(fields.dtype),
        name(fields.dtype_b),
        name(fields.acc)
    )
}

/// Injects faults of a kind into every unit of the suite: `faults` of each place, drawn by the seed (all if there are
/// fewer), always acting or in one of `one_in` steps, in a lane drawn with them. Only products that are placed on
/// every SM count: `rounds` runs of the suite on the SM with the fault.
///
/// # Errors
/// If a product of the suite cannot be computed.
pub fn measure(
    suite: &Suite,
    (kind, faults): (Kind, usize),
    [one_in, rounds]: [u64; 2],
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<Coverage>, ScreenError> {
    let mut units: Vec<(String, Vec<Ready>)> = Vec::new();
    for product in &suite.products {
        if product.placement != Placement::EverySm {
            continue;
        }
        let prepared = suite.prepare(product)?;
        let right = payload(&prepared, &());
        let ready = Ready {
            right: codes(product.d, &right).collect(),
            product,
            prepared,
        };
        let name = unit(product);
        match units.iter_mut().find(|(known, _)| *known == name) {
            Some((_, of_unit)) => of_unit.push(ready),
            None => units.push((name, vec![ready])),
        }
    }
    progress.begin(units.len() as u64);
    let mut random = SplitMix64(seed);
    let measured = units.into_iter().map(|(unit, products)| {
        let arithmetic = &products[0].prepared.model().arithmetic;
        let places = Place::ALL.iter().map(|(place, _, _)| *place);
        let places = places.filter(|&place| !bits(arithmetic, place).is_empty());
        let found = places.map(|place| {
            let mut of_place = kind.drawn((arithmetic, place), faults, &mut random);
            for fault in &mut of_place {
                fault.of = Where::Lane((random.word() % 32) as usize);
                fault.one_in = one_in;
            }
            inject(place, &of_place, &products, rounds)
        });
        let found = found.collect();
        progress.advance(1);
        Coverage { unit, found }
    });
    Ok(measured.collect())
}

/// A product and its right D.
struct Ready<'a> {
    product: &'a Product,
    prepared: Prepared,
    right: Vec<u64>,
}

fn inject(place: Place, faults: &[Fault], products: &[Ready], rounds: u64) -> Found {
    let families = |fault: &Fault| -> Vec<&str> {
        let finds = |ready: &&Ready| (0..rounds).any(|round| finds(ready, fault, round));
        let mut names: Vec<_> = products
            .iter()
            .filter(finds)
            .map(|r| &*r.product.family)
            .collect();
        names.dedup();
        names
    };
    let found = parallel::map(faults.len(), |i| families(&faults[i]));
    let mut by_family: Vec<(String, u64)> = Vec::new();
    for ready in products {
        let name = &ready.product.family;
        if by_family.iter().all(|(known, _)| known != name) {
            let of_it = found.iter().filter(|names| names.contains(&name.as_str()));
            by_family.push((name.clone(), of_it.count() as u64));
        }
    }
    let missed = faults
        .iter()
        .zip(&found)
        .filter(|(_, names)| names.is_empty());
    Found {
        place,
        one_in: faults.first().map_or(1, |fault| fault.one_in),
        injected: faults.len() as u64,
        detected: found.iter().filter(|names| !names.is_empty()).count() as u64,
        by_family,
        missed: missed.map(|(fault, _)| *fault).take(5).collect(),
    }
}

/// Whether an element of the lane comes out wrong.
fn finds(ready: &Ready, fault: &Fault, round: u64) -> bool {
    let Some(mut chain) = Chain::of(&ready.prepared) else {
        return false;
    };
    let [m, n] = ready.product.shape();
    let all = (0..m).flat_map(|row| (0..n).map(move |column| [row, column]));
    let mut elements = all.filter(|&at| fault.of.holds(at));
    elements.any(|[row, column]| {
        let at = row * n + column;
        let seed = (round << 32 | at as u64) ^ u64::from(ready.product.sha256.0[0]) << 56;
        chain.element([row, column], Injector::new(fault, seed)) != ready.right[at]
    })
}
