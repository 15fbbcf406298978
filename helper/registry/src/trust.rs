//! Whom a connection trusts, and how it shows itself: certificates of the machine, of the caller and of `certs.d`.
//!
//! Owns the reading of that directory and the making of TLS settings, all with the cryptography that the cluster client
//! has too. Refuses to decide who may be insecure.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::options::Options;

const MOST_BYTES: u64 = 4 * 1024 * 1024;
const MOST_FILES: usize = 256;
/// Of one bundle; a machine's own has some 150.
const MOST_CERTIFICATES: usize = 10_000;

/// Why the settings for TLS cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// A bundle of the caller's.
    #[error("bundle {number} of trusted certificates holds none in PEM that can be used")]
    Bundle {
        /// Which, from 1.
        number: usize,
    },
    /// A file or directory of `certs.d`.
    #[error("cannot read {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file of `certs.d`.
    #[error("{path} holds no {what} in PEM that can be used")]
    File {
        /// Which.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// A certificate without its key.
    #[error("{path} has no key beside it: it must have the same name and end in .key")]
    Keyless {
        /// Which.
        path: PathBuf,
    },
    /// A certificate and a key that TLS cannot use.
    #[error("certificate and key in {path} cannot be used")]
    Identity {
        /// Which certificate.
        path: PathBuf,
        /// Why.
        #[source]
        source: rustls::Error,
    },
    /// TLS itself.
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
    /// The HTTP client.
    #[error("cannot set up connections")]
    Client(#[source] reqwest::Error),
    /// An address of a proxy. It may hold a password, so it is not shown.
    #[error("the address of the {which} proxy is none")]
    Proxy {
        /// Which.
        which: &'static str,
    },
}

/// The certificates that are trusted everywhere, and those for single registries.
pub(crate) struct Trust {
    roots: RootCertStore,
    by_host: BTreeMap<String, Vec<CertificateDer<'static>>>,
    directory: Option<PathBuf>,
    provider: Arc<CryptoProvider>,
}

#[derive(Default)]
struct HostFiles {
    authorities: Vec<CertificateDer<'static>>,
    identity: Option<Identity>,
}

struct Identity {
    path: PathBuf,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Trust {
    /// This machine's certificates, as far as it has any, and the caller's.
    pub(crate) fn new(options: &Options) -> Result<Self, TrustError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        for (index, bundle) in options.authorities.iter().enumerate() {
            let found = certificates(bundle);
            roots.add_parsable_certificates(found.ok_or(TrustError::Bundle { number: index.saturating_add(1) })?);
        }
        let of_host = |(host, bundle): (&String, &Vec<u8>)| (host.clone(), certificates(bundle).unwrap_or_default());
        let by_host = options.host_authorities.iter().map(of_host).collect();
        let directory = options.certificates.clone();
        Ok(Self { roots, by_host, directory, provider: Arc::new(ring::default_provider()) })
    }

    /// The settings for one registry.
    pub(crate) fn config(&self, host: &str, insecure: bool) -> Result<ClientConfig, TrustError> {
        let files = match &self.directory {
            Some(directory) => HostFiles::read(&directory.join(host))?,
            None => HostFiles::default(),
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(TrustError::Tls)?;
        let builder = if insecure {
            let verifier = Unverified(Arc::clone(&self.provider));
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        } else {
            let mut roots = self.roots.clone();
            roots.add_parsable_certificates(files.authorities);
            roots.add_parsable_certificates(self.by_host.get(host).into_iter().flatten().cloned());
            builder.with_root_certificates(roots)
        };
        match files.identity {
            None => Ok(builder.with_no_client_auth()),
            Some(Identity { path, chain, key }) => {
                builder.with_client_auth_cert(chain, key).map_err(|source| TrustError::Identity { path, source })
            }
        }
    }
}

impl HostFiles {
    /// Authorities end in `.crt`, our own certificates in `.cert` with a `.key` beside each; the first of those counts.
    fn read(directory: &Path) -> Result<Self, TrustError> {
        let mut found = Self::default();
        for path in names(directory)? {
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("crt") => {
                    let bad = || TrustError::File { path: path.clone(), what: "certificate" };
                    found.authorities.extend(certificates(&read(&path)?).ok_or_else(bad)?);
                }
                Some("cert") if found.identity.is_none() => found.identity = Some(Identity::read(path)?),
                _ => {}
            }
        }
        Ok(found)
    }
}

impl Identity {
    fn read(path: PathBuf) -> Result<Self, TrustError> {
        let key = path.with_extension("key");
        if !key.exists() {
            return Err(TrustError::Keyless { path });
        }
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(&path)?).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty());
        let chain = chain.ok_or_else(|| TrustError::File { path: path.clone(), what: "certificate" })?;
        let parsed = PrivateKeyDer::from_pem_slice(&read(&key)?);
        let key = parsed.map_err(|_: pem::Error| TrustError::File { path: key, what: "key" })?;
        Ok(Self { path, chain, key })
    }
}

/// The files of a directory in the order of their names; none where there is no directory.
fn names(directory: &Path) -> Result<Vec<PathBuf>, TrustError> {
    let unread = |source| TrustError::Read { path: directory.to_owned(), source };
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unread)?,
    };
    let paths = entries.take(MOST_FILES).map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<io::Result<_>>().map_err(unread)?;
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<Vec<u8>, TrustError> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path);
    let count = file.and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    count.map_err(|source| TrustError::Read { path: path.to_owned(), source })?;
    Ok(bytes)
}

/// Whether a PEM text holds a certificate that can be trusted.
pub fn is_bundle(pem: &[u8]) -> bool {
    certificates(pem).is_some()
}

/// The certificates in a PEM text that can be trusted; none where there is not at least one. Bundles collect what others
/// have left over the years, so a damaged one must not keep us from the rest.
fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_slice_iter(pem).take(MOST_CERTIFICATES).filter_map(Result::ok);
    let sound = |certificate: &CertificateDer<'static>| RootCertStore::empty().add(certificate.clone()).is_ok();
    let found: Vec<_> = read.filter(sound).collect();
    (!found.is_empty()).then_some(found)
}

/// Takes any certificate, for registries that were called insecure. The handshake itself is verified all the same.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
