//! Columns that line up, whatever the colours in them.

/// Rows of three columns with the widths of the first two.
pub struct Table {
    rows: Vec<[String; 3]>,
}

/// Columns wider than this are not padded to: one long path would push everything else off the screen.
const MAX_WIDTHS: [usize; 2] = [72, 48];

impl Table {
    /// An empty table.
    pub const fn new() -> Self {
        Self { rows: Vec::new() }
    }

    /// Adds a row of plain text.
    pub fn push(&mut self, row: [String; 3]) {
        self.rows.push(row);
    }

    /// The rows as padded cells; styles are added by the caller, after padding.
    pub fn padded(&self) -> impl Iterator<Item = [String; 3]> {
        let [most_first, most_second] = MAX_WIDTHS;
        let (first, second) = (self.width(0, most_first), self.width(1, most_second));
        self.rows.iter().map(move |[a, b, c]| [format!("{a:first$}"), format!("{b:second$}"), c.clone()])
    }

    fn width(&self, column: usize, most: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).filter(|width| *width <= most).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_a_giant_does_not_widen_them() {
        let mut table = Table::new();
        let giant = "x".repeat(100);
        for (first, second) in [("a", "bb"), ("ccc", "d"), (giant.as_str(), "e")] {
            table.push([first.to_owned(), second.to_owned(), "end".to_owned()]);
        }
        let rows: Vec<String> = table.padded().map(|row| row.join("|")).collect();
        assert_eq!(rows, ["a  |bb|end", "ccc|d |end", &format!("{giant}|e |end")]);
    }
}
