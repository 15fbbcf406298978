//! Answers of `rpm`: of the real one where there is one, and of scripts that stand in for its rarer moods.

use std::io::Write;

use super::*;

fn path(text: &str) -> RootPath {
    RootPath::new(text).unwrap()
}

/// A shell script in the place of `rpm`; its arguments are those of `rpm`, the first path being the fifth.
fn script(text: &str) -> Question {
    Question { program: "/bin/sh".into(), options: vec!["-c".into(), text.into(), "rpm".into()], patience: PATIENCE }
}

fn owned(question: &Question, paths: &[&str]) -> Result<Vec<String>, PackageError> {
    let paths: Vec<RootPath> = paths.iter().copied().map(path).collect();
    let database = PackageDatabase::query_with(question, &paths)?;
    Ok(paths.iter().filter(|path| database.owned(path)).map(|path| path.as_str().to_owned()).collect())
}

#[test]
fn all_are_owned_but_those_that_are_said_not_to_be() {
    for (text, expected) in [
        ("echo owned; echo owned", &["/a", "/b"][..]),
        ("echo owned; echo owned; echo owned; echo warning: odd >&2", &["/a", "/b"]),
        ("echo owned; echo owned; echo file /b is not owned by any package; exit 1", &["/a"]),
        ("echo owned; echo error: file /a: No such file or directory >&2; exit 1", &["/b"]),
        ("echo owned; echo error: file /a: Not a directory >&2; exit 1", &["/b"]),
        ("echo file /a is not owned by any package; echo file /b is not owned by any package; exit 2", &[]),
    ] {
        assert_eq!(owned(&script(text), &["/a", "/b"]).unwrap(), expected, "{text}");
    }
}

