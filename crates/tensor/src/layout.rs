//! How elements lie in bytes, in which order, and what one of them is.

use tcverify_num::Format;

/// The order of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last index varies fastest.
    C,
    /// The first index varies fastest.
    Fortran,
}

/// Whether elements so far apart lie one after another in this order. Of an axis of one no stride counts.
pub(super) fn lies_in(order: Order, shape: &[usize], found: &[usize]) -> bool {
    let wanted = strides(shape, order);
    let mut axes = shape.iter().zip(wanted.iter().zip(found));
    axes.all(|(&n, (wanted, found))| n <= 1 || wanted == found)
}

pub(super) fn strides(shape: &[usize], order: Order) -> Vec<usize> {
    let mut strides = vec![0; shape.len()];
    let mut next = 1;
    let mut place = |axis: usize| {
        strides[axis] = next;
        next *= shape[axis];
    };
    match order {
        Order::C => (0..shape.len()).rev().for_each(&mut place),
        Order::Fortran => (0..shape.len()).for_each(&mut place),
    }
    strides
}

/// Whether two shapes differ in axes of length 1 alone, so that their elements lie alike.
pub fn same_longer_axes(one: &[usize], other: &[usize]) -> bool {
    let [one, other] = [one, other].map(|shape| longer_axes(shape).map(|axis| shape[axis]));
    one.eq(other)
}

/// The axes of another length than 1.
pub(super) fn longer_axes(shape: &[usize]) -> impl Iterator<Item = usize> {
    (0..shape.len()).filter(|&axis| shape[axis] != 1)
}

/// `2500x1x16`; an array without axes is a `scalar`.
pub fn shape_text(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "scalar".to_owned();
    }
    let parts: Vec<_> = shape.iter().map(usize::to_string).collect();
    parts.join("x")
}

/// The index of the element at `position` of an array stored in this order.
pub fn unravel(mut position: usize, shape: &[usize], order: Order) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    let mut take = |axis: usize| {
        index[axis] = position % shape[axis];
        position /= shape[axis];
    };
    match order {
        Order::C => (0..shape.len()).rev().for_each(&mut take),
        Order::Fortran => (0..shape.len()).for_each(&mut take),
    }
    index
}

/// How one stored element becomes a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// It is the code.
    Code,
    /// It is a number in this format; the code is the one that means the same.
    Value(Format),
    /// It is an integer in two's complement, or an unsigned one.
    Integer { signed: bool },
}

/// How elements lie in the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Bytes of one stored element: 1, 2, 4 or 8.
    pub width: usize,
    pub big_endian: bool,
    pub encoding: Encoding,
}

impl Stored {
    /// The integer that a stored element is, under [`Encoding::Integer`].
    pub fn integer(self, raw: u64) -> i128 {
        let unused = 64 - 8 * self.width as u32;
        match self.encoding {
            Encoding::Integer { signed: true } => ((raw << unused) as i64 >> unused).into(),
            _ => raw.into(),
        }
    }

    /// The code of an element that is an integer, if the format has it.
    pub(super) fn integer_code(self, raw: u64, format: Format) -> Option<u64> {
        let value = i64::try_from(self.integer(raw)).ok()?;
        format.integer_code(value)
    }
}
