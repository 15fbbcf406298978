//! What the labels of an image say: of which stream it is, and which half of it.

use std::collections::BTreeMap;
use std::fmt;

/// Names the stream of an image.
const STREAM_CLASS: &str = "io.openshift.os.streamclass";
/// Marks images that can be booted.
const BOOTABLE: &str = "containers.bootc";
/// Marks images of extensions.
const EXTENSIONS: &str = "io.openshift.os.extensions";

/// What is known of an image's labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Labels {
    /// The labels of its configuration.
    Found(BTreeMap<String, String>),
    /// It could not be looked at, and why.
    Unreachable(String),
}

/// Where images come from, in rising order of what counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Named on the command line.
    CommandLine,
    /// The ConfigMap `machine-config-osimageurl`.
    UrlConfigMap,
    /// The release's ImageStream.
    Release,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::CommandLine => "the command line",
            Self::UrlConfigMap => "ConfigMap machine-config-osimageurl",
            Self::Release => "the release",
        })
    }
}

/// Which half of a stream an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The operating system.
    Os,
    /// What extensions are installed from.
    Extensions,
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Os => "OS image",
            Self::Extensions => "extensions image",
        })
    }
}

/// What an image is not, by its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unlabelled {
    /// It names no stream.
    Stream,
    /// It is of a stream, and neither half of it.
    Part,
}

/// The stream and the half that an image is. An image that says both is the operating system.
pub(super) fn classify(labels: &BTreeMap<String, String>) -> Result<(&str, Part), Unlabelled> {
    let stream = stream_class(labels).ok_or(Unlabelled::Stream)?;
    let says = |key: &str, words: &[&str]| {
        labels.get(key).is_some_and(|value| words.iter().any(|word| value.eq_ignore_ascii_case(word)))
    };
    if says(BOOTABLE, &["1", "true"]) {
        Ok((stream, Part::Os))
    } else if says(EXTENSIONS, &["true"]) {
        Ok((stream, Part::Extensions))
    } else {
        Err(Unlabelled::Part)
    }
}

/// The stream that an image says it is of.
pub(super) fn stream_class(labels: &BTreeMap<String, String>) -> Option<&str> {
    labels.get(STREAM_CLASS).map(String::as_str).filter(|stream| !stream.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_tell_the_stream_and_the_half() {
        let os = Ok(("s", Part::Os));
        let extensions = Ok(("s", Part::Extensions));
        for (labels, expected) in [
            (&[(STREAM_CLASS, "s"), (BOOTABLE, "1")][..], os),
            (&[(STREAM_CLASS, "s"), (BOOTABLE, "true")], os),
            (&[(STREAM_CLASS, "s"), (BOOTABLE, "TRUE")], os),
            (&[(STREAM_CLASS, "s"), (BOOTABLE, "yes")], Err(Unlabelled::Part)),
            (&[(STREAM_CLASS, "s"), (BOOTABLE, "true ")], Err(Unlabelled::Part)),
            (&[(STREAM_CLASS, "s"), (EXTENSIONS, "True")], extensions),
            (&[(STREAM_CLASS, "s"), (EXTENSIONS, "1")], Err(Unlabelled::Part)),
            (&[(STREAM_CLASS, "s"), (BOOTABLE, "0"), (EXTENSIONS, "true")], extensions),
            (&[(STREAM_CLASS, "s"), (BOOTABLE, "1"), (EXTENSIONS, "true")], os),
            (&[(STREAM_CLASS, "s")], Err(Unlabelled::Part)),
            (&[(STREAM_CLASS, ""), (BOOTABLE, "1")], Err(Unlabelled::Stream)),
            (&[(BOOTABLE, "1")], Err(Unlabelled::Stream)),
            (&[("IO.OPENSHIFT.OS.STREAMCLASS", "s"), (BOOTABLE, "1")], Err(Unlabelled::Stream)),
            (&[], Err(Unlabelled::Stream)),
        ] {
            let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            assert_eq!(classify(&labels), expected, "{labels:?}");
        }
        let odd = [(STREAM_CLASS.to_owned(), " Any Thing ".to_owned()), (BOOTABLE.to_owned(), "1".to_owned())].into();
        assert_eq!(classify(&odd), Ok((" Any Thing ", Part::Os)), "names are opaque");
    }
}
