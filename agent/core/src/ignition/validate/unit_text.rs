//! Syntax of unit files, as far as Ignition insists on it when it reads them with go-systemd.
//!
//! Owns the answer whether text can be read at all. It refuses to know sections and options: a misspelt one is systemd's
//! business, when the unit is loaded.

/// Why a unit file cannot be read. Units may hold credentials, so no message repeats any text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("has a line of {MOST_LINE} bytes or more; break it with a backslash at the end of the line")]
    LineTooLong,
    #[error("has a section name without a closing bracket")]
    OpenSection,
    #[error("has text behind the closing bracket of a section name")]
    TextAfterSection,
    #[error("has a line in a section that is no option=value, no comment and no section name")]
    NoOption,
}

/// What systemd read of a line in 2015, and go-systemd still allows.
const MOST_LINE: usize = 2048;

/// Size of the buffer that go-systemd reads through.
const BUFFER: usize = 4096;

/// Whether go-systemd can read the unit file.
pub(super) fn check(text: &str) -> Result<(), Fault> {
    let mut lexer = Lexer { text, at: 0, buffered: 0 };
    lexer.skip_to_section()
}

/// Reads the text and keeps count of what Go's buffer would hold, because lines are measured only within the buffer: a
/// line that is too long passes when the buffer happens to be drained where the line starts.
struct Lexer<'a> {
    text: &'a str,
    /// Offset of the next byte to read.
    at: usize,
    /// Offset of the first byte that is not in the buffer yet.
    buffered: usize,
}

impl<'a> Lexer<'a> {
    /// Text before the first section is skipped, whatever it is.
    fn skip_to_section(&mut self) -> Result<(), Fault> {
        loop {
            self.measure()?;
            match self.next() {
                None => return Ok(()),
                Some('[') => return self.sections(),
                Some('#' | ';') => self.comment()?,
                Some(_) => {}
            }
        }
    }

    /// Reads from behind an opening bracket to the end of the text.
    fn sections(&mut self) -> Result<(), Fault> {
        self.section_name()?;
        loop {
            self.measure()?;
            let start = self.at;
            match self.next() {
                None => return Ok(()),
                Some('[') => self.section_name()?,
                Some('#' | ';') => self.comment()?,
                Some(char) if char.is_whitespace() => {}
                Some(_) => {
                    self.at = start;
                    self.option()?;
                }
            }
        }
    }

    fn section_name(&mut self) -> Result<(), Fault> {
        self.measure()?;
        if !self.read_through(b']').ends_with(']') {
            return Err(Fault::OpenSection);
        }
        self.measure()?;
        if self.read_through(b'\n').trim().is_empty() { Ok(()) } else { Err(Fault::TextAfterSection) }
    }

    /// A backslash continues a comment, too, even one before a single space.
    fn comment(&mut self) -> Result<(), Fault> {
        self.measure()?;
        loop {
            let line = self.line();
            if !line.strip_suffix(' ').unwrap_or(line).ends_with('\\') {
                return Ok(());
            }
        }
    }

    fn option(&mut self) -> Result<(), Fault> {
        self.measure()?;
        loop {
            match self.next() {
                None | Some('\n' | '\r') => return Err(Fault::NoOption),
                Some('=') => break,
                Some(_) => {}
            }
        }
        loop {
            self.measure()?;
            if !self.line().ends_with('\\') {
                return Ok(());
            }
        }
    }

