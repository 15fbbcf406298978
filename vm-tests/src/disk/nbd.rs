//! Serves a disk to QEMU with the network block device protocol, over a socket of this machine.
//!
//! As little of the protocol as QEMU needs: fixed newstyle negotiation, reads, writes, flushes and forced unit access.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, bail};

use super::Disk;

const GREETING: &[u8] = b"NBDMAGICIHAVEOPT";
const OPTION: u64 = u64::from_be_bytes(*b"IHAVEOPT");
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
const FIXED_NEWSTYLE: u16 = 1;
const REQUEST: u32 = 0x2560_9513;
const REPLY: u32 = 0x6744_6698;
/// It has flags, flushes and forced unit access.
const FLAGS: u16 = 1 | 1 << 2 | 1 << 3;
const EIO: u32 = 5;
/// More than QEMU asks for at once.
const MAX_LENGTH: u32 = 64 << 20;

const ACK: u32 = 1;
const INFO: u32 = 3;
const UNSUPPORTED: u32 = 1 << 31 | 1;

/// A socket where the disk can be had; whoever connects gets it.
pub struct Export {
    path: PathBuf,
}

impl Export {
    /// Serves a disk at a path that is not there yet.
    pub fn new(disk: &Disk, path: &Path) -> Result<Self> {
        let listener = UnixListener::bind(path).with_context(|| format!("cannot make {}", path.display()))?;
        let disk = disk.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let disk = disk.clone();
                // A client that is killed in the middle is what this is for.
                thread::spawn(move || serve(&disk, stream));
            }
        });
        Ok(Self { path: path.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn serve(disk: &Disk, mut stream: UnixStream) -> Result<()> {
    negotiate(disk, &mut stream)?;
    while let Some(answered) = transmit(disk, &mut stream)? {
        if !answered {
            // The power is gone: the client waits for an answer until it is killed.
            let mut rest = [0; 4096];
            while stream.read(&mut rest)? > 0 {}
        }
    }
    Ok(())
}

fn negotiate(disk: &Disk, stream: &mut UnixStream) -> Result<()> {
    stream.write_all(GREETING)?;
    stream.write_all(&FIXED_NEWSTYLE.to_be_bytes())?;
    u32_of(stream)?;
    loop {
        if u64_of(stream)? != OPTION {
            bail!("not an option");
        }
        let (option, length) = (u32_of(stream)?, u32_of(stream)?);
        if length > 4096 {
            bail!("an option of {length} bytes");
        }
        take(stream, length)?;
        match option {
            // Information about the export, and the same with the end of the negotiation.
            6 | 7 => {
                let mut export = vec![0, 0];
                export.extend(disk.size().to_be_bytes());
                export.extend(FLAGS.to_be_bytes());
                tell(stream, option, INFO, &export)?;
                tell(stream, option, ACK, &[])?;
                if option == 7 {
                    return Ok(());
                }
            }
            2 => bail!("the client has left"),
            _ => tell(stream, option, UNSUPPORTED, &[])?,
        }
    }
}

fn tell(stream: &mut UnixStream, option: u32, kind: u32, data: &[u8]) -> Result<()> {
    let mut reply = OPTION_REPLY.to_be_bytes().to_vec();
    for number in [option, kind, u32::try_from(data.len())?] {
        reply.extend(number.to_be_bytes());
    }
    reply.extend(data);
    Ok(stream.write_all(&reply)?)
}

/// One request: whether it was answered, or nothing when the client leaves.
fn transmit(disk: &Disk, stream: &mut UnixStream) -> Result<Option<bool>> {
    if u32_of(stream)? != REQUEST {
        bail!("not a request");
    }
    let kinds = u32_of(stream)?;
    let (forced, kind) = (kinds >> 16 & 1 == 1, kinds & 0xffff);
    let (cookie, offset, length) = (u64_of(stream)?, u64_of(stream)?, u32_of(stream)?);
    if length > MAX_LENGTH {
        bail!("a request of {length} bytes");
    }
    let payload = if kind == 1 { take(stream, length)? } else { Vec::new() };
    let done = {
        let mut state = disk.state();
        if state.frozen {
            return Ok(Some(false));
        }
        match kind {
            0 => state.read(offset, usize::try_from(length)?).map(Some),
            1 => state.write(offset, &payload).map(|works| (works && (!forced || state.flush())).then(Vec::new)),
            2 => return Ok(None),
            3 => Ok(state.flush().then(Vec::new)),
            _ => bail!("a request of kind {kind}"),
        }
    };
    let (error, data) = match done {
        Ok(Some(data)) => (0, data),
        Ok(None) => return Ok(Some(false)),
        Err(_) => (EIO, Vec::new()),
    };
    let mut reply = REPLY.to_be_bytes().to_vec();
    reply.extend(error.to_be_bytes());
    reply.extend(cookie.to_be_bytes());
    reply.extend(data);
    stream.write_all(&reply)?;
    Ok(Some(true))
}

fn take(stream: &mut UnixStream, length: u32) -> Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length)?];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn u32_of(stream: &mut UnixStream) -> Result<u32> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

fn u64_of(stream: &mut UnixStream) -> Result<u64> {
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}
