//! The numbers of one product that a schedule works with beside A, B and C.

use std::iter::repeat_n;

use super::{Per, ZeroPoint};
use crate::num::{Format, convert_exact};
use crate::tensor::{Planes, Tensor};
use crate::{Problem, ShapeError, shape_text};

/// All as f32 codes.
#[derive(Clone, Debug)]
pub struct Values {
    pub alpha: u32,
    pub beta: u32,
    /// Alpha and beta as FP64 codes, of products of FP64 operands.
    pub wide: Option<[u64; 2]>,
    /// The factor of results before they are converted, if the schedule has one.
    pub scale_result: Option<u32>,
    /// One for every column of D.
    bias: Option<Table>,
    /// Of A and of B.
    scales: Option<[Table; 2]>,
    /// Of which one scale is repeated for every row or column.
    one_scale: [bool; 2],
    /// Integers of the rows of D, and of its columns.
    zero_point: [Option<Table>; 2],
}

/// Numbers of the matrices of a batch, or of all of them alike: f32, or int32 as they are.
#[derive(Clone, Debug)]
struct Table {
    codes: Vec<u32>,
    /// Rows and columns of one matrix of them.
    columns: usize,
    /// How many numbers the next matrix is away; none if there is one for all.
    stride: usize,
}

pub const ONE: u32 = 0x3f80_0000;

impl Default for Values {
    fn default() -> Values {
        Values {
            alpha: ONE,
            beta: ONE,
            wide: None,
            scale_result: None,
            bias: None,
            scales: None,
            one_scale: [false; 2],
            zero_point: [None, None],
        }
    }
}

/// The shapes of the scales of A (M x K) and B (K x N) that share a scale as `per` says, in rows and
/// columns.
pub fn scale_shapes(per: Per, m: usize, n: usize, k: usize) -> [[usize; 2]; 2] {
    match per {
        Per::Tensor => [[1, 1], [1, 1]],
        Per::Row | Per::RowOrTensor => [[m, 1], [1, n]],
        Per::Block {
            rows,
            columns,
            k: of_k,
        } => [
            [m.div_ceil(rows), k.div_ceil(of_k)],
            [k.div_ceil(of_k), n.div_ceil(columns)],
        ],
    }
}

impl Table {
    fn of(planes: Planes) -> Table {
        let format = planes.tensor().format();
        let (rows, columns) = (planes.rows(), planes.columns());
        let batches = planes.batches();
        let mut codes = Vec::with_capacity(batches * rows * columns);
        for batch in 0..batches {
            let plane = planes.plane(batch);
            for row in 0..rows {
                let code = |column| match (format, plane.code(row, column)) {
                    (Format::Int32, code) => code as u32,
                    (format, code) => f32_code(format, code),
                };
                codes.extend((0..columns).map(code));
            }
        }
        let stride = match planes.batch_shape() {
            [] => 0,
            _ => rows * columns,
        };
        Table {
            codes,
            columns,
            stride,
        }
    }

    /// Makes so many equal numbers of the one that every matrix has.
    fn repeat(&mut self, count: usize) {
        let codes = self.codes.iter();
        self.codes = codes.flat_map(|&code| repeat_n(code, count)).collect();
        self.stride *= count;
    }

    fn get(&self, batch: usize, row: usize, column: usize) -> u32 {
        self.codes[batch * self.stride + row * self.columns + column]
    }
}

/// The f32 that is a number of a narrower format; its NaNs stay NaNs.
pub fn f32_code(format: Format, code: u64) -> u32 {
    convert_exact(format, code, Format::Fp32).expect("an f32 holds it") as u32
}

impl Values {
    /// Adds the bias: N numbers, or 1 x N, for every matrix of the batch or for all of them.
    ///
    /// # Errors
    /// If it has another shape.
    pub fn with_bias(mut self, bias: &Tensor, problem: &Problem) -> Result<Values, ShapeError> {
        let planes = bias.planes();
        let vector = bias.shape().len() == 1;
        let fits = planes.rows() == 1
            && planes.columns() == problem.n
            && (vector || suits(planes, problem));
        if !fits {
            let n = problem.n;
            return Err(ShapeError(format!(
                "the bias is {}; it must have one number per column of D: {n} or 1x{n}{}",
                shape_text(bias.shape()),
                in_batch(problem)
            )));
        }
        self.bias = Some(Table::of(planes));
        Ok(self)
    }

