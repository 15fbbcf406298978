//! Errors on the bus, under the names rpm-ostreed's clients see.
//!
//! Most errors of rpm-ostreed are GIO errors, for which GDBus makes up a name of the domain and the code. The name
//! `org.projectatomic.rpmostreed.Error.UpdateInProgress` is registered in its source but no longer raised.

use zbus::message::{Header, Message};
use zbus::names::ErrorName;

const IO_FAILED: &str = "org.gtk.GDBus.UnmappedGError.Quark._g_2dio_2derror_2dquark.Code0";
const IO_NOT_FOUND: &str = "org.gtk.GDBus.UnmappedGError.Quark._g_2dio_2derror_2dquark.Code1";
const IO_BUSY: &str = "org.gtk.GDBus.UnmappedGError.Quark._g_2dio_2derror_2dquark.Code26";
const FAILED: &str = "org.projectatomic.rpmostreed.Error.Failed";

/// An error reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusError {
    name: &'static str,
    text: String,
}

impl BusError {
    /// G_IO_ERROR_FAILED, by far the most common.
    pub fn io(text: impl Into<String>) -> Self {
        Self { name: IO_FAILED, text: text.into() }
    }

    /// G_IO_ERROR_NOT_FOUND.
    pub fn not_found(text: impl Into<String>) -> Self {
        Self { name: IO_NOT_FOUND, text: text.into() }
    }

    /// G_IO_ERROR_BUSY.
    pub fn busy(text: impl Into<String>) -> Self {
        Self { name: IO_BUSY, text: text.into() }
    }

    /// rpm-ostreed's own error.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { name: FAILED, text: text.into() }
    }
}

impl From<anyhow::Error> for BusError {
    fn from(error: anyhow::Error) -> Self {
        Self::io(format!("{error:#}"))
    }
}

impl zbus::DBusError for BusError {
    fn create_reply(&self, call: &Header<'_>) -> zbus::Result<Message> {
        Message::error(call, self.name).build(&(self.text.as_str(),))
    }

    fn name(&self) -> ErrorName<'_> {
        ErrorName::from_static_str_unchecked(self.name)
    }

    fn description(&self) -> Option<&str> {
        Some(&self.text)
    }
}
