//! Paths as text: what the machine-config-daemon's matching calls the same path. Nothing here looks at a disk.

/// The shortest equivalent of a path: no empty or `.` elements, `..` resolved against its parent.
pub fn clean(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut elements: Vec<&str> = Vec::new();
    for element in path.split('/') {
        match element {
            "" | "." => {}
            ".." => match elements.last() {
                Some(&"..") | None if !absolute => elements.push(".."),
                _ => {
                    elements.pop();
                }
            },
            _ => elements.push(element),
        }
    }
    let joined = elements.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// The directory a path is directly inside of; `None` for `/` and for a bare name.
pub fn parent(path: &str) -> Option<&str> {
    match path.rsplit_once('/')? {
        ("", "") => None,
        ("", _) => Some("/"),
        (parent, _) => Some(parent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_go_cleans_them() {
        for (path, expected) in [
            ("", "."),
            ("/", "/"),
            ("//", "/"),
            ("/a//b/", "/a/b"),
            ("/a/./b/../c", "/a/c"),
            ("/../a", "/a"),
            ("../a", "../a"),
            ("../../a", "../../a"),
            ("a/../..", ".."),
            ("a/b/", "a/b"),
        ] {
            assert_eq!(clean(path), expected, "{path:?}");
        }
    }

    #[test]
    fn the_parent_is_one_level_up() {
        for (path, expected) in [("/a/b", Some("/a")), ("/a", Some("/")), ("/", None), ("a", None)] {
            assert_eq!(parent(path), expected, "{path:?}");
        }
    }
}
