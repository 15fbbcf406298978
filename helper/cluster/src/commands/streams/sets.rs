//! Streams with their images, for a person: names of images are longer than a line, so each has its own.

use ostler_cluster_core::objects::OSImageStreamStatus;

use crate::output::{self, HEADING};

/// The streams, or one of them, each with its images below it.
pub fn text(status: &OSImageStreamStatus, only: Option<&str>) -> String {
    let mut text = String::new();
    for set in status.available_streams.iter().filter(|set| only.is_none_or(|name| name == set.name)) {
        let default = if set.name == status.default_stream { " (default)" } else { "" };
        text.push_str(&format!("{}{default}\n", output::styled(HEADING, &output::printable(&set.name))));
        text.push_str(&format!("  OS image:          {}\n", output::printable(&set.os_image)));
        text.push_str(&format!("  extensions image:  {}\n", output::printable(&set.os_extensions_image)));
    }
    text
}
