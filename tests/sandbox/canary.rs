//! What a secret looks like where it should not be.

use std::fmt::Write as _;

use super::configs::base64;

/// What a secret looks like: as it is, in hexadecimal, and within a longer text in base64, whatever comes before it.
pub fn forms(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned()];
    let hex = secret.bytes().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    forms.extend([hex.to_uppercase(), hex]);
    for before in 0..3 {
        let encoded = base64(format!("{}{secret}", "x".repeat(before)));
        // Characters at the ends also depend on the neighbours.
        forms.push(encoded.get(4..encoded.len() - 4).unwrap().to_owned());
    }
    forms
}
