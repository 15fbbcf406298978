//! A node at its first boot: what it is to be comes from the files that its installation left, and nobody is there to be
//! told but the journal and the console.
//!
//! Owns where those files are. Everything between is the loop's, as on any other day.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use ostler_core::first_boot::{Left, Target, target};
use ostler_core::node::{Decision, NodeView, keys};
use ostler_core::protocol::{Failure, FirstBoot, Reply, Request, Rules, Sealed};

use super::ending::{Ending, after_first_boot};
use super::known::Known;
use super::worker::Worker;
use crate::input;

/// The whole configuration that was served.
pub const SERVED: &str = "etc/mcs-machine-config-content.json";
/// The same without what Ignition has done already.
const ENCAPSULATED: [&str; 2] =
    ["etc/ignition-machine-config-encapsulated.json", "etc/ignition-machine-config-encapsulated.json.bak"];

/// What the installation left.
pub struct Installation {
    target: Target,
}

impl Installation {
    /// Reads the files.
    pub fn read(below: &Path) -> Result<Self> {
        let left = |path: &str| {
            let path = below.join(path);
            let document = input::document(&path).map_err(|error| format!("{error:#}"));
            Left { path: path.display().to_string(), document }
        };
        let encapsulated = ENCAPSULATED.iter().find(|path| below.join(path).exists()).unwrap_or(&ENCAPSULATED[0]);
        let target = target(left(SERVED), left(encapsulated)).map_err(|reason| anyhow!(reason)).context(
            "what this machine was installed with cannot be used; install it again, or put the MachineConfig that was \
             served to it at /etc/mcs-machine-config-content.json",
        )?;
        Ok(Self { target })
    }

    /// What of the files could not be used.
    pub fn complaint(&self) -> Option<&str> {
        self.target.complaint.as_deref()
    }

    /// What is known of the node: where it is to be, by the rules of a node that has not joined yet.
    pub fn known(&self, node: &str) -> Known {
        let desired = [(keys::DESIRED_CONFIG.to_owned(), self.target.name.clone())].into();
        let node = Some(NodeView::new(node, "", false, &desired));
        Known { node, rules: Rules { first_boot: true, ..Rules::default() }, reachable: true, ..Known::default() }
    }

    /// The configuration.
    pub fn config(&self) -> Sealed {
        Sealed::new(self.target.document.clone())
    }
}

impl Worker {
    /// Has the machine remember that its first boot has begun, if it is one.
    pub(super) async fn begin_first_boot(&mut self) -> Result<(), Failure> {
        if !self.begun {
            self.note_first_boot(FirstBoot::Begins).await?;
            self.begun = true;
        }
        Ok(())
    }

    /// How the first boot has ended, if it has. An end that the machine could not be made to remember is none yet.
    pub(super) async fn end_first_boot(&mut self, decision: &Decision) -> Option<Ending> {
        let ending = after_first_boot(decision)?;
        if ending == Ending::Settled
            && let Err(failure) = self.note_first_boot(FirstBoot::Ends).await
        {
            let _ = self.hindered(&failure);
            return None;
        }
        Some(ending)
    }

    /// Has the machine remember how far its first boot is, if it is one.
    pub(super) async fn note_first_boot(&mut self, stage: FirstBoot) -> Result<(), Failure> {
        if !self.outside.is_first_boot() {
            return Ok(());
        }
        match self.put(Request::FirstBoot { stage }).await? {
            Reply::Failed(failure) => Err(failure),
            _ => Ok(()),
        }
    }
}
