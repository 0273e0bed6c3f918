//! Damaged bytes: `check` lists the damage, and no restore silently returns anything but what was
//! saved.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cuculus_backup::{
    BackupOptions, CheckReport, DamagedPart, Error, ObjectKind, Parameters, Progress, PruneOptions,
    ReadData, Repository, RestoreOptions, Snapshot,
};

use crate::binary::{Backend, Place, came_back_right, soak};
use crate::trees::{self, manifest};

const PASSPHRASE: &str = "a passphrase";

/// A small repository with two snapshots, so that many bytes can be tried.
fn sample(encrypted: bool) -> (Place, PathBuf) {
    let (place, source) = Place::with_files(Backend::Directory, encrypted, 1, 6);
    for _ in 0..2 {
        place.succeeds(&["backup", "source"]);
        fs::write(source.join("more"), "more").expect("a file");
    }
    fs::remove_file(source.join("more")).expect("a file");
    (place, source)
}

/// Opens it by the library, which takes less time than a process for each byte.
fn open(place: &Place) -> cuculus_backup::Result<Repository> {
    Repository::open(&place.repo(), (place.count("keys") > 0).then_some(PASSPHRASE))
}

#[derive(Default)]
struct Problems(Mutex<Vec<String>>);

impl Progress for Problems {
    fn problem(&self, what: &str) {
        self.0.lock().expect("no panic").push(what.to_owned());
    }
}

/// Whether the restored tree is exact; if it is not, something must have been reported.
fn restores_exactly_or_reports(
    repository: &Repository,
    snapshot: &Snapshot,
    source: &Path,
    what: &str,
) -> bool {
    let target = tempfile::tempdir_in(source.parent().expect("a directory")).expect("a directory");
    let options = RestoreOptions { target: target.path().into(), ..Default::default() };
    let problems = Problems::default();
    let outcome = repository.restore(snapshot, &options, &problems);
    let is_whole = outcome.as_ref().is_ok_and(|report| report.problems == 0);
    let said = outcome.is_err() || !problems.0.lock().expect("no panic").is_empty();
    assert!(is_whole || said, "{what}: nothing was said");
    came_back_right(&trees::below(target.path(), source), &manifest(source), is_whole, what);
    is_whole
}

fn checked(place: &Place) -> cuculus_backup::Result<CheckReport> {
    open(place)?.check(ReadData::Everything, &())
}

fn every_changed_byte_is_noticed(encrypted: bool, tries_a_file: usize) {
    let (place, source) = sample(encrypted);
    let opened = open(&place).expect("opened");
    let snapshots = opened.snapshots().expect("read");
    assert!(opened.check(ReadData::Everything, &()).expect("checked").errors.is_empty());
    assert!(restores_exactly_or_reports(&opened, &snapshots[0], &source, "nothing"));
    let mut random = fastrand::Rng::with_seed(3);
    for path in place.objects("") {
        let whole = fs::read(&path).expect("a file");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        // Opening a repository needs its keys, which takes a tenth of a second.
        let is_lock = path.to_string_lossy().contains("keys");
        let is_config = name.starts_with("config");
        let tries = if (is_lock || is_config) && encrypted { 12 } else { tries_a_file };
        let places: Vec<usize> = if whole.len() <= tries {
            (0..whole.len()).collect()
        } else {
            let ends = (0..16).chain(whole.len() - 16..whole.len());
            let ends = ends.step_by(if tries < 32 { 2 } else { 1 }).take(tries);
            ends.chain((0..tries).map(|_| random.usize(..whole.len()))).collect()
        };
        for at in places {
            let mut changed = whole.clone();
            changed[at] ^= 1 << random.u8(0..8);
            fs::write(&path, &changed).expect("a file");
            let what = format!("{} changed at {at}", path.display());
            if is_lock {
                let outcome = checked(&place);
                assert!(outcome.is_err_and(|error| !error.to_string().contains('\n')), "{what}");
                continue;
            }
            // Of the configuration there is another copy, and the key.
            let (report, named) = match is_config {
                true => (checked(&place).expect("checked"), "configuration"),
                false => (opened.check(ReadData::Everything, &()).expect("checked"), &*name),
            };
            let errors = &report.errors;
            assert!(errors.iter().any(|line| line.contains(named)), "{what}: {errors:?}");
            if !is_config {
                restores_exactly_or_reports(&opened, &snapshots[0], &source, &what);
            }
        }
        for len in [0, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..len]).expect("a file");
            let noticed = checked(&place).map_or(true, |report| !report.errors.is_empty());
            assert!(noticed, "{} cut to {len}", path.display());
        }
        fs::write(&path, &whole).expect("a file");
    }
    assert!(opened.check(ReadData::Everything, &()).expect("checked").errors.is_empty());
}

/// Bytes tried per file; `cargo xtask soak-backup` sets more.
fn tries() -> usize {
    soak("CUCULUS_BACKUP_BYTES").unwrap_or(16) as usize
}

#[test]
fn every_changed_byte_is_noticed_with_encryption() {
    every_changed_byte_is_noticed(true, tries());
}

