//! The cells of a terminal after the output of a full-screen program.

use unicode_width::UnicodeWidthChar as _;

/// A terminal that understands the sequences of a full-screen program: positions, erasing, the alternate screen.
/// Styles are ignored.
#[derive(Debug)]
pub struct FullScreen {
    columns: usize,
    cells: Vec<Vec<char>>,
    row: usize,
    column: usize,
    pub is_alternate: bool,
    pub has_cursor: bool,
    pub pastes_in_brackets: bool,
}

impl FullScreen {
    /// Returns the screen of this size after `written`.
    pub fn after(written: &str, columns: usize, rows: usize) -> Self {
        let mut screen = Self {
            columns,
            cells: vec![vec![' '; columns]; rows],
            row: 0,
            column: 0,
            is_alternate: false,
            has_cursor: true,
            pastes_in_brackets: false,
        };
        let mut characters = written.chars();
        while let Some(character) = characters.next() {
            match character {
                '\u{1b}' => screen.sequence(&mut characters),
                '\r' => screen.column = 0,
                '\n' => screen.row = (screen.row + 1).min(rows - 1),
                '\u{7}' => {}
                other => screen.put(other),
            }
        }
        screen
    }

    /// Returns the lines without trailing spaces.
    pub fn text(&self) -> String {
        // A wide character fills two cells; the second one is empty.
        let lines =
            self.cells.iter().map(|line| line.iter().filter(|cell| **cell != '\0').collect::<String>());
        lines.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    fn put(&mut self, character: char) {
        let width = character.width().unwrap_or(0);
        assert!(width > 0, "{character:?} is written to the terminal");
        if let Some(line) = self.cells.get_mut(self.row)
            && self.column + width <= self.columns
        {
            line[self.column] = character;
            if width == 2 {
                line[self.column + 1] = '\0';
            }
        }
        self.column += width;
    }

    fn sequence(&mut self, characters: &mut std::str::Chars<'_>) {
        match characters.next() {
            Some('[') => {}
            other => panic!("a sequence we do not use: {other:?}"),
        }
        let mut numbers = String::new();
        let kind = loop {
            match characters.next() {
                Some(letter) if letter.is_ascii_alphabetic() => break letter,
                Some(other) => numbers.push(other),
                // The end of the output so far.
                None => return,
            }
        };
        match (kind, numbers.as_str()) {
            ('H', place) => {
                let mut parts = place.split(';').map(|part| part.parse::<usize>().unwrap_or(1));
                let mut next = || parts.next().unwrap_or(1).saturating_sub(1);
                (self.row, self.column) = (next(), next());
            }
            ('J', "2") => self.cells.iter_mut().for_each(|line| line.fill(' ')),
            ('J', _) => {
                let (row, column) = (self.row, self.column);
                for (index, line) in self.cells.iter_mut().enumerate().skip(row) {
                    let from = if index == row { column.min(self.columns) } else { 0 };
                    line[from..].fill(' ');
                }
            }
            ('h' | 'l', "?1049") => {
                self.is_alternate = kind == 'h';
                self.cells.iter_mut().for_each(|line| line.fill(' '));
            }
            ('h' | 'l', "?25") => self.has_cursor = kind == 'h',
            ('h' | 'l', "?2004") => self.pastes_in_brackets = kind == 'h',
            ('m', _) => {}
            other => panic!("a sequence we do not use: {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_cells_replace_earlier_ones() {
        let written = "\u{1b}[?1049h\u{1b}[1;1Hone\u{1b}[2;3H二\u{1b}[1;2H\u{1b}[1mN\u{1b}[0m";
        let screen = FullScreen::after(written, 6, 2);
        assert_eq!((screen.text().as_str(), screen.is_alternate), ("oNe\n  二", true));
        assert_eq!(FullScreen::after(&format!("{written}\u{1b}[1;2H\u{1b}[J"), 6, 2).text(), "o\n");
    }
}
