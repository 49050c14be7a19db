//! A request that gives a library's text in place of a schedule: what the text states of it.

use super::{
    Accumulation, How, IfKnown, KernelError, KernelReading, KernelTable, Options, Plan, Shape,
    TableQuery, Token,
};
use crate::check::{
    Check, CheckError, FormatsFrom, KernelRequest, KernelSource, KernelTexts, PlannedKernel,
    RequestFields, StoredShapes, TtnnConfiguration,
};
use crate::emu::schedule::Schedule;
use crate::io::{escaped_path, printable, sha256};
use crate::num::F32;
use crate::report::{KernelDescription, KernelSetting};
use crate::role::Role;

/// Who reads texts of kernels for checks: this library.
pub fn texts() -> &'static dyn KernelTexts {
    &Texts
}

#[derive(Debug)]
struct Texts;

/// Shapes of A and B, of which a text may state how they are stored.
struct Shapes<'a>(&'a StoredShapes);

/// Sets the formats of A and B, and the GPU, where the request leaves them open: as a kernel's text states them, or
/// else, of formats, as the files name them.
///
/// # Errors
/// If the text cannot be read; or as of [`RequestFields::formats_of_files`].
pub fn complete(fields: &mut RequestFields, files: &dyn FormatsFrom) -> Result<(), CheckError> {
    complete_by_text(fields)?;
    fields.formats_of_files(files)
}

/// Sets the formats of A and B, and the GPU, where the request leaves them open and a kernel's text states them.
///
/// # Errors
/// If the text cannot be read.
pub fn complete_by_text(fields: &mut RequestFields) -> Result<(), CheckError> {
    let names_gpu = fields.arch.is_some() || fields.model.is_some();
    let open = fields.dtype.is_none() || !names_gpu;
    let Some(text) = fields.kernel.as_ref().filter(|_| open) else {
        return Ok(());
    };
    let reading = super::read(text).map_err(CheckError::in_field("kernel"))?;
    let settings = &reading.settings;
    if let (None, Some([a, b])) = (fields.dtype, settings.operands.value()) {
        fields.dtype = Some(a);
        fields.dtype_b = fields.dtype_b.or((a != b).then_some(b));
    }
    if let (false, Some(capability)) = (names_gpu, settings.capability.value()) {
        fields.arch = Some(capability.to_string());
    }
    Ok(())
}

/// The check of these fields, with what a kernel's text states of them.
///
/// # Errors
/// What is wrong with the fields or the text.
pub fn check_of(mut fields: RequestFields) -> Result<Check, CheckError> {
    complete_by_text(&mut fields)?;
    Check::try_from(fields)
}

/// A product as a library may have been called for it.
pub struct Product {
    pub shape: Shape,
    pub batches: usize,
    /// One B for all of A's matrices.
    pub shared: bool,
}

impl Shapes<'_> {
    /// A's and B's sizes if they are stored so.
    fn sizes(&self, transposed: [bool; 2]) -> [[usize; 2]; 2] {
        let matrix =
            |shape: &[usize], transposed: bool| match (&shape[shape.len() - 2..], transposed) {
                (&[rows, columns], false) | (&[columns, rows], true) => [rows, columns],
                _ => unreachable!("two sizes"),
            };
        [
            matrix(&self.0.a, transposed[0]),
            matrix(&self.0.b, transposed[1]),
        ]
    }

    /// Whether A's and B's K is one number if they are stored so.
    fn multiply(&self, transposed: [bool; 2]) -> bool {
        let [[_, k], [k_of_b, _]] = self.sizes(transposed);
        k == k_of_b
    }

    /// The product of operands that are stored so.
    fn product(&self, transposed: [bool; 2]) -> Product {
        let [[m, k], [_, n]] = self.sizes(transposed);
        Product {
            shape: Shape { m, n, k },
            batches: self.0.a[..self.0.a.len() - 2].iter().product(),
            shared: self.0.b.len() == 2 && self.0.a.len() > 2,
        }
    }

    /// How operands may be stored: as the request states; or, where they do not multiply and the request states
    /// nothing, in any way in which they do.
    fn possible_layouts(&self) -> Vec<[bool; 2]> {
        let as_stated = self.multiply(self.0.transposed) || self.0.transposed != [false; 2];
        let others = [[false, true], [true, false], [true, true]].into_iter();
        let others = others.filter(|&transposed| !as_stated && self.multiply(transposed));
        [self.0.transposed].into_iter().chain(others).collect()
    }

    /// How they are stored by a text: the library's A is the row-major B.
    fn under(&self, reading: &KernelReading) -> [bool; 2] {
        let stated = reading.settings.transposed.value();
        let stated = stated.map(|stated| [stated.b, stated.a]);
        let stated = stated.filter(|transposed| self.possible_layouts().contains(transposed));
        stated.unwrap_or(self.0.transposed)
    }
}