    fn line(&mut self) -> &'a str {
        let line = self.read_through(b'\n');
        line.strip_suffix('\n').unwrap_or_else(|| line.strip_suffix('\r').unwrap_or(line))
    }

    /// Done before every step, as go-systemd does.
    fn measure(&self) -> Result<(), Fault> {
        if self.buffered - self.at < MOST_LINE {
            return Ok(());
        }
        let ahead = self.text.as_bytes().get(self.at..self.at + MOST_LINE).unwrap_or_default();
        if ahead.iter().any(|byte| matches!(byte, b'\n' | b'\r')) { Ok(()) } else { Err(Fault::LineTooLong) }
    }

    fn fill(&mut self) {
        self.buffered = (self.at + BUFFER).min(self.text.len());
    }

    fn next(&mut self) -> Option<char> {
        let char = self.text.get(self.at..)?.chars().next()?;
        if self.at + char.len_utf8() > self.buffered {
            self.fill();
        }
        self.at += char.len_utf8();
        Some(char)
    }

    /// Up to and including the delimiter, or to the end.
    fn read_through(&mut self, delimiter: u8) -> &'a str {
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == delimiter).map_or(self.text.len(), |length| start + length + 1);
        while end > self.buffered {
            // A buffer that is full is taken out as a whole; one with room is filled up behind what it holds.
            if self.buffered - self.at >= BUFFER {
                self.at = self.buffered;
            }
            self.fill();
        }
        self.at = end;
        self.text.get(start..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn unit_files_that_go_systemd_reads_are_accepted() {
        for text in [
            "",
            "text before any section, with = and \\",
            "# comment",
            "# comment [not a section",
            "; comment \\\n[still a comment\n",
            "# comment \\ \n[still a comment\n",
            "[Unit]",
            "[Unit]  \r\n",
            "[Unit\n]",
            "junk [Unit]\nA=b\n",
            "[Unit]\nDescription=x\n\n[Service]\nExecStart=/bin/x \\\n  --flag\n# c\n;c\n[Install]\nWantedBy=a\n",
            "[Service]\nExecStart=a \\",
            "[Service]\nExecStart=a \\\n\n[X]\n",
            "[Service]\n=value without a name\n",
            "[Service]\nA=",
            "[Service]\n \t\u{a0} A = b = c",
            "[Service]\nA=b\\\r\nB=c",
        ] {
            assert_eq!(check(text), Ok(()), "{text:?}");
        }
    }

    #[test]
    fn unit_files_that_go_systemd_cannot_read_are_refused() {
        for (text, fault) in [
            ("[", Fault::OpenSection),
            ("[Unit", Fault::OpenSection),
            ("[Unit]\nA=b\n[Service\nB=c\n", Fault::OpenSection),
            ("[Unit] x", Fault::TextAfterSection),
            ("[Unit]x]\n", Fault::TextAfterSection),
            ("[Unit]\nno option", Fault::NoOption),
            ("[Unit]\nno option\n", Fault::NoOption),
            ("[Unit]\rA\r=b", Fault::TextAfterSection),
            ("[Unit]\nA\r=b", Fault::NoOption),
            ("[Unit]\nA=b \\ \nc\n", Fault::NoOption),
            ("[Unit]\nA=b\\\r\nc\r\n", Fault::NoOption),
        ] {
            assert_eq!(check(text), Err(fault), "{text:?}");
        }
    }

    #[test]
    fn long_lines_are_refused_where_the_buffer_shows_them() {
        let long = "x".repeat(2048);
        let padding = "#pad\n".repeat(500);
        for (text, fault) in [
            // The name is read before anything is measured, so the value counts from behind the equals sign.
            (format!("[S]\nA={long}"), Err(Fault::LineTooLong)),
            (format!("[S]\n{long}=a"), Err(Fault::LineTooLong)),
            (format!("[S]\nA={}", "x".repeat(2045)), Ok(())),
            (format!("[S]\nA={}\n", "x".repeat(2045)), Ok(())),
            (format!("[S]\nA=\\\n{long}"), Err(Fault::LineTooLong)),
            // The first character has been read when the buffer is first looked at.
            (format!("{long}\n[S]\nA=b\n"), Ok(())),
            (format!("x{long}\n[S]\nA=b\n"), Err(Fault::LineTooLong)),
            // 2500 bytes of comments leave less than 2048 bytes of the line in the first buffer.
            (format!("{padding}[S]\nA={}", "x".repeat(2500)), Ok(())),
            (format!("{padding}[S]\nA={}", "x".repeat(8000)), Ok(())),
        ] {
            assert_eq!(check(&text), fault, "{} bytes", text.len());
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "[\\[\\]=#; \n\r\\\\aé]{0,60}", filler in 0_usize..9000) {
            let _ = check(&text);
            let _ = check(&format!("{}{text}", "é\n".repeat(filler / 3)));
            let _ = check(&format!("[S]\nA={}\n{text}", "é".repeat(filler / 2)));
        }
    }
}
