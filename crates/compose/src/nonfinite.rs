//! NaN and infinities: among operands where D has one too many or too few, and of a D that has nothing else.

use crate::check::Array;
use crate::inspect::Census;
use crate::num::Class;
use crate::report::{Classes, NonFinite};
use crate::tensor::{Order, Tensor, unravel};

/// Whether a result differs in elements that are no finite numbers.
pub fn concerns(classes: &Classes) -> bool {
    classes.nan_against_number + classes.infinity_against_finite + classes.infinity_sign > 0
}

/// Whether no element is a finite number. An array of none holds no infinity either.
pub fn is_all(array: &Array) -> bool {
    let tensor = &array.tensor;
    let format = tensor.format();
    let planes = tensor.planes();
    let is_finite = |code| !matches!(format.unpack(code).class, Class::Nan | Class::Infinite);
    let rows =
        (0..planes.batches()).flat_map(|batch| (0..planes.rows()).map(move |row| (batch, row)));
    let mut finite = rows.map(|(batch, row)| {
        let plane = planes.plane(batch);
        (0..plane.columns).any(|column| is_finite(plane.code(row, column)))
    });
    tensor.len() > 0 && !finite.any(|found| found)
}

/// What an operand holds of them.
pub fn of(array: &Array) -> NonFinite {
    let census = Census::of(&array.tensor);
    let first = |class| first(&array.tensor, class);
    NonFinite {
        nan: census.nan,
        infinite: census.infinite,
        first_nan: (census.nan > 0).then(|| first(Class::Nan)).flatten(),
        first_infinite: (census.infinite > 0)
            .then(|| first(Class::Infinite))
            .flatten(),
    }
}

/// The index of the first element of a class.
fn first(tensor: &Tensor, class: Class) -> Option<Vec<usize>> {
    let format = tensor.format();
    let shape = tensor.shape();
    let planes = tensor.planes();
    let columns = planes.columns();
    let mut all = (0..planes.batches()).flat_map(|batch| {
        let plane = planes.plane(batch);
        let rows = (0..plane.rows).flat_map(move |row| (0..plane.columns).map(move |c| (row, c)));
        rows.map(move |(row, column)| (batch, row, column, plane.code(row, column)))
    });
    let (batch, row, column, _) = all.find(|(.., code)| format.unpack(*code).class == class)?;
    let place = (batch * planes.rows() + row) * columns + column;
    Some(unravel(place, shape, Order::C))
}
