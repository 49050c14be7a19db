//! Suites of a workload's own products: what a capture holds, to be run again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::ScreenError;
use super::families::{Level, RECORDED};
use super::library::wanted;
use super::make::finished;
use super::suite::{Product, Route, Suite};
use crate::check::{Check, Expected, ModelSource, Prepared, Progress, RequestFields, Source};
use crate::emu::Catalogue;
use crate::engines::resources;
use crate::io::tree::Hash;
use crate::io::{npy, payload_sha256};
use crate::num::Format;
use crate::role::Role;

/// Formats that the program for nodes multiplies, and what it returns.
const FORMATS: [(Format, Format); 5] = [
    (Format::Fp16, Format::Fp16),
    (Format::Bf16, Format::Bf16),
    (Format::Tf32, Format::Fp32),
    (Format::Fp32, Format::Fp32),
    (Format::Int8, Format::Int32),
];

/// Operands that it can be given.
const ROLES: [Role; 4] = [Role::A, Role::B, Role::C, Role::Bias];

/// The longest name of a product: it is part of a folder's name.
const LONGEST: usize = 80;

/// What became of a capture.
pub struct Recording {
    pub suite: Suite,
    /// Products that are not in the suite, and why.
    pub left_out: Vec<(String, String)>,
    /// Of these, products whose captured D is not what the model computes.
    pub different: usize,
    /// Products that could be in it, and were not drawn.
    pub passed_over: usize,
    requests: Vec<Check>,
}

/// A suite of the products of a capture, at the most so many, evenly drawn. D of each is replayed and compared with the
/// captured one: a product whose order of sums is not known would call every GPU wrong.
///
/// # Errors
/// If none of them can be in a suite, or they are of several architectures.
pub fn record(
    cases: Vec<(String, Check)>,
    most: usize,
    progress: &dyn Progress,
) -> Result<Recording, ScreenError> {
    let mut left_out = Vec::new();
    let mut fit = Vec::new();
    let mut seen = BTreeSet::new();
    for (name, check) in cases {
        match prepared(&check) {
            Err(reason) => left_out.push((name, reason)),
            // The same weights and inputs, used twice, are one product.
            Ok(prepared) if !seen.insert(prepared.identity()) => {}
            Ok(prepared) => fit.push((name, prepared)),
        }
    }
    let all = fit.len();
    let drawn: BTreeSet<usize> = (0..all.min(most))
        .map(|i| i * all / all.min(most))
        .collect();
    let fit = fit.into_iter().enumerate();
    let fit: Vec<_> = fit
        .filter(|(i, _)| drawn.contains(i))
        .map(|(_, one)| one)
        .collect();
    progress.begin(
        fit.iter()
            .map(|(_, one)| one.prepared.problem().work())
            .sum(),
    );
    let (mut products, mut requests) = (Vec::new(), Vec::new());
    let mut different = 0;
    for (name, one) in fit {
        let product = finished(one.product(&name, products.len()), &one.prepared, progress)?;
        if product.sha256 != one.d {
            different += 1;
            let reason =
                "its D is not what the model computes: judge the capture by 'tcverify batch' first";
            left_out.push((name, reason.to_owned()));
            continue;
        }
        products.push(product);
        requests.push(one.prepared.request().clone());
    }
    let Some(first) = requests.first() else {
        let why = left_out.first().map_or(String::new(), |(name, why)| {
            format!(
                "; the first, {}, was refused: {why}",
                crate::io::printable(name)
            )
        });
        return Err(format!("no product of the capture can be in a suite{why}").into());
    };
    let arch = architecture(first)?;
    if let Some(other) = requests
        .iter()
        .find(|check| architecture(check).ok() != Some(arch))
    {
        return Err(format!(
            "the capture has products of {} and of {}; a suite is of one architecture",
            arch.name,
            architecture(other)?.name
        )
        .into());
    }
    let [name, exercises] = RECORDED.map(str::to_owned);
    Ok(Recording {
        suite: Suite {
            arch: arch.name.clone(),
            also: arch.also.clone(),
            level: Level::Recorded,
            families: BTreeMap::from([(name, exercises)]),
            products,
            challenge: None,
            folder: PathBuf::new(),
        },
        left_out,
        different,
        passed_over: all - drawn.len(),
        requests,
    })
}

