//! What each exit status means: a contract, printed by `--help` and in the man pages.

/// Of commands that answer a question.
pub(super) const ANSWER_EXIT: &str = "\
Exit status:
  0  the answer was printed
  1  it went wrong: the cluster cannot be reached, or does not let you
  2  the command line is wrong, or a file cannot be used
  3  there is no answer; the reason is shown";