    /// Adds the scales of B alone, as [`Values::with_scales`] with scales of 1 for A.
    ///
    /// # Errors
    /// If they have another shape than the schedule wants.
    pub fn with_scales_of_b(
        self,
        per: Per,
        of_b: Planes,
        problem: &Problem,
    ) -> Result<Values, ShapeError> {
        let ones = vec![0x3f80_0000; problem.m];
        let of_a = Tensor::from_codes(Format::Fp32, vec![problem.m], &ones);
        self.with_scales(per, [of_a.planes(), of_b], problem)
    }

    /// Adds the scales of A and B, transposed beforehand as the operands were.
    ///
    /// # Errors
    /// If one has another shape than the schedule wants.
    pub fn with_scales(
        mut self,
        per: Per,
        scales: [Planes; 2],
        problem: &Problem,
    ) -> Result<Values, ShapeError> {
        let shapes = scale_shapes(per, problem.m, problem.n, problem.k);
        let mut tables = Vec::new();
        for ((name, planes), [rows, columns]) in ["A", "B"].into_iter().zip(scales).zip(shapes) {
            let shape = planes.tensor().shape();
            let count = rows * columns;
            // A vector serves wherever only one axis is longer than 1.
            let vector =
                shape.len() < 2 && planes.tensor().len() == count && (rows == 1 || columns == 1);
            let have = (planes.rows(), planes.columns());
            let one_for_all = per == Per::RowOrTensor && have == (1, 1);
            let fits = (have == (rows, columns) || one_for_all) && suits(planes, problem);
            if !vector && !fits {
                let wanted = match (rows, columns) {
                    (1, 1) => "a single number".to_owned(),
                    (1, n) | (n, 1) if per == Per::RowOrTensor => {
                        format!("{n}, {rows}x{columns} or a single number")
                    }
                    (1, n) | (n, 1) => format!("{n} or {rows}x{columns}"),
                    _ => format!("{rows}x{columns}"),
                };
                let have = match shape.len() {
                    0 | 1 => shape_text(shape),
                    _ => {
                        let mut have = planes.batch_shape().to_vec();
                        have.extend([planes.rows(), planes.columns()]);
                        shape_text(&have)
                    }
                };
                return Err(ShapeError(format!(
                    "the scales of {name} are {have}, but the schedule has {} and needs {wanted}{}",
                    per.describe(name),
                    in_batch(problem)
                )));
            }
            let mut table = Table::of(planes);
            if one_for_all && count > 1 {
                table.repeat(count);
                self.one_scale[tables.len()] = true;
            }
            table.columns = columns;
            tables.push(table);
        }
        self.scales = Some(tables.try_into().expect("of A and of B"));
        Ok(self)
    }

    /// Adds the zero points, which integer sums lose: one integer for every column of D, and one for every row
    /// where they are multiplied.
    ///
    /// # Errors
    /// If one has another shape or is not of int32.
    pub fn with_zero_point(
        mut self,
        row: Option<&Tensor>,
        column: &Tensor,
        problem: &Problem,
    ) -> Result<Values, ShapeError> {
        let table = |name: &str, tensor: &Tensor, count: usize| {
            let planes = tensor.planes();
            let shape = tensor.shape();
            let one_axis = shape.len() == 1 || planes.rows() == 1 || planes.columns() == 1;
            let each = planes.rows() * planes.columns();
            let fits = one_axis && each == count && (shape.len() == 1 || suits(planes, problem));
            if !fits || tensor.format() != Format::Int32 {
                return Err(ShapeError(format!(
                    "the zero points of the {name}s are {} of {}; they must be one int32 per {name} of D: {count}{}",
                    shape_text(shape),
                    tensor.format(),
                    in_batch(problem)
                )));
            }
            let mut table = Table::of(planes);
            table.columns = 1;
            Ok(table)
        };
        self.zero_point = [
            row.map(|row| table("row", row, problem.m)).transpose()?,
            Some(table("column", column, problem.n)?),
        ];
        Ok(self)
    }

    /// The zero point of an element: the integer of its column, times that of its row if there is one.
    ///
    /// # Panics
    /// If there are none where the schedule has some.
    pub fn zero_point(
        &self,
        of: ZeroPoint,
        batch: usize,
        row: usize,
        column: usize,
    ) -> (Option<u32>, u32) {
        let get = |i: usize, at: usize| {
            let table = self.zero_point[i].as_ref();
            table.expect("checked beforehand").get(batch, at, 0)
        };
        let row = (of == ZeroPoint::PerRow).then(|| get(0, row));
        (row, get(1, column))
    }

