//! Colours, the same as those of `ostler`, and text that is safe for a terminal.

use anstyle::{AnsiColor, Style};

/// Headings.
pub const HEADING: Style = Style::new().bold();
/// What goes well.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What needs attention.
pub const CAUTION: Style = AnsiColor::Yellow.on_default();
/// What is refused or went wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// What explains.
pub const FAINT: Style = Style::new().dimmed();

/// Text in a style.
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Text of others, safe for a terminal: control characters are spelt out.
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

/// Characters that reorder or hide what stands around them.
const fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