impl Product {
    /// The calls of a library that compute it: with a shared B, a batch may be one product.
    fn possible_calls(&self) -> Vec<(Shape, usize)> {
        let mut all = vec![(self.shape, self.batches)];
        if self.shared {
            let m = self.shape.m * self.batches;
            all.push((Shape { m, ..self.shape }, 1));
        }
        all
    }

    /// The shape under which a text is about this product.
    pub fn under(&self, reading: &KernelReading) -> Result<Shape, KernelError> {
        let mut first = None;
        for (shape, batches) in self.possible_calls() {
            match reading.is_about(shape) {
                Err(error) => first = first.or(Some(error)),
                Ok(()) if reading.product.is_none() => return Ok(shape),
                Ok(()) if reading.batch.unwrap_or(1) == batches => return Ok(shape),
                Ok(()) => {}
            }
        }
        Err(first.unwrap_or_else(|| KernelError::WrongBatch {
            text: reading.batch.unwrap_or(1),
            requested: self.batches,
        }))
    }
}

/// What the fields state of a kernel beside its text, as planning takes it.
///
/// # Errors
/// A size that is 0, or a GPU that is not known.
pub fn options_of(fields: &RequestFields) -> Result<Options, CheckError> {
    let mut options = Options {
        operands: fields.dtype.map(|a| [a, fields.dtype_b.unwrap_or(a)]),
        result: fields.d_dtype,
        split_k: fields.split_k,
        tile_k: fields.tile_k,
        instruction_k: fields.instruction_k,
        scheme: fields.reduction,
        partition: fields.partition,
        custom: fields.custom,
        fast_accumulation: fields.accumulation.map(|how| how == Accumulation::Fast),
        multiprocessors: fields.multiprocessors,
        weights: fields.weights,
        rotation: fields.rotation,
        whole_remainder: fields.whole_remainder == Some(true),
        ..Options::default()
    };
    for (field, size) in [
        ("split_k", fields.split_k),
        ("tile_k", fields.tile_k),
        ("instruction_k", fields.instruction_k),
    ] {
        if size == Some(0) {
            return Err(CheckError::zero(field));
        }
    }
    if let Some(name) = &fields.arch {
        let known = options.on(name);
        known.map_err(CheckError::of("arch"))?;
    }
    Ok(options)
}

impl KernelTexts for Texts {
    /// The text's layout of A and B is used where the files do not multiply otherwise.
    fn plan(
        &self,
        request: &KernelRequest,
        check: &Check,
        shapes: &StoredShapes,
    ) -> Result<(Schedule, PlannedKernel), CheckError> {
        let shapes = Shapes(shapes);
        let source = &request.source;
        let field = source.field();
        let options = Options {
            groups: shapes.0.groups,
            ..options_of(&RequestFields::from(check.clone()))?
        };
        let content = source.content()?;
        let (reading, place) = reading(source, &content, &shapes, &options, check)?;
        let fail = |error| field_error(field, &place, error);
        let factors =
            factors(&reading, check).map_err(|error| field_error(field, &place, error))?;
        let transposed = shapes.under(&reading);
        let taken = (transposed != shapes.0.transposed).then(|| stored(transposed, &reading));
        let product = shapes.product(transposed);
        let shape = product.under(&reading).map_err(&fail)?;
        let plan = reading.plan(&shape, &options).map_err(&fail)?;
        let model = plan.model();
        if let (Some(planned), Some(requested)) = (model.instruction, &check.model.instruction)
            && *requested != planned
            && !requested.starts_with(&format!("{planned}-"))
        {
            return Err(fail(KernelError::Contradiction {
                what: "the instruction",
                text: planned.to_owned(),
                given: printable(requested),
            }));
        }
        let schedule = plan.schedule().map_err(&fail)?;
        let result = plan.settings.result.value();
        let mut description = kernel_words(&reading, &plan, source, place);
        description.assumed.extend(taken);
        let bias = plan
            .settings
            .epilogue
            .as_ref()
            .filter(|epilogue| epilogue.value == "BIAS");
        if let (Some(bias), false) = (bias, check.operands.arrays.contains_key(&Role::Bias)) {
            let assumed = "a bias of zeros: the text says that one is added, and none is given";
            description
                .assumed
                .push(format!("{assumed} ({})", bias.from));
        }
        let planned = PlannedKernel {
            description,
            sha256: sha256(&content),
            stored: transposed,
            result,
            instruction: model.instruction,
            epilogue: plan.settings.epilogue.map(|epilogue| epilogue.value),
            factors,
        };
        Ok((schedule, planned))
    }

