//! `org.projectatomic.rpmostree1.OS`
//!
//! The methods that compare rpm databases, search packages or rebuild an initramfs are left out.

use std::sync::Arc;

use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, OwnedVariant, Variant};

use super::daemon::{Daemon, os_path};
use super::dict::{self, Dict};
use super::errors::BusError;
use super::jobs::Job;
use super::request;
use super::sysroot_object::sender;
use super::transaction::Call;
use crate::sysroot::facts::DeploymentFacts;

/// One OS on the bus.
pub struct OsObject {
    daemon: Arc<Daemon>,
    osname: String,
}

impl OsObject {
    /// The OS `osname` of `daemon`.
    pub fn new(daemon: Arc<Daemon>, osname: String) -> Self {
        Self { daemon, osname }
    }

    /// Tells that the deployments changed.
    pub async fn tell_deployments(&self, bus: &Connection) -> zbus::Result<()> {
        let emitter = SignalEmitter::new(bus, os_path(&self.osname))?;
        self.booted_deployment_changed(&emitter).await?;
        self.default_deployment_changed(&emitter).await?;
        self.rollback_deployment_changed(&emitter).await
    }

    fn deployments(&self) -> Vec<DeploymentFacts> {
        self.daemon.view().of_os(&self.osname).cloned().collect()
    }

    async fn begin(&self, header: &Header<'_>, job: Job) -> Result<String, BusError> {
        let call = Call {
            method: header.member().map(|member| member.to_string()).unwrap_or_default(),
            sender: sender(header)?,
            path: os_path(&self.osname),
        };
        self.daemon.begin(call, &self.osname, job).await
    }

    /// The deployment an index names, or without one the pending or the booted one.
    fn find(&self, index: &str, pending: bool) -> Result<DeploymentFacts, BusError> {
        if !index.is_empty() {
            return by_index(self.daemon.view().deployments, index);
        }
        let deployments = self.deployments();
        let booted = deployments.iter().find(|deployment| deployment.booted);
        let found = if pending { deployments.first() } else { booted.or(deployments.first()) };
        found.cloned().ok_or_else(|| BusError::io(format!("No deployments found for os {}", self.osname)))
    }
}

fn by_index(deployments: Vec<DeploymentFacts>, index: &str) -> Result<DeploymentFacts, BusError> {
    let count = deployments.len();
    let Ok(position) = index.parse::<usize>() else {
        return Err(BusError::failed(format!("Invalid deployment index {index}, must be a number and >= 0")));
    };
    let out_of_range = || BusError::failed(format!("Out of range deployment index {position}, expected < {count}"));
    deployments.into_iter().nth(position).ok_or_else(out_of_range)
}

fn with_entry(mut dict: Dict, key: &str, value: Variant<'_>) -> Result<Dict, BusError> {
    let value = OwnedVariant::try_from(value).map_err(|error| BusError::io(error.to_string()))?;
    dict.insert(key.to_owned(), value);
    Ok(dict)
}

#[zbus::interface(name = "org.projectatomic.rpmostree1.OS")]
impl OsObject {
    #[zbus(property)]
    async fn booted_deployment(&self) -> Dict {
        self.deployments().iter().find(|deployment| deployment.booted).map(dict::deployment).unwrap_or_default()
    }

    #[zbus(property)]
    async fn default_deployment(&self) -> Dict {
        self.deployments().first().map(dict::deployment).unwrap_or_default()
    }

    #[zbus(property)]
    async fn rollback_deployment(&self) -> Dict {
        let deployments = self.deployments();
        let booted = deployments.iter().position(|deployment| deployment.booted).unwrap_or(0);
        deployments.get(booted.saturating_add(1)).map(dict::deployment).unwrap_or_default()
    }

    #[zbus(property)]
    async fn cached_update(&self) -> Dict {
        Dict::new()
    }

    #[zbus(property)]
    async fn has_cached_update_rpm_diff(&self) -> bool {
        false
    }

