//! Names of units and drop-ins, as systemd accepts them.

/// Why systemd, or the directory a drop-in is put into, would reject a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameProblem {
    /// Empty, or nothing before the suffix.
    #[error("it is empty")]
    Empty,
    /// Longer than a file name may be.
    #[error("it is longer than 255 bytes")]
    TooLong,
    /// A character that systemd does not allow.
    #[error("it holds a character other than letters, digits and \":-_.\\@\"")]
    Character,
    /// No known suffix.
    #[error("it does not end in a unit type such as .service")]
    Suffix,
    /// Starts with `@`.
    #[error("a template needs a name before the @")]
    Template,
    /// A drop-in that systemd would not read.
    #[error("a drop-in is a file name that ends in .conf")]
    Dropin,
}

const TYPES: &[&str] =
    &["automount", "device", "mount", "path", "scope", "service", "slice", "socket", "swap", "target", "timer"];

/// Whether Ignition takes this for the type of a unit. It still knows snapshots, which systemd has given up.
pub(crate) fn is_ignition_type(extension: &str) -> bool {
    extension == "snapshot" || TYPES.contains(&extension)
}

const MAX_BYTES: usize = 255;

/// Checks the name of a unit, template or instance.
pub fn check_unit(name: &str) -> Result<(), NameProblem> {
    if name.len() > MAX_BYTES {
        return Err(NameProblem::TooLong);
    }
    let (stem, kind) = name.rsplit_once('.').ok_or(NameProblem::Suffix)?;
    if !TYPES.contains(&kind) {
        return Err(NameProblem::Suffix);
    }
    match stem.chars().next() {
        None => return Err(NameProblem::Empty),
        Some('@') => return Err(NameProblem::Template),
        Some(_) => {}
    }
    let allowed = |character: char| character.is_ascii_alphanumeric() || ":-_.\\@".contains(character);
    if stem.chars().all(allowed) { Ok(()) } else { Err(NameProblem::Character) }
}

/// The template of an instance; `None` for any other unit.
pub fn template(name: &str) -> Option<String> {
    let (stem, kind) = name.rsplit_once('.')?;
    let (prefix, instance) = stem.split_once('@')?;
    (!instance.is_empty()).then(|| format!("{prefix}@.{kind}"))
}

/// Checks the name of a drop-in: one file, below the unit's directory, that systemd reads.
pub fn check_dropin(name: &str) -> Result<(), NameProblem> {
    if name.len() > MAX_BYTES {
        return Err(NameProblem::TooLong);
    }
    let stem = name.strip_suffix(".conf").ok_or(NameProblem::Dropin)?;
    let plain = !stem.is_empty() && !name.contains(['/', '\0']) && !stem.starts_with('.');
    if plain { Ok(()) } else { Err(NameProblem::Dropin) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_judged_as_systemd_judges_them() {
        let long = format!("{}.service", "a".repeat(248));
        for (name, expected) in [
            ("kubelet.service", Ok(())),
            ("b@1.service", Ok(())),
            ("b@.service", Ok(())),
            ("dev-disk-by\\x2dlabel-a.device", Ok(())),
            ("var-lib.mount", Ok(())),
            ("a.b.timer", Ok(())),
            ("", Err(NameProblem::Suffix)),
            ("foo", Err(NameProblem::Suffix)),
            ("foo.conf", Err(NameProblem::Suffix)),
            (".service", Err(NameProblem::Empty)),
            ("@1.service", Err(NameProblem::Template)),
            ("a/b.service", Err(NameProblem::Character)),
            ("../x.service", Err(NameProblem::Character)),
            ("a b.service", Err(NameProblem::Character)),
            ("é.service", Err(NameProblem::Character)),
            (long.as_str(), Err(NameProblem::TooLong)),
        ] {
            assert_eq!(check_unit(name), expected, "{name}");
        }
    }

    #[test]
    fn drop_ins_are_single_files_that_systemd_reads() {
        for (name, valid) in [
            ("10-a.conf", true),
            ("a b.conf", true),
            (".conf", false),
            ("..conf", false),
            ("a", false),
            ("a/b.conf", false),
            ("../a.conf", false),
        ] {
            assert_eq!(check_dropin(name).is_ok(), valid, "{name}");
        }
    }
}
