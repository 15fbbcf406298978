//! The text of `/etc/shadow`, changed in one field and otherwise kept byte by byte.
//!
//! Owns the form of its lines. Refuses to read or write the file, to check or make a password, and to leave an account
//! open.

use ostler_core::secret::Secret;

use super::{Accounts, is_name};

/// The hash that no password has: it locks a password and leaves keys alone.
pub const LOCKED: &str = "*";
/// No method of crypt(5) makes longer ones.
const MOST_HASH: usize = 1024;

/// The passwords of a machine's users.
#[derive(Clone, Debug)]
pub struct Shadow {
    text: Secret<Vec<u8>>,
}

/// Why a password cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShadowError {
    /// Nobody to set it for.
    #[error("the machine has no user {user:?} to set a password for; create it in the OS image or correct the config")]
    UnknownUser {
        /// The name.
        user: String,
    },
    /// An empty field would let everybody in.
    #[error("the password hash of user {user:?} is empty, which would need no password; leave it out to lock it")]
    EmptyHash {
        /// The name.
        user: String,
    },
    /// It would change more than the one field.
    #[error("the password hash of user {user:?} has a colon, a control character or is too long; correct the config")]
    BadHash {
        /// The name.
        user: String,
    },
}

impl Shadow {
    /// Takes the text as it is. Lines that make no sense are kept and never found.
    pub const fn parse(text: Secret<Vec<u8>>) -> Self {
        Self { text }
    }

    /// A user's hash, empty when no password is needed; `None` when the user has no line or the hash is no text.
    pub fn hash(&self, user: &str) -> Option<Secret<String>> {
        let line = self.lines().find(|line| is_of(line, user))?;
        let hash = content(line).split(|byte| *byte == b':').nth(1)?;
        String::from_utf8(hash.to_vec()).ok().map(Secret::new)
    }

    /// The day of the last change of a user's password, counted from 1970, where one is noted.
    pub fn day(&self, user: &str) -> Option<u64> {
        let line = self.lines().find(|line| is_of(line, user))?;
        let day = content(line).split(|byte| *byte == b':').nth(2)?;
        std::str::from_utf8(day).ok()?.parse().ok()
    }

    /// The whole text with another hash for a user, and the day of the change, counted from 1970, if one is given. A user
    /// that has an account and no line gets one.
    pub fn with_hash(
        &self,
        user: &str,
        hash: &Secret<String>,
        today: Option<u64>,
        accounts: &Accounts,
    ) -> Result<Secret<Vec<u8>>, ShadowError> {
        check(user, hash.expose())?;
        let mut text = Vec::with_capacity(self.text.expose().len() + MOST_HASH);
        let mut found = false;
        for line in self.lines() {
            if !found && is_of(line, user) {
                found = true;
                change(&mut text, line, hash.expose(), today);
            } else {
                text.extend_from_slice(line);
            }
        }
        if !found {
            if !is_name(user) || accounts.user(user).is_none() {
                return Err(ShadowError::UnknownUser { user: user.to_owned() });
            }
            if !matches!(text.last(), None | Some(b'\n')) {
                text.push(b'\n');
            }
            let day = today.map_or_else(String::new, |day| day.to_string());
            text.extend_from_slice(format!("{user}:{}:{day}:0:99999:7:::\n", hash.expose()).as_bytes());
        }
        Ok(Secret::new(text))
    }

    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.text.expose().split_inclusive(|byte| *byte == b'\n')
    }
}

fn content(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// Whether a line has this user's hash: one without a colon has none.
fn is_of(line: &[u8], user: &str) -> bool {
    is_name(user) && content(line).strip_prefix(user.as_bytes()).is_some_and(|rest| rest.starts_with(b":"))
}

fn change(text: &mut Vec<u8>, line: &[u8], hash: &str, today: Option<u64>) {
    let line_end = line.strip_prefix(content(line)).unwrap_or_default();
    for (number, field) in content(line).split(|byte| *byte == b':').enumerate() {
        if number > 0 {
            text.push(b':');
        }
        match (number, today) {
            (1, _) => text.extend_from_slice(hash.as_bytes()),
            (2, Some(day)) => text.extend_from_slice(day.to_string().as_bytes()),
            _ => text.extend_from_slice(field),
        }
    }
    text.extend_from_slice(line_end);
}

fn check(user: &str, hash: &str) -> Result<(), ShadowError> {
    let user = || user.to_owned();
    if hash.is_empty() {
        return Err(ShadowError::EmptyHash { user: user() });
    }
    if hash.len() > MOST_HASH || hash.contains(|c: char| c == ':' || c.is_control()) {
        return Err(ShadowError::BadHash { user: user() });
    }
    Ok(())
}
