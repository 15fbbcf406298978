//! The line to the guest's agent: commands go in, their exit status and output come back.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::socket;

/// How long one look at the line takes.
const LOOK: Duration = Duration::from_millis(100);

/// How long a guest that wakes up may take for one answer.
const ATTRACTION: Duration = Duration::from_secs(10);

/// The line.
pub struct Guest {
    reader: BufReader<UnixStream>,
    line: Vec<u8>,
    number: u64,
}

/// What a command has left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its exit status.
    pub status: i32,
    /// What it printed, on both streams.
    pub text: String,
}

impl Guest {
    /// Takes the line of a machine that is on.
    pub fn connect(path: &Path) -> Result<Self> {
        let stream = socket::connect(path)?;
        stream.set_read_timeout(Some(LOOK))?;
        Ok(Self { reader: BufReader::new(stream), line: Vec::new(), number: 0 })
    }

    /// A whole line, if one is there within a moment.
    fn look(&mut self) -> Result<Option<String>> {
        match self.reader.read_until(b'\n', &mut self.line) {
            Ok(0) => bail!("the machine is off"),
            Ok(_) if self.line.ends_with(b"\n") => {
                let line = std::mem::take(&mut self.line);
                Ok(Some(String::from_utf8_lossy(line.trim_ascii_end()).into_owned()))
            }
            Ok(_) => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
            Err(error) => Err(error).context("the line to the guest is broken"),
        }
    }

    /// The boot that the agent has said hello from by now; asked again and again while a machine boots.
    pub fn hello(&mut self) -> Result<Option<String>> {
        let line = self.look()?.unwrap_or_default();
        Ok(line.split_once("hello ").map(|(_, boot)| boot.to_owned()))
    }

    /// Asks again and again until it answers: what is said while a guest wakes up can be lost.
    pub fn attract(&mut self, within: Duration) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < within {
            if self.run("true", ATTRACTION).is_ok() {
                return Ok(());
            }
        }
        bail!("the guest does not wake up within {within:?}")
    }

    /// Runs a command of its shell to its end.
    pub fn run(&mut self, command: &str, within: Duration) -> Result<Said> {
        self.number += 1;
        let wanted = self.number.to_string();
        writeln!(self.reader.get_mut(), "{wanted} {}", STANDARD.encode(command)).context("the machine is off")?;
        let start = Instant::now();
        while start.elapsed() < within {
            let Some(line) = self.look()? else { continue };
            let words: Vec<_> = line.split(' ').collect();
            if let [number, status, rest @ ..] = words.as_slice()
                && *number == wanted
            {
                let text = STANDARD.decode(rest.concat()).context("not base64")?;
                return Ok(Said { status: status.parse()?, text: String::from_utf8_lossy(&text).into_owned() });
            }
        }
        bail!("the guest has not answered within {within:?}: {command}")
    }
}
