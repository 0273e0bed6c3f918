//! Laws that hold in a directory, in a bucket and on a server, tested through the binary: damage is reported,
//! and forgotten data is removed.

use std::fs;
#[cfg(any(feature = "s3", feature = "sftp"))]
use std::path::Path;

#[cfg(feature = "s3")]
use crate::binary::succeeds;
use crate::binary::{Backend, Place, number};
use crate::trees::{self, manifest};

#[test]
fn damage_is_named_and_nothing_wrong_is_restored() {
    Backend::ALL.iter().for_each(|at| damage_is_named(*at));
}

fn damage_is_named(at: Backend) {
    let (place, source) = Place::with_files(at, false, 5, 10);
    let saved = manifest(&source);
    let restores = |what: &str| place.restores_or_reports("latest", &source, &saved, what);
    place.succeeds(&["backup", "source"]);
    assert!(restores("nothing"));
    let mut random = fastrand::Rng::with_seed(6);
    for (number, path) in place.objects("").into_iter().enumerate() {
        let whole = fs::read(&path).expect("an object");
        let mut changed = whole.clone();
        changed[random.usize(..whole.len())] ^= 1 << random.u8(0..8);
        let damages = [&changed[..], &whole[..whole.len() - 1], &[]];
        // Over a network each object is damaged in one way, and the next in another.
        let chosen = if at == Backend::Directory { 0..3 } else { number % 3..number % 3 + 1 };
        for bytes in &damages[chosen] {
            fs::write(&path, bytes).expect("an object");
            let what = format!("{at:?}: {} of {} bytes", path.display(), bytes.len());
            let said = place.ends_with(1, &["check", "--read-data"]);
            let name = path.file_name().expect("a name").to_string_lossy();
            let named = if name.starts_with("config") { "configuration" } else { &*name };
            assert!(said.contains(named), "{what}: {said}");
            restores(&what);
        }
        fs::write(&path, &whole).expect("an object");
    }
    place.is_sound();
    assert!(restores("everything put back"));
}

#[test]
fn what_is_forgotten_goes() {
    Backend::ALL.iter().for_each(|at| what_is_forgotten_goes_at(*at));
}

/// Old versions leave packs, index and filters, and memory is freed.
fn what_is_forgotten_goes_at(at: Backend) {
    let place = Place::at(at, true);
    let source = place.path("source");
    let versions = at.choose(8, 4);
    for seed in 0..versions {
        let _ = fs::remove_dir_all(&source);
        trees::files(&source, seed, at.choose(200, 60) as usize);
        place.succeeds(&["backup", "source"]);
        assert!(place.count("index") <= 6, "runs are merged");
    }
    let before = place.json(&["stats"]);
    let report = place.json(&["forget", "--keep-last", "1"]);
    let forgotten = report["forgotten"].as_array().map(Vec::len);
    assert_eq!(forgotten, Some(versions as usize - 1), "{report}");
    let planned = place.json(&["prune", "--max-unused", "0", "--dry-run"]);
    assert_eq!(place.json(&["stats"])["packs"], before["packs"]);
    let pruned = place.json(&["prune", "--max-unused", "0"]);
    assert_eq!(planned["unused_bytes"], pruned["unused_bytes"]);
    let after = place.json(&["stats"]);
    for field in ["chunk_bytes", "pack_bytes", "filter_bytes"] {
        let (small, large) = (number(&after, field), number(&before, field));
        let ratio = small as f64 / large as f64 * versions as f64;
        assert!((0.8..1.3).contains(&ratio), "{field}: {small} of {large}");
    }
    let gone = number(&before, "chunks") - number(&after, "chunks");
    assert_eq!(number(&pruned, "removed_chunks"), gone);
    let again = place.json(&["prune", "--max-unused", "0"]);
    assert_eq!((number(&again, "unused_bytes"), number(&again, "freed_bytes")), (0, 0));
    assert_eq!((place.count("snapshots"), place.count("marks"), place.count("intents")), (1, 0, 0));
    place.is_sound();
    place.restores(&source);
}

/// After a first attempt that broke off, a second one goes on. What the first one sent may take effect
/// late, so a prune removes nothing yet, if there is anything to remove; returns its report.
#[cfg(any(feature = "s3", feature = "sftp"))]
pub(crate) fn another_attempt_goes_on(place: &Place, source: &Path) -> serde_json::Value {
    assert_eq!(place.snapshots().len(), 0);
    place.succeeds(&["backup", "source"]);
    place.is_sound();
    place.restores(source);
    let report = place.json(&["prune", "--max-unused", "0"]);
    let waits = report["waits_for"].to_string().contains("has ended");
    assert!(waits || report["dead_packs"] == 0, "{report}");
    report
}

/// The keys in a bucket are the paths in a directory, so one can be copied to the other.
#[cfg(feature = "s3")]
#[test]
fn a_copied_bucket_is_a_repository_in_a_directory() {
    let (place, _) = Place::with_files(Backend::Bucket, true, 7, 20);
    place.succeeds(&["backup", "source"]);
    let listed = succeeds(&mut place.command_on(&place.repo(), &["snapshots", "--json"]));
    assert_eq!(listed, place.succeeds(&["snapshots", "--json"]));
}
