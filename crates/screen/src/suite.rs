//! A suite: products by seed, and what must come out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ScreenError;
use super::families::Level;
use super::tiles::Tiles;
use crate::check::{Check, Prepared, RequestFields, Source};
use crate::engines::resources;
use crate::envelope;
use crate::generate::Spec;
use crate::io::tree::Hash;
use crate::io::{Fault, MappedFile, escaped_path, printable};
use crate::libraries::check_of;
use crate::num::Format;
use crate::role::Role;
use crate::words::words;

/// Value of the `schema` field.
pub const SUITE: &str = "tcverify.screen-suite/1";

/// The most bytes of a suite that is written or read.
pub const MOST_BYTES: usize = 1 << 20;

/// The most elements of a matrix of a suite.
const MOST_ELEMENTS: usize = 1 << 26;

/// For whom products were drawn, and by what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Challenge {
    /// SHA-256 of the files of commitments, in ascending order.
    pub commitments: Vec<Hash>,
    /// A value that no node knew when it committed.
    pub beacon: String,
    /// When they were drawn, by the operator's clock.
    pub drawn: Option<String>,
}

/// What a node runs, and what must come out. Sealed by the SHA-256 of its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Architecture of the catalogue whose arithmetic the digests are of.
    pub arch: String,
    /// Compute capabilities and other names of it: `sm_90`.
    pub also: Vec<String>,
    pub level: Level,
    /// What each family of operands exercises.
    pub families: BTreeMap<String, String>,
    pub products: Vec<Product>,
    /// For whom it was drawn. Then it does not say what is right: every digest and every leaf is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Challenge>,
    /// Where it was read: files of operands are named from there.
    #[serde(skip)]
    pub folder: PathBuf,
}

words! {
    /// The engine that computes a product.
    pub enum Route {
        /// A program that issues the instruction itself, one chain over K
        Instruction = "instruction",
        /// A library, in the order of its kernel
        Library = "library",
    }
}

/// Where a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Whole on every SM, by one block each.
    EverySm,
    /// Once, its tiles where the GPU puts them.
    Spread,
}

/// One product and its D.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Product {
    pub name: String,
    pub family: String,
    pub route: Route,
    pub placement: Placement,
    /// The check that judges it. Operands are generated, or files beside the suite whose names are their SHA-256.
    pub check: RequestFields,
    /// Of the model's arithmetic.
    pub model_sha256: String,
    /// Format of D.
    pub d: Format,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// SHA-256 of the right D's canonical payload.
    pub sha256: Hash,
    /// Rows and columns of a tile; those at the edges may have fewer.
    pub tile: [usize; 2],
    /// Leaves of the Merkle tree over the tiles, row by row: `00` and a tile's payload, hashed.
    pub leaves: Vec<Hash>,
}

impl Product {
    /// Rows and columns of D.
    pub fn shape(&self) -> [usize; 2] {
        [self.m, self.n]
    }

    /// How its D is cut.
    pub(super) fn tiles(&self) -> Tiles {
        Tiles {
            shape: self.shape(),
            tile: self.tile,
            format: self.d,
        }
    }

    /// Files of operands, as they are named.
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let sources = self.check.arrays().into_values();
        sources.filter_map(|source| source.path().map(Path::to_owned))
    }

    fn validate(&self) -> Result<(), String> {
        let [rows, columns] = self.tile;
        let most = 1usize << 16;
        let axes = [self.m, self.n, self.k];
        if axes.iter().any(|axis| !(1..=most).contains(axis)) || rows == 0 || columns == 0 {
            return Err(format!("sizes must be 1 to {most}"));
        }
        let elements = [self.m * self.k, self.k * self.n, self.m * self.n];
        if elements.iter().any(|&count| count > MOST_ELEMENTS) {
            return Err(format!("matrices must have up to {MOST_ELEMENTS} elements"));
        }
        let check = check_of(self.check.clone()).map_err(|error| error.to_string())?;
        let plain = |(_, source): (Role, &Source)| match source {
            Source::Generated(_) => true,
            Source::File(path) => named_digest(path).is_some(),
            Source::Memory => false,
        };
        if check.documents().next().is_some() || !check.sources().all(plain) {
            return Err(
                "a suite names no files but operands that lie beside it and have their SHA-256 as name".into(),
            );
        }
        let block = check.model.scale_block.unwrap_or(1).max(1);
        for (role, source) in check.sources() {
            let wanted = match role {
                Role::A => vec![self.m, self.k],
                Role::B => vec![self.k, self.n],
                Role::ScaleA => vec![self.m, self.k.div_ceil(block)],
                Role::ScaleB => vec![self.k.div_ceil(block), self.n],
                _ => vec![self.m, self.n],
            };
            let Source::Generated(text) = source else {
                continue;
            };
            let field = role.field();
            let spec = Spec::read(text).map_err(|reason| format!("`{field}`: {reason}"))?;
            if spec.shape != wanted {
                return Err(format!(
                    "`{field}` does not have the size that the product declares"
                ));
            }
        }
        let tiles = self.m.div_ceil(rows) * self.n.div_ceil(columns);
        if tiles != self.leaves.len() {
            let there = self.leaves.len();
            return Err(format!("{there} leaves for {tiles} tiles"));
        }
        Ok(())
    }
}

