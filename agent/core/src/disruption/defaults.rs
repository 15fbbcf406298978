//! The policies every cluster starts with.

use super::{Action, FilePolicy, Origin, Policies, UnitPolicy};

/// The default policies, in the operator's order: the first of two equally long paths wins.
pub(super) fn policies() -> Policies {
    let file =
        |(path, actions): (&str, Vec<Action>)| FilePolicy { path: path.to_owned(), actions, origin: Origin::Default };
    Policies {
        files: files().into_iter().map(file).collect(),
        units: vec![UnitPolicy {
            name: "iri-registry.service".to_owned(),
            actions: vec![Action::DaemonReload, restart("iri-registry.service")],
            origin: Origin::Default,
        }],
        ssh_keys: vec![Action::None],
        ssh_keys_origin: Origin::Default,
    }
}

fn files() -> Vec<(&'static str, Vec<Action>)> {
    let reload_crio = || vec![Action::Reload("crio.service".to_owned())];
    let restart_iri = || vec![restart("iri-registry.service")];
    vec![
        ("/var/lib/kubelet/config.json", vec![Action::None]),
        ("/etc/machine-config-daemon/no-reboot/containers-gpg.pub", reload_crio()),
        ("/etc/containers/policy.json", reload_crio()),
        (crate::registries::PATH, vec![Action::Special]),
        ("/etc/containers/registries.d", reload_crio()),
        ("/etc/crio/policies", reload_crio()),
        ("/etc/nmstate/openshift", vec![Action::None]),
        (
            "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt",
            vec![restart("coreos-update-ca-trust.service"), restart("crio.service")],
        ),
        ("/etc/kubernetes/credential-providers", vec![restart("kubelet.service")]),
        (
            "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf",
            vec![Action::DaemonReload, restart("kubelet.service")],
        ),
        ("/etc/iri-registry", restart_iri()),
        ("/usr/local/bin/load-registry-image.sh", restart_iri()),
        ("/etc/pki/ca-trust/source/anchors/iri-root-ca.crt", vec![restart("coreos-update-ca-trust.service")]),
    ]
}

fn restart(service: &str) -> Action {
    Action::Restart(service.to_owned())
}
