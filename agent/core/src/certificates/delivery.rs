//! What is to be written and removed, worked out from what was handed out and what stands on the machine.

use std::collections::BTreeMap;

use super::bundle::Bundle;
use super::given::{Data, Given};
use super::kubeconfig::{self, KubeconfigError};
use super::record::{Owed, Record};
use super::{BOOTSTRAP_KUBECONFIG, CLOUD_CA, KUBELET_CA, KUBELET_KUBECONFIG, PULL_SECRET, REGISTRIES, registry};
use crate::secret::Secret;

/// What stands on the machine, as far as a delivery depends on it.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// What the kubelet asks for credentials with.
    pub bootstrap: Option<Secret<Vec<u8>>>,
    /// What the kubelet reaches the cluster with.
    pub kubelet: Option<Secret<Vec<u8>>>,
    /// Whether there is a file for the cloud provider's certificates.
    pub has_cloud_ca: bool,
    /// What is remembered.
    pub record: Record,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Files as they are to be; whether they are so already is for others to see.
    pub files: Vec<File>,
    /// Files of registries that are not the cluster's any more, and that came from it.
    pub stale: Vec<String>,
    /// What is to be remembered before anything is written.
    pub before: Record,
    /// What is to be remembered once all is written, but for what the kubelet gets then.
    pub after: Record,
    /// What cannot be delivered.
    pub refused: Vec<Refused>,
}

/// A file as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where.
    pub path: String,
    /// What is in it.
    pub contents: Secret<Vec<u8>>,
    /// Who may read it.
    pub mode: Mode,
}

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Everybody, whatever was.
    Open,
    /// Root, whatever was.
    Private,
    /// As it is, with its owner; root where the file is new.
    Kept,
}

/// What cannot be delivered. Never quotes contents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Nobody could be verified with it.
    #[error("what the cluster hands out for {path} holds no certificate that can be read, so it stays as it is")]
    NoCertificate {
        /// Where it would have gone.
        path: &'static str,
    },
    /// A name that cannot be a directory's.
    #[error("the certificates of registry {file:?} have no place below {REGISTRIES}: {why}")]
    Name {
        /// The name.
        file: String,
        /// What is wrong with it.
        why: registry::NameError,
    },
    /// A kubeconfig of the machine's cannot be rewritten.
    #[error("{path} cannot be given the API server's new certificate authority: {why}")]
    Kubeconfig {
        /// Which.
        path: &'static str,
        /// Why.
        why: KubeconfigError,
    },
}

/// Works out what is to be done.
pub fn deliver(given: &Given, standing: &Standing) -> Delivery {
    let mut delivery = Delivery::default();
    if let Some(secret) = filled(given.pull_secret.as_ref()) {
        delivery.write(PULL_SECRET, lines(secret), Mode::Private);
    }
    if let Some(ca) = filled(given.kubelet_ca.as_ref()) {
        if Bundle::parse(ca.expose()).is_empty() {
            delivery.refused.push(Refused::NoCertificate { path: KUBELET_CA });
        } else {
            delivery.write(KUBELET_CA, lines(ca), Mode::Open);
        }
    }
    match filled(given.cloud_ca.as_ref()) {
        Some(ca) => delivery.write(CLOUD_CA, lines(ca), Mode::Open),
        // What was trusted and is not handed out any more is not trusted any more; where nothing was, nothing is made.
        None if standing.has_cloud_ca => delivery.write(CLOUD_CA, b"\n".to_vec(), Mode::Open),
        None => {}
    }
    registries(given, standing, &mut delivery);
    let owed = server(given, standing, &mut delivery);
    delivery.before.owed = owed;
    delivery.after.owed = owed;
    delivery
}

/// The kubelet's kubeconfig with the authority of the one it asks for credentials with; none where it has it already, or
/// where there is nothing to go by.
pub fn follow(bootstrap: Option<&[u8]>, kubelet: Option<&[u8]>) -> Result<Option<Secret<Vec<u8>>>, Refused> {
    let (Some(bootstrap), Some(kubelet)) = (bootstrap, kubelet) else { return Ok(None) };
    let told = |path| move |why| Refused::Kubeconfig { path, why };
    let Some(pem) = kubeconfig::authority(bootstrap).map_err(told(BOOTSTRAP_KUBECONFIG))? else { return Ok(None) };
    // One that cannot be decoded is one to replace.
    if kubeconfig::authority(kubelet).is_ok_and(|standing| standing.as_deref() == Some(pem.as_slice())) {
        return Ok(None);
    }
    kubeconfig::with_authority(kubelet, &pem).map(Some).map_err(told(KUBELET_KUBECONFIG))
}

