//! What the lines look like, on a stream and in the journal.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;

use ostler_core::node::ConfigRef;

use super::*;

/// A stream that can be read while it is written to.
#[derive(Clone, Default)]
pub struct Tape(Arc<Mutex<Vec<u8>>>);

impl Tape {
    /// What was written since the last time.
    pub fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A subscriber that writes to a tape, without a journal.
pub fn on_tape(level: Level, prioritised: bool) -> (impl Subscriber + Send + Sync, Handle, Tape) {
    let tape = Tape::default();
    let (subscriber, handle) = build(None, Lines::new(Box::new(tape.clone()), prioritised), Target::Journal, level);
    (subscriber, handle, tape)
}

fn failed() -> Notice {
    Notice::Failed { config: "rendered-worker-2".to_owned(), reason: "no space\nleft\u{1b}[2J".to_owned() }
}

fn one_of_each_weight() -> [Notice; 4] {
    let turn = Notice::Turn { reason: "timer".to_owned(), next: "nothing to do".to_owned() };
    [turn, Notice::ApiBack, Notice::ApiLost { reason: "refused".to_owned() }, failed()]
}

#[test]
fn a_notice_is_one_line_whatever_is_in_it() {
    let (subscriber, _, tape) = on_tape(Level::Info, false);
    tracing::subscriber::with_default(subscriber, || tell("worker-0", &failed()));
    assert_eq!(
        tape.take(),
        "error: the update to rendered-worker-2 failed and was taken back: no space\\u{a}left\\u{1b}[2J\n"
    );
}

#[test]
fn journald_reads_the_priority_at_the_beginning_of_a_line() {
    let (subscriber, _, tape) = on_tape(Level::Debug, true);
    tracing::subscriber::with_default(subscriber, || one_of_each_weight().iter().for_each(|notice| tell("n", notice)));
    let beginnings: Vec<_> = tape.take().lines().map(|line| line.chars().take(3).collect::<String>()).collect();
    assert_eq!(beginnings, ["<7>", "<6>", "<4>", "<3>"]);
}

#[test]
fn the_level_decides_what_is_told_and_can_be_changed() {
    let (subscriber, handle, tape) = on_tape(Level::Info, false);
    tracing::subscriber::with_default(subscriber, || {
        for (level, lines) in
            [(Level::Error, 1), (Level::Warning, 2), (Level::Info, 3), (Level::Debug, 4), (Level::Trace, 4)]
        {
            handle.set_level(level).unwrap();
            assert_eq!(handle.level(), level);
            one_of_each_weight().iter().for_each(|notice| tell("n", notice));
            assert_eq!(tape.take().lines().count(), lines, "{level:?}");
        }
    });
}

/// Libraries and our own code, the first inside a span.
fn say() {
    let span = tracing::error_span!(target: "tower", "request", secret = "s3cret");
    span.in_scope(|| tracing::warn!(target: "tower::buffer", code = 500, "slow\n"));
    let usual: [fn(); 7] = [
        || tracing::warn!(target: "kube_client::client", "{}, missing field", "s3cret"),
        || tracing::debug!(target: "h2::codec", "send frame {:?}", "authorization: Bearer s3cret"),
        || tracing::trace!(target: "zbus::connection", "s3cret"),
        || tracing::error!(target: "kube_client::client::builder", "failed once more"),
        || tracing::info!(target: "hyper", "connected"),
        || tracing::info!(target: "ostlers", "not one of ours"),
        || tracing::debug!(target: "ostler_core::plan", "ours"),
    ];
    usual.iter().for_each(|say| say());
}

#[test]
fn libraries_are_heard_from_warnings_on_and_never_with_their_details() {
    let (subscriber, handle, tape) = on_tape(Level::Debug, false);
    tracing::subscriber::with_default(subscriber, || {
        say();
        assert_eq!(tape.take(), "warning: tower::buffer: slow\\u{a} code=500\ndebug: ours\n");
        handle.set_level(Level::Error).unwrap();
        say();
        assert_eq!(tape.take(), "");
        handle.set_level(Level::Trace).unwrap();
        say();
        let told = tape.take();
        assert!(told.lines().count() == 4 && !told.contains("s3cret"), "{told}");
    });
}

#[test]
fn without_a_journal_the_stream_is_used_and_the_journal_cannot_be_chosen() {
    let (subscriber, handle, tape) = on_tape(Level::Info, false);
    assert_eq!(handle.target(), Target::Console);
    assert!(matches!(handle.set_target(Target::Journal), Err(LogError::NoJournal)));
    tracing::subscriber::with_default(subscriber, || {
        handle.set_target(Target::Null).unwrap();
        tell("n", &failed());
        assert_eq!((handle.target(), tape.take()), (Target::Null, String::new()));
        handle.set_target(Target::Console).unwrap();
        tell("n", &failed());
        assert!(!tape.take().is_empty());
    });
}

#[test]
fn an_inherited_variable_does_not_make_a_stream_the_journals() {
    for (stream, expected) in
        [("8:41", true), ("8:42", false), ("9:41", false), ("8", false), ("", false), ("8:41:0", false), ("a:b", false)]
    {
        assert_eq!(is_stream(stream, (8, 41)), expected, "{stream}");
    }
}

/// The fields of a datagram in journald's native protocol, all of which are length-encoded or `NAME=value`.
fn fields(mut datagram: &[u8]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    while let Some(end) = datagram.iter().position(|byte| *byte == b'\n') {
        let (head, rest) = (std::str::from_utf8(&datagram[..end]).unwrap(), &datagram[end + 1..]);
        if let Some((name, value)) = head.split_once('=') {
            found.insert(name.to_owned(), value.to_owned());
            datagram = rest;
        } else {
            let length = usize::try_from(u64::from_le_bytes(rest[..8].try_into().unwrap())).unwrap();
            found.insert(head.to_owned(), String::from_utf8(rest[8..8 + length].to_vec()).unwrap());
            datagram = &rest[8 + length + 1..];
        }
    }
    found
}

fn received(socket: &UnixDatagram) -> BTreeMap<String, String> {
    let mut buffer = [0; 65536];
    let length = socket.recv(&mut buffer).unwrap();
    fields(&buffer[..length])
}

/// What the journal gets, and that the target can be changed back and forth.
fn before_a_journal() {
    let socket = UnixDatagram::bind("/run/systemd/journal/socket").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let tape = Tape::default();
    let lines = Lines::new(Box::new(tape.clone()), false);
    let (subscriber, handle) = build(Some(journal().unwrap()), lines, Target::Journal, Level::Debug);
    assert!(received(&socket).is_empty(), "the layer asks whether somebody is there");
    tracing::subscriber::with_default(subscriber, || {
        tell("worker-0", &failed());
        let fields = received(&socket);
        for (name, value) in [
            ("MESSAGE_ID", failed().id()),
            ("MESSAGE", "the update to rendered-worker-2 failed and was taken back: no space\\u{a}left\\u{1b}[2J"),
            ("PRIORITY", "3"),
            ("SYSLOG_IDENTIFIER", "ostler"),
            ("OSTLER_NODE", "worker-0"),
            ("OSTLER_EVENT", "UpdateFailed"),
            ("OSTLER_CONFIG", "rendered-worker-2"),
        ] {
            assert_eq!(fields.get(name).map(String::as_str), Some(value), "{name} in {fields:?}");
        }
        for (notice, priority) in one_of_each_weight().iter().zip(["7", "6", "4", "3"]) {
            tell("n", notice);
            assert_eq!(received(&socket)["PRIORITY"], priority);
        }
        tell("n", &Notice::Done { config: ConfigRef::new("c") });
        assert!(received(&socket).contains_key("OSTLER_CONFIG"));
        tell("n", &Notice::ApiBack);
        let fields = received(&socket);
        assert!(!fields.contains_key("OSTLER_CONFIG") && !fields.contains_key("OSTLER_EVENT"), "{fields:?}");
        handle.set_target(Target::Console).unwrap();
        tell("n", &Notice::ApiBack);
        assert!(!tape.take().is_empty());
        handle.set_target(Target::Journal).unwrap();
        tell("n", &Notice::ApiBack);
        assert_eq!((tape.take(), received(&socket)["PRIORITY"].as_str()), (String::new(), "6"));
    });
}

/// The journal's address is fixed, so the test runs itself again where `/run` is its own.
#[test]
fn the_journal_gets_every_field_and_the_right_priority() {
    const INSIDE: &str = "OSTLER_TEST_OWN_RUN";
    if std::env::var_os(INSIDE).is_some() {
        return before_a_journal();
    }
    let script = "mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal && exec \"$@\"";
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", script, "sh", program]).args(arguments);
        command.env(INSIDE, "1").output()
    };
    if !run("true", &[]).is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: no mount namespace can be had here, so nobody can stand in for the journal");
        return;
    }
    let this = std::env::current_exe().unwrap();
    let name = "telling::journal::tests::the_journal_gets_every_field_and_the_right_priority";
    let output = run(this.to_str().unwrap(), &["--exact", name, "--nocapture"]).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
