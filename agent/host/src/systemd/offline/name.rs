//! Names of units taken apart, and the specifiers that are made of them.

use ostler_core::unit_name;

use super::OfflineError;

/// A name as `prefix@instance.kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name<'a> {
    pub prefix: &'a str,
    /// `None` for a plain unit, empty for a template.
    pub instance: Option<&'a str>,
    pub kind: &'a str,
}

impl<'a> Name<'a> {
    pub fn of(name: &'a str) -> Self {
        let (stem, kind) = name.rsplit_once('.').unwrap_or((name, ""));
        match stem.split_once('@') {
            Some((prefix, instance)) => Self { prefix, instance: Some(instance), kind },
            None => Self { prefix: stem, instance: None, kind },
        }
    }

    pub fn is_template(&self) -> bool {
        self.instance == Some("")
    }

    /// The template of an instance.
    pub fn template(&self) -> Option<String> {
        let instance = self.instance.filter(|instance| !instance.is_empty());
        instance.map(|_| format!("{}@.{}", self.prefix, self.kind))
    }

    /// This template's or instance's name with another instance.
    pub fn with_instance(&self, instance: &str) -> String {
        format!("{}@{instance}.{}", self.prefix, self.kind)
    }
}

/// Refuses what systemd would; `unit` is the one whose section has the name.
pub(super) fn check(name: &str, unit: Option<&str>) -> Result<(), OfflineError> {
    unit_name::check_unit(name).map_err(|problem| OfflineError::Name {
        name: name.to_owned(),
        unit: unit.map(str::to_owned),
        problem,
    })
}

/// Replaces the specifiers that a name alone answers.
pub(super) fn expand(word: &str, unit: &str) -> Result<String, OfflineError> {
    let name = Name::of(unit);
    let stem = unit.rsplit_once('.').map_or(unit, |(stem, _)| stem);
    let mut text = String::with_capacity(word.len());
    let mut characters = word.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => text.push_str(unit),
            Some('N') => text.push_str(stem),
            Some('p') => text.push_str(name.prefix),
            Some('i') => text.push_str(name.instance.unwrap_or_default()),
            Some('j') => text.push_str(name.prefix.rsplit('-').next().unwrap_or_default()),
            Some('%') | None => text.push('%'),
            Some(specifier) => return Err(OfflineError::Specifier { unit: unit.to_owned(), specifier }),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_as_systemd_does() {
        let parts = |name| {
            let Name { prefix, instance, kind } = Name::of(name);
            (prefix, instance, kind)
        };
        assert_eq!(parts("a.b.service"), ("a.b", None, "service"));
        assert_eq!(parts("a@.service"), ("a", Some(""), "service"));
        assert_eq!(parts("a@x@y.z.timer"), ("a", Some("x@y.z"), "timer"));
        assert_eq!(Name::of("a@x.service").template().as_deref(), Some("a@.service"));
        assert_eq!(Name::of("a@.service").template(), None);
    }

    #[test]
    fn specifiers_are_replaced_or_named() {
        let unit = "a-b@c.service";
        assert_eq!(expand("%n %N %p %i %j %% %", unit).unwrap(), "a-b@c.service a-b@c a-b c b % %");
        let error = expand("%H.target", unit).unwrap_err();
        assert!(error.to_string().contains("%H") && error.to_string().contains(unit), "{error}");
    }
}
