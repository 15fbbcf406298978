//! `MachineConfiguration` of the operator, as far as it says which changes are let through that no running node can make.

use ostler_core::api::machine_configuration::IrreconcilableValidationOverrides;
use serde::Deserialize;

use super::absent::null_as_default;
use super::{Metadata, Resource};

/// The object; there is one, called [`ValidationSettings::NAME`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ValidationSettings {
    /// Names.
    pub metadata: Metadata,
    /// What the administrator asks for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: ValidationSpec,
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ValidationSpec {
    /// Sections of `storage` that may change although nodes that exist do not follow.
    #[serde(deserialize_with = "null_as_default")]
    pub irreconcilable_validation_overrides: IrreconcilableValidationOverrides,
}

impl ValidationSettings {
    /// Name of the only object.
    pub const NAME: &'static str = "cluster";
}

impl Resource for ValidationSettings {
    const GROUP: &'static str = "operator.openshift.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "MachineConfiguration";
    const PLURAL: &'static str = "machineconfigurations";
    const NAMESPACED: bool = false;
}