impl Recording {
    /// The suite, once `keep` has put each operand, as the bytes of an array file, where it belongs: it is given the
    /// SHA-256 and says by which path, from the suite, the file is named.
    ///
    /// # Errors
    /// Those of reading and keeping, or if the suite would be too large.
    pub fn stored<E: From<ScreenError>>(
        mut self,
        mut keep: impl FnMut(Hash, &[u8]) -> Result<PathBuf, E>,
    ) -> Result<Suite, E> {
        for (product, request) in self.suite.products.iter_mut().zip(&self.requests) {
            let prepared = request.prepare(&resources()).map_err(ScreenError::from)?;
            for (role, array) in prepared
                .arrays()
                .iter()
                .filter(|(role, _)| *role != Role::D)
            {
                let mut bytes = Vec::new();
                npy::write_npy(&array.tensor, &mut bytes)
                    .map_err(|error| ScreenError::from(error.to_string()))?;
                let place = keep(Hash::of([&bytes[..]]), &bytes)?;
                *product.check.array(role).expect("a product's") = Some(Source::File(place));
            }
        }
        Ok(self.suite)
    }
}

/// A product that can be in a suite.
struct Fit {
    prepared: Prepared,
    /// SHA-256 of the captured D's payload.
    d: Hash,
}

/// # Errors
/// Why it cannot be in a suite.
fn prepared(check: &Check) -> Result<Fit, String> {
    if !check.selection.is_all() || check.documents().next().is_some() {
        return Err("its check is of a part of D, or names documents".into());
    }
    if let Some((role, _)) = check
        .sources()
        .find(|(role, _)| !ROLES.contains(role) && *role != Role::D)
    {
        return Err(format!("the program for nodes takes no {}", role.called()));
    }
    let Expected::Tensor(_) = check.expected else {
        return Err("its D is not stored".into());
    };
    let prepared = check
        .prepare(&resources())
        .map_err(|error| error.to_string())?;
    let problem = prepared.problem();
    if problem.d_shape().len() != 2 {
        return Err("it is a batch of products; a suite's are single".into());
    }
    let operands = prepared
        .request()
        .model
        .dtype_b
        .unwrap_or(check.model.dtype);
    let [format, d] = [check.model.dtype, prepared.replay().format()];
    if operands != format || !FORMATS.contains(&(format, d)) {
        return Err(format!(
            "the program for nodes has no product of {format} and {operands} to {d}"
        ));
    }
    let given = prepared.d().expect("its D is stored");
    let d = Hash::parse(&payload_sha256(given)).expect("a SHA-256");
    Ok(Fit { prepared, d })
}

impl Fit {
    /// Equal for equal products: its fields and its operands.
    fn identity(&self) -> String {
        let mut fields = self.fields();
        for role in Role::PRODUCT {
            if let Some(array) = fields.array(*role) {
                *array = None;
            }
        }
        let fields = serde_json::to_string(&fields).expect("plain data");
        let payload = |(role, array): (Role, &crate::check::Array)| match role {
            Role::D => String::new(),
            _ => payload_sha256(&array.tensor),
        };
        let arrays = self.prepared.arrays().iter().map(payload);
        fields + &arrays.collect::<String>()
    }

    /// The fields of its check, without D.
    fn fields(&self) -> RequestFields {
        let request = self.prepared.request();
        let format = self.prepared.replay().format();
        let accumulator = self.prepared.model().arithmetic.accumulator;
        let mut fields = RequestFields::from(request.clone());
        fields.d_dtype = (format != accumulator).then_some(format);
        fields.d = None;
        fields
    }

    fn product(&self, name: &str, number: usize) -> Product {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '-'
            }
        };
        let name: String = name.chars().map(plain).take(LONGEST).collect();
        let problem = self.prepared.problem();
        let size = [problem.m, problem.n, problem.k];
        let name = format!("{}.{number}.{name}", RECORDED[0]);
        wanted(name, RECORDED[0], Route::Library, self.fields(), size)
    }
}

/// The architecture of a check.
fn architecture(check: &Check) -> Result<&'static crate::emu::Architecture, ScreenError> {
    match &check.model.from {
        ModelSource::Catalogue(name) => {
            let found = Catalogue::builtin().find(name);
            Ok(found.map_err(|unknown| unknown.to_string())?)
        }
        ModelSource::File(_) => Err("a suite is of an architecture of the catalogue"
            .to_owned()
            .into()),
    }
}
