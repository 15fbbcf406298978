//! Where a command writes and whom it may ask. Answers go to standard output, questions and progress to standard error.

use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, Result};
use ostler_core::transaction::Progress;
use serde::Serialize;

use super::progress::{Manner, Meter};
use super::trouble::NO_TERMINAL;
use crate::cli::Format;
use crate::show;

/// The longest answer to a question that is read.
const MAX_ANSWER: u64 = 64;

/// The streams of a command.
pub struct Console<'a> {
    format: Format,
    stdout: Stream<'a>,
    stderr: Stream<'a>,
    manner: Manner,
    terminal: Terminal<'a>,
    /// What a person has to know before a question, while standard output is kept for a program.
    untold: String,
}

/// One stream.
pub struct Stream<'a> {
    /// Where to.
    pub to: Box<dyn Write + 'a>,
    /// Whether colours are wanted.
    pub coloured: bool,
}

/// A person who may be asked.
pub struct Terminal<'a> {
    /// Whether there is one.
    pub stdin_is_tty: bool,
    /// What they answer.
    pub answers: Box<dyn BufRead + 'a>,
}

impl Console<'static> {
    /// The streams of this process.
    pub fn standard(format: Format) -> Self {
        let redrawn = io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|name| name != "dumb");
        let stdout =
            Stream { coloured: AutoStream::choice(&io::stdout()) != ColorChoice::Never, to: Box::new(io::stdout()) };
        let stderr =
            Stream { coloured: AutoStream::choice(&io::stderr()) != ColorChoice::Never, to: Box::new(io::stderr()) };
        // Not locked: a document may come from the same input.
        let answers = Box::new(BufReader::new(io::stdin()));
        let terminal = Terminal { stdin_is_tty: io::stdin().is_terminal(), answers };
        Self::new(format, [stdout, stderr], redrawn, terminal)
    }
}

impl<'a> Console<'a> {
    /// A console of these streams, standard output first.
    pub fn new(format: Format, streams: [Stream<'a>; 2], redrawn: bool, terminal: Terminal<'a>) -> Self {
        let manner = match format {
            _ if redrawn => Manner::Redrawn,
            Format::Json => Manner::Json,
            Format::Text => Manner::Lines,
        };
        let [stdout, stderr] = streams;
        Self { format, stdout, stderr, manner, terminal, untold: String::new() }
    }

    /// Tells a person. A program is told by [`Self::document`] instead.
    pub fn tell(&mut self, text: &str) -> Result<()> {
        match self.format {
            Format::Text => self.stdout.write(text),
            Format::Json => {
                self.untold.push_str(text);
                Ok(())
            }
        }
    }

    /// Tells a program.
    pub fn document<T: Serialize>(&mut self, document: &T) -> Result<()> {
        match self.format {
            Format::Text => Ok(()),
            Format::Json => show::write(&mut self.stdout.to, &show::pretty(document)?),
        }
    }

    /// Tells a person of a failure, where errors go. A program finds it in the document.
    pub fn complain(&mut self, text: &str) -> Result<()> {
        match self.format {
            Format::Text => self.stderr.write(text),
            Format::Json => Ok(()),
        }
    }

    /// Asks whether to go on. Only "y" and "yes" mean yes.
    pub fn confirm(&mut self, question: &str, yes: bool) -> Result<bool> {
        if yes {
            return Ok(true);
        }
        if !self.terminal.stdin_is_tty {
            return Err(NO_TERMINAL.into_error());
        }
        let untold = std::mem::take(&mut self.untold);
        self.stderr.write(&format!("{untold}\n{question} [y/N] "))?;
        let mut answer = Vec::new();
        let mut answers = self.terminal.answers.by_ref().take(MAX_ANSWER);
        answers.read_until(b'\n', &mut answer).context("cannot read the answer")?;
        if !answer.ends_with(b"\n") {
            // The terminal has not gone to the next line by itself.
            self.stderr.write("\n")?;
        }
        Ok(matches!(answer.trim_ascii().to_ascii_lowercase().as_slice(), b"y" | b"yes"))
    }

    /// Shows progress while something is being done.
    pub fn following<T>(&mut self, act: impl FnOnce(&mut dyn FnMut(&Progress)) -> T) -> T {
        let mut meter = Meter::new(&mut *self.stderr.to, self.manner);
        let result = act(&mut |progress| meter.show(progress));
        meter.clear();
        result
    }
}

impl Stream<'_> {
    fn write(&mut self, text: &str) -> Result<()> {
        if self.coloured {
            show::write(&mut self.to, text)
        } else {
            show::write(&mut self.to, &strip_str(text).to_string())
        }
    }
}
