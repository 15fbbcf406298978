//! Columns that line up under their headings, whatever the colours in them.

use anstyle::Style;

use super::phrase::{HEADING, printable, styled};

/// Columns wider than this are not padded to: one long name would push everything else off the screen.
const MAX_WIDTH: usize = 80;

/// One cell: text, and the style it is shown in.
#[derive(Clone, Debug, Default)]
struct Cell {
    text: String,
    style: Style,
}

/// Rows under headings.
#[derive(Debug)]
pub struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub fn new<S: AsRef<str>>(headings: &[S]) -> Self {
        let headings = headings.iter().map(|heading| printable(heading.as_ref())).collect();
        Self { headings, rows: Vec::new() }
    }

    /// Adds a row of plain text.
    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        let cell = |text: &S| Cell { text: printable(text.as_ref()), style: Style::new() };
        self.rows.push(cells.iter().map(cell).collect());
    }

    /// Colours a cell of the row that was added last.
    pub fn colour(&mut self, column: usize, style: Style) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.get_mut(column)) {
            cell.style = style;
        }
    }

    /// The table as text; nothing at all where it has no rows.
    pub fn show(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let widths: Vec<usize> =
            self.headings.iter().enumerate().map(|(at, heading)| self.width(at, heading)).collect();
        let headings = self.headings.iter().map(|heading| Cell { text: heading.clone(), style: HEADING });
        let mut text = line(&headings.collect::<Vec<_>>(), &widths);
        for row in &self.rows {
            text.push_str(&line(row, &widths));
        }
        text
    }

    fn width(&self, column: usize, heading: &str) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.chars().count());
        cells.filter(|width| *width <= MAX_WIDTH).max().unwrap_or_default().max(heading.chars().count())
    }
}

/// Blanks stand before text only: an empty cell at the end leaves none behind for whoever copies the line.
fn line(cells: &[Cell], widths: &[usize]) -> String {
    let mut text = String::new();
    let mut blanks = 0;
    for (at, cell) in cells.iter().enumerate() {
        if !cell.text.is_empty() {
            text.push_str(&" ".repeat(std::mem::take(&mut blanks)));
            text.push_str(&styled(cell.style, &cell.text));
        }
        let width = widths.get(at).copied().unwrap_or_default();
        blanks += width.saturating_sub(cell.text.chars().count()) + 2;
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::super::phrase::BAD;
    use super::*;

    #[test]
    fn columns_line_up_and_neither_colours_nor_a_giant_widen_them() {
        let mut table = Table::new(&["NAME", "X"]);
        assert_eq!(table.show(), "");
        table.row(&["a", "1"]);
        table.colour(0, BAD);
        table.row(&["long-name".to_owned(), "2".to_owned()]);
        table.row(&["y".repeat(100), "3".to_owned()]);
        table.row(&["z", ""]);
        let shown = anstream::adapter::strip_str(&table.show()).to_string();
        assert_eq!(shown, format!("NAME       X\na          1\nlong-name  2\n{}  3\nz\n", "y".repeat(100)));
    }
}
