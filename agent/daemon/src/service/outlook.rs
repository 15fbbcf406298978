//! An update before it is begun: what it is about, what the applier has prepared for it, and what a failure means.

use ostler_core::disruption::Action;
use ostler_core::node::{ConfigRef, Outlook, Trouble, TroubleKind, Update};
use ostler_core::protocol::{Class, Failure, Prepared, Rules, Ticket};
use ostler_core::step::Step;

/// What was found out about one update, for as long as nothing that it depends on changes.
#[derive(Debug)]
pub struct Look {
    /// What it was looked at for.
    pub subject: Subject,
    /// How often what is mounted had been replaced by then.
    pub mounted: u64,
    /// What was found.
    pub outlook: Outlook,
    /// What the applier keeps, where the update can be had.
    pub ready: Option<Ready>,
}

/// What the applier keeps of an update.
#[derive(Clone, Debug)]
pub struct Ready {
    pub ticket: Ticket,
    pub steps: Vec<Step>,
    /// Whether its operating system has yet to be staged.
    pub to_stage: bool,
    /// The connection that it was prepared over.
    pub connection: u64,
}

impl Look {
    /// The ticket of what has yet to be staged before the drain.
    pub fn to_stage(&self) -> Option<&Ticket> {
        self.ready.as_ref().filter(|ready| ready.to_stage).map(|ready| &ready.ticket)
    }

    /// It is staged.
    pub fn staged(&mut self) {
        if let Some(ready) = &mut self.ready {
            ready.to_stage = false;
        }
    }

    /// Whether it still holds. What was found ready was read as a whole, whatever is mounted by now.
    pub fn holds(&self, subject: Option<&Subject>, mounted: u64) -> bool {
        let current = self.mounted == mounted || matches!(self.outlook, Outlook::Ready(_));
        current && Some(&self.subject) == subject
    }
}

/// What an outlook depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// What the machine is in.
    pub current: Option<ConfigRef>,
    /// What it is to reach.
    pub desired: ConfigRef,
    /// Whether that is the configuration before the current one, by a person's wish.
    pub rollback: bool,
    /// By which rules.
    pub rules: Rules,
    /// Whether a person forces it.
    pub forced: bool,
}

/// An update that can be had, and what the applier keeps of it.
pub fn ready(subject: &Subject, prepared: Prepared, connection: u64) -> (Update, Ready) {
    let Prepared { ticket, from, actions, drain, os, steps, .. } = prepared;
    let update = Update {
        from,
        to: subject.desired.clone(),
        reboot: actions.contains(&Action::Reboot),
        actions,
        drain,
        os,
        keys: steps.iter().any(|step| matches!(step, Step::SetSshKeys { .. })),
    };
    let to_stage = !subject.rollback && steps.iter().any(|step| matches!(step, Step::StageOs(_)));
    (update, Ready { ticket, steps, to_stage, connection })
}

/// An update that the machine does not need.
pub fn nothing(subject: &Subject) -> Outlook {
    Outlook::Ready(Update {
        from: subject.current.as_ref().map(|current| current.config.clone()).unwrap_or_default(),
        to: subject.desired.clone(),
        actions: Vec::new(),
        drain: false,
        os: false,
        keys: false,
        reboot: false,
    })
}

/// No running node can follow.
pub fn unreconcilable(failure: &Failure) -> Outlook {
    Outlook::Refused(Trouble { kind: TroubleKind::Unreconcilable, reason: words(failure) })
}

/// What a refused or failed check means for the update.
pub fn after_check(failure: &Failure) -> Outlook {
    let reason = words(failure);
    match failure.class {
        Class::Transient => Outlook::Blocked(reason),
        Class::Refusal | Class::Inoperable => Outlook::Refused(Trouble { kind: TroubleKind::Degraded, reason }),
    }
}

/// A failure of the root half's in one line.
pub fn words(failure: &Failure) -> String {
    let reasons = failure.reasons.join(": ");
    match &failure.remedy {
        Some(remedy) => format!("{reasons}; {remedy}"),
        None => reasons,
    }
}

/// Something failed.
pub const fn degraded(reason: String) -> Trouble {
    Trouble { kind: TroubleKind::Degraded, reason }
}

/// An error and what is behind it, in one line.
pub fn causes(error: &dyn std::error::Error) -> String {
    let lines = std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string);
    lines.collect::<Vec<_>>().join(": ")
}
