//! Damaged bytes: `check` lists the damage, and no restore silently returns anything but what was
//! saved.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cuculus_backup::{
    BackupOptions, DamagedPart, Error, ObjectKind, Parameters, Progress, PruneOptions, ReadData,
    Repository, RestoreOptions, Snapshot,
};

use crate::binary::Place;
use crate::trees::{self, manifest};

const PASSPHRASE: &str = "a passphrase";

struct Sample {
    dir: tempfile::TempDir,
    encrypted: bool,
}

impl Sample {
    /// A small repository with two snapshots, so that many bytes can be tried.
    fn new(encrypted: bool) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let sample = Self { dir, encrypted };
        let passphrase = encrypted.then_some(PASSPHRASE);
        let parameters =
            Parameters { kdf_memory_kib: 19 * 1024, kdf_passes: 2, ..Parameters::default() };
        Repository::create(&sample.repo(), &parameters, passphrase).expect("made");
        let source = sample.source();
        trees::files(&source, 1, 6);
        let repository = sample.open().expect("opened");
        for _ in 0..2 {
            let paths = vec![source.clone()];
            let options = BackupOptions { paths, ..Default::default() };
            repository.backup(&options, &()).expect("saved");
            fs::write(source.join("more"), "more").expect("a file");
        }
        fs::remove_file(source.join("more")).expect("a file");
        sample
    }

    fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    fn source(&self) -> PathBuf {
        self.dir.path().join("source")
    }

    fn open(&self) -> cuculus_backup::Result<Repository> {
        Repository::open(&self.repo(), self.encrypted.then_some(PASSPHRASE))
    }

    fn files(&self) -> Vec<PathBuf> {
        trees::largest(&self.repo())
    }
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
    let tree = trees::below(target.path(), source);
    match outcome {
        Ok(report) if report.problems == 0 => {
            let (found, saved) = (manifest(&tree), manifest(source));
            for (name, seen) in &saved {
                // The directory itself has changed since: a file was added and removed.
                let whole = name.as_os_str().is_empty() || found[name] == *seen;
                assert!(whole, "{what}: {name:?} came back wrong, and nothing was said");
            }
            true
        }
        Ok(_) => {
            assert!(!problems.0.lock().expect("no panic").is_empty());
            // Whatever was restored is right.
            if tree.exists() {
                let saved = manifest(source);
                for (name, found) in manifest(&tree).iter().filter(|(_, seen)| seen.is_file()) {
                    assert!(saved[name] == *found, "{what}: {name:?} came back wrong");
                }
            }
            false
        }
        Err(_) => false,
    }
}

fn every_changed_byte_is_noticed(encrypted: bool, tries_a_file: usize) {
    let sample = Sample::new(encrypted);
    let source = sample.source();
    let opened = sample.open().expect("opened");
    let snapshots = opened.snapshots().expect("read");
    assert!(opened.check(ReadData::Everything, &()).expect("checked").errors.is_empty());
    assert!(restores_exactly_or_reports(&opened, &snapshots[0], &source, "nothing"));
    let mut random = fastrand::Rng::with_seed(3);
    for path in sample.files() {
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
        for place in places {
            let mut changed = whole.clone();
            changed[place] ^= 1 << random.u8(0..8);
            fs::write(&path, &changed).expect("a file");
            let what = format!("{} changed at {place}", path.display());
            if is_lock {
                let outcome = sample
                    .open()
                    .and_then(|repository| repository.check(ReadData::Everything, &()));
                assert!(outcome.is_err_and(|error| !error.to_string().contains('\n')), "{what}");
                continue;
            }
            if is_config {
                // There is another copy, and the key.
                let opened = sample.open().expect("opened");
                let report = opened.check(ReadData::Everything, &()).expect("checked");
                let errors = &report.errors;
                assert!(errors.iter().any(|line| line.contains("configuration")), "{what}");
                continue;
            }
            let report = opened.check(ReadData::Everything, &()).expect("checked");
            let named = |line: &String| line.contains(&name);
            assert!(report.errors.iter().any(named), "{what}: {:?}", report.errors);
            restores_exactly_or_reports(&opened, &snapshots[0], &source, &what);
        }
        for len in [0, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..len]).expect("a file");
            let outcome =
                sample.open().and_then(|repository| repository.check(ReadData::Everything, &()));
            let noticed = outcome.map_or(true, |report| !report.errors.is_empty());
            assert!(noticed, "{} cut to {len}", path.display());
        }
        fs::write(&path, &whole).expect("a file");
    }
    assert!(opened.check(ReadData::Everything, &()).expect("checked").errors.is_empty());
}

