//! Bundles of certificates: what is in them, what one has that another has not, and whose certificates those are.
//!
//! Refuses to verify anything: who signed what, and until when, is for those who use a certificate.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::Decode;
use x509_cert::der::asn1::ObjectIdentifier;

/// Most certificates of one bundle that are looked at. A cluster has a dozen.
const MOST: usize = 4096;
/// Longest line of PEM.
const LINE: usize = 64;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// Signers whose certificates the kubelet does not need at once: with them are signed the API server's names for those on
/// its own machine, for recovery and behind the load balancer.
const PATIENT: [&str; 3] = [
    "kube-apiserver-localhost-signer",
    "openshift-kube-apiserver-operator_localhost-recovery-serving-signer",
    "kube-apiserver-lb-signer",
];

/// Certificates that can be read, each once, in the order they came in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    certificates: Vec<Certificate>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Certificate {
    der: Vec<u8>,
    names: Vec<String>,
}

impl Bundle {
    /// Reads a bundle. What is no certificate, or a broken one, is passed over as a TLS library does.
    pub fn parse(pem: &[u8]) -> Self {
        let mut seen = BTreeSet::new();
        let mut certificates = Vec::new();
        for der in CertificateDer::pem_slice_iter(pem).take(MOST).flatten() {
            let Ok(parsed) = CertificateInner::<Raw>::from_der(&der) else { continue };
            if seen.insert(der.to_vec()) {
                certificates.push(Certificate { names: common_names(&parsed), der: der.to_vec() });
            }
        }
        Self { certificates }
    }

    /// Whether there is nothing in it that could be trusted.
    pub fn is_empty(&self) -> bool {
        self.certificates.is_empty()
    }

    /// Whether both hold the same certificates, in whatever order.
    pub fn agrees(&self, other: &Self) -> bool {
        self.certificates.len() == other.certificates.len() && self.beyond(other).next().is_none()
    }

    /// Whether all certificates that this has and the other has not are ones that the kubelet does not need at once; none
    /// when there are no such certificates.
    pub fn news_can_wait(&self, other: &Self) -> Option<bool> {
        let mut news = self.beyond(other).peekable();
        news.peek()?;
        Some(
            news.all(|certificate| {
                certificate.names.iter().any(|name| PATIENT.iter().any(|signer| name.contains(signer)))
            }),
        )
    }

    /// The bundle as text.
    pub fn to_pem(&self) -> Vec<u8> {
        let mut text = String::new();
        for certificate in &self.certificates {
            text.push_str("-----BEGIN CERTIFICATE-----\n");
            for (index, letter) in STANDARD.encode(&certificate.der).chars().enumerate() {
                if index > 0 && index % LINE == 0 {
                    text.push('\n');
                }
                text.push(letter);
            }
            text.push_str("\n-----END CERTIFICATE-----\n");
        }
        text.into_bytes()
    }

    fn beyond<'a>(&'a self, other: &Self) -> impl Iterator<Item = &'a Certificate> + use<'a> {
        let theirs: BTreeSet<Vec<u8>> = other.certificates.iter().map(|certificate| certificate.der.clone()).collect();
        self.certificates.iter().filter(move |certificate| !theirs.contains(&certificate.der))
    }
}

fn common_names(certificate: &CertificateInner<Raw>) -> Vec<String> {
    let subject = certificate.tbs_certificate().subject();
    let named = subject.iter().filter(|attribute| attribute.oid == COMMON_NAME);
    named.map(|attribute| String::from_utf8_lossy(attribute.value.value()).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::{LB, LOCALHOST, NEW, OLD, RECOVERY};
    use super::*;

    fn of(parts: &[&str]) -> Bundle {
        Bundle::parse(parts.concat().as_bytes())
    }

    #[test]
    fn only_readable_certificates_count_and_each_of_them_once() {
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let no_base64 = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for (text, count) in [
            (vec![], 0),
            (vec!["no PEM at all\n"], 0),
            (vec![broken], 0),
            (vec![key], 0),
            (vec!["\u{0}\u{1}\n", OLD], 1),
            (vec!["# a comment\n", OLD, "between\n", NEW], 2),
            (vec![OLD, OLD], 1),
            (vec![no_base64, OLD, broken, key, NEW], 2),
        ] {
            assert_eq!(of(&text).certificates.len(), count, "{text:?}");
        }
        assert!(of(&[broken]).is_empty());
    }

    #[test]
    fn bundles_agree_whatever_their_order() {
        assert!(of(&[OLD, NEW]).agrees(&of(&[NEW, OLD])));
        assert!(!of(&[OLD, NEW]).agrees(&of(&[OLD])));
        assert!(!of(&[OLD]).agrees(&of(&[NEW])));
        assert!(of(&[]).agrees(&of(&[])));
    }

    #[test]
    fn news_can_wait_when_all_of_them_come_from_patient_signers() {
        for (new, old, expected) in [
            (vec![OLD], vec![OLD], None),
            (vec![OLD], vec![OLD, NEW], None),
            (vec![OLD, NEW], vec![OLD], Some(false)),
            (vec![OLD, LB], vec![OLD], Some(true)),
            (vec![LOCALHOST, RECOVERY, LB], vec![], Some(true)),
            (vec![OLD, LB, NEW], vec![OLD], Some(false)),
        ] {
            assert_eq!(of(&new).news_can_wait(&of(&old)), expected, "{} {}", new.len(), old.len());
        }
    }

    #[test]
    fn a_bundle_reads_as_it_was_written() {
        let bundle = of(&[OLD, "junk\n", LB]);
        assert_eq!(Bundle::parse(&bundle.to_pem()), bundle);
        let text = String::from_utf8(bundle.to_pem()).unwrap();
        assert_eq!(text, format!("{OLD}{LB}"));
    }
}
