//! Platforms, and what can be done about boot images on each.

use crate::objects::Infrastructure;

/// Where a cluster runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Amazon.
    Aws,
    /// Microsoft.
    Azure,
    /// Microsoft's, in one's own data centre.
    AzureStack,
    /// Google.
    Gcp,
    /// vSphere.
    Vsphere,
    /// Machines.
    Baremetal,
    /// OpenStack.
    Openstack,
    /// Nutanix.
    Nutanix,
    /// IBM Cloud.
    IbmCloud,
    /// Power VS.
    PowerVs,
    /// KubeVirt.
    Kubevirt,
    /// Alibaba.
    Alibaba,
    /// oVirt.
    Ovirt,
    /// Equinix Metal.
    Equinix,
    /// Somewhere that OpenShift does not look after.
    External,
    /// Nowhere that OpenShift would know of.
    None,
}

impl Platform {
    /// The platform of a cluster, or why it cannot be told.
    pub fn of(infrastructure: &Infrastructure) -> Result<Self, String> {
        let status = &infrastructure.status;
        let current = status.platform_status.as_ref();
        let name = current.map(|status| status.type_.as_str()).filter(|name| !name.is_empty());
        let name = name.unwrap_or(&status.platform);
        let stack = current.and_then(|status| status.azure.as_ref());
        if name == "Azure" && stack.is_some_and(|azure| azure.cloud_name == "AzureStackCloud") {
            return Ok(Self::AzureStack);
        }
        match Self::named(name) {
            Some(platform) => Ok(platform),
            None if name.is_empty() => Err("Infrastructure cluster does not say which platform this is".to_owned()),
            None => Err(format!("the platform {name:?} of Infrastructure cluster is not known to this helper")),
        }
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "AWS" => Self::Aws,
            "Azure" => Self::Azure,
            "GCP" => Self::Gcp,
            "VSphere" => Self::Vsphere,
            "BareMetal" => Self::Baremetal,
            "OpenStack" => Self::Openstack,
            "Nutanix" => Self::Nutanix,
            "IBMCloud" => Self::IbmCloud,
            "PowerVS" => Self::PowerVs,
            "KubeVirt" => Self::Kubevirt,
            "AlibabaCloud" => Self::Alibaba,
            "oVirt" => Self::Ovirt,
            "EquinixMetal" => Self::Equinix,
            "External" => Self::External,
            "None" => Self::None,
            _ => return None,
        })
    }

    /// What people call it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Aws => "AWS",
            Self::Azure => "Azure",
            Self::AzureStack => "Azure Stack Hub",
            Self::Gcp => "GCP",
            Self::Vsphere => "vSphere",
            Self::Baremetal => "bare metal",
            Self::Openstack => "OpenStack",
            Self::Nutanix => "Nutanix",
            Self::IbmCloud => "IBM Cloud",
            Self::PowerVs => "Power VS",
            Self::Kubevirt => "KubeVirt",
            Self::Alibaba => "Alibaba Cloud",
            Self::Ovirt => "oVirt",
            Self::Equinix => "Equinix Metal",
            Self::External => "an external platform",
            Self::None => "no platform",
        }
    }

    /// Whether the machine-config operator updates boot images of machine sets there, which it then does by default.
    pub const fn is_managed(self) -> bool {
        matches!(self, Self::Aws | Self::Azure | Self::Gcp | Self::Vsphere)
    }

    /// The same for the control plane, which has to be asked for.
    pub const fn is_control_plane_managed(self) -> bool {
        matches!(self, Self::Aws | Self::Azure | Self::Gcp)
    }
}
