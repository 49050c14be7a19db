//! A folder of case folders, as captures lie in them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::case::{Case, Object, Read, case, expect, is_operation, names, text, validate};
use super::document::{BatchError, json, text_of};
use super::emulated;
use super::lookup::Lookup;
use super::subfolders::subfolders;
use crate::emu::Catalogue;
use crate::io::{escaped_path, printable};

/// Fields of a `case.json` that describe where a case comes from and decide nothing.
const DESCRIPTIVE: [&str; 13] = [
    "cases",
    "commit",
    "finite",
    "gfx",
    "gpu",
    "inputs",
    "lanes",
    "n",
    "note",
    "order",
    "origin",
    "products_per_step",
    "source",
];

/// Instructions that multiply no matrices: captures of a unit may hold what is done before and after it.
const NO_PRODUCTS: [&str; 2] = ["pacr", "unpacr"];

/// A folder of folders with a `case.json`, in the order of their names.
pub(super) fn read(path: &Path, lookup: &Lookup) -> Result<Read, BatchError> {
    let mut cases = Vec::new();
    let mut own = Vec::new();
    let mut no_products = Vec::new();
    let mut refused: Vec<(String, String)> = Vec::new();
    for folder in subfolders(path).map_err(BatchError::File)? {
        let file = folder.join("case.json");
        let few = lookup.admit_number(cases.len() + refused.len() + 1);
        few.map_err(BatchError::document(&file))?;
        own.push(file.clone());
        let admitted = lookup.admit_file(&file);
        admitted.map_err(BatchError::document(&file))?;
        match one(&folder, &file, lookup) {
            Ok(Some(case)) => {
                let admitted = case.admitted(lookup.policy(), path);
                cases.push(admitted.map_err(|error| BatchError::Case {
                    place: escaped_path(&file),
                    error,
                })?);
            }
            Ok(None) => no_products.push(name_of(&folder)),
            Err(reason) => refused.push((name_of(&folder), format!("case.json: {reason}"))),
        }
    }
    let listing = path.join("index.json");
    let allowed = lookup.admit_file(&listing);
    allowed.map_err(BatchError::document(&listing))?;
    if listing.exists() {
        let refused = refused.iter().map(|(name, _)| name);
        let names = cases.iter().map(|case| &case.name).chain(&no_products);
        let names = names.chain(refused);
        index(&listing, names.map(String::as_str).collect())?;
        own.push(listing);
    }
    Ok(Read {
        cases,
        own,
        coverage: None,
        no_products,
        refused,
    })
}

/// The case of a folder; none if it multiplies nothing.
fn one(folder: &Path, file: &Path, lookup: &Lookup) -> Result<Option<Case>, String> {
    let Object(fields) = text_of(file).and_then(|file| json(&file))?;
    if multiplies_nothing(&fields) {
        return Ok(None);
    }
    captured_case(fields, folder, lookup).map(Some)
}

