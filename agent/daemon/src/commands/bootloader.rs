//! `ostler bootloader`.

use std::path::Path;

use anyhow::Result;
use ostler_core::os::bootloader::{Action, Intent, Report, Verdict};
use ostler_core::protocol::{Class, Failure, Reply, Request};

use super::Outcome;
use super::asking::{Asks, connect, inquire, unexpected};
use super::console::Console;
use super::proposal::fail;
use super::trouble::{BOOTLOADER_UNKNOWN, NO_ANSWER};
use crate::cli::{BootloaderCommand, BootloaderWriteOptions, Format};
use crate::course::Course;
use crate::show::{self, BootloaderDocument, CourseDocument, WriteDocument};

/// Looks at the boot loader, or has it written.
pub fn bootloader<'c, A: Asks>(
    command: &BootloaderCommand,
    console: impl FnOnce(Format) -> Console<'c>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
) -> Result<Outcome> {
    match command {
        BootloaderCommand::Status(options) => look(&mut console(options.output), open),
        BootloaderCommand::Update(options) => write(Action::Update, options, &mut console(options.output), open),
        BootloaderCommand::Adopt(options) => write(Action::Adopt, options, &mut console(options.output), open),
    }
}

fn look<A: Asks>(console: &mut Console<'_>, open: impl FnOnce(Option<&Path>) -> Result<A>) -> Result<Outcome> {
    let mut asks = connect(open, None)?;
    let report = match inquire(&mut asks, &Request::Bootloader { action: None, accepted: false }, console)? {
        Reply::Bootloader(report) => report,
        Reply::Failed(failure) => return Ok(fail(failure, console)),
        _ => return Err(unexpected().context(NO_ANSWER)),
    };
    console.tell(&show::bootloader(&report))?;
    console.document(&BootloaderDocument::new(&report))?;
    Ok(match report.verdict {
        Verdict::UpToDate | Verdict::Unmanaged => Outcome::Success,
        Verdict::Interrupted | Verdict::UpdateAvailable | Verdict::Adoptable => Outcome::Different,
    })
}

fn write<A: Asks>(
    action: Action,
    options: &BootloaderWriteOptions,
    console: &mut Console<'_>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
) -> Result<Outcome> {
    let mut asks = connect(open, None)?;
    let request = |accepted| Request::Bootloader { action: Some(action), accepted };
    let intent = match inquire(&mut asks, &request(false), console)? {
        Reply::Intended(intent) => intent,
        Reply::Nothing => return conclude(WriteDocument::NOTHING, None, None, console),
        Reply::Failed(failure) => return Ok(fail(failure, console)),
        _ => return Err(unexpected().context(NO_ANSWER)),
    };
    console.tell(&show::intent(&intent))?;
    if options.consent.dry_run {
        return conclude(WriteDocument::CHECKED, Some(&intent), None, console);
    }
    if !console.confirm(question(action), options.consent.yes)? {
        return conclude(WriteDocument::DECLINED, Some(&intent), None, console).map(|_| Outcome::Failed);
    }
    let reply = console.following(|progress| asks.ask(&request(true), progress));
    match reply.map_err(|error| error.context(BOOTLOADER_UNKNOWN))? {
        Reply::Bootloader(report) => conclude(WriteDocument::WRITTEN, Some(&intent), Some(&report), console),
        Reply::Failed(failure) => Ok(fail_late(failure, console)),
        _ => Err(unexpected().context(BOOTLOADER_UNKNOWN)),
    }
}

const fn question(action: Action) -> &'static str {
    match action {
        Action::Update => "Update the boot loader?",
        Action::Adopt => "Adopt the boot loader?",
    }
}

fn conclude(
    result: &'static str,
    intent: Option<&Intent>,
    report: Option<&Report>,
    console: &mut Console<'_>,
) -> Result<Outcome> {
    console.tell(&show::written(report))?;
    console.document(&WriteDocument::new(result, intent, report))?;
    Ok(Outcome::Success)
}

/// Once writing may have begun, only a refusal proves that it has not: a boot loader has no journal to look it up in.
fn fail_late(failure: Failure, console: &mut Console<'_>) -> Outcome {
    let unchanged = failure.unchanged && failure.class == Class::Refusal;
    let course = Course::Failed(Failure { unchanged, ..failure });
    let told = match &course {
        Course::Failed(failure) => console.complain(&show::bootloader_failure(failure)),
        _ => Ok(()),
    };
    if let Err(error) = told.and_then(|()| console.document(&CourseDocument::new(&course))) {
        show::error(&error);
    }
    Outcome::from(&course)
}

#[cfg(test)]
mod tests;
