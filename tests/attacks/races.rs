//! Somebody who changes the machine's directories while it is being changed.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::sandbox::{Sandbox, file};
use crate::{Surroundings, sandbox};
use serde_json::{Value, json};

const APPLIES: usize = 30;

/// Swaps a directory with a link to the outside, back and forth, until told to stop; gives how often.
fn swap(sandbox: &Sandbox, directory: &str, stop: &AtomicBool) -> usize {
    let (here, aside) = (sandbox.path(directory), sandbox.path(&format!("{directory}.aside")));
    let link = sandbox.path(&format!("{directory}.link"));
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let _ = symlink(sandbox.outside(), &link);
        if fs::rename(&here, &aside).is_ok() {
            let _ = fs::rename(&link, &here);
            thread::yield_now();
            let _ = fs::remove_file(&here);
            let _ = fs::rename(&aside, &here);
            count += 1;
        } else {
            // A directory was made anew while this one was away, and neither fits over the other.
            let _ = fs::remove_dir_all(&aside);
        }
    }
    count
}

fn config(text: &str) -> Value {
    let deep = |number: usize| file(&format!("/etc/app/{number}/{number}.conf"), text);
    let flat = |number: usize| file(&format!("/etc/app/canary-{number}"), text);
    json!({"storage": {"files": (0..20).map(deep).chain((0..20).map(flat)).collect::<Vec<_>>()}})
}

#[test]
fn a_directory_that_is_swapped_for_a_link_all_the_time_leads_nowhere_outside() {
    let sandbox = sandbox();
    let first = sandbox.apply(&sandbox.config("config-0", &config("0\n")));
    assert_eq!(first.code, Some(0), "{first}");
    let surroundings = Surroundings::of(&sandbox);
    let stop = AtomicBool::new(false);
    let mut codes = Vec::new();
    let swaps = thread::scope(|scope| {
        let swaps = scope.spawn(|| swap(&sandbox, "/etc/app", &stop));
        for number in 1..=APPLIES {
            let name = format!("config-{number}");
            codes.push(sandbox.apply(&sandbox.config(&name, &config(&format!("{number}\n")))).code);
            codes.push(sandbox.ostler(&["recover"]).code);
            surroundings.assert_same(&sandbox, &name);
        }
        stop.store(true, Ordering::Relaxed);
        swaps.join().unwrap()
    });
    assert!(swaps > 300, "only {swaps} swaps: nothing was raced");
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 1 | 3 | 5))), "{codes:?}");
    surroundings.assert_same(&sandbox, "at the end");
    let recovered = sandbox.ostler(&["recover"]);
    assert!(matches!(recovered.code, Some(0 | 1)), "no way back once it is quiet: {recovered}");
    let last = sandbox.apply(&sandbox.config("config-last", &config("last\n")));
    assert_eq!(last.code, Some(0), "{last}");
    assert_eq!(fs::read(sandbox.path("/etc/app/7/7.conf")).unwrap(), b"last\n");
}
