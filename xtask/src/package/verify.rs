//! Whether two makings give the same bytes. Only compares: what makes them alike is the makers' business.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{Order, binaries, digest, name, product};

/// Makes the packages once more, somewhere else, and compares.
pub fn packages(order: &Order, programs: &Path, packages: &[PathBuf]) -> Result<()> {
    let first = packages.first().and_then(|package| package.parent()).context("there is nothing to compare")?;
    let elsewhere = first.join("made-again/in-another-place");
    let again = order.make(programs, &elsewhere)?;
    let pairs: Vec<_> = packages.iter().zip(&again).collect();
    let compared = compare(&pairs);
    fs::remove_dir_all(first.join("made-again")).context("cannot clear what was made to compare")?;
    compared
}

/// Builds the released programs once more, in another directory, and compares.
pub fn programs(programs: &Path) -> Result<()> {
    let again = binaries::again()?;
    let pair = |program: &product::Program| (programs.join(program.name), again.join(program.name));
    let paths: Vec<_> = product::programs().map(pair).collect();
    compare(&paths.iter().map(|(one, other)| (one, other)).collect::<Vec<_>>())
}

fn compare(pairs: &[(&PathBuf, &PathBuf)]) -> Result<()> {
    let mut different = Vec::new();
    for (one, other) in pairs {
        let (left, right) = (digest(one)?, digest(other)?);
        let verdict = if left == right { "same" } else { "DIFFERENT" };
        println!("{verdict:<10} {}\n  {left}\n  {right}", name(one));
        if left != right {
            different.push(name(one));
        }
    }
    if different.is_empty() {
        return Ok(());
    }
    bail!("made twice, and not alike: {}", different.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_one_byte_is_found_and_named() {
        let directory = std::env::temp_dir().join(format!("ostler-verify-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let file = |name: &str, text: &str| {
            fs::write(directory.join(name), text).unwrap();
            directory.join(name)
        };
        let (a, b, c) = (file("a.rpm", "same"), file("b.rpm", "same"), file("c.deb", "samE"));
        assert!(compare(&[(&a, &b)]).is_ok());
        assert_eq!(compare(&[(&a, &b), (&c, &a)]).unwrap_err().to_string(), "made twice, and not alike: c.deb");
        fs::remove_dir_all(&directory).unwrap();
    }
}
