//! Real events in real directories: what people, editors and package managers do to files.

use std::os::unix::fs::{PermissionsExt, symlink};

use ostler_core::machine_config::MachineConfig;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

/// No event takes longer than this.
const PATIENCE: Duration = Duration::from_secs(10);

/// Something done to a file.
type Deed<'a> = Box<dyn Fn() + 'a>;

struct Site {
    directory: TempDir,
    watch: Watch,
    interest: Interest,
}

impl Site {
    /// A root with these files, each holding its own path, all of them configured and listened for.
    fn of(paths: &[&str]) -> Self {
        Self::configured(paths, json!({}))
    }

    fn configured(paths: &[&str], others: Value) -> Self {
        let files: Vec<Value> = paths.iter().map(|path| json!({"path": path})).collect();
        let mut ignition = others;
        ignition["storage"] = json!({"files": files});
        ignition["ignition"] = json!({"version": "3.4.0"});
        let document = json!({"metadata": {"name": "a"}, "spec": {"config": ignition}});
        let interest = Interest::of(&MachineConfig::from_document(document).unwrap());
        let directory = tempfile::tempdir().unwrap();
        let watch = Watch::new(&directory.path().join("root")).unwrap();
        let mut site = Self { directory, watch, interest };
        paths.iter().for_each(|path| site.write(path, path));
        fs::create_dir_all(site.at("/etc")).unwrap();
        site.listen();
        site
    }

    fn listen(&mut self) {
        self.watch.listen(&self.interest).unwrap();
        self.watch.take_waiting();
    }

    fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join("root").join(path.trim_start_matches('/'))
    }

    fn write(&self, path: &str, text: &str) {
        let place = self.at(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }

    /// Whether what was just done was heard; what it takes to hear what comes next is done, as it is before every look.
    fn heard(&mut self) -> bool {
        let heard = self.watch.take_waiting();
        self.listen();
        heard
    }
}

