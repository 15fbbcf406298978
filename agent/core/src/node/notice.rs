//! What is worth telling: every line of the agent's own in the journal, and every event of the node, is one of these.
//!
//! Owns wording, weight and the identifiers that the message catalogue explains. Refuses to write anything anywhere.

use super::view::ConfigRef;

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Only of use to somebody who looks for it.
    Detail,
    /// The usual course of things.
    Usual,
    /// Not usual, and it goes on by itself.
    Warning,
    /// Somebody should look.
    Failure,
}

/// Of which kind an event of the node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The usual course of things.
    Normal,
    /// Something went wrong.
    Warning,
}

/// Something worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The agent runs.
    Started {
        /// Its version.
        version: String,
    },
    /// The agent ends.
    Stopped,
    /// The loop turns.
    Turn {
        /// What for.
        reason: String,
        /// What it leads to.
        next: String,
    },
    /// Another configuration is wanted.
    UpdateWanted {
        /// What the node is in.
        from: Option<ConfigRef>,
        /// What it is to reach.
        to: ConfigRef,
    },
    /// The wanted configuration changed before it was reached.
    Superseded {
        /// What was wanted.
        from: String,
        /// What is wanted now.
        to: String,
    },
    /// The node cannot have what is wanted.
    Refused {
        /// The configuration.
        config: String,
        /// Why.
        reason: String,
    },
    /// Somebody holds the update.
    Held {
        /// The configuration.
        config: String,
        /// Why, in their words.
        reason: String,
        /// How it is released.
        release: String,
    },
    /// Workloads are asked to leave.
    DrainAsked {
        /// The request.
        request: String,
    },
    /// Workloads have left.
    Drained {
        /// The request.
        request: String,
    },
    /// Workloads are let in again.
    UncordonAsked {
        /// The request.
        request: String,
    },
    /// The machine begins to change.
    UpdateBegun {
        /// The configuration it leads to.
        config: String,
        /// Whether the operating system changes.
        os: bool,
    },
    /// The machine has the new configuration, or will have with the restart.
    Applied {
        /// The configuration.
        config: String,
        /// How many files and links of the configuration changed.
        changed: usize,
        /// Whether it takes a restart.
        reboot: bool,
    },
    /// How long a change took.
    Timed {
        /// The configuration that it was to lead to.
        config: String,
        /// Its parts.
        words: String,
    },
    /// A service was told of the change.
    ServiceTold {
        /// Its name.
        service: String,
        /// Whether it was restarted and not only reloaded.
        restarted: bool,
    },
    /// An undo could not bring a service back to its old configuration.
    ServiceFailed {
        /// The configuration whose update was undone.
        config: String,
        /// Which operation on which unit failed, and why.
        failure: String,
        /// Whether it was a reload.
        reload: bool,
    },
    /// The machine restarts.
    Restarting {
        /// Why.
        rationale: String,
    },
    /// The restart that was ordered has not happened.
    RestartLate {
        /// For how many seconds.
        seconds: u64,
    },
    /// The machine has restarted.
    Restarted {
        /// The boot.
        boot: String,
        /// The configuration.
        config: String,
    },
    /// The new configuration has proven itself.
    Proven {
        /// The configuration.
        config: String,
    },
    /// The new configuration has not proven itself and is left.
    GivenUp {
        /// The configuration.
        config: String,
        /// What was missing.
        reason: String,
    },
    /// An update failed and was taken back.
    Failed {
        /// The configuration.
        config: String,
        /// Why.
        reason: String,
    },
    /// Something that may pass is in the way.
    Retrying {
        /// What.
        reason: String,
        /// How often it was tried.
        attempt: u32,
        /// In how many seconds it is tried again.
        seconds: u64,
    },
    /// What was interrupted has reached one of its ends.
    Recovered {
        /// The configuration that the machine is in now.
        config: String,
        /// Whether it was taken back.
        undone: bool,
    },
    /// The node is in its desired configuration.
    Done {
        /// The configuration.
        config: ConfigRef,
    },
    /// The install-time configuration is lost, and this one is kept in its place.
    BaseKept {
        /// Name of the configuration.
        config: String,
    },
    /// What the node was installed with cannot be known.
    BaseMissing {
        /// Why.
        reason: String,
    },
    /// The configuration has parts that only a new installation could bring.
    IrreconcilableFound {
        /// How many.
        count: usize,
    },
    /// The cluster cannot be reached.
    ApiLost {
        /// Why.
        reason: String,
    },
    /// The cluster can be reached again.
    ApiBack,
    /// The agent was told to end in the middle of a change, and ends after it.
    TerminationPostponed,
    /// The deployment that was staged before the last restart was not finished.
    FinalizationFailed {
        /// Its own words.
        words: String,
    },
    /// The metrics cannot be served.
    MetricsUnavailable {
        /// Where they were to be.
        address: String,
        /// Why not.
        reason: String,
    },
    /// Nobody can change the log level of the running agent.
    ControlUnavailable {
        /// Why.
        reason: String,
    },
    /// A duty beside updates could not be done for the moment.
    DutyDelayed {
        /// Which.
        duty: String,
        /// Why.
        reason: String,
        /// How often it was tried.
        attempt: u32,
        /// In how many seconds it is tried again.
        seconds: u64,
    },
    /// A duty beside updates cannot be done as it is asked for.
    DutyRefused {
        /// Which.
        duty: String,
        /// Why.
        reason: String,
    },
    /// The machine's files are watched.
    DriftWatched {
        /// The configuration that they are compared with.
        config: String,
    },
    /// The machine's files cannot be watched, and are only looked at now and then.
    DriftUnwatched {
        /// Why.
        reason: String,
    },
    /// The machine differs from its configuration.
    DriftFound {
        /// The configuration.
        config: String,
        /// In how many ways.
        count: usize,
        /// In which, as far as it can be told in a line.
        words: String,
    },
    /// What differed was put right.
    DriftRepaired {
        /// The configuration.
        config: String,
        /// How many differences.
        count: usize,
    },
    /// What is put right is changed again and again.
    DriftFought {
        /// The configuration.
        config: String,
        /// How often it was put right.
        repairs: u32,
        /// In how many seconds it is put right again.
        seconds: u64,
    },
    /// The machine agrees with its configuration again.
    DriftGone {
        /// The configuration.
        config: String,
    },
    /// Certificates or credentials of the cluster were renewed on the machine.
    CertificatesWritten {
        /// How many files.
        count: usize,
    },
    /// The kubelet was restarted so that it trusts the API server's new certificate authority.
    KubeletRestarted {
        /// Why.
        reason: String,
    },
    /// The kubelet does not say that it is well.
    KubeletUnwell {
        /// How often in a row.
        failures: u32,
    },
    /// The kubelet says again that it is well.
    KubeletWell,
    /// Images are pulled ahead of need.
    PrefetchBegun {
        /// How many.
        images: usize,
    },
    /// All images that are to be kept on this node are there.
    ImagesPinned {
        /// How many.
        images: usize,
    },
    /// Images that are to be kept on this node cannot be had.
    PrefetchFailed {
        /// Why.
        reason: String,
    },
    /// The names of network devices were made to last.
    NicNamesKept {
        /// How many kernel arguments that took.
        arguments: usize,
    },
    /// A machine-config-daemon runs on this node.
    RivalFound {
        /// Its process.
        pid: u32,
        /// What it is.
        what: String,
    },
    /// No machine-config-daemon runs on this node any more.
    RivalGone,
    /// What a machine-config-daemon left was taken over.
    TakenOver {
        /// The configuration that the machine is in.
        config: String,
        /// What was found.
        words: String,
    },
    /// The kubelet's credentials are not to be had yet.
    CredentialsAwaited {
        /// Why.
        reason: String,
    },
    /// A configuration can be applied, and may not be what was meant.
    ConfigDoubtful {
        config: String,
        /// What is worth knowing of it.
        words: String,
    },
    /// An update waits until the operator has merged the disruption policies.
    PoliciesUnmerged {
        config: String,
        /// What is waited for, and what to do.
        reason: String,
    },
    /// The node does not go on without a person, for a reason that no other notice gives.
    Attention { reason: String },
}

