//! Which machine resources the administrator has let boot images be updated of.
//!
//! What the operator put into the status counts. Where it has not said anything yet, the same is worked out from what the
//! administrator asks for and what is usual on the platform.

use super::{Kind, Machine, Platform, labels};
use crate::objects::{MACHINE_API, MachineConfiguration, MachineManager, ManagedBootImages, Selection};

/// Where an enrolment comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The status of the `MachineConfiguration`.
    Status,
    /// Its spec, with what is usual on the platform.
    Spec,
}

/// Which machine resources are enrolled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enrolment {
    managers: Vec<MachineManager>,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether all of the Cluster API are enrolled: its resources cannot be named in a `MachineConfiguration`.
    pub with_capi: bool,
}

/// Whether a machine resource is enrolled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Enrolled {
    /// It is.
    Yes,
    /// It is not, and why.
    No(String),
    /// Nobody can tell, and why.
    Unclear(String),
}

impl Enrolment {
    /// What is in force.
    pub fn of(configuration: Option<&MachineConfiguration>, platform: Platform) -> Self {
        let status = configuration.and_then(|object| object.status.managed_boot_images_status.as_ref());
        if let Some(status) = status {
            let managers = status.machine_managers.clone().unwrap_or_default();
            return Self { managers, origin: Origin::Status, with_capi: false };
        }
        Self::asked(configuration, platform)
    }

    /// What is in force where this helper stands in for the operator. An operator that runs says which generation it has
    /// seen; without one the status is what was written here, from a spec that may have changed since.
    pub fn owned(configuration: Option<&MachineConfiguration>, platform: Platform) -> Self {
        match configuration.is_some_and(|object| object.status.observed_generation.is_some()) {
            true => Self::of(configuration, platform),
            false => Self::asked(configuration, platform),
        }
    }

    fn asked(configuration: Option<&MachineConfiguration>, platform: Platform) -> Self {
        let asked = configuration.and_then(|object| object.spec.managed_boot_images.as_ref());
        let asked = asked.and_then(|images| images.machine_managers.as_deref());
        Self { managers: in_force(asked, platform), origin: Origin::Spec, with_capi: false }
    }

    /// What the operator would put into the status: the API knows no others than those of the Machine API.
    pub fn status(&self) -> ManagedBootImages {
        let managers = self.managers.iter().filter(|manager| manager.api_group == MACHINE_API);
        ManagedBootImages { machine_managers: Some(managers.cloned().collect()) }
    }

    /// How a kind is selected: `All`, `Partial` or `None`; `None` too where nothing is said.
    pub fn mode(&self, kind: Kind) -> &str {
        match self.manager(kind) {
            Some(manager) => &manager.selection.mode,
            None if self.with_capi && kind.is_capi() => "All",
            None => "None",
        }
    }

    fn manager(&self, kind: Kind) -> Option<&MachineManager> {
        self.managers.iter().find(|manager| manager.resource == kind.plural() && manager.api_group == kind.group())
    }

    /// Whether one machine resource is.
    pub(super) fn judge(&self, machine: &Machine) -> Enrolled {
        let kind = machine.kind;
        let Some(manager) = self.manager(kind) else {
            return match self.with_capi && kind.is_capi() {
                true => Enrolled::Yes,
                false => Enrolled::No(format!("no {} are enrolled for boot image updates", kind.plural())),
            };
        };
        match manager.selection.mode.as_str() {
            "All" => Enrolled::Yes,
            "Partial" => partial(&manager.selection, machine),
            "None" => Enrolled::No(format!("boot image updates of {} are switched off", kind.plural())),
            other => Enrolled::No(format!("the selection mode {other:?} selects nothing")),
        }
    }
}

/// A selection without `partial` cannot be made through the API; one without a selector can, and selects nothing.
fn partial(selection: &Selection, machine: &Machine) -> Enrolled {
    let plural = machine.kind.plural();
    let Some(partial) = &selection.partial else {
        return Enrolled::Unclear(format!(
            "the selection of {plural} is Partial, and selection.partial, which says which, is missing"
        ));
    };
    let Some(selector) = &partial.machine_resource_selector else {
        return Enrolled::No(format!("the partial selection of {plural} has no machineResourceSelector"));
    };
    if let Some(problem) = labels::unusable(selector) {
        return Enrolled::Unclear(format!("the machineResourceSelector of {plural} cannot be used: {problem}"));
    }
    match selector.matches(machine.labels()) {
        true => Enrolled::Yes,
        false => Enrolled::No(format!("its labels do not match the machineResourceSelector of {plural}")),
    }
}

/// An empty list is a decision against everything, from when that was the only way to say so.
fn in_force(asked: Option<&[MachineManager]>, platform: Platform) -> Vec<MachineManager> {
    let asked = match asked {
        Some([]) => return Vec::new(),
        asked => asked.unwrap_or_default(),
    };
    if !platform.is_managed() {
        return Vec::new();
    }
    let usual = |kind: Kind, mode: &str| {
        let own = |manager: &&MachineManager| manager.resource == kind.plural() && manager.api_group == MACHINE_API;
        asked.iter().find(own).cloned().unwrap_or_else(|| MachineManager {
            resource: kind.plural().to_owned(),
            api_group: MACHINE_API.to_owned(),
            selection: Selection { mode: mode.to_owned(), partial: None },
        })
    };
    let capi = asked.iter().filter(|manager| manager.api_group != MACHINE_API).cloned();
    [usual(Kind::MachineSet, "All"), usual(Kind::ControlPlaneMachineSet, "None")].into_iter().chain(capi).collect()
}
