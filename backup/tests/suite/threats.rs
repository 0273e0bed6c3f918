//! The threat model of docs/manual.md, line by line: an enemy holds the storage, and may read,
//! change, remove, bring back and swap what is there. Each test does what the enemy would do.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::binary::{Backend, Place, is_refused, number, text};
use crate::trees::{self, copy, manifest};

/// An encrypted repository with one snapshot.
fn sample() -> (Place, PathBuf) {
    let (place, source) = Place::with_files(Backend::Directory, true, 1, 10);
    place.succeeds(&["backup", "source"]);
    (place, source)
}

fn bytes_below(path: &Path) -> Vec<u8> {
    let files = trees::largest(path).into_iter();
    files.flat_map(|path| fs::read(path).expect("a file")).collect()
}

/// Every line of the table in docs/manual.md, and the tests that do what it says.
const LINES: &[(&str, &[&str])] = &[
    ("read names, contents, metadata", &["names_contents_and_metadata_cannot_be_read"]),
    (
        "recognise known files by their chunks",
        &[
            "known_files_have_other_ids_in_each_repository",
            "known_files_are_cut_elsewhere_in_each_repository",
            "the_table_of_the_chunker_depends_on_the_key_in_every_entry",
        ],
    ),
    (
        "test a guess: place a file, and see whether it compresses with a secret one",
        &[
            "the_size_of_a_pack_does_not_tell_whether_a_guess_is_right",
            "a_prune_keeps_files_apart",
            "a_prune_compresses_files_apart_that_lose_chunks",
        ],
    ),
    (
        "place a copy of a whole file, and see whether the repository grows",
        &["a_copy_of_a_whole_file_is_recognised"],
    ),
    (
        "change bytes, swap objects",
        &[
            "every_changed_byte_is_noticed_with_encryption",
            "objects_that_change_places_are_noticed",
            "a_changed_header_of_the_configuration_is_refused",
        ],
    ),
    (
        "replace the repository by one without encryption",
        &["a_repository_in_the_clear_gets_nothing_from_who_gives_a_passphrase"],
    ),
    (
        "replace it by another encrypted one",
        &["another_repository_at_the_same_place_is_refused_until_it_is_accepted"],
    ),
    (
        "remove snapshots, or bring back an older state",
        &[
            "a_removed_snapshot_is_noticed_and_a_forgotten_one_is_not_missed",
            "a_rollback_is_noticed",
            "many_records_of_forgotten_snapshots_become_one",
        ],
    ),
    (
        "remove or damage anything else",
        &["every_missing_object_is_noticed", "a_backup_does_not_rely_on_a_pack_that_is_gone"],
    ),
    (
        "make key files that cost gigabytes and minutes",
        &["forged_keys_cost_nothing", "a_header_that_asks_for_too_much_or_too_little_is_refused"],
    ),
    ("keep a client waiting, or answer never", &["a_storage_that_never_answers_is_waited_for"]),
];

/// A line without a test is a hope.
#[test]
fn every_line_of_the_threat_model_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: PathBuf| fs::read_to_string(path).expect("a text");
    let manual = read(root.join("docs/manual.md"));
    let table = manual.split("| the enemy tries to | what happens |\n|---|---|\n").nth(1);
    let lines = table.expect("the table").lines().take_while(|line| line.starts_with('|'));
    let lines: Vec<&str> = lines.filter_map(|line| line.split('|').nth(1)).map(str::trim).collect();
    let known: Vec<&str> = LINES.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, known);
    let suite = ["threats", "damage", "safety"].map(|name| format!("tests/suite/{name}.rs"));
    let units = ["src/seal.rs", "src/key.rs", "src/backup/tests.rs"].map(str::to_owned);
    let source: String = suite.into_iter().chain(units).map(|name| read(root.join(name))).collect();
    for test in LINES.iter().flat_map(|(_, tests)| *tests) {
        assert!(
            source.contains(&format!("#[test]\n    fn {test}()"))
                || source.contains(&format!("#[test]\nfn {test}()")),
            "{test}"
        );
    }
}

/// Names, contents, links, tags and hosts are nowhere to be read. Without encryption, they are.
#[test]
fn names_contents_and_metadata_cannot_be_read() {
    let places = [Place::new(true), Place::new(true), Place::new(false)];
    let word = b"an unmistakable sentence in the middle of a file";
    let mut found = vec![];
    for place in &places {
        let source = place.path("source");
        trees::write(&source.join("unmistakable-name"), word);
        trees::write(&source.join("noise"), &trees::noise(1, 100_000));
        std::os::unix::fs::symlink("unmistakable-target", source.join("link")).expect("a link");
        place.succeeds(&["backup", "source", "--tag", "unmistakable", "--host", "unmistakable"]);
        let all = bytes_below(&place.repo());
        let has = |word: &[u8]| all.windows(word.len()).any(|window| window == word);
        found.push((has(b"unmistakable"), has(&trees::noise(1, 100_000)[5000..5032])));
    }
    assert_eq!(found, [(false, false), (false, false), (true, true)]);
}

