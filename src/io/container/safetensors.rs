//! `.safetensors`: eight bytes of length, a JSON object of that length, then the tensors without a
//! gap, in C order, little-endian.

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::shorten;
use crate::npy::{Descr, Header, Kind, MOST_AXES, payload_length};
use crate::num::Format;
use crate::{Fault, printable};
use crate::{bail, ensure};

/// The format's own limit.
const MAX_HEADER: u64 = 100_000_000;

/// A tensor as the header describes it.
#[derive(Debug)]
pub struct Entry {
    pub name: String,
    dtype: String,
    shape: Vec<usize>,
    /// In the file.
    start: usize,
}

impl Entry {
    /// The array's description as a `.npy` header.
    ///
    /// # Errors
    /// If elements of that type are not numbers known here.
    pub fn header(&self) -> Result<Header, Fault> {
        let (kind, width) = match element(&self.dtype) {
            Element::Read(kind, width) => (kind, width),
            Element::NotRead { why, .. } => {
                bail!("its elements are {}, {why}", shorten(&self.dtype))
            }
            Element::Unknown => bail!(
                "its element type {:?} is unknown; supported are F64 F32 F16 BF16, F8_E4M3 F8_E5M2 F8_E8M0, I8 I16 \
                 I32 I64 and U8 U16 U32 U64",
                shorten(&self.dtype)
            ),
        };
        Ok(Header {
            descr: Descr::foreign(format!("safetensors {}", self.dtype), kind, width),
            fortran_order: false,
            shape: self.shape.clone(),
            data_start: self.start,
        })
    }
}

enum Element {
    Read(Kind, usize),
    NotRead { bits: usize, why: &'static str },
    Unknown,
}

fn element(dtype: &str) -> Element {
    if let Some(format) = Format::from_safetensors(dtype) {
        let kind = match format {
            Format::Fp16 | Format::Fp32 | Format::Fp64 => Kind::Float(format),
            _ => Kind::Named(format),
        };
        return Element::Read(kind, format.bytes());
    }
    let packed = "which share bytes; store one code per byte, in the low bits, as U8";
    match dtype {
        "I8" | "I16" | "I32" | "I64" | "U8" | "U16" | "U32" | "U64" => {
            let signed = dtype.starts_with('I');
            let bits: usize = dtype[1..].parse().expect("listed above");
            Element::Read(Kind::Integer { signed }, bits / 8)
        }
        "F4" => Element::NotRead {
            bits: 4,
            why: packed,
        },
        "F6_E2M3" | "F6_E3M2" => Element::NotRead {
            bits: 6,
            why: packed,
        },
        "BOOL" => Element::NotRead {
            bits: 8,
            why: "which are not numbers",
        },
        "C64" => Element::NotRead {
            bits: 64,
            why: "complex numbers, which no tensor core multiplies",
        },
        _ => Element::Unknown,
    }
}

/// Whether a file of another name begins like one.
pub fn looks_like_one(file: &[u8]) -> bool {
    file.get(8) == Some(&b'{') && length(file).is_ok_and(|n| n <= file.len() - 8)
}

fn length(file: &[u8]) -> Result<usize, Fault> {
    let Some(field) = file.first_chunk() else {
        bail!("ends within its first 8 bytes")
    };
    let length = u64::from_le_bytes(*field);
    ensure!(
        length <= MAX_HEADER,
        "is not a .safetensors file: it declares a header of {length} bytes; limit: {MAX_HEADER}"
    );
    Ok(length as usize)
}

/// The tensors of a file in the order of their bytes, after every check that the format requires.
///
/// # Errors
/// What is wrong, to be read after the file's name.
pub fn entries(file: &[u8]) -> Result<Vec<Entry>, Fault> {
    let length = length(file)?;
    let Some(text) = file.get(8..8 + length) else {
        bail!(
            "is truncated: its header should end at byte {}, but the file ends at {}",
            8 + length,
            file.len()
        );
    };
    ensure!(
        text.first() == Some(&b'{'),
        "is not a .safetensors file: its header does not begin with '{{'"
    );
    let index: Index = serde_json::from_slice(text).map_err(|error| {
        Fault::from(printable(&error.to_string()))
            .within("its header is not a valid .safetensors header")
    })?;
    let mut tensors = index.0;
    tensors.sort_by(|one, other| one.0.cmp(&other.0));
    if let Some(pair) = tensors.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        bail!("has the tensor {:?} twice", shorten(&pair[0].0));
    }
    // Empty tensors share their place with a neighbour; names keep the order the same on every run.
    tensors.sort_by_key(|(_, about)| about.data_offsets);
    let data = file.len() - 8 - length;
    let mut end = 0;
    let mut entries = Vec::with_capacity(tensors.len());
    for (name, about) in tensors {
        let [from, to] = about.data_offsets;
        let check = || {
            ensure!(
                from <= to && to <= data,
                "declares bytes {from} to {to}, but {data} follow the header"
            );
            // The format's own rule: no byte is shared, none is left out.
            ensure!(
                from == end,
                "begins at byte {from} of the data, but the tensor before it ends at {end}"
            );
            check_size(&about)
        };
        check().map_err(|fault: Fault| {
            fault.within(format_args!("its tensor {:?}", shorten(&name)))
        })?;
        end = to;
        entries.push(Entry {
            name,
            dtype: about.dtype,
            shape: about.shape,
            start: 8 + length + from,
        });
    }
    ensure!(
        end == data,
        "is too long: its tensors are {end} bytes, {data} follow the header"
    );
    Ok(entries)
}

fn check_size(about: &About) -> Result<(), Fault> {
    ensure!(
        about.shape.len() <= MOST_AXES,
        "has more than {MOST_AXES} axes"
    );
    let [from, to] = about.data_offsets;
    let bits = match element(&about.dtype) {
        Element::Read(_, width) => 8 * width,
        Element::NotRead { bits, .. } => bits,
        // Its size cannot be checked, and nobody will read it.
        Element::Unknown => return Ok(()),
    };
    let elements = payload_length(&about.shape, 1)?;
    let promised = elements.checked_mul(bits).map(|bits| bits.div_ceil(8));
    let whole = payload_length(&about.shape, bits.div_ceil(8));
    ensure!(
        whole.is_ok() && promised == Some(to - from),
        "declares {:?} of {} in {} bytes, which does not match",
        about.shape,
        about.dtype,
        to - from
    );
    Ok(())
}

/// The header, names as often as they occur.
struct Index(Vec<(String, About)>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl<'de> Deserialize<'de> for Index {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Index, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Index;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Index, M::Error> {
                let mut entries = Vec::new();
                let mut metadata = false;
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        if std::mem::replace(&mut metadata, true) {
                            return Err(M::Error::custom("it has __metadata__ twice"));
                        }
                        // Text for people: checked to be that, and left.
                        map.next_value::<std::collections::BTreeMap<String, String>>()?;
                    } else {
                        entries.push((name, map.next_value()?));
                    }
                }
                Ok(Index(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}