    /// Whether any are given.
    pub fn has_zero_points(&self) -> bool {
        self.zero_point.iter().any(Option::is_some)
    }

    pub fn has_zero_point(&self, of: ZeroPoint) -> bool {
        let [row, column] = self.zero_point.each_ref().map(Option::is_some);
        column && row == (of == ZeroPoint::PerRow)
    }

    pub fn bias(&self, batch: usize, column: usize) -> Option<u32> {
        self.bias.as_ref().map(|bias| bias.get(batch, 0, column))
    }

    /// The values without a bias.
    #[must_use]
    pub fn without_bias(self) -> Values {
        Values { bias: None, ..self }
    }

    /// The f32 codes of the scales of A (side 0) or of B, matrix by matrix, row by row.
    pub fn scale_codes(&self, side: usize) -> Option<&[u32]> {
        Some(&self.scales.as_ref()?[side].codes)
    }

    /// The values with other scales of A (side 0) or of B, as many.
    ///
    /// # Panics
    /// If there are none to replace, or another number of them.
    #[must_use]
    pub fn with_scale_codes(mut self, side: usize, codes: Vec<u32>) -> Values {
        let table = &mut self.scales.as_mut().expect("scales to replace")[side];
        assert_eq!(table.codes.len(), codes.len());
        table.codes = codes;
        self
    }

    fn scales(&self) -> &[Table; 2] {
        let scales = self.scales.as_ref();
        scales.expect("a schedule with scales is given some")
    }

    /// The scale of a row of A at this k.
    ///
    /// # Panics
    /// If there are no scales.
    pub fn scale_a(&self, per: Per, batch: usize, row: usize, k: usize) -> u32 {
        let [a, _] = self.scales();
        match per {
            Per::Tensor => a.get(batch, 0, 0),
            Per::Row | Per::RowOrTensor => a.get(batch, row, 0),
            Per::Block { rows, k: of_k, .. } => a.get(batch, row / rows, k / of_k),
        }
    }

    /// The scale of a column of B at this k.
    ///
    /// # Panics
    /// If there are no scales.
    pub fn scale_b(&self, per: Per, batch: usize, column: usize, k: usize) -> u32 {
        let [_, b] = self.scales();
        match per {
            Per::Tensor => b.get(batch, 0, 0),
            Per::Row | Per::RowOrTensor => b.get(batch, 0, column),
            Per::Block {
                columns, k: of_k, ..
            } => b.get(batch, k / of_k, column / columns),
        }
    }

    /// Whether sums are multiplied by 1 and get no bias.
    pub fn is_neutral(&self) -> bool {
        [self.alpha, self.beta] == [ONE; 2] && self.bias.is_none() && self.scale_result.is_none()
    }

    pub fn has_bias(&self) -> bool {
        self.bias.is_some()
    }

    pub fn has_scales(&self) -> bool {
        self.scales.is_some()
    }

    /// Whether one scale stands for all rows of A, and one for all columns of B, where the schedule takes one for
    /// each as well.
    pub fn one_scale(&self) -> [bool; 2] {
        self.one_scale
    }
}

impl Per {
    fn describe(self, operand: &str) -> String {
        match (self, operand) {
            (Per::Tensor, _) => "one for all".into(),
            (Per::Row, "A") => "one per row of A".into(),
            (Per::Row, _) => "one per column of B".into(),
            (Per::RowOrTensor, "A") => "one per row of A, or one for all".into(),
            (Per::RowOrTensor, _) => "one per column of B, or one for all".into(),
            (Per::Block { rows: 1, k, .. }, "A") => format!("one per row and {k} k of A"),
            (Per::Block { rows, k, .. }, "A") => {
                format!("one per {rows} rows and {k} k of A")
            }
            (Per::Block { columns: 1, k, .. }, _) => {
                format!("one per {k} k and column of B")
            }
            (Per::Block { columns, k, .. }, _) => {
                format!("one per {k} k and {columns} columns of B")
            }
        }
    }
}

/// Whether a stack of tables has the matrices of the batch, or is one for all.
fn suits(planes: Planes, problem: &Problem) -> bool {
    planes.tensor().shape().len() <= 2 || planes.batch_shape() == problem.a.batch_shape()
}

fn in_batch(problem: &Problem) -> String {
    match problem.a.batch_shape() {
        [] => String::new(),
        batch => format!(", for the whole batch or for each of {}", shape_text(batch)),
    }
}
