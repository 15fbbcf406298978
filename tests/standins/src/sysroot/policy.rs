//! The signature policy of the host, asked before an image is pulled.
//!
//! The image proxy of current skopeos refuses what `/etc/containers/policy.json` rejects; that of the skopeo on Debian 12
//! (1.9) does not look at it. `skopeo copy` always does, before it reads anything else, so one is begun and left as soon
//! as it has passed that point.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use ostree_ext::container::ImageReference;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;

const ALLOWED: &str = "Getting image source signatures";
const AUTH_FILES: [&str; 2] = ["/run/ostree/auth.json", "/etc/ostree/auth.json"];
const MAX_ERROR: u64 = 1 << 16;

/// Refuses `image` where the policy of the host does, or where it cannot be asked.
pub async fn require_allowed(image: &ImageReference) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let mut command = Command::new("skopeo");
    command.arg("copy");
    match AUTH_FILES.into_iter().find(|path| Path::new(path).exists()) {
        Some(path) => command.args(["--src-authfile", path]),
        None => command.arg("--src-no-creds"),
    };
    command.arg(image.to_string()).arg(format!("dir:{}", scratch.path().display()));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().context("skopeo spawn error")?;
    let (stdout, stderr) = child.stdout.take().zip(child.stderr.take()).context("skopeo has no output")?;
    let mut lines = BufReader::new(stdout).lines();
    while let Some(line) = lines.next_line().await? {
        if line.starts_with(ALLOWED) {
            child.kill().await?;
            return Ok(());
        }
    }
    let mut said = String::new();
    stderr.take(MAX_ERROR).read_to_string(&mut said).await?;
    child.wait().await?;
    bail!("{}", reason(&said))
}

/// The message of skopeo's last line, out of its log format.
fn reason(said: &str) -> String {
    let last = said.lines().rev().find(|line| !line.is_empty()).unwrap_or("skopeo failed and said nothing");
    let message = last.split_once("msg=\"").and_then(|(_, message)| message.strip_suffix('"')).unwrap_or(last);
    message.replace("\\\"", "\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_taken_out_of_the_log_line() {
        let cases = [
            (
                r#"time="x" level=fatal msg="Source image rejected: \"a\" is rejected.""#,
                r#"Source image rejected: "a" is rejected."#,
            ),
            ("plain\n", "plain"),
            ("", "skopeo failed and said nothing"),
        ];
        for (said, expected) in cases {
            assert_eq!(reason(said), expected);
        }
    }
}