/// Known files have another number of chunks in each repository, and the same in a copy of one. The
/// enemy sees numbers of chunks in the sizes of packs and of the index.
#[test]
fn known_files_are_cut_elsewhere_in_each_repository() {
    let cuts = |place: &Place| -> Vec<u64> {
        let save = |seed| {
            // Fewer than 32 chunks: longer lists of chunks are cut, where ids say so.
            let known = trees::noise(seed, 200_000);
            // From standard input, so that there is nothing but the file.
            let report = place.with_input(&["backup", "--stdin", "--json"], &known);
            let report = serde_json::from_str(&report).expect("JSON");
            number(&report, "new_chunks")
        };
        (0..10).map(save).collect()
    };
    let one = Place::new(true);
    let copy = Place::with_copy(&one.repo(), true);
    let (of_one, of_copy) = (cuts(&one), cuts(&copy));
    assert!(of_one.iter().all(|chunks| (10..40).contains(chunks)), "{of_one:?}");
    assert_eq!(of_one, of_copy);
    assert_ne!(of_one, cuts(&Place::new(true)));
}

/// What deduplication tells: the table says that it does.
#[test]
fn a_copy_of_a_whole_file_is_recognised() {
    let repository = Place::new(true);
    let secret = trees::noise(7, 2000);
    let size = |guess: &[u8]| data_pack(&repository.repo(), &secret, guess, false);
    assert!(size(&secret) + 1900 < size(&trees::noise(8, 2000)));
}

/// Storage that never answers: the client waits, and can be ended.
#[test]
fn a_storage_that_never_answers_is_waited_for() {
    let (place, _) = sample();
    for name in ["config", "config.copy"] {
        let path = place.repo().join(name);
        fs::remove_file(&path).expect("a file");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo runs").success());
    }
    let mut running = place.start(&["snapshots"]);
    std::thread::sleep(Duration::from_millis(500));
    assert!(!running.has_ended(), "it did not wait");
}

/// The storage now holds a repository without encryption: nothing is written to it.
#[test]
fn a_repository_in_the_clear_gets_nothing_from_who_gives_a_passphrase() {
    let (place, source) = sample();
    fs::write(source.join("secret"), "an unmistakable sentence").expect("a file");
    let forged = Place::new(false);
    copy(&forged.repo(), &place.repo());
    let before = manifest(&place.repo());
    // This machine knows the repository.
    place.refused(&["backup", "source"], "was repository");
    place.refused(&["backup", "source"], "--new-repository-id");
    // Another machine has never seen it, or the user accepts any repository.
    for arguments in
        [&["--cache-dir", "other", "backup", "source"][..], &["--new-repository-id", "backup", "."]]
    {
        place.refused(arguments, "not encrypted");
    }
    let after = manifest(&place.repo());
    assert!(before.keys().eq(after.keys()), "something was written");
    let stored = bytes_below(&place.repo());
    assert!(!stored.windows(12).any(|window| window == b"unmistakable"));
}

/// Another repository with the same passphrase is noticed too.
#[test]
fn another_repository_at_the_same_place_is_refused_until_it_is_accepted() {
    let (place, _) = sample();
    let other = Place::new(true);
    copy(&other.repo(), &place.repo());
    for arguments in [&["backup", "source"][..], &["snapshots"], &["check"]] {
        place.refused(arguments, "somebody may have replaced it");
    }
    place.succeeds(&["--new-repository-id", "backup", "source"]);
    place.succeeds(&["backup", "source"]);
    // The reverse: an encrypted repository where one in the clear is expected.
    let open = Place::new(false);
    copy(&other.repo(), &open.repo());
    let mut command = open.command(&["snapshots"]);
    command.env("CUCULUS_BACKUP_PASSPHRASE", "a passphrase");
    is_refused(&mut command, "(not encrypted) and is now");
}

/// The mode and the cost of a passphrase are authenticated.
#[test]
fn a_changed_header_of_the_configuration_is_refused() {
    let (place, _) = sample();
    let config = fs::read(place.repo().join("config")).expect("a file");
    let put = |bytes: &[u8]| {
        for name in ["config", "config.copy"] {
            fs::write(place.repo().join(name), bytes).expect("a file");
        }
    };
    for at in 8..config.len() {
        // Every byte of the header, and some of what is sealed.
        if at < 40 || at % 16 == 0 {
            let mut changed = config.clone();
            changed[at] ^= 1;
            put(&changed);
            let output = place.run(&["--cache-dir", "other", "snapshots"]);
            let message = text(&output.stderr);
            // A header that makes no sense is replaced by that of the keys.
            let refused = output.status.code() == Some(2) && message.lines().count() == 1;
            assert!(refused || message.contains("`cuculus-backup repair`"), "{at}: {message}");
        }
    }
    put(&config);
    place.succeeds(&["check"]);
}

