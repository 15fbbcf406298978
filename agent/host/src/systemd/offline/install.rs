//! The `[Install]` section of a unit's text.

/// What the section asks for, words as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Install {
    pub wanted_by: Vec<String>,
    pub required_by: Vec<String>,
    pub upheld_by: Vec<String>,
    pub alias: Vec<String>,
    pub also: Vec<String>,
    pub default_instance: Option<String>,
}

impl Install {
    /// Reads the section; what cannot be read is passed over, as systemd does.
    pub fn parse(text: &str) -> Self {
        let mut install = Self::default();
        let mut inside = false;
        for line in logical_lines(text) {
            if line.starts_with('[') {
                inside = line == "[Install]";
            } else if let Some((key, value)) = line.split_once('=').filter(|_| inside) {
                install.set(key.trim_end(), value.trim());
            }
        }
        install
    }

    /// Whether enabling has nothing to do.
    pub fn is_static(&self) -> bool {
        self.only_also() && self.also.is_empty()
    }

    /// Whether there is nothing but `Also=`.
    pub fn only_also(&self) -> bool {
        [&self.wanted_by, &self.required_by, &self.upheld_by, &self.alias].iter().all(|list| list.is_empty())
    }

    fn set(&mut self, key: &str, value: &str) {
        let list = match key {
            "WantedBy" => &mut self.wanted_by,
            "RequiredBy" => &mut self.required_by,
            "UpheldBy" => &mut self.upheld_by,
            "Alias" => &mut self.alias,
            "Also" => &mut self.also,
            "DefaultInstance" => {
                self.default_instance = Some(value.to_owned()).filter(|value| !value.is_empty());
                return;
            }
            _ => return,
        };
        // An empty assignment takes back what was said before, but for Also=, which only ever grows.
        if value.is_empty() && key != "Also" {
            list.clear();
        }
        list.extend(words(value));
    }
}

/// Lines without comments, a backslash at the end joining the next one.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with(['#', ';']) || (trimmed.is_empty() && open.is_none()) {
            continue;
        }
        let mut joined = open.take().unwrap_or_default();
        match trimmed.strip_suffix('\\') {
            Some(start) => {
                joined.push_str(start);
                joined.push(' ');
                open = Some(joined);
            }
            None => {
                joined.push_str(trimmed);
                lines.push(joined.trim().to_owned());
            }
        }
    }
    lines.extend(open.map(|line| line.trim().to_owned()));
    lines
}

fn words(value: &str) -> impl Iterator<Item = String> + '_ {
    value.split_whitespace().map(|word| word.replace(['"', '\''], ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_is_read_with_continuations_comments_quotes_and_resets() {
        let text = "[Unit]\nAlias=no.service\n[Install]\n# WantedBy=no.target\nWantedBy=old.target\nWantedBy=\n\
            WantedBy = a.target \\\n; a comment inside\n  'b.target'\nAlso=x.service\nAlso=\nUpheldBy=u.service\n\
            DefaultInstance=d\nJunk\n[X-Other]\nRequiredBy=no.target\n";
        let expected = Install {
            wanted_by: vec!["a.target".into(), "b.target".into()],
            upheld_by: vec!["u.service".into()],
            also: vec!["x.service".into()],
            default_instance: Some("d".into()),
            ..Install::default()
        };
        assert_eq!(Install::parse(text), expected);
        assert!(Install::parse("[Service]\nExecStart=/bin/true\n").is_static());
    }
}
