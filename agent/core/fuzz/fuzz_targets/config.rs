//! Any JSON or YAML text, as an Ignition config or the MachineConfig around one: parsed, validated, decoded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ostler_core::desired::{Desired, Rules};
use ostler_core::disruption::Policies;
use ostler_core::document;
use ostler_core::ignition::{Config, Limits, Source};
use ostler_core::machine_config::MachineConfig;
use ostler_core::observed::Observed;
use ostler_core::plan::assess;
use ostler_core::reconcile::Overrides;

const LIMITS: Limits = Limits { bytes: 1 << 20, ratio: 100 };

fuzz_target!(|data: &[u8]| {
    let Ok(document) = document::parse(data) else { return };
    if let Ok(config) = MachineConfig::from_document(document.clone()) {
        a_config_leads_nowhere_from_itself(config);
    }
    let value = document.pointer("/spec/config").unwrap_or(&document);
    let Ok(source) = Source::parse(value.clone()) else { return };
    // A config that is not valid must still be modelled without a panic: the error report reads the model.
    let _ = source.validate();
    let config = source.into_config();
    contents_stay_within_their_limits(&config);
    let again = Source::parse(value.clone()).map(Source::into_config);
    assert!(again.is_ok_and(|again| again == config), "a config differs from itself");
});

/// From an empty machine anything may come out; from the config itself nothing but an empty plan or a refusal.
fn a_config_leads_nowhere_from_itself(config: MachineConfig) {
    let rules = Rules::Policies(Policies::default());
    let desired = Desired { target: config.clone().into(), overrides: Overrides::default(), rules };
    let _ = assess(&Observed::configured(MachineConfig::empty()), &desired);
    let assessment = assess(&Observed::configured(config), &desired);
    assert!(assessment.irreconcilable.is_empty(), "a config differs from itself");
    assert!(assessment.verdict.map_or(true, |plan| plan.steps.is_empty()), "a config changes itself");
}

fn contents_stay_within_their_limits(config: &Config) {
    for file in &config.files {
        for resource in std::iter::once(&file.contents).chain(&file.append) {
            if let Ok(bytes) = resource.decode(LIMITS) {
                assert!(bytes.expose().len() <= LIMITS.bytes, "decoded past the limit");
            }
        }
    }
}
