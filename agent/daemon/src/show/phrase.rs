//! Words and colours: subjects, actions, steps and owners as a person reads them.

use anstyle::{AnsiColor, Style};
use ostler_core::diff::Kind;
use ostler_core::disruption::{Action, Cause, Origin, Subject};
use ostler_core::machine_config::MachineConfig;
use ostler_core::step::{Deployment, OwnerRef, Step};
pub use ostler_core::terminal::printable;
use ostler_core::transaction::Phase;

/// Headings.
pub const HEADING: Style = Style::new().bold();
/// What goes well, or is added.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What needs attention.
pub const CAUTION: Style = AnsiColor::Yellow.on_default();
/// What is refused, or removed.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// What explains.
pub const FAINT: Style = Style::new().dimmed();

/// Text in a style.
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A configuration by its name.
pub fn config(name: &str) -> String {
    match name {
        "" => "an unnamed config".to_owned(),
        MachineConfig::EMPTY => "an empty machine".to_owned(),
        name => printable(name),
    }
}

/// A phase of a transaction in a word.
pub const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Check => "check",
        Phase::Begin => "begin",
        Phase::Stage => "stage",
        Phase::Preserve => "preserve",
        Phase::Write => "write",
        Phase::Tidy => "tidy",
        Phase::Units => "units",
        Phase::Services => "services",
        Phase::Commit => "commit",
        Phase::Pull => "pull",
    }
}

/// The sign, the colour and the name of what changed.
pub fn subject(subject: &Subject) -> (char, String) {
    let sign = match subject {
        Subject::Forced => '!',
        Subject::File(_, kind) | Subject::Unit(_, kind) => sign(*kind),
        Subject::OsImage
        | Subject::KernelArguments
        | Subject::Fips
        | Subject::KernelType
        | Subject::Extensions
        | Subject::Users => '~',
    };
    (sign, printable(&subject.to_string()))
}

const fn sign(kind: Kind) -> char {
    match kind {
        Kind::Added => '+',
        Kind::Updated => '~',
        Kind::Removed => '-',
    }
}

/// The colour of a sign.
pub const fn sign_style(sign: char) -> Style {
    match sign {
        '+' => GOOD,
        '-' => BAD,
        _ => CAUTION,
    }
}

/// What a change causes.
pub fn actions(actions: &[Action]) -> String {
    if actions.is_empty() {
        return Action::None.to_string();
    }
    actions.iter().map(|action| printable(&action.to_string())).collect::<Vec<_>>().join(", ")
}

/// What changed, as it stands in a sentence.
pub fn subject_in_sentence(changed: &Subject) -> String {
    let (_, name) = subject(changed);
    match changed {
        Subject::OsImage | Subject::KernelArguments | Subject::KernelType | Subject::Extensions | Subject::Users => {
            format!("the {name}")
        }
        Subject::Forced => "the force file".to_owned(),
        Subject::Fips | Subject::File(..) | Subject::Unit(..) => name,
    }
}

/// Which rule says so. A policy that is called as the change itself is not named again.
pub fn reason(cause: &Cause, first_boot: bool) -> String {
    let no_policy = || if first_boot { "first-boot table" } else { "no policy covers it" }.to_owned();
    match (&cause.subject, &cause.policy) {
        (Subject::Forced, _) => "the force file is there".to_owned(),
        (Subject::File(..) | Subject::Unit(..) | Subject::Users, None) => no_policy(),
        (_, None) => "the operating system changes".to_owned(),
        (changed, Some((key, origin))) => {
            let whose = match origin {
                Origin::Default => "default policy",
                Origin::User => "your policy",
            };
            let same = matches!(changed, Subject::File(name, _) | Subject::Unit(name, _) if name == key);
            if same { format!("{whose} for it") } else { format!("{whose} {}", printable(key)) }
        }
    }
}

