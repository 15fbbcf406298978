//! The text a person reads.

use std::fmt::Write as _;

use ostler_core::desired::{Desired, Rules};
use ostler_core::disruption::Action;
use ostler_core::irreconcilable::Change;
use ostler_core::machine_config::MachineConfig;
use ostler_core::observed::Observed;
use ostler_core::plan::{Assessment, Dropped, Exemption, Gone, LeftAlone, Plan};
use ostler_core::refusal::Refusal;
use ostler_core::warning::Warning;

use super::phrase::{BAD, CAUTION, FAINT, GOOD, HEADING, printable, sign_style, styled};
use super::table::Table;
use super::{contents, excerpt, phrase};

/// What `ostler plan` says.
pub fn plan(observed: &Observed, desired: &Desired, assessment: &Assessment, show_contents: bool) -> String {
    let mut text = title("Plan", &observed.current, &desired.target);
    text.push_str(&warnings(&assessment.warnings));
    match &assessment.verdict {
        Ok(plan) => text.push_str(&planned(plan, matches!(desired.rules, Rules::FirstBoot))),
        Err(refusal) => text.push_str(&refused(refusal, assessment)),
    }
    if show_contents {
        text.push_str(&contents::changes(&observed.current, &desired.target));
    }
    if !assessment.irreconcilable.is_empty() {
        let heading = "Only a new installation can apply";
        let _ = write!(text, "\n{}\n{}", styled(HEADING, heading), entries(&assessment.irreconcilable));
    }
    text
}

fn warnings(warnings: &[Warning]) -> String {
    let line = |warning: &Warning| format!("{} {}\n", styled(CAUTION, "Warning:"), printable(&warning.message()));
    let text: String = warnings.iter().map(line).collect();
    if text.is_empty() { text } else { text + "\n" }
}

/// What is said of a target that cannot even be parsed.
pub fn refusal(refusal: &Refusal) -> String {
    verdict(refusal)
}

/// What `ostler diff` says.
pub fn differences(installed: &MachineConfig, target: &MachineConfig, changes: &[Change]) -> String {
    if changes.is_empty() {
        return format!(
            "{} {} asks for nothing that only a new installation could apply.\n",
            styled(GOOD, "No difference:"),
            name(target)
        );
    }
    let summary = match changes.len() {
        1 => "One difference needs a new installation.".to_owned(),
        count => format!("{count} differences need a new installation."),
    };
    format!(
        "{}{}\n{}\n",
        title("Differences", installed, target),
        entries(changes),
        styled(CAUTION, &format!("{summary} The node goes on with what it was installed with."))
    )
}

fn title(what: &str, from: &MachineConfig, to: &MachineConfig) -> String {
    format!("{}\n\n", styled(HEADING, &format!("{what} from {} to {}", name(from), name(to))))
}

fn name(config: &MachineConfig) -> String {
    phrase::config(&config.name)
}

fn planned(plan: &Plan, first_boot: bool) -> String {
    if plan.steps.is_empty() {
        return format!("{} The node is in this configuration.\n", styled(GOOD, "Nothing to do."));
    }
    let mut text = String::new();
    if plan.causes.is_empty() {
        let _ = writeln!(text, "Nothing on the node changes; the new configuration is recorded.\n");
    } else {
        let _ = writeln!(text, "{}\n{}", styled(HEADING, "Changes"), causes(plan, first_boot));
    }
    let _ = writeln!(text, "{}  {}", styled(HEADING, "Drain "), drain(plan));
    let _ = writeln!(text, "{}  {}", styled(HEADING, "Reboot"), answer(plan.reboots(), &reboot(plan)));
    let _ = writeln!(text, "\n{}", styled(HEADING, "Steps"));
    let width = plan.steps.len().to_string().len();
    let steps = plan.steps.iter().enumerate();
    let steps: Vec<_> = steps.map(|(at, step)| format!("  {:>width$}  {}", at + 1, phrase::step(step))).collect();
    text.push_str(&excerpt::lines(&steps));
    let kept = |left: &&LeftAlone| left.why == Exemption::Certificate;
    let certificates = plan.left_alone.iter().filter(kept).map(|left| printable(&left.path));
    text.push_str(&section("Left as they are: certificates are kept current by other means", certificates));
    text.push_str(&section("Not done: the unit will not be there", plan.dropped.iter().map(dropped)));
    text
}