    fn ttnn(&self, text: &str) -> Result<TtnnConfiguration, String> {
        super::ttnn::read(text)
    }
}

/// The text about this product, and where in a file it stands.
fn reading(
    source: &KernelSource,
    content: &str,
    shapes: &Shapes,
    options: &Options,
    check: &Check,
) -> Result<(KernelReading, Option<String>), CheckError> {
    let field = source.field();
    match source {
        KernelSource::Text(text) => {
            let reading = super::read(text).map_err(|error| field_error(field, &None, error))?;
            Ok((reading, None))
        }
        KernelSource::Log(path) => {
            let found = of_log(content, shapes, options, check);
            let fail = |reason| CheckError::array(field, escaped_path(path), reason);
            let (line, reading) = found.map_err(fail)?;
            Ok((
                reading,
                Some(format!("{}, line {line}", escaped_path(path))),
            ))
        }
        KernelSource::Table { file, workspace } => {
            let place = Some(escaped_path(file));
            let table = KernelTable::from_json(content);
            let table = table.map_err(|error| field_error(field, &place, error))?;
            let mut last = None;
            let layouts = shapes
                .possible_layouts()
                .into_iter()
                .map(|transposed| shapes.product(transposed));
            let calls: Vec<_> = layouts
                .flat_map(|product| product.possible_calls())
                .collect();
            for (shape, _) in calls {
                let found = table.find(&TableQuery {
                    shape,
                    operands: options.operands,
                    result: check.d_dtype,
                    fast_accumulation: options.fast_accumulation,
                    workspace: *workspace,
                });
                match found {
                    Ok(reading) => return Ok((reading, place)),
                    Err(error) => last = last.or(Some(error)),
                }
            }
            Err(field_error(
                field,
                &place,
                last.expect("at least one query ran"),
            ))
        }
    }
}

/// The line of a log that is about a product.
fn of_log(
    log: &str,
    shapes: &Shapes,
    options: &Options,
    check: &Check,
) -> Result<(usize, KernelReading), String> {
    let mut fitting: Vec<(usize, KernelReading)> = Vec::new();
    let (mut lines, mut unread, mut others) = (0, None, Vec::new());
    for (line, launch) in super::launches(log) {
        lines += 1;
        let reading = match super::read(launch) {
            Ok(reading) => reading,
            Err(error) => {
                unread = unread.or(Some((line, error)));
                continue;
            }
        };
        let formats = |shape| {
            let operands = reading.operands(shape);
            let result = reading.settings.result.value();
            operands.is_none_or(|formats| {
                options
                    .operands
                    .is_none_or(|requested| requested == formats)
            }) && result
                .is_none_or(|format| options.result.is_none_or(|requested| requested == format))
        };
        let product = shapes.product(shapes.under(&reading));
        if product.under(&reading).is_ok_and(formats) {
            fitting.push((line, reading))
        } else {
            others.extend(reading.product)
        }
    }
    let differs = |one: &KernelReading, other: &KernelReading| {
        one.family != other.family
            || one.settings != other.settings
            || [one.alpha, one.beta] != [other.alpha, other.beta]
    };
    // Others have the factors of another call; if all have, the first one is what is refused.
    let agrees = |(_, reading): &(usize, KernelReading)| factors(reading, check).is_ok();
    if fitting.iter().any(agrees) {
        fitting.retain(agrees);
    }
    let mut fitting = fitting.into_iter();
    if let Some((line, reading)) = fitting.next() {
        return match fitting.find(|(_, other)| differs(other, &reading)) {
            None => Ok((line, reading)),
            Some((other, _)) => Err(format!(
                "lines {line} and {other} both describe this product, but with different kernels or factors; give the \
                line with `kernel`"
            )),
        };
    }
    let shape = shapes.product(shapes.0.transposed).shape;
    let there = match (lines, others.first()) {
        (0, _) => {
            "it has no line that launches a product (algo=[...]); set CUBLASLT_LOG_LEVEL=2 to log them"
                .to_owned()
        }
        (_, None) => format!("it has no line for a product of {shape}"),
        (_, Some(other)) => format!(
            "it has no line for a product of {shape} in these formats; {lines} lines describe others, such as \
            {other}"
        ),
    };
    Err(match unread {
        None => there,
        Some((line, error)) => format!("{there}; line {line} cannot be read: {error}"),
    })
}