#[test]
fn every_changed_byte_is_noticed_without_encryption() {
    every_changed_byte_is_noticed(false, tries());
}

/// Callers can tell situations apart without reading messages.
#[test]
fn errors_are_typed() {
    let (place, source) = sample(true);
    let refused = |passphrase| Repository::open(&place.repo(), passphrase).err();
    assert!(matches!(refused(None), Some(Error::PassphraseNeeded)));
    assert!(matches!(refused(Some("wrong")), Some(Error::WrongPassphrase)));
    let elsewhere = Repository::find(&source).err();
    assert!(matches!(elsewhere, Some(Error::NotARepository { location })
        if location == source.display().to_string()));
    let again = Repository::create(&place.repo(), &Parameters::default(), None);
    assert!(matches!(again, Err(Error::NotEmpty { .. })));

    let repository = open(&place).expect("opened");
    let kind = ObjectKind::Snapshot;
    assert!(matches!(repository.snapshot("x"), Err(Error::NotFound { kind: found, prefix })
        if (found, &*prefix) == (kind, "x")));
    assert!(matches!(repository.snapshot(""), Err(Error::Ambiguous { .. })));
    let options = PruneOptions { max_unused: Some(-1.0), dry_run: false };
    assert!(matches!(repository.prune(&options, &()), Err(Error::InvalidMaxUnused(_))));

    let name = repository.snapshot("latest").expect("a snapshot").name;
    fs::write(place.repo().join("snapshots").join(name.to_string()), "").expect("a file");
    let part = DamagedPart::Object { kind, name };
    let damaged = repository.snapshots();
    assert!(matches!(damaged, Err(Error::Damaged(damage)) if damage.part == part));

    for name in ["config", "config.copy"] {
        fs::write(place.repo().join(name), "CUCBACK2").expect("a file");
    }
    assert!(matches!(refused(None), Some(Error::UnknownVersion { found: '2' })));
}

/// Every missing object is noticed, except for snapshots.
#[test]
fn every_missing_object_is_noticed() {
    let (place, _) = sample(false);
    for path in place.objects("") {
        let whole = fs::read(&path).expect("a file");
        fs::remove_file(&path).expect("a file");
        let outcome = open(&place).and_then(|repository| repository.check(ReadData::Nothing, &()));
        let noticed = outcome.as_ref().map_or(true, |report| !report.errors.is_empty());
        // A missing snapshot looks like a forgotten one.
        let is_snapshot = path.to_string_lossy().contains("snapshots");
        assert_eq!(noticed, !is_snapshot, "{}", path.display());
        fs::write(&path, &whole).expect("a file");
    }
}

/// A filter is a help: a backup works without it, and a repair writes it again.
#[test]
fn a_filter_that_is_damaged_costs_only_time() {
    let (place, source) = sample(true);
    for run in place.objects("index") {
        let mut bytes = fs::read(&run).expect("a run");
        let end = bytes.len() - 8;
        let tail = u64::from_le_bytes(bytes[end..].try_into().expect("eight bytes")) as usize;
        // The filter is before the tail, and ends with a tag.
        bytes[end - tail - 20] ^= 1;
        fs::write(&run, bytes).expect("a run");
    }
    let repository = open(&place).expect("opened");
    let options = BackupOptions { paths: vec![source], read_all: true, ..Default::default() };
    let report = repository.backup(&options, &()).expect("saved");
    assert!(report.lookups.from_filters > 0 && report.new_bytes < 20_000, "{report:?}");
    let errors = repository.check(ReadData::Nothing, &()).expect("checked").errors;
    assert!(errors.iter().any(|line| line.contains("its filter")), "{errors:?}");
    repository.repair(&()).expect("repaired");
    let errors = repository.check(ReadData::Everything, &()).expect("checked").errors;
    assert!(errors.is_empty(), "{errors:?}");
}

/// A prune removes the packs whose groups it has moved: it must not move what was read wrongly, though
/// it decrypts none of it.
#[test]
fn a_prune_stops_at_a_group_that_is_damaged() {
    for encrypted in [false, true] {
        let place = Place::new(encrypted);
        let source = place.path("source");
        for (name, seed) in [("a", 1), ("b", 2)] {
            trees::write(&source.join(name), &trees::noise(seed, 300_000));
        }
        place.succeeds(&["backup", "source"]);
        fs::remove_file(source.join("b")).expect("a file");
        place.succeeds(&["backup", "source"]);
        place.succeeds(&["forget", "--keep-last", "1"]);
        let pack = place.objects("packs").remove(0);
        let sound = fs::read(&pack).expect("a pack");
        // In the first group, which only the file that is still there needs.
        trees::flip(&pack, 5000);
        place.refused(&["prune", "--max-unused", "0"], "damaged");
        assert!(pack.exists(), "encrypted: {encrypted}");
        fs::write(&pack, sound).expect("a pack");
        place.succeeds(&["prune", "--max-unused", "0"]);
        assert!(!pack.exists());
        place.is_sound();
    }
}
