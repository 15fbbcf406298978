//! How much is logged and where to, in the words of the command line and of `org.freedesktop.LogControl1`.

use tracing::level_filters::LevelFilter;

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Only what somebody should look at.
    Error,
    /// Also what is not usual.
    Warning,
    /// Also the usual course of things.
    Info,
    /// Also why the loop turns.
    Debug,
    /// Also the usual course of libraries, but none of their details: those quote requests, answers and their headers.
    Trace,
}

impl Level {
    /// By one of syslog's eight names. We log nothing between a warning and the usual, so `notice` is as `warning`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "emerg" | "alert" | "crit" | "err" => Self::Error,
            "warning" | "notice" => Self::Warning,
            "info" => Self::Info,
            "debug" => Self::Debug,
            _ => return None,
        })
    }

    /// Syslog's name, which for [`Self::Trace`] is the last one there is.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "err",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Debug | Self::Trace => "debug",
        }
    }

    /// Up to which level our own lines pass.
    pub const fn own(self) -> LevelFilter {
        match self {
            Self::Error => LevelFilter::ERROR,
            Self::Warning => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace => LevelFilter::TRACE,
        }
    }

    /// Up to which level the lines of libraries pass.
    pub const fn foreign(self) -> LevelFilter {
        match self {
            Self::Error => LevelFilter::ERROR,
            Self::Warning | Self::Info | Self::Debug => LevelFilter::WARN,
            Self::Trace => LevelFilter::INFO,
        }
    }
}

/// Where lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To the journal, with all fields.
    Journal,
    /// To standard error.
    Console,
    /// Nowhere.
    Null,
}

impl Target {
    /// By its name in LogControl1. Those that we do not serve are none.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Journal, Self::Console, Self::Null].into_iter().find(|target| target.name() == name)
    }

    /// Its name in LogControl1.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Console => "console",
            Self::Null => "null",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_syslog_is_a_level_and_nothing_else_is() {
        for (name, level) in [
            ("emerg", "err"),
            ("alert", "err"),
            ("crit", "err"),
            ("err", "err"),
            ("warning", "warning"),
            ("notice", "warning"),
            ("info", "info"),
            ("debug", "debug"),
        ] {
            assert_eq!(Level::from_name(name).map(Level::name), Some(level), "{name}");
        }
        for name in ["", "INFO", "error", "trace", "6"] {
            assert_eq!(Level::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn targets_have_the_names_of_systemd_and_those_not_served_have_none() {
        for name in ["journal", "console", "null"] {
            assert_eq!(Target::from_name(name).map(Target::name), Some(name));
        }
        for name in ["kmsg", "journal-or-kmsg", "syslog", "auto", ""] {
            assert_eq!(Target::from_name(name), None, "{name}");
        }
    }
}
