//! A kill at any moment costs a good configuration nothing: recovery goes on with it, whatever temporaries stand about.

use ostler_core::transaction::Ending;
use serde_json::json;

use super::*;

/// Links in directories of dependencies, aliases, masks and drop-ins: everything whose directory is listed.
fn units(own: &str, other: &str) -> Value {
    let unit = |name: &str, install: &str, enabled: bool| {
        let contents = format!("[Unit]\nDescription={own}\n[Install]\n{install}\n");
        json!({"name": name, "enabled": enabled, "contents": contents})
    };
    json!({
        "storage": {"files": [{"path": "/etc/motd", "contents": {"source": format!("data:,{own}")}}]},
        "systemd": {"units": [
            unit("both.service", &format!("WantedBy={own}.target multi-user.target"), true),
            unit("required.service", &format!("RequiredBy={own}.target\nAlias=alias-{own}.service"), true),
            unit(&format!("only-{own}.service"), "WantedBy=multi-user.target", true),
            unit("off.service", "WantedBy=multi-user.target", own == "a"),
            {"name": format!("masked-{own}.service"), "mask": true},
            {"name": format!("masked-{other}.service"), "mask": false},
            {"name": "os.service", "enabled": own == "b", "dropins": [{"name": format!("{own}.conf"), "contents": "#\n"}]},
        ]},
    })
}

#[test]
fn recovery_after_a_kill_at_any_moment_reaches_the_configuration_that_was_begun() {
    let before = fresh();
    apply(&before, &config("rendered-a", units("a", "b"))).unwrap();
    let target = config("rendered-b", units("b", "a"));
    before.remember();
    assert_eq!(apply(&before, &target).unwrap().unwrap().ending, Ending::Applied);
    let new = tree(&before);
    let mut with_links = 0;
    for (moment, disk) in before.history().into_iter().enumerate() {
        let temporaries = disk.tree().keys().filter(|path| path.contains(".wants/.ostler-")).count();
        with_links += usize::from(temporaries > 0);
        let Some(finished) = recover(&disk).unwrap() else { continue };
        assert_eq!(finished.ending, Ending::Applied, "killed at effect {moment}, {temporaries} temporary links");
        assert_eq!(tree(&disk), new, "killed at effect {moment}");
    }
    assert!(with_links > 0, "no kill fell between a temporary link and its final name");
}
