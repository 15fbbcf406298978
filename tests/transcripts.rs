//! Every `$ ostler …` in README.md is run, and its output must stand below it: a transcript that is not real misleads.
#![cfg(test)]

#[path = "transcripts/readme.rs"]
mod readme;

#[test]
fn the_transcripts_of_the_readme_are_what_the_command_prints() {
    // Whoever writes a transcript of another command gives it another prompt: it would change this machine.
    readme::check(env!("CARGO_BIN_EXE_ostler"), |words| matches!(words, ["plan" | "diff", ..]));
}