/// Alpha and beta, as far as the text or the request states them.
fn factors(reading: &KernelReading, check: &Check) -> Result<[Option<F32>; 2], KernelError> {
    let given = &check.schedule.overrides;
    let one = |what, text: Option<F32>, given: Option<F32>| match (text, given) {
        (Some(text), Some(given)) if text != given => Err(KernelError::Contradiction {
            what,
            text: text.to_string(),
            given: given.to_string(),
        }),
        _ => Ok(given.or(text)),
    };
    let alpha = one("alpha", reading.alpha, given.alpha.map(|alpha| alpha.f32))?;
    let beta = one("beta", reading.beta, given.beta.map(|beta| beta.f32))?;
    let has_c = check.operands.has(Role::C);
    let added = match (reading.beta, has_c) {
        (Some(text), true) if text.is_zero() && given.beta.is_none() => "that C is added",
        (Some(text), false) if !text.is_zero() => "that there is no C",
        _ => {
            let plain = Some(F32(1f32.to_bits()));
            return Ok([
                alpha.filter(|_| given.alpha.is_some() || alpha != plain),
                beta.filter(|_| has_c || given.beta.is_some()),
            ]);
        }
    };
    Err(KernelError::Contradiction {
        what: "beta",
        text: beta.map_or(String::new(), |beta| beta.to_string()),
        given: added.to_owned(),
    })
}

/// That operands are taken as stored so.
fn stored(transposed: [bool; 2], reading: &KernelReading) -> String {
    let stored = match transposed {
        [true, true] => "A is stored KxM and B NxK",
        [true, false] => "A is stored KxM",
        _ => "B is stored NxK",
    };
    let from = reading.settings.transposed.as_ref();
    let from = from.map_or("", |stated| &stated.from);
    format!("{stored}, as the text says ({from}): the shapes are compatible only in this layout")
}

/// The text as a report has it.
pub fn kernel_words(
    reading: &KernelReading,
    plan: &Plan,
    source: &KernelSource,
    place: Option<String>,
) -> KernelDescription {
    let setting = |(name, value, how, from): (&str, String, How, String)| KernelSetting {
        name: name.into(),
        value,
        how: how.name().into(),
        from,
    };
    KernelDescription {
        kind: reading.kind.name().into(),
        text: match source {
            KernelSource::Text(text) => Some(printable(text.trim())),
            _ => None,
        },
        place,
        family: plan.family.into(),
        order: plan.summary(),
        settings: plan.settings.rows().into_iter().map(setting).collect(),
        unknown: reading.unknown().map(Token::text).collect(),
        assumed: plan.assumed.clone(),
        notes: reading.notes.clone(),
        defect: plan.lost.map(|lost| lost.sentence()),
    }
}

/// An error about the text, in terms of fields.
pub fn field_error(field: &'static str, place: &Option<String>, error: KernelError) -> CheckError {
    if let KernelError::Missing { what, why, ask } = &error {
        let wanted = ask.replace('-', "_");
        let known = RequestFields::NAMES.iter().find(|name| **name == wanted);
        let reason = format!(
            "the text of `{field}` does not state {what}, which the order of the sums depends on: {why}; give \
            `{wanted}`"
        );
        return CheckError::request(known.unwrap_or(&field), reason);
    }
    let place = place
        .as_ref()
        .map_or(String::new(), |place| format!("{place}: "));
    CheckError::request(field, format!("`{field}`: {place}{error}"))
}

#[cfg(test)]
mod tests;