/// An older state of the storage comes back.
#[test]
fn a_rollback_is_noticed() {
    for encrypted in [true, false] {
        let (place, source) = Place::with_files(Backend::Directory, encrypted, 2, 10);
        place.succeeds(&["backup", "source"]);
        let old = place.path("old");
        copy(&place.repo(), &old);
        trees::change(&source, 1);
        place.succeeds(&["backup", "source"]);
        let newest = place.snapshots().remove(1);
        copy(&old, &place.repo());
        for arguments in [&["snapshots"][..], &["ls", "latest"], &["backup", "source"]] {
            let output = place.run(arguments);
            assert!(output.status.success());
            let said = text(&output.stderr);
            assert!(said.contains("rolled back") && said.contains(&newest[..8]), "{said}");
        }
        assert!(place.ends_with(1, &["check"]).contains(&newest));
        // A machine that has not seen it cannot miss it.
        place.is_quiet(&["--cache-dir", "another machine", "check"]);
        // The user knows why.
        let output = place.run(&["--accept-missing-snapshots", "snapshots"]);
        assert!(output.status.success() && text(&output.stderr).contains("accepted"));
        place.is_quiet(&["check"]);
    }
}

#[test]
fn a_removed_snapshot_is_noticed_and_a_forgotten_one_is_not_missed() {
    let (place, source) = sample();
    for step in 0..4 {
        trees::change(&source, step);
        place.succeeds(&["backup", "source"]);
    }
    let names = place.snapshots();
    // By this machine, and by another one that has the key.
    place.is_quiet(&["forget", &names[0]]);
    place.is_quiet(&["check"]);
    place.is_quiet(&["--cache-dir", "other", "forget", &names[1], "--prune"]);
    place.is_quiet(&["check"]);
    fs::remove_file(place.repo().join("snapshots").join(&names[2])).expect("a file");
    let said = place.ends_with(1, &["check"]);
    assert!(said.contains(&names[2]) && !said.contains(&names[1]), "{said}");
}

/// Records of what was forgotten stay few, and say the same.
#[test]
fn many_records_of_forgotten_snapshots_become_one() {
    let place = Place::new(true);
    fs::create_dir(place.path("source")).expect("a directory");
    for _ in 0..34 {
        place.succeeds(&["backup", "source"]);
        place.succeeds(&["--cache-dir", "other", "forget", "latest"]);
    }
    assert_eq!(place.count("forgotten"), 34);
    place.succeeds(&["prune"]);
    assert_eq!(place.count("forgotten"), 1);
    place.is_quiet(&["check"]);
}

/// Forged key files cost no more than the header of the repository allows, however many there are.
#[test]
fn forged_keys_cost_nothing() {
    let (place, _) = sample();
    let start = Instant::now();
    place.succeeds(&["snapshots"]);
    let usual = start.elapsed();
    let key = fs::read_dir(place.repo().join("keys")).expect("a folder").next();
    let key = key.expect("a key").expect("an entry").path();
    let genuine = fs::read(&key).expect("a key");
    for number in 0..400u32 {
        let mut forged = genuine.clone();
        // 1 GiB and 64 passes; or what honest clients use.
        if number % 2 == 0 {
            forged[8..12].copy_from_slice(&(1u32 << 20).to_le_bytes());
            forged[12..16].copy_from_slice(&64u32.to_le_bytes());
        }
        forged[20] ^= 1 + number as u8 % 200;
        fs::write(key.with_file_name(format!("{number:032x}")), forged).expect("a key");
    }
    let start = Instant::now();
    place.succeeds(&["snapshots"]);
    let with_forged = start.elapsed();
    assert!(with_forged < usual * 4 + Duration::from_secs(1), "{with_forged:?}");
    // Without the right key nothing opens, after one attempt.
    fs::remove_file(&key).expect("a key");
    let start = Instant::now();
    place.refused(&["snapshots"], "wrong passphrase");
    let refused = start.elapsed();
    assert!(refused < usual * 4 + Duration::from_secs(1), "{refused:?}");
}

