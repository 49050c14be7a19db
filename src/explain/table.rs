//! Columns as wide as what stands in them.

use std::io::{self, Write};

const INDENT: usize = 2;

pub struct Table {
    head: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(head: &'static [&'static str]) -> Table {
        Table {
            head,
            rows: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.head.len());
        self.rows.push(cells);
    }

    /// Nothing without rows; columns that are empty all the way down are left out.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].len());
            match cells.max() {
                Some(0) if column > 0 => 0,
                most => most.unwrap_or(0).max(self.head[column].len()),
            }
        };
        let widths: Vec<_> = (0..self.head.len()).map(width).collect();
        if self.rows.is_empty() {
            return Ok(());
        }
        let head: Vec<String> = self.head.iter().map(|&name| name.to_owned()).collect();
        for cells in [&head].into_iter().chain(&self.rows) {
            let mut line = " ".repeat(INDENT);
            for (cell, &width) in cells.iter().zip(&widths).filter(|(_, width)| **width > 0) {
                line += &format!("{cell:<width$}  ");
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
