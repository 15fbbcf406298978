//! Which certificates of the cluster a machine has.

/// What was delivered last, as the controller wants to know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificates {
    /// Version of the ControllerConfig whose files are all in place.
    pub synced: Option<String>,
    /// Whether the rotation of the API server's authority was last seen to be asked for.
    pub rotation: Option<String>,
    /// What the cluster hands out and the machine cannot take, in words.
    pub refused: Option<String>,
}
