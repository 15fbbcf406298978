//! Text of others, safe for a terminal.
//!
//! Owns which characters are spelt out. Refuses to know colours and widths, which are for those to know who print.

/// Spells out control characters and those that reorder or hide what stands around them.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || is_invisible(character) {
            safe.extend(character.escape_unicode());
        } else {
            safe.push(character);
        }
    }
    safe
}

const fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_move_the_cursor_or_hide_text_is_spelt_out() {
        for (text, safe) in [
            ("plain, ümläut, 漢字", "plain, ümläut, 漢字"),
            ("\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
            ("a\nb\tc", "a\\u{a}b\\u{9}c"),
            ("ab\u{202e}dc", "ab\\u{202e}dc"),
            ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
        ] {
            assert_eq!(printable(text), safe);
        }
    }
}
