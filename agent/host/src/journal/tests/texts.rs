//! Long texts: each is kept once, as a whole or as what it has of its own, and none that a record names is ever lost.

use super::*;

fn keep(journal: &Journal<'_, MemoryDisk>, text: &Secret<Vec<u8>>) -> TextId {
    journal.keep_both(text, text).unwrap().0
}

#[test]
fn a_text_is_written_once_and_stays_until_it_is_not_spared() {
    let disk = MemoryDisk::new();
    let journal = open(&disk);
    let texts = ["", "first", "second"].map(payload);
    let ids = texts.each_ref().map(|text| keep(&journal, text));
    // From `printf first | b3sum`.
    assert_eq!(ids[1].as_str(), "22896bcbc3d1c76a0b90c4c3523dbea532ad63196fafdbd52cced52200d3dae4");
    let (before, effects) = (disk.tree(), disk.effects());
    assert_eq!(keep(&journal, &texts[1]), ids[1]);
    assert_eq!((disk.tree(), disk.effects()), (before, effects), "written again");
    for (id, text) in ids.iter().zip(&texts) {
        assert_eq!(journal.text(id).unwrap(), Loaded::Intact(text.clone()));
        assert_eq!(View::new(&disk, &at()).text(id).unwrap(), Loaded::Intact(text.clone()));
    }
    journal.save(Slot::Next, &payload(ids[1].as_str())).unwrap();
    assert_eq!(disk.tree(), disk.durable_tree());
    journal.sweep(&ids[1..2]).unwrap();
    assert_eq!(journal.text(&ids[0]).unwrap(), Loaded::Absent);
    assert_eq!(journal.text(&ids[1]).unwrap(), Loaded::Intact(texts[1].clone()));
    assert_eq!(journal.load(Slot::Next).unwrap(), Loaded::Intact(payload(ids[1].as_str())));
}

#[test]
fn a_text_that_is_not_what_its_name_says_is_moved_aside_or_written_anew() {
    let id = TextId::of(b"right");
    let file = format!("{AT}/text-{}", id.as_str());
    for wrong in ["", "righ", "wrong", "right and more"] {
        let disk = MemoryDisk::with(&[(&file, wrong, 0o600)]).unwrap();
        let aside = at().join("text.damaged-1").unwrap();
        let seen = View::new(&disk, &at()).text(&id).unwrap();
        assert_eq!(seen, Loaded::Damaged { aside: RootPath::new(file.as_str()).unwrap(), why: Damage::Checksum });
        let journal = open(&disk);
        assert_eq!(keep(&journal, &payload("right")), id);
        assert_eq!(journal.text(&id).unwrap(), Loaded::Intact(payload("right")));
        drop(journal);
        let disk = MemoryDisk::with(&[(&file, wrong, 0o600)]).unwrap();
        let journal = open(&disk);
        assert_eq!(journal.text(&id).unwrap(), Loaded::Damaged { aside, why: Damage::Checksum });
        assert_eq!(journal.text(&id).unwrap(), Loaded::Absent);
    }
}

#[test]
fn names_that_lead_elsewhere_are_no_texts() {
    for name in ["", "../plan", &"A".repeat(64), &"a".repeat(63), &"a".repeat(65), &"/".repeat(64)] {
        assert_eq!(TextId::parse(name), None, "{name:?}");
    }
    assert_eq!(TextId::parse(TextId::of(b"").as_str()), Some(TextId::of(b"")));
}

#[test]
fn a_record_never_names_a_text_that_a_crash_took() {
    let tried = every_crash(
        MemoryDisk::new,
        |disk| {
            let journal = Journal::open(disk, &at()).map_err(io::Error::other)?;
            for text in ["first", "second"] {
                let (id, _) = journal.keep_both(&payload(text), &payload(text)).map_err(io::Error::other)?;
                journal.save(Slot::Next, &payload(id.as_str())).map_err(io::Error::other)?;
                journal.sweep(&[id]).map_err(io::Error::other)?;
            }
            Ok(())
        },
        4,
        |disk, point| {
            let journal = open(&disk);
            let Loaded::Intact(record) = journal.load(Slot::Next).unwrap() else { return };
            let id = TextId::parse(std::str::from_utf8(record.expose()).unwrap()).unwrap();
            assert!(matches!(journal.text(&id).unwrap(), Loaded::Intact(_)), "{point:?}");
        },
    );
    assert!(tried.unwrap() > 20);
}

