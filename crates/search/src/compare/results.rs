//! Two arrays as codes of one format, so that they can be compared bit by bit.

use std::borrow::Cow;

use super::request::{Compare, Held, Span};
use crate::check::{Array, CheckError, Source};
use crate::emu::{Band, shape_text};
use crate::forms::{Mapping, MismatchMap};
use crate::io;
use crate::num::{Format, Rounding, result_code};
use crate::report::{Comparator, Conclusion, Input, Tolerance};
use crate::role::Role;
use crate::tensor::Tensor;

/// What messages call the two.
pub const FIELDS: [&str; 2] = ["left", "right"];

/// Fewer numbers may be those of a narrower format by chance.
const TELLING: usize = 64;

/// One result as it was read.
pub struct Read {
    /// All of the result, of which rows may be chosen.
    array: Array,
    /// The rows that are compared.
    pub tensor: Tensor,
}

/// Both results.
pub struct Pair {
    pub read: [Read; 2],
    /// Both in the narrower format of the two.
    in_one_format: [Tensor; 2],
    /// The side that was rounded for that, to nearest even.
    pub rounded: Option<usize>,
    /// The narrower format, if both files store only its numbers in a wide type.
    pub stored_wide: Option<Format>,
}

impl Pair {
    /// # Errors
    /// If one cannot be read, or they are not of one shape.
    pub fn read(request: &Compare, held: &Held) -> Result<Pair, CheckError> {
        let open = |side: usize| -> Result<io::Source, CheckError> {
            let field = FIELDS[side];
            match &request.results[side] {
                Source::File(path) => io::Source::open(path).map_err(CheckError::file(field)),
                Source::Memory => held[side].get(&Role::D).cloned().ok_or_else(|| {
                    let reason =
                        format!("`{field}` is in memory, but the caller passed no such array");
                    CheckError::request(field, reason)
                }),
                Source::Generated(_) => {
                    let reason =
                        "a generated array is not the result of a product: name a captured one";
                    Err(CheckError::request(field, reason))
                }
            }
        };
        let sources = [open(0)?, open(1)?];
        let mut formats = [0, 1].map(|side| format(&sources[side], request.formats[side]));
        let mut stored_wide = None;
        if request.formats == [None; 2] && formats == [Some(Format::Fp32); 2] {
            stored_wide = narrow(&sources);
            formats = stored_wide.map_or(formats, |narrow| [Some(narrow); 2]);
        }
        let one = |side: usize, source: io::Source| -> Result<Read, CheckError> {
            let field = FIELDS[side];
            let format = formats[side].ok_or_else(|| {
                let label = source.label().display();
                let reason = format!(
                    "{label}: the file does not state the format of its codes; give `d_dtype`"
                );
                CheckError::request("d_dtype", reason)
            })?;
            let tensor = source.tensor(format).map_err(CheckError::file(field))?;
            let compared = match &request.rows[side] {
                None => tensor.clone(),
                Some(rows) => part(&tensor, rows)
                    .map_err(|reason| CheckError::array(field, source.label().display(), reason))?,
            };
            let array = Array {
                source,
                tensor,
                low_bits: None,
            };
            Ok(Read {
                array,
                tensor: compared,
            })
        };
        let [left, right] = sources;
        let read = [one(0, left)?, one(1, right)?];
        let shapes = read.each_ref().map(|read| read.tensor.shape());
        if shapes[0] != shapes[1] {
            return Err(CheckError::Shapes {
                names: format!(
                    "left = {}, right = {}",
                    read[0].array.source.label().display(),
                    read[1].array.source.label().display()
                ),
                reason: unlike(shapes),
            });
        }
        if shapes[0].contains(&0) {
            let name = read[0].array.source.label().display();
            let reason = format!("{}: it has no elements to compare", shape_text(shapes[0]));
            return Err(CheckError::array(FIELDS[0], name, reason));
        }
        let formats = read.each_ref().map(|read| read.tensor.format());
        if formats[0].is_integer() != formats[1].is_integer() {
            let [left, right] = formats;
            let reason = format!(
                "left holds {left}, right holds {right}: different formats cannot be compared bit by bit"
            );
            return Err(CheckError::request("d_dtype", reason));
        }
        let (in_one_format, rounded) = in_one_format(&read);
        Ok(Pair {
            read,
            in_one_format,
            rounded,
            stored_wide,
        })
    }

    pub fn format(&self) -> Format {
        self.in_one_format[0].format()
    }

    pub fn shape(&self) -> &[usize] {
        self.in_one_format[0].shape()
    }