/// A step as a line.
pub fn step(step: &Step) -> String {
    match step {
        Step::StageOs(deployment) => stage(deployment),
        Step::Drain => "drain the node".to_owned(),
        Step::WriteFile { path, mode, user, group, bytes } => {
            format!("write {} ({mode:04o} {}:{}, {})", printable(path), owner(user), owner(group), size(*bytes))
        }
        Step::RemoveFile { path } => format!("remove {}, or restore the OS's own", printable(path)),
        Step::WriteUnit { unit, bytes } => format!("write unit {} ({})", printable(unit), size(*bytes)),
        Step::WriteDropin { unit, dropin, bytes } => {
            format!("write drop-in {} of {} ({})", printable(dropin), printable(unit), size(*bytes))
        }
        Step::RemoveUnit { unit } => format!("remove unit {}, or restore the OS's own", printable(unit)),
        Step::RemoveDropin { unit, dropin } => format!("remove drop-in {} of {}", printable(dropin), printable(unit)),
        Step::MaskUnit { unit } => format!("mask {}", printable(unit)),
        Step::UnmaskUnit { unit } => format!("unmask {}", printable(unit)),
        Step::EnableUnit { unit } => format!("enable {}", printable(unit)),
        Step::DisableUnit { unit } => format!("disable {}", printable(unit)),
        Step::PresetUnit { unit } => format!("set {} to its preset", printable(unit)),
        Step::SetSshKeys { user, keys: 0 } => format!("remove the SSH keys of {}", printable(user)),
        Step::SetSshKeys { user, keys: 1 } => format!("set the one SSH key of {}", printable(user)),
        Step::SetSshKeys { user, keys } => format!("set the {keys} SSH keys of {}", printable(user)),
        Step::SetPassword { user } => format!("set the password hash of {}", printable(user)),
        Step::LockPassword { user } => format!("lock the password of {}", printable(user)),
        Step::RecordConfig { config } => format!("record {} as the node's configuration", printable(config)),
        Step::DaemonReload => "reload systemd's units".to_owned(),
        Step::ReloadService { service } => format!("reload {}", printable(service)),
        Step::RestartService { service } => format!("restart {}", printable(service)),
        Step::Reboot => "reboot".to_owned(),
    }
}

/// One line for each part of the deployment: together they would not fit on any screen.
fn stage(deployment: &Deployment) -> String {
    let mut parts = vec![("image", or_unchanged(&deployment.image))];
    parts.push(("kernel", deployment.kernel_type.name().to_owned()));
    if !deployment.extensions.is_empty() {
        parts.push(("extensions", printable(&deployment.extensions.join(", "))));
    }
    let kargs = &deployment.kernel_arguments;
    let line = |arguments: &[String]| match arguments {
        [] => "(none)".to_owned(),
        arguments => printable(&arguments.join(" ")),
    };
    match kargs.remove.as_slice() {
        _ if kargs.is_empty() => {}
        [] => parts.push(("arguments", line(&kargs.append))),
        before => parts.push(("arguments", format!("{} instead of {}", line(&kargs.append), line(before)))),
    }
    let lines = parts.into_iter().map(|(name, value)| format!("\n       {name:10}  {value}"));
    format!("stage a deployment{}", lines.collect::<String>())
}

fn or_unchanged(image: &str) -> String {
    if image.is_empty() { "(unchanged)".to_owned() } else { printable(image) }
}

fn owner(owner: &OwnerRef) -> String {
    match owner {
        OwnerRef::Id(0) => "root".to_owned(),
        OwnerRef::Id(id) => id.to_string(),
        OwnerRef::Name(name) => printable(name),
    }
}

/// A size in words.
pub fn size(bytes: u64) -> String {
    match bytes {
        0 => "empty".to_owned(),
        1 => "1 byte".to_owned(),
        _ if bytes < 10 * 1024 => format!("{bytes} bytes"),
        _ if bytes < 10 * 1024 * 1024 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes / (1024 * 1024)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_in_words() {
        for (bytes, expected) in [(0, "empty"), (1, "1 byte"), (2048, "2048 bytes"), (20_480, "20 KiB")] {
            assert_eq!(size(bytes), expected);
        }
    }
}
