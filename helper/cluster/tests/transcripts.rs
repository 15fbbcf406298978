//! Every `$ ostler-cluster …` in README.md is run on the dump of a cluster in docs/examples.
#![cfg(test)]

#[path = "../../../tests/transcripts/readme.rs"]
mod readme;

#[test]
fn the_transcripts_of_the_readme_are_what_the_helper_prints() {
    readme::check(env!("CARGO_BIN_EXE_ostler-cluster"), |words| words.contains(&"--from-dir"));
}
