//! Where in D a schedule works.

/// Where in D a part of it lies.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub batch: usize,
    /// Of the first element.
    pub row: usize,
    pub column: usize,
    /// The rows, where they are not consecutive.
    pub rows: Option<&'a [usize]>,
    /// Rows and columns of D.
    pub size: [usize; 2],
}

impl Place<'_> {
    pub fn row_of(&self, i: usize) -> usize {
        match self.rows {
            Some(rows) => rows[i],
            None => self.row + i,
        }
    }
}