/// Bytes tried per file; `cargo xtask soak-backup` sets more.
fn tries() -> usize {
    std::env::var("CUCULUS_BACKUP_BYTES").ok().and_then(|text| text.parse().ok()).unwrap_or(16)
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
    let sample = Sample::new(true);
    let refused = |passphrase| Repository::open(&sample.repo(), passphrase).err();
    assert!(matches!(refused(None), Some(Error::PassphraseNeeded)));
    assert!(matches!(refused(Some("wrong")), Some(Error::WrongPassphrase)));
    let elsewhere = Repository::find(&sample.source()).err();
    assert!(matches!(elsewhere, Some(Error::NotARepository { location })
        if location == sample.source().display().to_string()));
    let again = Repository::create(&sample.repo(), &Parameters::default(), None);
    assert!(matches!(again, Err(Error::NotEmpty { .. })));

    let repository = sample.open().expect("opened");
    let kind = ObjectKind::Snapshot;
    assert!(matches!(repository.snapshot("x"), Err(Error::NotFound { kind: found, prefix })
        if (found, &*prefix) == (kind, "x")));
    assert!(matches!(repository.snapshot(""), Err(Error::Ambiguous { .. })));
    let options = PruneOptions { max_unused: Some(-1.0), dry_run: false };
    assert!(matches!(repository.prune(&options, &()), Err(Error::InvalidMaxUnused(_))));

    let name = repository.snapshot("latest").expect("a snapshot").name;
    fs::write(sample.repo().join("snapshots").join(name.to_string()), "").expect("a file");
    let part = DamagedPart::Object { kind, name };
    let damaged = repository.snapshots();
    assert!(matches!(damaged, Err(Error::Damaged(damage)) if damage.part == part));

    for name in ["config", "config.copy"] {
        fs::write(sample.repo().join(name), "CUCBACK2").expect("a file");
    }
    assert!(matches!(refused(None), Some(Error::UnknownVersion { found: '2' })));
}

/// Every missing object is noticed, except for snapshots.
#[test]
fn every_missing_object_is_noticed() {
    let sample = Sample::new(false);
    for path in sample.files() {
        let whole = fs::read(&path).expect("a file");
        fs::remove_file(&path).expect("a file");
        let outcome = sample.open().and_then(|repository| repository.check(ReadData::Nothing, &()));
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
    let sample = Sample::new(true);
    let runs = fs::read_dir(sample.repo().join("index")).expect("a folder");
    for run in runs.map(|run| run.expect("an entry").path()) {
        let mut bytes = fs::read(&run).expect("a run");
        let end = bytes.len() - 8;
        let tail = u64::from_le_bytes(bytes[end..].try_into().expect("eight bytes")) as usize;
        // The filter is before the tail, and ends with a tag.
        bytes[end - tail - 20] ^= 1;
        fs::write(&run, bytes).expect("a run");
    }
    let repository = sample.open().expect("opened");
    let options =
        BackupOptions { paths: vec![sample.source()], read_all: true, ..Default::default() };
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
        fs::create_dir_all(&source).expect("a directory");
        for (name, seed) in [("a", 1), ("b", 2)] {
            fs::write(source.join(name), trees::noise(seed, 300_000)).expect("a file");
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
