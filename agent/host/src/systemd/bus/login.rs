//! Who asks logind that this machine be left running.

use zbus::fdo;

use super::error::BusError;
use super::{Bus, wire};

const SERVICE: &str = "org.freedesktop.login1";
const PATH: &str = "/org/freedesktop/login1";
const MANAGER: &str = "org.freedesktop.login1.Manager";

/// What is not to happen, who asks for that and why, how much they mean it, and their user and process.
type Listed = (String, String, String, String, u32, u32);

/// Somebody who asks that something be not done for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inhibitor {
    /// What is not to be done, such as `shutdown:sleep`.
    pub what: String,
    /// Who asks, in their words.
    pub who: String,
    /// Why, in their words.
    pub why: String,
    /// `block`, or `delay` for those who only want to be told and given a moment.
    pub mode: String,
}

impl Inhibitor {
    /// Whether it forbids a restart.
    pub fn blocks_shutdown(&self) -> bool {
        self.mode == "block" && self.what.split(':').any(|what| what == "shutdown")
    }
}

impl Bus {
    /// All inhibitors. Where there is no logind, nobody can be one.
    pub fn inhibitors(&self) -> Result<Vec<Inhibitor>, BusError> {
        let answer = async {
            let login = wire::proxy_of(&self.connection, SERVICE, PATH, MANAGER).await?;
            match login.call_method("ListInhibitors", &()).await {
                Ok(reply) => reply.body().deserialize::<Vec<Listed>>(),
                Err(error) if is_absent(&error) => Ok(Vec::new()),
                Err(error) => Err(error),
            }
        };
        let listed = self.runtime.block_on(self.attempt("ask for inhibitors", &[]).bounded(answer))?;
        Ok(listed.into_iter().map(|(what, who, why, mode, ..)| Inhibitor { what, who, why, mode }).collect())
    }
}

/// Whether the error says that there is no logind here, as opposed to one that does not answer.
fn is_absent(error: &zbus::Error) -> bool {
    match error {
        zbus::Error::FDO(answer) => {
            matches!(answer.as_ref(), fdo::Error::ServiceUnknown(_) | fdo::Error::NameHasNoOwner(_))
        }
        zbus::Error::MethodError(name, ..) => {
            name.as_str() == wire::NO_SUCH_UNIT || name.as_str() == "org.freedesktop.systemd1.UnitMasked"
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_who_blocks_the_shutdown_forbids_a_restart() {
        for (what, mode, expected) in [
            ("shutdown", "block", true),
            ("sleep:shutdown", "block", true),
            ("shutdown", "delay", false),
            ("sleep", "block", false),
            ("shutdown", "block-weak", false),
        ] {
            let [what, mode] = [what, mode].map(str::to_owned);
            let inhibitor = Inhibitor { what, who: String::new(), why: String::new(), mode };
            assert_eq!(inhibitor.blocks_shutdown(), expected, "{inhibitor:?}");
        }
    }
}