    /// Compares every element of the left with that of the right.
    pub fn compare(&self, keep: usize) -> (Conclusion, MismatchMap) {
        let [left, right] = &self.in_one_format;
        let mapping = Mapping::of(right);
        let differ = Comparator::new(right, Tolerance::default(), keep);
        let mut differ = differ.observed_by(Some(&mapping));
        let row = left.planes().columns() * left.format().bytes();
        let mut first_row = 0;
        left.for_each_payload_chunk(|payload| {
            differ.compare(&Band { first_row, payload });
            first_row += payload.len() / row.max(1);
        });
        (differ.conclude(), mapping.finish())
    }

    /// Codes of an element by its position in C order: left, right.
    pub fn codes(&self, position: usize) -> [u64; 2] {
        self.in_one_format.each_ref().map(|tensor| {
            let planes = tensor.planes();
            let [m, n] = [planes.rows(), planes.columns()];
            let row = position / n;
            planes.plane(row / m).code(row % m, position % n)
        })
    }

    /// Which files these are. Digests are of whole files, whichever rows are compared.
    pub fn inputs(&self) -> [Input; 2] {
        self.read.each_ref().map(|read| read.array.describe())
    }

    /// Whether both are square matrices, and one is the other transposed.
    pub fn is_transposed(&self) -> bool {
        let [left, right] = &self.in_one_format;
        let [left, right] = [left.planes(), right.planes().transposed()];
        let square = left.rows() == right.rows() && left.rows() > 1;
        square
            && (0..left.batches()).all(|batch| {
                let [left, right] = [left.plane(batch), right.plane(batch)];
                let n = self.shape()[self.shape().len() - 1];
                (0..n).all(|i| (0..n).all(|j| left.code(i, j) == right.code(i, j)))
            })
    }
}

/// The format of a result, where its file or the request says it.
fn format(source: &io::Source, requested: Option<Format>) -> Option<Format> {
    requested.or_else(|| source.header().descr.number_format())
}

/// The only narrower format of which all numbers in two FP32 arrays are: a dump that was widened.
fn narrow(sources: &[io::Source; 2]) -> Option<Format> {
    let holds = |format: &Format| {
        sources.iter().all(|source| {
            let tensor = source.tensor(*format);
            tensor.is_ok_and(|tensor| tensor.len() >= TELLING)
        })
    };
    let mut narrow = [Format::Fp16, Format::Bf16].into_iter().filter(holds);
    let only = narrow.next()?;
    narrow.next().is_none().then_some(only)
}

/// Some rows of a matrix.
pub fn part(tensor: &Tensor, rows: &Span) -> Result<Tensor, String> {
    let planes = tensor.planes();
    if planes.batches() != 1 {
        return Err("rows of a batch cannot be selected: give its matrices one by one".into());
    }
    if rows.is_empty() || rows.end > planes.rows() {
        return Err(format!(
            "the request is for rows {}:{}, but it has {}",
            rows.start,
            rows.end,
            planes.rows()
        ));
    }
    let rows: Vec<usize> = rows.clone().collect();
    Ok(planes.gather(&rows))
}

/// Both in the narrower format, and which was rounded: kernels round wider sums to results.
fn in_one_format(read: &[Read; 2]) -> ([Tensor; 2], Option<usize>) {
    let mut both = read.each_ref().map(|read| read.tensor.clone());
    let [left, right] = both.each_ref().map(Tensor::format);
    if left == right {
        return (both, None);
    }
    let wide = usize::from(right.bytes() > left.bytes());
    both[wide] = converted(&both[wide], both[1 - wide].format());
    (both, Some(wide))
}

/// A tensor's numbers in another format, rounded to nearest even.
fn converted(tensor: &Tensor, to: Format) -> Tensor {
    let from = tensor.format();
    let width = from.bytes();
    let mut payload = Vec::with_capacity(tensor.len() * to.bytes());
    tensor.for_each_payload_chunk(|chunk| {
        for bytes in chunk.chunks_exact(width) {
            let mut code = [0; 8];
            code[..width].copy_from_slice(bytes);
            let rounded = result_code(from, u64::from_le_bytes(code), to, Rounding::NearestEven);
            payload.extend_from_slice(&rounded.to_le_bytes()[..to.bytes()]);
        }
    });
    Tensor::from_payload(to, tensor.shape().to_vec(), payload)
}

/// Why two shapes cannot be compared, and what can be done.
fn unlike([left, right]: [&[usize]; 2]) -> String {
    let shapes = format!(
        "left is {}, right is {}",
        shape_text(left),
        shape_text(right)
    );
    let hint: Cow<str> = match (left, right) {
        ([m, n], [p, q]) if n == q => {
            let (side, rows) = if m > p { (1, p) } else { (2, m) };
            format!("; if they hold the same rows, select them: --rows{side} 0:{rows}").into()
        }
        ([m, n], [p, q]) if [m, n] == [q, p] => "; is one of them transposed?".into(),
        _ => "; only results of the same shape can be compared".into(),
    };
    shapes + &hint
}
