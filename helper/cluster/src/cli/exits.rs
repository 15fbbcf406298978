//! What each exit status means: a contract, printed by `--help` and in the man pages.

/// Of commands that answer a question.
pub(super) const ANSWER_EXIT: &str = "\
Exit status:
  0  the answer was printed
  1  it went wrong: the cluster cannot be reached, or does not let you
  2  the command line is wrong, or a file cannot be used
  3  there is no answer; the reason is shown";

/// Of the preflight: who runs it reads the document, not the status.
pub(super) const PREFLIGHT_EXIT: &str = "\
'ostler-cluster --preflight ...' is the same.

Exit status:
  0  a document was produced, whatever it says
  1  none could be: there are no credentials, or the file cannot be written
  2  the command line is wrong, or a file cannot be used";

/// Of `ostler-cluster streams set`.
pub(super) const SET_EXIT: &str = "\
Exit status:
  0  the pool names the stream, or could with --dry-run
  1  it went wrong: the cluster cannot be reached, or does not let you
  2  the command line is wrong, or a file cannot be used
  3  refused; the reason is shown, and nothing was changed";

/// Of `ostler-cluster streams run`.
pub(super) const RUN_EXIT: &str = "\
Exit status:
  0  told to end by SIGTERM or SIGINT; with --once, the turn is done
  1  it went wrong; with --own also when somebody else writes the object
  2  the command line is wrong, or a file cannot be used
  3  with --once, there are no streams; the reason is shown";

/// Of `ostler-cluster bootimages apply` and `restore`.
pub(super) const CHANGE_EXIT: &str = "\
Exit status:
  0  done, or nothing was to be done
  1  it went wrong, also for one machine resource of many; the others were changed
  2  the command line is wrong, or it may not be done here; nothing was changed
  3  there is nothing of that name or nothing recorded; nothing was changed";

/// Of `ostler-cluster bootimages run`.
pub(super) const TURNS_EXIT: &str = "\
Exit status:
  0  told to end by SIGTERM or SIGINT; with --once, the turn is done
  1  it went wrong; with --once also for one machine resource of many
  2  the command line is wrong, or it may not be done here";
