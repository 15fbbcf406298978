//! What is said of the duties beside updates.

use crate::node::notice::Notice;
use crate::words::count as counted;

/// The words, where the notice is about a duty.
pub(super) fn message(notice: &Notice) -> Option<String> {
    of_drift(notice).or_else(|| of_cluster(notice)).or_else(|| of_handover(notice))
}

fn of_drift(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::DriftWatched { config } => format!("Config Drift Monitor started, watching against {config}"),
        Notice::DriftUnwatched { reason } => {
            format!("changes to files cannot be listened for, they are looked for now and then: {reason}")
        }
        Notice::DriftFound { config, count, words } => {
            format!("{} from {config}: {words}; see \"ostler drift\"", counted(*count, "difference"))
        }
        Notice::DriftRepaired { config, count } => {
            format!("{} from {config} repaired, as the drift policy says", counted(*count, "difference"))
        }
        Notice::DriftFought { config, repairs, seconds } => format!(
            "what differs from {config} was put right {repairs} times and changed again each time; again in {seconds} \
             seconds; see \"ostler drift\""
        ),
        Notice::DriftGone { config } => format!("this node agrees with {config} again"),
        _ => return None,
    })
}

fn of_cluster(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::DutyDelayed { duty, reason, attempt, seconds } => {
            super::retrying(&format!("{duty}: {reason}"), *attempt, *seconds)
        }
        Notice::DutyRefused { duty, reason } => format!("{duty}: {reason}"),
        Notice::CertificatesWritten { count } => {
            format!("renewed {} with certificates or credentials", counted(*count, "file"))
        }
        Notice::KubeletRestarted { reason } => format!("the kubelet was restarted: {reason}"),
        Notice::KubeletUnwell { failures } => format!(
            "the kubelet has not said that it is well {failures} times in a row; see \"systemctl status kubelet\""
        ),
        Notice::KubeletWell => "the kubelet says again that it is well".to_owned(),
        Notice::PrefetchBegun { images } => {
            format!("pulling {} ahead of need", counted(*images, "pinned image"))
        }
        Notice::ImagesPinned { images } => format!("all {images} pinned images are on this node"),
        Notice::PrefetchFailed { reason } => format!("pinned images cannot be had: {reason}"),
        Notice::NicNamesKept { arguments } => {
            format!("the names of network devices were made to last, with {}", counted(*arguments, "kernel argument"))
        }
        _ => return None,
    })
}

fn of_handover(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::RivalFound { pid, what } => format!(
            "{what} runs on this node as process {pid}, so nothing is changed or said; keep its daemon set away from this \
             node, or stop ostler"
        ),
        Notice::RivalGone => "no machine-config-daemon runs on this node any more".to_owned(),
        Notice::TakenOver { config, words } => format!("adopted {config}, which ostler did not apply: {words}"),
        _ => return None,
    })
}
