//! Products of a library, each in the order of the kernel that computes it.

use super::ScreenError;
use super::families::LIBRARY;
use super::suite::{Placement, Product, Route};
use crate::check::{Check, CheckError, Prepared, RequestFields, Source};
use crate::engines::resources;
use crate::generate::{Class, Spec};
use crate::io::printable;
use crate::io::tree::Hash;
use crate::libraries::{self, check_of};
use crate::num::Format;

/// How the libraries of the fleet compute.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// A schedule, and what kernels leave open, as `check` takes them.
    pub fields: RequestFields,
    /// What the library says of its kernels, in place of a schedule: each of the products that it fits.
    pub kernels: Vec<String>,
    /// ttnn's configurations, a product of BF16 of each.
    pub ttnn: Vec<String>,
}

/// Formats that PyTorch multiplies through a library, what it returns, and who computes.
const FORMATS: [(Format, Format); 5] = [
    (Format::Fp16, Format::Fp16),
    (Format::Bf16, Format::Bf16),
    (Format::Tf32, Format::Fp32),
    (Format::E4m3, Format::Bf16),
    (Format::Int8, Format::Int32),
];

/// The products that an architecture's libraries compute. Each kernel text applies to the products that it fits; the other
/// products are one chain over K.
///
/// # Errors
/// If the schedule does not fit, a kernel text fits no product, or two different ones fit the same product.
pub fn products(
    arch: &str,
    library: &Library,
    size: [usize; 3],
) -> Result<Vec<(Product, Prepared)>, ScreenError> {
    let mut all = Vec::new();
    // Of every text, why it fits no product; none if it fits one.
    let mut unfit: Vec<Option<String>> = vec![Some(String::new()); library.kernels.len()];
    for (format, d) in FORMATS {
        let base = fields(arch, [format; 2], [Class::Normal; 2], size, 11);
        let of = |more: RequestFields| {
            let fields = RequestFields {
                arch: base.arch.clone(),
                dtype: base.dtype,
                dtype_b: base.dtype_b,
                a: base.a.clone(),
                b: base.b.clone(),
                d_dtype: (d != Format::Int32 && d != Format::Fp32).then_some(d),
                ..more
            };
            let name = format!("library.{format}");
            prepared(wanted(name, LIBRARY[0], Route::Library, fields, size))
        };
        // An architecture without this format has no such product of a library.
        let Ok(chain) = of(RequestFields::default()) else {
            continue;
        };
        let mut found: Option<(&str, (Product, Prepared))> = None;
        for (text, unfit) in library.kernels.iter().zip(&mut unfit) {
            // The library's fields count only where the text leaves something open.
            let with = |answers: RequestFields| {
                of(RequestFields {
                    kernel: Some(text.clone()),
                    ..answers
                })
            };
            let alone = with(RequestFields::default());
            let tried = alone.or_else(|_| with(library.fields.clone()));
            match (tried, &found) {
                (Err(error), _) => {
                    // The reason of the product that the text is about, if it names one.
                    let named = libraries::read(text)
                        .ok()
                        .and_then(|text| text.settings.operands);
                    let its = named.is_some_and(|named| named.value == [format; 2]);
                    if let Some(reason) = unfit.as_mut().filter(|reason| its || reason.is_empty()) {
                        *reason = error.to_string();
                    }
                }
                (Ok((product, prepared)), Some((other, (_, known)))) => {
                    *unfit = None;
                    if differ(known, &prepared) {
                        return Err(format!(
                            "two kernels fit {}, and their orders differ: {}; {}",
                            product.name,
                            printable(other),
                            printable(text)
                        )
                        .into());
                    }
                }
                (Ok(ready), None) => {
                    *unfit = None;
                    found = Some((text, ready));
                }
            }
        }
        // Orders of sums are of floats.
        let scheduled = library.kernels.is_empty() && !format.is_integer();
        all.push(match found {
            Some((_, found)) => found,
            None if scheduled && library.fields != RequestFields::default() => {
                of(library.fields.clone())?
            }
            None => chain,
        });
    }
    for (i, text) in library.ttnn.iter().enumerate() {
        let of_text = RequestFields {
            d_dtype: Some(Format::Bf16),
            ttnn: Some(text.clone()),
            reload: library.fields.reload,
            ..fields(arch, [Format::Bf16; 2], [Class::Normal; 2], size, 11)
        };
        let name = format!("library.bf16.{}", i + 1);
        let product = wanted(name, LIBRARY[0], Route::Library, of_text, size);
        all.push(prepared(product)?);
    }
    for (text, reason) in library.kernels.iter().zip(unfit) {
        if let Some(reason) = reason {
            return Err(format!(
                "the kernel {} fits no library product of the suite: {reason}",
                printable(text)
            )
            .into());
        }
    }
    Ok(all)
}

/// Whether two kernels compute one product in different ways.
fn differ(one: &Prepared, other: &Prepared) -> bool {
    let spec = |prepared: &Prepared| prepared.kernel().map(|kernel| kernel.spec.clone());
    spec(one) != spec(other) || one.model().arithmetic != other.model().arithmetic
}

/// The order of sums that a library's product has, in plain words.
pub fn order(product: &Product) -> String {
    let check: Result<Check, _> = check_of(product.check.clone());
    let fields = &product.check;
    if let Some(text) = &fields.ttnn {
        return printable(text);
    }
    match (&fields.kernel, &fields.schedule, check) {
        (Some(text), _, _) => format!("kernel {}", printable(text)),
        (None, Some(name), Ok(check)) if !check.schedule.overrides.is_empty() => {
            format!("{} ({})", printable(name), check.schedule.overrides)
        }
        (None, Some(name), _) => printable(name),
        (None, None, _) => "one chain over K".into(),
    }
}

pub(super) fn spec(seed: u64, class: Class, [rows, columns]: [usize; 2]) -> Source {
    Source::Generated(Spec::new(seed, class, vec![rows, columns]).to_string())
}

pub(super) fn fields(
    arch: &str,
    [a, b]: [Format; 2],
    [of_a, of_b]: [Class; 2],
    [m, n, k]: [usize; 3],
    seed: u64,
) -> RequestFields {
    RequestFields {
        arch: Some(arch.into()),
        dtype: Some(a),
        dtype_b: Some(b),
        a: Some(spec(seed, of_a, [m, k])),
        b: Some(spec(seed, of_b, [k, n])),
        ..RequestFields::default()
    }
}

/// A product with all that its check needs.
pub(super) fn prepared(product: Product) -> Result<(Product, Prepared), CheckError> {
    let prepared = check_of(product.check.clone())?.prepare(&resources())?;
    Ok((product, prepared))
}

/// A product of these fields, its digests still empty.
pub(super) fn wanted(
    name: String,
    family: &str,
    route: Route,
    check: RequestFields,
    [m, n, k]: [usize; 3],
) -> Product {
    let placement = match family {
        "load" | "library" | "recorded" => Placement::Spread,
        _ => Placement::EverySm,
    };
    // Few leaves of large products.
    let tile = match placement {
        Placement::EverySm => [16, 8],
        Placement::Spread => [m.div_ceil(8).max(16), n.div_ceil(8).max(8)],
    };
    Product {
        name,
        family: family.into(),
        route,
        placement,
        check,
        model_sha256: String::new(),
        d: Format::Fp32,
        m,
        n,
        k,
        sha256: Hash([0; 32]),
        tile,
        leaves: Vec::new(),
    }
}