#[tokio::test]
async fn every_way_to_change_a_file_is_heard() {
    let mut site = Site::of(&["/etc/app/a.conf"]);
    let place = site.at("/etc/app/a.conf");
    let all: [(&str, Deed<'_>); 8] = [
        ("written", Box::new(|| fs::write(&place, "other").unwrap())),
        ("chmod", Box::new(|| fs::set_permissions(&place, fs::Permissions::from_mode(0o600)).unwrap())),
        // vim: the old one moved aside, a new one written, the old one removed.
        ("moved aside", Box::new(|| fs::rename(&place, place.with_extension("conf~")).unwrap())),
        ("written anew", Box::new(|| fs::write(&place, "new").unwrap())),
        // Others: a temporary beside it, moved over it.
        (
            "replaced",
            Box::new(|| {
                fs::write(place.with_extension("tmp"), "x").unwrap();
                fs::rename(place.with_extension("tmp"), &place).unwrap();
            }),
        ),
        ("removed", Box::new(|| fs::remove_file(&place).unwrap())),
        ("made a link", Box::new(|| symlink("/dev/null", &place).unwrap())),
        ("linked over", Box::new(|| fs::remove_file(&place).unwrap())),
    ];
    for (what, act) in all {
        act();
        assert!(site.heard(), "{what}");
    }
    fs::remove_file(place.with_extension("conf~")).unwrap();
    assert!(!site.heard(), "what is beside it is not heard");
}

#[tokio::test]
async fn a_writer_that_keeps_its_file_open_is_heard() {
    use std::io::Write;
    let mut site = Site::of(&["/etc/a.conf"]);
    let mut file = fs::OpenOptions::new().append(true).open(site.at("/etc/a.conf")).unwrap();
    assert!(!site.heard());
    file.write_all(b"more").unwrap();
    assert!(site.heard());
}

#[tokio::test]
async fn what_does_not_concern_us_is_not_heard() {
    let mut site = Site::of(&["/etc/app/a.conf"]);
    for path in ["/etc/app/b.conf", "/etc/app/.a.conf.swp", "/etc/other", "/etc/app/a.conf.d/x", "/opt/x/y"] {
        site.write(path, "x");
        assert!(!site.heard(), "{path}");
    }
    fs::read(site.at("/etc/app/a.conf")).unwrap();
    assert!(!site.heard(), "reading");
    fs::set_permissions(site.at("/etc/app"), fs::Permissions::from_mode(0o700)).unwrap();
    assert!(!site.heard(), "the permissions of a directory");
}

#[tokio::test]
async fn a_file_that_was_not_there_is_heard_of_however_deep_it_is_made() {
    let mut site = Site::of(&["/etc/app/deep/er/a.conf"]);
    fs::remove_dir_all(site.at("/etc/app")).unwrap();
    assert!(site.heard(), "removed");
    for path in ["/etc/app", "/etc/app/deep", "/etc/app/deep/er"] {
        fs::create_dir(site.at(path)).unwrap();
        assert!(site.heard(), "{path}");
    }
    site.write("/etc/app/deep/er/a.conf", "x");
    assert!(site.heard());
    site.write("/etc/app/deep/er/a.conf", "y");
    assert!(site.heard(), "and again");
}

#[tokio::test]
async fn a_directory_that_is_another_now_is_listened_to_in_the_place_of_the_old_one() {
    let mut site = Site::of(&["/etc/app/a.conf"]);
    let (place, aside) = (site.at("/etc/app"), site.at("/etc/app.old"));
    site.write("/srv/app/a.conf", "theirs");
    fs::rename(&place, &aside).unwrap();
    assert!(site.heard(), "moved away");
    fs::write(aside.join("a.conf"), "x").unwrap();
    assert!(!site.heard(), "the old one does not matter any more");
    symlink("../srv/app", &place).unwrap();
    assert!(site.heard(), "a link in its place");
    site.write("/srv/app/a.conf", "through the link");
    assert!(site.heard(), "where the link leads");
    // Swapped in one go, as those do who care.
    site.write("/srv/next/a.conf", "next");
    site.watch.take_waiting();
    symlink("../srv/next", site.at("/etc/app.new")).unwrap();
    fs::rename(site.at("/etc/app.new"), &place).unwrap();
    assert!(site.heard(), "another link");
    site.write("/srv/app/a.conf", "x");
    assert!(!site.heard(), "where the old link led");
    site.write("/srv/next/a.conf", "x");
    assert!(site.heard(), "where the new link leads");
    fs::rename(site.at("/srv/next"), site.at("/srv/gone")).unwrap();
    assert!(site.heard(), "the directory behind the link");
}

#[tokio::test]
async fn no_link_leads_out_of_the_root() {
    let mut site = Site::of(&["/etc/app/a.conf"]);
    let outside = site.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a.conf"), "").unwrap();
    fs::remove_dir_all(site.at("/etc/app")).unwrap();
    symlink(&outside, site.at("/etc/app")).unwrap();
    assert!(site.heard());
    fs::write(outside.join("a.conf"), "x").unwrap();
    assert!(!site.heard(), "outside");
}

#[tokio::test]
async fn units_their_links_and_their_drop_ins_are_heard() {
    let units = json!({"systemd": {"units": [{"name": "a.service", "enabled": true, "contents": "[Unit]\n"}]}});
    let mut site = Site::configured(&["/etc/systemd/system/a.service"], units);
    let wants = site.at("/etc/systemd/system/multi-user.target.wants");
    fs::create_dir(&wants).unwrap();
    assert!(site.heard(), "a directory of links");
    symlink("../b.service", wants.join("b.service")).unwrap();
    assert!(!site.heard(), "the link of another unit");
    symlink("../a.service", wants.join("a.service")).unwrap();
    assert!(site.heard(), "the link");
    fs::remove_file(wants.join("a.service")).unwrap();
    assert!(site.heard(), "the link removed");
    site.write("/etc/systemd/system/a.service.d/extra.conf", "[Unit]\n");
    assert!(site.heard(), "a directory of drop-ins");
    site.write("/etc/systemd/system/a.service.d/more.conf", "[Unit]\n");
    assert!(site.heard(), "a drop-in more");
    site.write("/etc/systemd/system/a.service.d/README", "");
    assert!(!site.heard(), "no drop-in");
}

#[tokio::test]
async fn thousands_of_files_are_listened_for_with_a_watch_for_each_directory() {
    let paths: Vec<String> = (0..3000).map(|number| format!("/etc/many/{}/{number}.conf", number % 300)).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut site = Site::of(&paths);
    assert_eq!(site.watch.listening.len(), 303, "the root, etc, many and those below");
    for path in paths.iter().step_by(97) {
        site.write(path, "x");
        assert!(site.heard(), "{path}");
    }
    site.write("/etc/many/7/other", "x");
    assert!(!site.heard());
}

#[tokio::test]
async fn events_that_were_lost_are_a_reason_to_look() {
    let most: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    if most > 100_000 {
        return;
    }
    let mut site = Site::of(&["/etc/a.conf"]);
    // Two events for each that cannot be told as one: none of them matters.
    for number in 0..=most / 2 {
        let place = site.at(&format!("/etc/noise-{}", number % 2));
        fs::write(&place, "").unwrap();
        fs::remove_file(&place).unwrap();
    }
    site.write("/etc/a.conf", "lost");
    assert!(site.heard());
    site.write("/etc/a.conf", "heard");
    assert!(site.heard(), "and everything is listened to as before");
}

#[tokio::test]
async fn waiting_ends_with_the_first_change_that_matters() {
    let mut site = Site::of(&["/etc/a.conf"]);
    site.write("/etc/noise", "x");
    let place = site.at("/etc/a.conf");
    let writer = std::thread::spawn(move || fs::write(place, "x"));
    tokio::time::timeout(PATIENCE, site.watch.change()).await.unwrap();
    writer.join().unwrap().unwrap();
    site.watch.take_waiting();
    site.write("/etc/noise", "y");
    let waits = tokio::time::timeout(Duration::from_millis(300), site.watch.change()).await;
    assert!(waits.is_err(), "noise");
}

#[tokio::test]
async fn what_cannot_be_watched_is_told_and_the_rest_is() {
    let mut site = Site::of(&["/etc/a.conf"]);
    let gone = site.at("/etc");
    fs::remove_dir_all(&gone).unwrap();
    assert!(site.heard());
    site.write("/etc/a.conf", "x");
    assert!(site.heard(), "made again");
    let error = WatchError::TooMany { path: "/etc".to_owned() };
    assert!(error.to_string().contains("max_user_watches"));
}
