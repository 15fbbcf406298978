//! The manifests of the project, as an administrator applies them.

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::TypeMeta;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::loudly;

const RBAC: &str = include_str!("../../packaging/manifests/rbac.yaml");
const ADMISSION: &str = include_str!("../../packaging/manifests/admission.yaml");

/// Where events about nodes go.
pub const NAMESPACE: &str = "openshift-machine-config-operator";

/// Applies all that the server knows, and says loudly what it does not. The namespace is the operator's to make.
pub async fn apply(admin: &Client) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    let namespaces: Api<Namespace> = Api::all(admin.clone());
    namespaces.patch(NAMESPACE, &PatchParams::apply("lab"), &Patch::Apply(&namespace)).await.unwrap();
    apply_all(admin, RBAC).await;
    if serves_admission_policies(admin).await {
        apply_all(admin, ADMISSION).await;
    } else {
        loudly("SKIPPED: packaging/manifests/admission.yaml: this API server is too old for it, nodes go unguarded");
    }
}

/// Whether nodes are kept to objects of their own name.
pub async fn serves_admission_policies(admin: &Client) -> bool {
    let served = admin.list_api_group_resources("admissionregistration.k8s.io/v1").await.unwrap();
    served.resources.iter().any(|resource| resource.kind == "ValidatingAdmissionPolicy")
}

/// The objects of the policy that guards nodes from each other.
pub fn admission() -> Vec<Value> {
    serde_saphyr::from_multiple(ADMISSION).unwrap()
}

async fn apply_all(admin: &Client, manifest: &str) {
    for object in serde_saphyr::from_multiple::<DynamicObject>(manifest).unwrap() {
        let types: &TypeMeta = object.types.as_ref().expect("apiVersion and kind");
        let resource = ApiResource::from_gvk(&types.try_into().unwrap());
        let api: Api<DynamicObject> = match object.namespace() {
            Some(namespace) => Api::namespaced_with(admin.clone(), &namespace, &resource),
            None => Api::all_with(admin.clone(), &resource),
        };
        let name = object.name_any();
        api.patch(&name, &PatchParams::apply("lab"), &Patch::Apply(&object)).await.unwrap();
    }
}