/// Texts of which each is much like the one before, but for the last.
fn alike() -> Vec<Secret<Vec<u8>>> {
    let lines = |edition: usize| -> String {
        (0..400).map(|line| format!("{line} {}\n", if line % 150 == 7 { edition } else { line * line })).collect()
    };
    let unlike: String = (0..400).map(|line| format!("{}\n", line * 7919)).collect();
    (1..5).map(lines).chain([unlike]).map(|text| payload(&text)).collect()
}

/// Names and lengths of the files that hold texts.
fn texts_in(disk: &MemoryDisk) -> Vec<(String, u64)> {
    let names = disk.list(&at()).unwrap().into_iter().filter_map(|name| name.into_string().ok());
    let texts = names.filter_map(|name| Some((name.strip_prefix("text-")?.to_owned(), name)));
    texts.map(|(id, name)| (id, disk.stat(&at().join(&name).unwrap()).unwrap().unwrap().size)).collect()
}

#[test]
fn of_a_text_that_is_like_another_only_the_difference_is_written() {
    let (disk, texts) = (MemoryDisk::new(), alike());
    let ids: Vec<TextId> = texts.iter().map(|text| TextId::of(text.expose())).collect();
    let journal = open(&disk);
    for (number, pair) in texts.windows(2).enumerate() {
        let named = [ids[number].clone(), ids[number + 1].clone()];
        assert_eq!(<[TextId; 2]>::from(journal.keep_both(&pair[0], &pair[1]).unwrap()), named);
        let effects = disk.effects();
        journal.keep_both(&pair[0], &pair[1]).unwrap();
        assert_eq!(disk.effects(), effects, "{number}: written again");
        journal.sweep(&named).unwrap();
        for (id, text) in named.iter().zip(pair) {
            assert_eq!(journal.text(id).unwrap(), Loaded::Intact(text.clone()), "{number}");
            assert_eq!(View::new(&disk, &at()).text(id).unwrap(), Loaded::Intact(text.clone()), "{number}");
        }
        let mut expected = vec![ids[0].as_str(), named[0].as_str(), named[1].as_str()];
        expected.sort_unstable();
        expected.dedup();
        let found = texts_in(&disk);
        assert_eq!(found.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), expected, "{number}");
        for (id, length) in found {
            let is_whole = id == ids[0].as_str() || id == ids[4].as_str();
            assert_eq!(length > 1000, is_whole, "{number}: {length}");
        }
    }
    journal.sweep(&ids[4..]).unwrap();
    assert_eq!(texts_in(&disk), [(ids[4].as_str().to_owned(), texts[4].expose().len() as u64)]);
}

#[test]
fn a_delta_that_does_not_make_its_text_is_moved_aside_or_written_anew() {
    let texts = alike();
    let [base, id] = [0, 1].map(|number: usize| TextId::of(texts[number].expose()));
    let header = format!("ostler-delta 1 {}\n", base.as_str());
    let later = format!("ostler-delta 2 {}\n", base.as_str());
    for (of, wrong) in
        [(&base, "other"), (&base, ""), (&id, "other"), (&id, &header), (&id, "ostler-delta 1 x\n"), (&id, &later)]
    {
        let disk = MemoryDisk::new();
        let journal = open(&disk);
        journal.keep_both(&texts[0], &texts[1]).unwrap();
        let path = at().join(&format!("text-{}", of.as_str())).unwrap();
        disk.put(&path, wrong.as_bytes(), Attributes { mode: 0o600, uid: 0, gid: 0 }).unwrap();
        let copy = disk.kill();
        let seen = View::new(&disk, &at()).text(&id).unwrap();
        let named = format!("text-{}", id.as_str());
        assert!(matches!(seen, Loaded::Damaged { ref aside, .. } if aside.name() == named), "{wrong:?}: {seen:?}");
        assert!(matches!(journal.text(&id).unwrap(), Loaded::Damaged { .. }), "{wrong:?}");
        assert_eq!(journal.text(&id).unwrap(), Loaded::Absent, "{wrong:?}");
        let journal = open(&copy);
        journal.keep_both(&texts[0], &texts[1]).unwrap();
        for (id, text) in [(&base, &texts[0]), (&id, &texts[1])] {
            assert_eq!(journal.text(id).unwrap(), Loaded::Intact(text.clone()), "{wrong:?}");
        }
    }
}

