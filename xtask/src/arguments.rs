//! Words of a command line, taken one by one; what nobody took is an error.

use anyhow::{Context, Result, bail};

/// What followed the door's name.
pub struct Arguments(Vec<String>);

impl Arguments {
    /// Words in the order they were typed.
    pub const fn new(words: Vec<String>) -> Self {
        Self(words)
    }

    /// Whether `name` was given.
    pub fn flag(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|word| word != name);
        self.0.len() != before
    }

    /// The value of `name VALUE` or `name=VALUE`.
    pub fn value(&mut self, name: &str) -> Result<Option<String>> {
        let joined = |word: &str| word.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')).map(str::to_owned);
        let Some(at) = self.0.iter().position(|word| word == name || joined(word).is_some()) else { return Ok(None) };
        let word = self.0.remove(at);
        if let Some(value) = joined(&word) {
            return Ok(Some(value));
        }
        if self.0.get(at).is_none_or(|value| value.starts_with('-')) {
            bail!("{name} needs a value");
        }
        Ok(Some(self.0.remove(at)))
    }

    /// The value of `name` as a number.
    pub fn number(&mut self, name: &str) -> Result<Option<u64>> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        value.parse().map(Some).with_context(|| format!("{name} needs a whole number, not {value:?}"))
    }

    /// The next word that is no option.
    pub fn operand(&mut self) -> Option<String> {
        let at = self.0.iter().position(|word| !word.starts_with('-'))?;
        Some(self.0.remove(at))
    }

    /// Refuses what is left over.
    pub fn finish(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { bail!("not understood: {}; try --help", self.0.join(" ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Arguments {
        Arguments::new(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn options_and_operands_come_in_any_order() {
        for line in ["config --seconds 5 --fast", "--seconds=5 config --fast", "--fast --seconds 5 config"] {
            let mut arguments = typed(line);
            assert_eq!(arguments.number("--seconds").unwrap(), Some(5), "{line}");
            assert!(arguments.flag("--fast"), "{line}");
            assert_eq!(arguments.operand().as_deref(), Some("config"), "{line}");
            arguments.finish().unwrap();
        }
    }

    #[test]
    fn an_option_that_nobody_took_is_an_error() {
        let error = typed("--fsat").finish().unwrap_err();
        assert!(error.to_string().contains("--fsat"), "{error}");
    }

    #[test]
    fn a_value_that_is_missing_or_no_number_is_an_error() {
        for line in ["--seconds", "--seconds --fast", "--seconds=soon", "--seconds -1"] {
            assert!(typed(line).number("--seconds").is_err(), "{line}");
        }
    }

    #[test]
    fn an_option_is_not_mistaken_for_a_longer_one() {
        let mut arguments = typed("--seconds-more=5");
        assert_eq!(arguments.value("--seconds").unwrap(), None);
        assert!(arguments.finish().is_err());
    }
}