/// The SHA-256 that is the name of a file of an operand: `FOLDER/DIGEST.npy`.
fn named_digest(path: &Path) -> Option<Hash> {
    let beside = |part: Component| matches!(part, Component::Normal(_));
    let name = path.file_name()?.to_str()?.strip_suffix(".npy")?;
    let digest = Hash::parse(name)?;
    path.components().all(beside).then_some(digest)
}

impl Suite {
    /// The check of one of its products, without D.
    ///
    /// # Errors
    /// What is wrong with the fields.
    pub fn check(&self, product: &Product) -> Result<Check, ScreenError> {
        let mut fields = product.check.clone();
        fields.in_folder(&self.folder);
        Ok(check_of(fields)?)
    }

    /// The check with everything that it needs.
    ///
    /// # Errors
    /// If it cannot be prepared, or its operands have other sizes than the product says.
    pub(super) fn prepare(&self, product: &Product) -> Result<Prepared, ScreenError> {
        let prepared = self.check(product)?.prepare(&resources())?;
        if prepared.problem().d_shape() == product.shape() {
            Ok(prepared)
        } else {
            Err(ScreenError::Said(format!(
                "{}: its operands do not have the declared sizes",
                printable(&product.name)
            )))
        }
    }

    /// Refuses files of operands that are not those that it was made from.
    fn confirm_files(&self) -> Result<(), ScreenError> {
        let mut seen = BTreeSet::new();
        for path in self.products.iter().flat_map(Product::files) {
            let there = self.folder.join(&path);
            let fault = |reason: String| ScreenError::File(Fault::from(reason).of(&there));
            if !seen.insert(path.clone()) {
                continue;
            }
            let file = MappedFile::open(&there).map_err(|error| {
                let beside = escaped_path(path.parent().unwrap_or(&path));
                fault(format!(
                    "{error:#}; the folder {beside} belongs beside the suite"
                ))
            })?;
            if Some(file.sha256()) != path.file_stem().and_then(|name| name.to_str()) {
                return Err(fault("is damaged: its name is not its SHA-256".into()));
            }
        }
        Ok(())
    }

    /// As the file has it.
    ///
    /// # Errors
    /// If it would be larger than a suite may be.
    pub fn text(&self) -> Result<Vec<u8>, ScreenError> {
        let text = envelope::seal(SUITE, self).map_err(|error| error.to_string())?;
        if text.len() < MOST_BYTES {
            Ok(text)
        } else {
            Err(format!("the suite would have {} bytes; limit: 1 MiB", text.len()).into())
        }
    }

    /// Reads a suite, and the SHA-256 of its content, which names it.
    ///
    /// # Errors
    /// If it is none, was cut short, or edited by hand.
    pub fn read(path: &Path) -> Result<(Suite, Hash), ScreenError> {
        let fault = |reason: String| ScreenError::File(Fault::from(reason).of(path));
        let (mut suite, _) = envelope::read::<Suite>(SUITE, path).map_err(fault)?;
        if suite.products.is_empty() {
            return Err(fault("has no products".into()));
        }
        let mut names = BTreeSet::new();
        for product in &suite.products {
            let named = |reason| fault(format!("{}: {reason}", printable(&product.name)));
            product.validate().map_err(named)?;
            if !names.insert(&product.name) {
                return Err(named("appears twice".into()));
            }
        }
        if suite.challenge.is_some() && !suite.hides_answers() {
            return Err(fault("is a challenge, and says what is right".into()));
        }
        suite.folder = path.parent().unwrap_or(Path::new("")).to_owned();
        suite.confirm_files()?;
        let id = suite.id();
        Ok((suite, id))
    }

    /// SHA-256 of the content, by which results say which suite they are of.
    pub fn id(&self) -> Hash {
        let content = serde_json::to_vec(self).expect("plain data");
        Hash::of([&content[..]])
    }

    /// Whether a device of this architecture runs it: the catalogue's name, or one of the others.
    pub fn suits(&self, architecture: &str) -> bool {
        let same = |name: &String| name.eq_ignore_ascii_case(architecture);
        same(&self.arch) || self.also.iter().any(same)
    }
}
