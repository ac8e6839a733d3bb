//! Tables with aligned columns, also for wide characters.

use super::ruler::{pad, width};

pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// Adds a row. Its cells contain no control characters.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Returns the lines, the header first. The last column is not padded.
    pub(crate) fn lines(&self) -> Vec<String> {
        let head: Vec<String> = self.head.iter().map(|&title| title.to_owned()).collect();
        let widths: Vec<usize> = (0..head.len()).map(|column| self.column_width(column)).collect();
        std::iter::once(&head).chain(&self.rows).map(|row| line(row, &widths)).collect()
    }

    fn column_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell));
        cells.chain(std::iter::once(width(self.head[column]))).max().unwrap_or(0)
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let padded: Vec<String> = cells.iter().zip(widths).map(|(cell, &width)| pad(cell, width)).collect();
    padded.join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_with_wide_characters() {
        let mut table = Table::new(&["RUN", "STATE"]);
        table.row(vec!["20260206-修正".into(), "completed".into()]);
        table.row(vec!["a".into(), "parked".into()]);
        insta::assert_snapshot!(table.lines().join("\n"), @r"
        RUN            STATE
        20260206-修正  completed
        a              parked
        ");
    }
}