fn name_of(folder: &Path) -> String {
    folder
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn multiplies_nothing(fields: &BTreeMap<String, Value>) -> bool {
    let instruction = text(fields, "instruction").unwrap_or_default();
    let own = instruction.split(',').next().unwrap_or_default();
    NO_PRODUCTS.contains(&own)
}

/// The case of a folder.
fn captured_case(
    mut fields: BTreeMap<String, Value>,
    folder: &Path,
    lookup: &Lookup,
) -> Result<Case, String> {
    let k = match fields.remove("k") {
        None => None,
        Some(k) => Some(k.as_u64().ok_or("field \"k\": expected a number")?),
    };
    let expect = expect(&mut fields)?;
    let fields = captured(fields, folder)?;
    validate(&fields, &[names(is_operation(&fields))])?;
    let case = case(name_of(folder), fields, folder, lookup);
    let case = case.map_err(|error| error.to_string())?;
    Ok(Case { k, expect, ..case })
}

/// The cases that an `index.json` lists must be those in the folder: a lost one would otherwise pass unnoticed.
fn index(path: &Path, there: BTreeSet<&str>) -> Result<(), BatchError> {
    let fail = BatchError::document(path);
    let listed: Value = text_of(path).and_then(|list| json(&list)).map_err(&fail)?;
    // A list, or an object with one.
    let listed = listed.as_array().or_else(|| listed["cases"].as_array());
    let listed = listed.ok_or_else(|| fail("lists no cases".into()))?;
    let listed = listed.iter().map(|case| case["case"].as_str());
    let listed: Option<BTreeSet<_>> = listed.collect();
    let listed = listed.ok_or_else(|| fail("an entry has no \"case\"".into()))?;
    if let Some(missing) = listed.difference(&there).next() {
        let missing = printable(missing);
        return Err(fail(format!("lists {missing}, which is missing")));
    }
    if let Some(more) = there.difference(&listed).next() {
        let more = printable(more);
        return Err(fail(format!("does not list {more}, which is present")));
    }
    Ok(())
}

/// The fields of a captured case as those of a manifest. Its D is what the instruction returned, so `d_dtype` is the
/// accumulator's format, too.
fn captured(
    mut fields: BTreeMap<String, Value>,
    folder: &Path,
) -> Result<BTreeMap<String, Value>, String> {
    // A span of rows selects what is checked; any other `rows` only describes.
    let is_span = |value: &Value| {
        let text = value.as_str();
        text.is_some_and(|text| text.contains("..") || text.parse::<usize>().is_ok())
    };
    fields.retain(|name, value| {
        !DESCRIPTIVE.contains(&name.as_str()) && (name != "rows" || is_span(value))
    });
    if let Some(operation) = emulated::operation(&fields)? {
        return Ok(operation);
    }
    if fields.contains_key("a_dtype") {
        for (theirs, ours) in [
            ("a_dtype", "dtype"),
            ("b_dtype", "dtype_b"),
            ("block", "scale_block"),
        ] {
            let Some(value) = fields.remove(theirs) else {
                continue;
            };
            if fields.insert(ours.to_owned(), value).is_some() {
                return Err(format!(
                    "fields {theirs:?} and {ours:?} mean the same; give one"
                ));
            }
        }
        tenstorrent(&mut fields)?;
        emulated::schedule(&mut fields)?;
        let wave = fields.remove("wave");
        if let Some(name) = mfma(&fields).or_else(|| rdna(&fields, wave.as_ref())) {
            fields.insert("instruction".to_owned(), name.into());
        } else if wave.is_some() {
            return Err(
                "field \"wave\" applies only to WMMA and DOT2 instructions of RDNA GPUs".into(),
            );
        }
        if let Some(kind) = fields.remove("kind") {
            let kind = kind.as_str().ok_or("field \"kind\": expected text")?;
            let instruction = text(&fields, "instruction")
                .ok_or("field \"kind\" applies only with \"instruction\"")?;
            let instruction = format!("{instruction}-{kind}").into();
            fields.insert("instruction".to_owned(), instruction);
        }
        if let Some(d) = fields.get("d_dtype").cloned() {
            if fields.get("c_dtype") == Some(&d) {
                fields.remove("c_dtype");
                // The file is still needed.
                fields.entry("c".to_owned()).or_insert("c.npy".into());
            }
            fields.entry("acc".to_owned()).or_insert(d);
        }
    }
    for (field, file, needed) in [
        ("a", "a.npy", None),
        ("b", "b.npy", None),
        ("c", "c.npy", Some("c_dtype")),
        ("scale_a", "sa.npy", Some("scale_dtype")),
        ("scale_b", "sb.npy", Some("scale_dtype")),
        ("d", "d.npy", None),
    ] {
        let wanted = match needed {
            None => field != "d" || !fields.contains_key("d_digest"),
            Some(other) => fields.contains_key(other) || folder.join(file).exists(),
        };
        if wanted {
            fields.entry(field.to_owned()).or_insert(file.into());
        }
    }
    Ok(fields)
}

/// AMD's captures name the instruction by its shape and types (`f32_32x32x8bf16`); the catalogue names its
/// arithmetic, followed by those types where one architecture has several.
fn mfma(fields: &BTreeMap<String, Value>) -> Option<&'static str> {
    let (arch, instruction) = (text(fields, "arch")?, text(fields, "instruction")?);
    let shape = instruction.strip_prefix("f32_")?;
    let own = catalogued(arch, "mfma").filter(|_| shape.contains('x'))?;
    let types = shape.trim_start_matches(|c: char| c.is_ascii_digit() || "x_".contains(c));
    Some(catalogued(arch, &format!("mfma-{types}")).unwrap_or(own))
}