/// The size of the largest pack, which has the data, after a backup of these two files.
/// Always in a copy of the same repository: cuts depend on the key.
fn data_pack(repository: &Path, secret: &[u8], guess: &[u8], same_directory: bool) -> u64 {
    let place = Place::with_copy(repository, true);
    let source = place.path("source");
    let other = if same_directory { "mine" } else { "theirs" };
    trees::write(&source.join("mine/a secret"), secret);
    trees::write(&source.join(other).join("b guess"), guess);
    place.succeeds(&["backup", "source"]);
    let packs = manifest(&place.repo().join("packs"));
    packs.values().filter(|seen| seen.is_file()).map(|seen| seen.size).max().expect("a pack")
}

/// Who can place a file in the backup and sees the sizes of packs does not learn whether the file
/// agrees with part of another one.
#[test]
fn the_size_of_a_pack_does_not_tell_whether_a_guess_is_right() {
    let repository = Place::new(true);
    let secret = trees::noise(7, 2000);
    let wrong = trees::noise(8, 2000);
    let mut right = secret.clone();
    right[1900..].copy_from_slice(&wrong[1900..]);
    let size = |guess: &[u8], same| data_pack(&repository.repo(), &secret, guess, same);
    for same_directory in [false, true] {
        let [right, wrong] = [&right, &wrong].map(|guess| size(guess, same_directory));
        assert_eq!(right, wrong, "same directory: {same_directory}");
        assert!(right > 4000);
    }
}

/// Nor does a prune that rewrites packs tell it.
#[test]
fn a_prune_keeps_files_apart() {
    let size = |guess: &[u8]| {
        let place = Place::new(true);
        let source = place.path("source");
        trees::write(&source.join("a"), &trees::noise(7, 2000));
        trees::write(&source.join("b"), guess);
        fs::write(source.join("c"), trees::noise(1, 300_000)).expect("a file");
        place.succeeds(&["backup", "source"]);
        fs::write(source.join("c"), trees::noise(2, 100_000)).expect("a file");
        place.succeeds(&["backup", "source"]);
        place.succeeds(&["forget", "--keep-last", "1"]);
        place.succeeds(&["prune", "--max-unused", "0"]);
        number(&place.json(&["stats"]), "pack_bytes")
    };
    // Shorter than the shortest chunk: a longer file may be cut in the part that both have, and equal
    // chunks are stored once.
    let mut right = trees::noise(7, 2000);
    right[1900..].copy_from_slice(&trees::noise(9, 100));
    let (right, wrong) = (size(&right), size(&trees::noise(8, 2000)));
    // Trees with times of other directories differ by a few bytes; a match would save 1,900.
    assert!(right.abs_diff(wrong) < 600, "{right} {wrong}");
}

/// Nor if both files lose chunks, so that what is left of them is compressed again.
#[test]
fn a_prune_compresses_files_apart_that_lose_chunks() {
    const KEPT: usize = 60_000;
    let repository = Place::new(true);
    let size = |guess: &[u8]| {
        // Cuts depend on the key.
        let place = Place::with_copy(&repository.repo(), true);
        let source = place.path("source");
        for (name, kept, lost) in [("a", &trees::noise(7, KEPT)[..], 1), ("b", guess, 2)] {
            trees::write(&source.join(name), &[kept, &trees::noise(lost, KEPT)].concat());
        }
        place.succeeds(&["backup", "source"]);
        for name in ["a", "b"] {
            let file = fs::File::options().write(true).open(source.join(name)).expect("a file");
            file.set_len(KEPT as u64).expect("a shorter file");
        }
        place.succeeds(&["backup", "source"]);
        place.succeeds(&["forget", "--keep-last", "1"]);
        place.succeeds(&["prune", "--max-unused", "0"]);
        number(&place.json(&["stats"]), "pack_bytes")
    };
    // A byte of each 1,000 is another one: no chunk is the same, and most of each is.
    let mut right = trees::noise(7, KEPT);
    right.iter_mut().step_by(1000).for_each(|byte| *byte ^= 1);
    let (right, wrong) = (size(&right), size(&trees::noise(8, KEPT)));
    // Cuts differ, and with them the lists of chunks; matches would save 50,000.
    assert!(right.abs_diff(wrong) < 2000, "{right} {wrong}");
}

/// Sealed bytes at another place do not open, though each was written by an honest client.
#[test]
fn objects_that_change_places_are_noticed() {
    let (place, source) = sample();
    trees::change(&source, 1);
    place.succeeds(&["backup", "source"]);
    for folder in ["snapshots", "index", "packs"] {
        let files = place.objects(folder);
        let [one, other, ..] = &files[..] else { panic!("two files in {folder}") };
        let (first, second) = (fs::read(one).expect("a file"), fs::read(other).expect("a file"));
        fs::write(one, &second).expect("a file");
        fs::write(other, &first).expect("a file");
        place.ends_with(1, &["check"]);
        fs::write(one, &first).expect("a file");
        fs::write(other, &second).expect("a file");
    }
    place.is_sound();
}
