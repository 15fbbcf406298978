//! Colours, the same as those of `ostler`.

use anstyle::{AnsiColor, Style};
pub use ostler_core::terminal::printable;

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
