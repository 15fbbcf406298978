//! A machine that was handed back, and what is left for a person to do.

use std::fmt::Write as _;

use ostler_core::protocol::Handed;

use super::phrase::{CAUTION, GOOD, HEADING, config, printable, styled};

/// What has to happen outside the machine, in this order.
const LEFT: [&str; 3] = [
    "keep ostler from starting again:        systemctl disable --now ostler",
    "let the machine-config-daemon in again:  see docs/usage/hand-over.md, \"Going back\"",
    "remove ostler's notes from the node:    oc annotate node NODE ostler.dev/hold- ostler.dev/cordoned-before-drain- \
     ostler.dev/drift-policy- ostler.dev/boot-image-version-",
];

/// That nothing is in the way.
pub fn can_be_handed_back(handed: &Handed) -> String {
    let word = styled(CAUTION, "To hand back:");
    format!("{word} nothing is in the way; the machine is in {}. Nothing was changed.\n", config(&handed.config))
}

/// That it was done, and what remains.
pub fn handed_back(handed: &Handed) -> String {
    let mut text = format!("{} the machine is in {}\n", styled(GOOD, "Handed back:"), config(&handed.config));
    for line in &handed.done {
        let _ = writeln!(text, "  {}", printable(line));
    }
    let _ = writeln!(text, "\n{}", styled(HEADING, "Left for you to do"));
    for (number, line) in (1..).zip(LEFT) {
        let _ = writeln!(text, "  {number}. {line}");
    }
    text
}