impl Delivery {
    fn write(&mut self, path: &str, contents: Vec<u8>, mode: Mode) {
        self.files.push(File { path: path.to_owned(), contents: Secret::new(contents), mode });
    }

    fn rewrite(&mut self, path: &'static str, text: &Secret<Vec<u8>>, pem: &[u8]) -> bool {
        match kubeconfig::with_authority(text.expose(), pem) {
            Ok(contents) => {
                self.files.push(File { path: path.to_owned(), contents, mode: Mode::Kept });
                true
            }
            Err(why) => {
                self.refused.push(Refused::Kubeconfig { path, why });
                false
            }
        }
    }
}

fn registries(given: &Given, standing: &Standing, delivery: &mut Delivery) {
    let mut wanted: BTreeMap<String, &Data> = BTreeMap::new();
    for bundle in &given.registries {
        match registry::directory(&bundle.file) {
            Ok(name) => drop(wanted.insert(name, &bundle.data)),
            Err(why) => delivery.refused.push(Refused::Name { file: bundle.file.clone(), why }),
        }
    }
    for (name, data) in &wanted {
        delivery.write(&place(name), lines(data), Mode::Open);
    }
    let remembered = standing.record.registries.iter().filter(|name| registry::is_directory(name));
    delivery.stale = remembered.clone().filter(|name| !wanted.contains_key(*name)).map(|name| place(name)).collect();
    delivery.before.registries = remembered.chain(wanted.keys()).cloned().collect();
    delivery.after.registries = wanted.into_keys().collect();
}

/// The new authority of the API server, and what the kubelet is owed because of it.
fn server(given: &Given, standing: &Standing, delivery: &mut Delivery) -> Owed {
    let owed = standing.record.owed;
    let Some(server_ca) = &given.server_ca else { return owed };
    let bundle = Bundle::parse(server_ca.expose());
    if bundle.is_empty() {
        delivery.refused.push(Refused::NoCertificate { path: BOOTSTRAP_KUBECONFIG });
        return owed;
    }
    let own = standing.kubelet.as_ref().map(|text| (KUBELET_KUBECONFIG, text));
    let bootstrap = standing.bootstrap.as_ref().map(|text| (BOOTSTRAP_KUBECONFIG, text));
    let Some((path, text)) = bootstrap.or(own) else { return owed };
    let trusted = match kubeconfig::authority(text.expose()) {
        Ok(pem) => Bundle::parse(&pem.unwrap_or_default()),
        // One that cannot be decoded is one to replace.
        Err(KubeconfigError::Authority) => Bundle::default(),
        Err(why) => {
            delivery.refused.push(Refused::Kubeconfig { path, why });
            return owed;
        }
    };
    if bundle.agrees(&trusted) || !delivery.rewrite(path, text, &bundle.to_pem()) {
        return owed;
    }
    // Without anything to ask for credentials with there is no second chance to wait for.
    let news = bundle.news_can_wait(&trusted).map(|can_wait| can_wait && bootstrap.is_some());
    let owed = owed.after(news);
    // What only got smaller is taken up at the kubelet's next start; where it waits for one, that comes with the rest.
    if let (Owed::Nothing, None, Some((path, text)), true) = (owed, news, own, bootstrap.is_some()) {
        delivery.rewrite(path, text, &bundle.to_pem());
    }
    owed
}

fn filled(data: Option<&Data>) -> Option<&Data> {
    data.filter(|data| !data.expose().is_empty())
}

/// Contents end with a line's end, as the machine-config-daemon writes them: else each would undo the other's work.
fn lines(data: &Data) -> Vec<u8> {
    let mut bytes = data.expose().clone();
    if bytes.last() != Some(&b'\n') {
        bytes.push(b'\n');
    }
    bytes
}

fn place(directory: &str) -> String {
    format!("{REGISTRIES}/{directory}/ca.crt")
}

#[cfg(test)]
mod tests;