fn dropped(dropped: &Dropped) -> String {
    let why = match dropped.why {
        Gone::Removed => "this change removes it; if it runs, it goes on until it is stopped or the node restarts",
        Gone::Masked => "this change masks it; if it runs, it goes on until it is stopped or the node restarts",
    };
    format!("{} {}: {why}", dropped.action, printable(&dropped.service))
}

/// A heading and its lines; nothing when there are none.
fn section(heading: &str, lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<_> = lines.map(|line| format!("  {line}")).collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("\n{}\n{}", styled(HEADING, heading), excerpt::lines(&lines))
}

fn drain(plan: &Plan) -> String {
    match plan.drain.reason() {
        Some(reason) => answer(true, &format!("yes, because {reason}")),
        None => answer(false, "no, workloads go on running"),
    }
}

fn answer(yes: bool, text: &str) -> String {
    styled(if yes { CAUTION } else { GOOD }, &printable(text))
}

/// The answer to whether the node reboots, with the first change that makes it.
fn reboot(plan: &Plan) -> String {
    let mut causes = plan.causes.iter().filter(|cause| cause.actions.contains(&Action::Reboot));
    match (causes.next(), causes.count()) {
        (None, _) => "no".to_owned(),
        (Some(first), 0) => format!("yes, because of {}", phrase::subject_in_sentence(&first.subject)),
        (Some(first), 1) => {
            format!("yes, because of {} and one other change", phrase::subject_in_sentence(&first.subject))
        }
        (Some(first), more) => {
            format!("yes, because of {} and {more} other changes", phrase::subject_in_sentence(&first.subject))
        }
    }
}

fn causes(plan: &Plan, first_boot: bool) -> String {
    let mut table = Table::new();
    let mut signs = Vec::new();
    for cause in &plan.causes {
        let (sign, subject) = phrase::subject(&cause.subject);
        signs.push(sign);
        table.push([subject, phrase::actions(&cause.actions), phrase::reason(cause, first_boot)]);
    }
    let row = |(sign, [subject, actions, reason]): (char, [String; 3])| {
        let sign = styled(sign_style(sign), &sign.to_string());
        format!("  {sign} {subject}  {actions}  {}", styled(FAINT, &reason))
    };
    excerpt::lines(&signs.into_iter().zip(table.padded()).map(row).collect::<Vec<_>>())
}

fn refused(refusal: &Refusal, assessment: &Assessment) -> String {
    let mut text = verdict(refusal);
    let files = assessment.changed_files.iter().map(|path| printable(path));
    let units = assessment.changed_units.iter().map(|name| format!("unit {}", printable(name)));
    text.push_str(&section("Changed by the target, and not applied", files.chain(units)));
    text
}

fn verdict(refusal: &Refusal) -> String {
    format!(
        "{} {}\n{}  {}\n{}\n",
        styled(BAD, "Refused:"),
        printable(&refusal.reason()),
        styled(HEADING, "Remedy:"),
        printable(&refusal.remedy()),
        "Nothing of this target is applied; the node goes on in its current configuration."
    )
}

fn entries(changes: &[Change]) -> String {
    let mut text = String::new();
    for change in changes {
        let _ = writeln!(text, "  {}", change.field_path);
        for line in change.diff.lines() {
            let style =
                line.chars().next().map_or(FAINT, |sign| if "+-".contains(sign) { sign_style(sign) } else { FAINT });
            let _ = writeln!(text, "    {}", styled(style, &printable(line)));
        }
    }
    text
}