mod words;

/// One list, so that no notice is without a weight and an identifier and none is missing where all are wanted.
macro_rules! notices {
    ($($name:ident: $weight:ident $id:literal,)*) => {
        impl Notice {
            /// All kinds of notices, by name and identifier.
            pub const IDS: &'static [(&'static str, &'static str)] = &[$((stringify!($name), $id)),*];

            /// The identifier that the message catalogue explains.
            pub const fn id(&self) -> &'static str {
                match self {
                    $(Self::$name { .. } => $id,)*
                }
            }

            /// How much it matters.
            pub const fn weight(&self) -> Weight {
                match self {
                    $(Self::$name { .. } => Weight::$weight,)*
                }
            }
        }
    };
}

notices! {
    Started: Usual "f33c2e6dcfef7789b2d73d1838631e7d",
    Stopped: Usual "699ce4ba102751d980c2ce8be0a6fe93",
    Turn: Detail "e8b54b8050d0532cb34b5d017391628a",
    UpdateWanted: Usual "7b0df1cbf38f619fee55e261e5a5dd25",
    Superseded: Usual "949c2cb65d9c436eed63b649719305d7",
    Refused: Failure "06a781d380e8fdf769ff6052833cc38e",
    Held: Warning "31c99ca12290f4e1de9a2ffd11601226",
    DrainAsked: Usual "feacd08c981f2fc3f30c183f7bcc82a5",
    Drained: Usual "1b84d88008bc96d030eae0d152d10939",
    UncordonAsked: Usual "f397235f31073a76c3021aa0965fb74a",
    UpdateBegun: Usual "e5d8cfad669422ae23139205ffec9f6b",
    Applied: Usual "21b0986b661cdda48d81bded00f2d4bf",
    Timed: Usual "4682ae3625b248669421dede5e27658c",
    ServiceTold: Usual "3008de7840313adac682ab4d49bbf94f",
    ServiceFailed: Warning "c6be40148e614d13b1a27bc2fb117030",
    Restarting: Usual "22c5830fbae7a4e2aa06e66c49045e72",
    RestartLate: Warning "338816923f8236039be768d2f64170de",
    Restarted: Usual "354bf51142b4c949b2fc743b3d2ef7fd",
    Proven: Usual "c3ed2e2509a0a5e6decd86baf8d53d5c",
    GivenUp: Failure "d54aca4dc92432df9e2e2e821573f3ba",
    Failed: Failure "bc1a48fe9dc095d033f473d743ef00bb",
    Retrying: Warning "86ccba1e6ad03c1ece6c7ce31c32dfb7",
    Recovered: Usual "6e66ae0b9ef9e66107b636cbe73d5370",
    Done: Usual "d12983457052d420076419cb72e45166",
    BaseKept: Warning "2a655e38dc32ce442444134f5e474740",
    BaseMissing: Warning "ee5871a7c7c15cfda014043b13f7dcff",
    IrreconcilableFound: Warning "38099065326a478890b918dbf18d51b4",
    ApiLost: Warning "4f81838e7637a49272f145d4efc400b0",
    ApiBack: Usual "3e7b45435fd691d736029eeaa69affb2",
    TerminationPostponed: Warning "7d6e22905e6ba214896576d66cf0d102",
    FinalizationFailed: Warning "b0c7b813ae105ed72352fb35333d547c",
    MetricsUnavailable: Warning "63647a8021f343c5a207aa71e7158a96",
    ControlUnavailable: Detail "c1031fcb17544ac1bd708a8bbe36ba0d",
    DutyDelayed: Warning "6826e0502bb54c4289510c663888501b",
    DutyRefused: Failure "49fdf4a40385457c9f40f1667b03e011",
    DriftWatched: Usual "29d44d9d8b4e4db1b3392db6e27c78cb",
    DriftUnwatched: Warning "784e4dfdb8b543a79ce9368fadb66c79",
    DriftFound: Warning "e0c10682f2b64268a333c1e3d4d91c6c",
    DriftRepaired: Usual "003fd9589b884aeab9be67afa2964c5c",
    DriftFought: Warning "eb863d463e56408899ade395095e82ec",
    DriftGone: Usual "16e5f38b1d4b468abbe2b12c913bea81",
    CertificatesWritten: Usual "501599a471f444abbb5505ee9ef768bb",
    KubeletRestarted: Usual "87c2f95edfb14780bebc7810ceb81ff2",
    KubeletUnwell: Warning "a088dd1ecd9c424a8b956e8e8437c529",
    KubeletWell: Usual "e708ad94ff2e4654ae3700ff164c81be",
    PrefetchBegun: Usual "409281a2d0504cd59d8767d6aec88852",
    ImagesPinned: Usual "de12be54441549b7b350a2055139eb1e",
    PrefetchFailed: Warning "996a1c1af0524c86b2e3132ca5bc756d",
    NicNamesKept: Usual "a654d8c91b334e74a2280e6cba210bde",
    RivalFound: Warning "a1dc08ea85d14d62bb7fa194b918e9f2",
    RivalGone: Usual "8949259c10794429a30448fc8b47da71",
    TakenOver: Usual "b38e1b08d6394eda83c551aa75976d38",
    CredentialsAwaited: Warning "4778115fd1864b21b5d0ef4974210925",
    ConfigDoubtful: Warning "49f969c6416b4b43a516b1a0963e6ca0",
    PoliciesUnmerged: Warning "d72e1587be1f4c73aa0b498b7e73b770",
    Attention: Failure "dc5ced7e705748d6a5e7bca13f6074cf",
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn identifiers_are_128_bits_in_lower_case_and_each_is_used_once() {
        let ids: BTreeSet<_> = Notice::IDS.iter().map(|(_, id)| id).collect();
        assert_eq!(ids.len(), Notice::IDS.len());
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        for (name, id) in Notice::IDS {
            assert!(id.len() == 32 && id.bytes().all(is_hex), "{name}: {id}");
        }
        assert!(Notice::IDS.contains(&("Stopped", Notice::Stopped.id())));
    }

    #[test]
    fn a_notice_tells_which_configuration_it_is_about() {
        let to = ConfigRef::new("rendered-worker-2");
        for (notice, expected) in [
            (Notice::UpdateWanted { from: Some(ConfigRef::new("a")), to: to.clone() }, Some("rendered-worker-2")),
            (Notice::Superseded { from: "a".to_owned(), to: "b".to_owned() }, Some("b")),
            (Notice::Done { config: to }, Some("rendered-worker-2")),
            (Notice::Failed { config: "b".to_owned(), reason: "x".to_owned() }, Some("b")),
            (Notice::DrainAsked { request: "drain-b".to_owned() }, None),
            (Notice::ApiBack, None),
        ] {
            assert_eq!(notice.config(), expected, "{notice:?}");
        }
    }
}