#[test]
fn a_record_never_names_a_delta_that_a_crash_took() {
    let texts = alike();
    let tried = every_crash(
        MemoryDisk::new,
        |disk| {
            let journal = Journal::open(disk, &at()).map_err(io::Error::other)?;
            for pair in texts.windows(2) {
                let (from, to) = journal.keep_both(&pair[0], &pair[1]).map_err(io::Error::other)?;
                journal.save(Slot::Previous, &payload(from.as_str())).map_err(io::Error::other)?;
                journal.save(Slot::Next, &payload(to.as_str())).map_err(io::Error::other)?;
                journal.sweep(&[from, to]).map_err(io::Error::other)?;
            }
            Ok(())
        },
        4,
        |disk, point| {
            let journal = open(&disk);
            for slot in [Slot::Previous, Slot::Next] {
                let Loaded::Intact(record) = journal.load(slot).unwrap() else { continue };
                let id = TextId::parse(std::str::from_utf8(record.expose()).unwrap()).unwrap();
                assert!(matches!(journal.text(&id).unwrap(), Loaded::Intact(_)), "{slot:?} {point:?}");
            }
        },
    );
    assert!(tried.unwrap() > 100);
}

#[test]
fn a_delta_without_its_base_is_moved_aside() {
    let (disk, texts) = (MemoryDisk::new(), alike());
    let journal = open(&disk);
    let (base, id) = journal.keep_both(&texts[0], &texts[1]).unwrap();
    disk.remove(&at().join(&format!("text-{}", base.as_str())).unwrap()).unwrap();
    let Loaded::Damaged { aside, why } = journal.text(&id).unwrap() else { panic!("made from nothing") };
    assert_eq!((aside.name(), why), ("text.damaged-1", Damage::Checksum));
    assert_eq!(journal.text(&id).unwrap(), Loaded::Absent);
}

/// One byte of the base is wrong that the delta has no need of; what is kept then does not need it either, neither as it is
/// nor when it is put right.
#[test]
fn nothing_rests_on_what_is_wrong_in_a_base() {
    let (disk, texts) = (MemoryDisk::new(), alike());
    let journal = open(&disk);
    let (base, id) = journal.keep_both(&texts[0], &texts[1]).unwrap();
    let wrong = String::from_utf8(texts[0].expose().clone()).unwrap().replace("\n157 1\n", "\n157 X\n");
    let path = at().join(&format!("text-{}", base.as_str())).unwrap();
    disk.put(&path, wrong.as_bytes(), Attributes { mode: 0o600, uid: 0, gid: 0 }).unwrap();
    assert_eq!(View::new(&disk, &at()).text(&id).unwrap(), Loaded::Intact(texts[1].clone()));
    journal.keep_both(&texts[1], &texts[2]).unwrap();
    assert!(texts_in(&disk).iter().filter(|(_, length)| *length < 1000).count() == 2);
    for text in &texts[1..3] {
        assert_eq!(journal.text(&TextId::of(text.expose())).unwrap(), Loaded::Intact(text.clone()));
    }
    journal.keep_both(&texts[2], &texts[0]).unwrap();
    for text in &texts[..3] {
        assert_eq!(journal.text(&TextId::of(text.expose())).unwrap(), Loaded::Intact(text.clone()));
    }
}

#[test]
fn a_journal_from_before_there_were_deltas_is_read_and_built_on() {
    let texts = alike();
    let file = |text: &Secret<Vec<u8>>| format!("{AT}/text-{}", TextId::of(text.expose()).as_str());
    let [old, new] = [0, 1].map(|number: usize| String::from_utf8(texts[number].expose().clone()).unwrap());
    let disk = MemoryDisk::with(&[(&file(&texts[0]), &old, 0o600), (&file(&texts[1]), &new, 0o600)]).unwrap();
    let journal = open(&disk);
    let (_, third) = journal.keep_both(&texts[1], &texts[2]).unwrap();
    for text in &texts[..3] {
        assert_eq!(journal.text(&TextId::of(text.expose())).unwrap(), Loaded::Intact(text.clone()));
    }
    let length = texts_in(&disk).into_iter().find(|(id, _)| id == third.as_str());
    assert!(length.is_some_and(|(_, length)| length < 1000));
}
