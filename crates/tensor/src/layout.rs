//! Shapes, and the order of elements.

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