/// The name of an instruction, if the architecture has it.
fn catalogued(arch: &str, instruction: &str) -> Option<&'static str> {
    let architecture = Catalogue::builtin().find(arch).ok()?;
    let mut own = architecture.instructions.iter();
    let found = own.find(|own| own.name == instruction)?;
    Some(&found.name)
}

/// Tenstorrent's captures have a fidelity, which is the catalogue's name of the instruction, and what tt-metal's kernel
/// does between blocks of K.
fn tenstorrent(fields: &mut BTreeMap<String, Value>) -> Result<(), String> {
    let Some(fidelity) = fields.remove("fidelity") else {
        return Ok(());
    };
    let fidelity = fidelity
        .as_str()
        .ok_or("field \"fidelity\": expected text")?;
    let instruction = fidelity.to_lowercase().replace(' ', "");
    fields.insert("instruction".to_owned(), instruction.into());
    fields.remove("phases");
    if text(fields, "kind") != Some("matmul") {
        return Ok(());
    }
    fields.remove("kind");
    // There is no C: `c.npy` is a placeholder.
    if text(fields, "c_dtype") == Some("none") {
        fields.remove("c_dtype");
        fields.insert("c".to_owned(), Value::Null);
    }
    let fp32 = fields
        .remove("fp32_dest_acc_en")
        .and_then(|value| value.as_bool());
    let fp32 = fp32.ok_or("field \"fp32_dest_acc_en\": expected true or false")?;
    let block = fields.remove("block_k").and_then(|value| value.as_u64());
    let block = block.filter(|k| *k > 0 && k.is_multiple_of(32));
    let block = block.ok_or("field \"block_k\": expected a multiple of 32")?;
    fields.insert("acc".to_owned(), if fp32 { "fp32" } else { "bf16" }.into());
    fields.insert("in0_block_w".to_owned(), (block / 32).into());
    let reload = fields.remove("reload");
    let reload = reload.as_ref().and_then(Value::as_str);
    // A reason may follow the word.
    match reload.and_then(|text| text.split(' ').next()) {
        Some(how @ ("exact" | "tf32" | "bf16")) if fp32 => {
            fields.insert("reload".to_owned(), how.into());
        }
        // Stored as they are in Dst, and read so.
        Some("bf16") if !fp32 => {}
        _ => {
            return Err(
                "field \"reload\": expected exact, tf32 or bf16 (bf16 for a BF16 Dst)".into(),
            );
        }
    }
    Ok(())
}

/// RDNA's captures name the instruction as the ISA has them (`v_wmma_f32_16x16x16_f16`), with the wave's size in a field of its own. The catalogue
/// has one name for all types, followed by the wave where that decides bits.
fn rdna(fields: &BTreeMap<String, Value>, wave: Option<&Value>) -> Option<&'static str> {
    let instruction = text(fields, "instruction")?;
    let (kind, types) = instruction.strip_prefix("v_")?.split_once('_')?;
    let arch = text(fields, "arch")?;
    let names = match (types.starts_with("i32"), wave.and_then(Value::as_u64)) {
        (true, _) => vec![format!("{kind}-integers")],
        (false, Some(wave)) => vec![format!("{kind}-wave{wave}"), kind.to_owned()],
        (false, None) => vec![kind.to_owned()],
    };
    names.iter().find_map(|name| catalogued(arch, name))
}