#[test]
fn what_is_not_understood_is_an_error_and_no_guess() {
    for (text, expected) in [
        ("exit 1", "exit status: 1"),
        ("exit 0", "exit status: 0"),
        ("echo owned", "too little"),
        ("echo owned; echo owned; exit 1", "exit status: 1"),
        ("echo owned; echo file /b is not owned by any package", "exit status: 0"),
        ("kill -9 $$", "signal: 9"),
        ("echo Datei /a gehoert zu keinem Paket; exit 1", "not understood"),
        ("echo file /other is not owned by any package; exit 1", "/other"),
        ("echo error: cannot open Packages database >&2; exit 1", "cannot open Packages database"),
        ("echo error: file /a: Permission denied >&2; exit 1", "Permission denied"),
    ] {
        let error = owned(&script(text), &["/a", "/b"]).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn the_question_is_asked_in_plain_english_and_paths_are_never_options() {
    let text = "[ \"$LC_ALL\" = C ] && [ \"$1 $2 $4 $5\" = '-qf --queryformat -- /a' ] && [ \"$3\" = 'owned\\n' ] && echo owned";
    assert_eq!(owned(&script(text), &["/a"]).unwrap(), ["/a"]);
}

#[test]
fn a_machine_without_rpm_owns_nothing() {
    let none = Question { program: "/nonexistent/ostler-rpm".into(), options: Vec::new(), patience: PATIENCE };
    assert!(owned(&none, &["/a"]).unwrap().is_empty());
    assert!(!NoPackages.owned(&path("/a")));
}

#[test]
fn nothing_is_run_for_no_paths_and_names_of_two_lines_are_not_asked() {
    let broken = script("exit 1");
    assert!(owned(&broken, &[]).unwrap().is_empty());
    assert!(owned(&broken, &["/a\nb"]).unwrap().is_empty());
}

#[test]
fn a_process_that_does_not_end_is_ended() {
    let slow = Question { patience: Duration::from_millis(50), ..script("exec sleep 600") };
    let begun = Instant::now();
    assert!(matches!(owned(&slow, &["/a"]), Err(PackageError::Slow(_))));
    assert!(begun.elapsed() < Duration::from_secs(300));
    // One that leaves its output to another is not waited for either.
    let left = Question { patience: Duration::from_millis(300), ..script("sleep 2 & echo owned") };
    assert!(matches!(owned(&left, &["/a"]), Err(PackageError::Slow(_))));
}

#[test]
fn many_paths_are_asked_in_few_processes() {
    let paths: Vec<RootPath> = (0..2_000).map(|number| path(&format!("/{}/{number}", "d".repeat(200)))).collect();
    let asked: BTreeSet<&RootPath> = paths.iter().collect();
    let chunks = chunks(&asked);
    assert_eq!(chunks.len(), 2);
    assert_eq!(chunks.concat(), asked.iter().copied().collect::<Vec<_>>());
    for chunk in &chunks {
        assert!(chunk.iter().map(|path| path.as_str().len() + 1).sum::<usize>() <= MOST_ARGUMENTS);
    }
    let database = PackageDatabase::query_with(&script("shift 4; for path; do echo owned; done"), &paths).unwrap();
    assert!(paths.iter().all(|path| database.owned(path)));
}

/// Runs a command that has to succeed; false where it is not installed.
fn run(command: &mut Command) -> bool {
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
            true
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let _ = writeln!(io::stderr(), "SKIPPED: {command:?} is not installed here");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// Builds a package that owns these files and enters it in a private database, writing nothing else.
fn enter(directory: &Path, name: &str, files: &[&str]) -> bool {
    let list = files.join("\n");
    let made: String = files.iter().map(|file| format!("install -D -m 644 /dev/null %{{buildroot}}{file}\n")).collect();
    let spec = format!(
        "Name: {name}\nVersion: 1\nRelease: 1\nSummary: x\nLicense: x\nBuildArch: noarch\n%description\nx\n\
         %install\n{made}%files\n{list}\n"
    );
    let file = directory.join(format!("{name}.spec"));
    std::fs::write(&file, spec).unwrap();
    let (top, temporary) =
        (format!("_topdir {}/top", directory.display()), format!("_tmppath {}/tmp", directory.display()));
    run(Command::new("rpmbuild").args(["-bb", "--define", &top, "--define", &temporary]).arg(&file))
        && run(Command::new("rpm")
            .args(["-i", "--justdb", "--nodeps", "--noscripts", "--dbpath"])
            .arg(directory.join("db"))
            .arg(directory.join(format!("top/RPMS/noarch/{name}-1-1.noarch.rpm"))))
}

#[test]
fn the_database_is_the_one_of_the_operating_system_and_is_never_made() {
    let root = tempfile::tempdir().unwrap();
    let at = |below: &str| root.path().join(below);
    for directory in DATABASES {
        std::fs::create_dir_all(at(directory)).unwrap();
    }
    assert_eq!(database(root.path()), None, "directories are no databases");
    for (directory, file) in DATABASES.into_iter().zip(DATABASE_FILES).rev() {
        std::fs::write(at(directory).join(file), "").unwrap();
        assert_eq!(database(root.path()), Some(at(directory)));
    }
    let system = tempfile::tempdir().unwrap();
    let link = system.path().join("var/lib/rpm");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("../../usr/share/rpm", &link).unwrap();
    assert_eq!(database(system.path()), None, "a link that leads nowhere");
    std::fs::create_dir_all(system.path().join("usr/share")).unwrap();
    std::fs::rename(at(DATABASES[0]), system.path().join(DATABASES[0])).unwrap();
    assert_eq!(database(system.path()), Some(system.path().join(DATABASES[0])));
}

#[test]
fn the_real_rpm_answers_as_expected() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    let names = ["one", "two", "none", "s t*r %{x} [a]", "gone", "link", "below"];
    let files = names.map(|name| tree.join(name).to_str().unwrap().to_owned());
    let [one, two, none, odd, gone, link, _] = &files;
    for present in [one, two, none, odd] {
        std::fs::write(present, "").unwrap();
    }
    std::os::unix::fs::symlink("/nonexistent", link).unwrap();
    let database = directory.path().join("db");
    if !run(Command::new("rpm").arg("--initdb").arg("--dbpath").arg(&database)) {
        return;
    }
    let options = vec!["--dbpath".into(), database.into()];
    let question = Question { program: "rpm".into(), options, patience: PATIENCE };
    let below = format!("{one}/below");
    let asked = [one.as_str(), two, none, odd, gone, link, &below];
    assert!(owned(&question, &asked).unwrap().is_empty());
    if !(enter(directory.path(), "first", &[one, two]) && enter(directory.path(), "second", &[two])) {
        return;
    }
    assert_eq!(owned(&question, &asked).unwrap(), [one.clone(), two.clone()]);
    assert_eq!(owned(&question, &[two]).unwrap(), [two.as_str()]);
}
