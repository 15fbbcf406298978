//! What Prometheus reads.

use std::collections::BTreeMap;

use ostler_core::verdict::Reason;

use super::*;

fn full() -> Metrics {
    let metrics = Metrics::default();
    metrics.set_os("rhel coreos", "9.6.20260930-0");
    metrics.set_pivot_errors(2);
    metrics.set_state("Working", "", 1_791_000_000);
    metrics.set_state("Degraded", "cannot write \"/etc/a\\b\"\n", 1_791_000_100);
    metrics.count_failed_reboot();
    metrics.set_update("MachineConfig: rendered-worker-1", "", 1_791_000_001);
    metrics.set_update("MachineConfig: rendered-worker-2", "no space", 1_791_000_002);
    metrics.set_phase(Phase::Draining);
    metrics.set_phase(Phase::Executing);
    metrics.observe_phase(Phase::Draining, Duration::from_millis(90_500));
    metrics.count_attempt();
    metrics.count_retry("transient");
    metrics.count_retry("transient");
    metrics.set_last_error(1_791_000_004);
    metrics.set_kubelet(3);
    metrics.set_drift(1_791_000_005);
    metrics.set_restart_owed(1_791_000_006);
    metrics.set_unsupported_packages("worker-0", 2);
    metrics.set_verdict(&Verdict::from_reasons([Reason::DesiredUnknown]), 1_791_000_006);
    metrics
}

fn samples(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.rsplit_once(' ').unwrap()).collect()
}

#[test]
fn every_number_has_the_name_that_alerts_know() {
    let text = full().text();
    let samples = samples(&text);
    for (sample, value) in [
        (r#"mcd_host_os_and_version{os="rhel coreos",version="9.6.20260930-0"}"#, "1"),
        ("mcd_pivot_errors_total", "2"),
        (r#"mcd_state{state="Degraded",reason="cannot write \"/etc/a\\b\"\\u{a}"}"#, "1791000100"),
        ("mcd_reboots_failed_total", "1"),
        (r#"mcd_update_state{config="MachineConfig: rendered-worker-2",err="no space"}"#, "1791000002"),
        (r#"ostler_phase_duration_seconds_sum{phase="draining"}"#, "90.5"),
        (r#"ostler_phase_duration_seconds_bucket{le="60.0",phase="draining"}"#, "0"),
        (r#"ostler_phase_duration_seconds_bucket{le="300.0",phase="draining"}"#, "1"),
        ("mcd_kubelet_state", "3"),
        ("mcd_config_drift", "1791000005"),
        ("ostler_restart_owed_timestamp_seconds", "1791000006"),
        (r#"mcd_local_unsupported_packages{node="worker-0"}"#, "2"),
        ("ostler_update_attempts_total", "1"),
        (r#"ostler_retries_total{class="transient"}"#, "2"),
        ("ostler_last_error_timestamp_seconds", "1791000004"),
        (r#"ostler_phase{phase="executing"}"#, "1"),
        (r#"ostler_phase{phase="draining"}"#, "0"),
        (r#"ostler_verdict{verdict="unknown"}"#, "1"),
        (r#"ostler_verdict{verdict="upToDate"}"#, "0"),
    ] {
        assert_eq!(samples.get(sample), Some(&value), "{sample} in\n{text}");
    }
    assert_eq!(samples.keys().filter(|sample| sample.starts_with("mcd_state")).count(), 1, "the vector is reset");
    assert_eq!(samples.keys().filter(|sample| sample.starts_with("mcd_update_state")).count(), 1);
    assert_eq!(samples.keys().filter(|sample| sample.starts_with("ostler_phase{")).count(), 10);
}

#[test]
fn gauges_keep_their_names_and_counters_get_their_suffix() {
    let text = full().text();
    for line in ["# TYPE mcd_pivot_errors_total gauge", "# TYPE mcd_reboots_failed counter"] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("_total_total"));
}

/// What Prometheus insists on: families without gaps, samples of the family that was announced, an end.
#[test]
fn the_text_is_what_an_openmetrics_parser_accepts() {
    // Families of which there is nothing to tell yet are left out.
    for (metrics, count) in [(Metrics::default(), 7), (full(), 15)] {
        let text = metrics.text();
        let mut families = Vec::new();
        let lines: Vec<_> = text.strip_suffix("# EOF\n").unwrap().lines().collect();
        for line in lines {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(!families.contains(&(name, kind)), "{name} is told twice");
                families.push((name, kind));
            } else if !line.starts_with("# HELP ") {
                let (name, kind) = families.last().copied().unwrap();
                let suffix = line.split(['{', ' ']).next().and_then(|sample| sample.strip_prefix(name)).unwrap();
                let allowed: &[&str] = match kind {
                    "counter" => &["_total"],
                    "histogram" => &["_bucket", "_sum", "_count"],
                    _ => &[""],
                };
                assert!(allowed.contains(&suffix), "{line}");
                assert!(line.rsplit_once(' ').unwrap().1.parse::<f64>().is_ok(), "{line}");
            }
        }
        assert_eq!(families.len(), count);
    }
}

#[test]
fn a_reason_cannot_grow_the_series_without_end() {
    let metrics = Metrics::default();
    metrics.set_state("Degraded", &"ö".repeat(5000), u64::MAX);
    let text = metrics.text();
    let expected = format!("mcd_state{{state=\"Degraded\",reason=\"{}\"}}", "ö".repeat(MAX_LABEL));
    assert_eq!(samples(&text).get(expected.as_str()), Some(&"9223372036854775807"));
}

#[test]
fn phases_are_called_as_in_the_account() {
    for phase in PHASES {
        assert_eq!(serde_json::to_value(phase).unwrap(), name(phase));
    }
}