    #[zbus(property)]
    async fn name(&self) -> String {
        self.osname.clone()
    }

    #[zbus(out_args("transaction_address"))]
    async fn update_deployment(
        &self,
        modifiers: Dict,
        options: Dict,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<String, BusError> {
        self.begin(&header, request::update(modifiers, options)?).await
    }

    #[zbus(out_args("transaction_address"))]
    async fn rebase(
        &self,
        options: Dict,
        refspec: String,
        packages: Vec<String>,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<String, BusError> {
        let modifiers = with_entry(Dict::new(), "set-refspec", refspec.into())?;
        let modifiers = with_entry(modifiers, "install-packages", packages.into())?;
        self.begin(&header, request::update(modifiers, options)?).await
    }

    #[zbus(out_args("transaction_address"))]
    async fn upgrade(&self, options: Dict, #[zbus(header)] header: Header<'_>) -> Result<String, BusError> {
        self.begin(&header, request::update(Dict::new(), options)?).await
    }

    #[zbus(out_args("transaction_address"))]
    async fn pkg_change(
        &self,
        options: Dict,
        packages_added: Vec<String>,
        packages_removed: Vec<String>,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<String, BusError> {
        let modifiers = with_entry(Dict::new(), "install-packages", packages_added.into())?;
        let modifiers = with_entry(modifiers, "uninstall-packages", packages_removed.into())?;
        let options = with_entry(options, "no-pull-base", true.into())?;
        self.begin(&header, request::update(modifiers, options)?).await
    }

    #[zbus(out_args("transaction_address"))]
    #[allow(clippy::too_many_arguments, reason = "the method has five arguments")]
    async fn kernel_args(
        &self,
        existing_kernel_arg_string: String,
        kernel_args_added: Vec<String>,
        kernel_args_replaced: Vec<String>,
        kernel_args_removed: Vec<String>,
        options: Dict,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<String, BusError> {
        let job = request::kernel_args(
            existing_kernel_arg_string,
            kernel_args_added,
            kernel_args_replaced,
            kernel_args_removed,
            options,
        )?;
        self.begin(&header, job).await
    }

    #[zbus(out_args("bootconfig"))]
    async fn get_deployment_boot_config(&self, deployid: &str, is_pending: bool) -> Result<Dict, BusError> {
        self.daemon.touch();
        self.daemon.refresh().await?;
        Ok(dict::boot_config(&self.find(deployid, is_pending)?))
    }

    #[zbus(out_args("transaction_address"))]
    async fn cleanup(&self, elements: Vec<String>, #[zbus(header)] header: Header<'_>) -> Result<String, BusError> {
        self.begin(&header, request::cleanup(&elements)?).await
    }

    #[zbus(out_args("transaction_address"))]
    async fn rollback(&self, options: Dict, #[zbus(header)] header: Header<'_>) -> Result<String, BusError> {
        self.begin(&header, request::rollback(options)?).await
    }

    #[zbus(out_args("transaction_address"))]
    async fn clear_rollback_target(
        &self,
        options: Dict,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<String, BusError> {
        // rpm-ostree passes over the only option, which is the reboot.
        drop(options);
        self.begin(&header, request::cleanup(&["rollback-deploy".to_owned()])?).await
    }

    #[zbus(out_args("transaction_address"))]
    async fn finalize_deployment(&self, options: Dict, #[zbus(header)] header: Header<'_>) -> Result<String, BusError> {
        self.begin(&header, request::finalize(options)?).await
    }

    #[zbus(out_args("transaction_address"))]
    async fn refresh_md(&self, options: Dict, #[zbus(header)] header: Header<'_>) -> Result<String, BusError> {
        drop(options);
        self.begin(&header, Job::RefreshMd).await
    }

    #[zbus(out_args("enabled", "transaction_address"))]
    async fn automatic_update_trigger(&self, options: Dict) -> Result<(bool, String), BusError> {
        drop(options);
        self.daemon.touch();
        Ok((false, String::new()))
    }
}
