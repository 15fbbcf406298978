//! Which pools a node is in, as far as they bring it images.

use crate::node::keys::NOT_YET_SET;
use crate::pool::{ARBITER, MASTER, WORKER};

/// The pools whose sets a node keeps: its own, and the workers' where its own is a custom one. None where the operator has
/// not said yet.
pub fn of_primary(pool: &str) -> Vec<&str> {
    match pool {
        "" | NOT_YET_SET => Vec::new(),
        WORKER | MASTER | ARBITER => vec![pool],
        custom => vec![custom, WORKER],
    }
}

/// Whether a rendered configuration is one of the control plane's, where pulling must not disturb etcd.
pub fn is_control_plane(config: &str) -> bool {
    let pool = config.strip_prefix("rendered-").and_then(|rest| rest.rsplit_once('-')).map(|(pool, _)| pool);
    matches!(pool, Some(MASTER | ARBITER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_custom_pool_is_one_of_workers() {
        for (pool, expected) in [
            ("worker", &["worker"][..]),
            ("master", &["master"]),
            ("arbiter", &["arbiter"]),
            ("infra", &["infra", "worker"]),
            ("not-yet-set", &[]),
            ("", &[]),
        ] {
            assert_eq!(of_primary(pool), expected, "{pool}");
        }
    }

    #[test]
    fn the_control_plane_is_told_by_the_pool_in_the_configuration_s_name() {
        for (config, expected) in [
            ("rendered-master-0123", true),
            ("rendered-arbiter-0123", true),
            ("rendered-worker-0123", false),
            ("rendered-master-like-0123", false),
            ("master", false),
            ("", false),
        ] {
            assert_eq!(is_control_plane(config), expected, "{config}");
        }
    }
}
