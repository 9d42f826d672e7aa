//! Columns of text.

use super::bold;

/// A table with aligned columns.
pub(super) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

impl Table {
    /// Creates a table with headings; if all are empty, none are shown.
    pub(super) fn new(head: &[&str]) -> Self {
        Table {
            head: head.iter().map(|cell| (*cell).to_owned()).collect(),
            rows: Vec::new(),
            right: vec![false; head.len()],
        }
    }

    /// Aligns columns to the right, for numbers.
    pub(super) fn right(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        columns.into_iter().for_each(|column| self.right[column] = true);
        self
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns the table as text, with a newline after each row.
    pub(super) fn render(&self) -> String {
        let mut widths: Vec<usize> = self.head.iter().map(|cell| cell.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut out = String::new();
        if self.head.iter().any(|cell| !cell.is_empty()) {
            out.push_str(&bold(&self.line(&self.head, &widths)));
            out.push('\n');
        }
        for row in &self.rows {
            out.push_str(&self.line(row, &widths));
            out.push('\n');
        }
        out
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let cells = cells.iter().zip(widths).zip(&self.right).map(|((cell, width), right)| {
            let gap = " ".repeat(width - cell.chars().count());
            if *right { format!("{gap}{cell}") } else { format!("{cell}{gap}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    }
}
