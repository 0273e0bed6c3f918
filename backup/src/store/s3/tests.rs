//! The promises of the store, tested with a real server.

use std::io::Write;

use loopback_s3::Server;
use object_store::aws::AmazonS3Builder;
use tempfile::TempDir;

use super::S3Store;
use crate::error::{Error, Result};
use crate::id::Name;
use crate::store::cached::Remote;
use crate::store::{ObjectKind, Store};
use crate::trees::noise;

fn store() -> (S3Store, Server, TempDir) {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(dir.path(), &["bucket"]);
    let builder = AmazonS3Builder::new()
        .with_endpoint(server.endpoint())
        .with_allow_http(true)
        .with_access_key_id(loopback_s3::KEY)
        .with_secret_access_key(loopback_s3::SECRET);
    (S3Store::with(builder, "bucket/a/prefix").expect("a store"), server, dir)
}

fn name(number: u16) -> Name {
    Name::of(&number.to_le_bytes())
}

/// Files of the server that belong to unfinished uploads.
fn parts(dir: &TempDir) -> usize {
    let files = std::fs::read_dir(dir.path()).expect("a directory");
    let names = files.map(|file| file.expect("a file").file_name());
    names.filter(|name| name.to_string_lossy().contains("upload")).count()
}

#[test]
fn what_is_large_goes_in_parts_and_appears_at_once() {
    let (store, _server, dir) = store();
    let bytes = noise(1, 40_000_000);
    let mut draft = store.draft(ObjectKind::Run, &name(1)).expect("a draft");
    for part in bytes.chunks(300_000) {
        draft.write_all(part).expect("written");
    }
    assert!(parts(&dir) > 0);
    assert_eq!(store.list(ObjectKind::Run).expect("a list"), []);
    draft.keep().expect("kept");
    assert_eq!(parts(&dir), 0);
    assert_eq!(store.list(ObjectKind::Run).expect("a list"), [(name(1), 40_000_000)]);
    let mut copy = Vec::new();
    store.fetch(ObjectKind::Run, &name(1), &mut copy).expect("read");
    assert!(copy == bytes);
}

#[test]
fn an_unfinished_draft_leaves_nothing() {
    let (store, _server, dir) = store();
    for len in [1000, 40_000_000] {
        let mut draft = store.draft(ObjectKind::Pack, &name(1)).expect("a draft");
        draft.write_all(&noise(1, len)).expect("written");
        assert_eq!(parts(&dir) > 0, len > 1000);
        drop(draft);
        assert_eq!(parts(&dir), 0);
        assert_eq!(store.list(ObjectKind::Pack).expect("a list"), []);
    }
}

/// More objects than the server lists or removes in one request; foreign objects are ignored.
#[test]
fn many_objects_are_listed_and_removed() {
    let (store, server, dir) = store();
    let folder = dir.path().join("bucket/a/prefix/snapshots");
    std::fs::create_dir_all(&folder).expect("a directory");
    let names: Vec<Name> = (0..2100).map(name).collect();
    for name in &names {
        std::fs::write(folder.join(name.to_string()), "bytes").expect("a file");
    }
    std::fs::write(folder.join("no name"), "").expect("a file");
    std::fs::write(dir.path().join("bucket/a/prefix/snapshots2"), "").expect("a file");
    let mut listed = store.list(ObjectKind::Snapshot).expect("a list");
    listed.sort_unstable();
    let mut expected: Vec<_> = names.iter().map(|name| (*name, 5)).collect();
    expected.sort_unstable();
    assert!(listed == expected);
    assert_eq!(server.take_requests(), 3);
    let asked = std::cell::Cell::new(0);
    let go_on = || {
        asked.set(asked.get() + 1);
        if asked.get() > 2 { Err(Error::DeclaredDead) } else { Ok(()) }
    };
    assert!(store.remove_all(ObjectKind::Snapshot, &names, &go_on).is_err());
    assert_eq!(server.take_requests(), 2);
    assert_eq!(store.list(ObjectKind::Snapshot).expect("a list").len(), 100);
    // Most of them are gone already.
    store.remove_all(ObjectKind::Snapshot, &names, &|| Ok(())).expect("removed");
    assert_eq!(store.list(ObjectKind::Snapshot).expect("a list"), []);
    store.remove(ObjectKind::Snapshot, &name(1)).expect("gone");
}

/// Offsets and sizes from a forged index are refused, and allocate nothing.
#[test]
fn bytes_that_are_not_there_are_not_read() {
    let (store, _server, dir) = store();
    let bytes = noise(1, 3000);
    store.put(ObjectKind::Pack, &name(1), &bytes).expect("written");
    let object = store.open(ObjectKind::Pack, &name(1)).expect("an object");
    assert_eq!(object.len(), 3000);
    assert_eq!(object.read_at(100, 200).expect("bytes"), bytes[100..300]);
    assert_eq!(object.read_at(3000, 0).expect("bytes"), b"");
    let is_damaged = |outcome: Result<Vec<u8>>| matches!(outcome, Err(Error::Damaged(_)));
    for (offset, len) in [(0, 3001), (3000, 1), (u64::MAX, 1), (1, u64::MAX), (0, 1 << 60)] {
        assert!(is_damaged(object.read_at(offset, len)), "{offset} {len}");
    }
    for len in [2999, 3001, 1 << 60] {
        let object = store.open_sized(ObjectKind::Pack, &name(1), len).expect("an object");
        assert!(is_damaged(object.read_at(0, 100)), "{len}");
        assert!(is_damaged(object.read_at(len - 10, 10)), "{len}");
    }
    let path = dir.path().join("bucket/a/prefix").join(ObjectKind::Pack.key(&name(1)));
    std::fs::write(path, "").expect("a file");
    assert!(is_damaged(object.read_at(0, 100)));
    let missing =
        store.open_sized(ObjectKind::Pack, &name(2), 10).expect("an object").read_at(0, 1);
    assert!(missing.is_err_and(|error| error.is_missing()));
    assert!(store.open(ObjectKind::Pack, &name(2)).is_err_and(|error| error.is_missing()));
    assert!(store.get(ObjectKind::Key, &name(2)).is_err_and(|error| error.is_missing()));
}

#[test]
fn who_reads_on_gets_more_at_a_time() {
    let (store, server, _dir) = store();
    let bytes = noise(1, 5_000_000);
    store.put(ObjectKind::Pack, &name(1), &bytes).expect("written");
    let object = store.open_sized(ObjectKind::Pack, &name(1), 5_000_000).expect("an object");
    server.take_requests();
    for (place, part) in bytes.chunks(50_000).enumerate() {
        let read = object.read_at(place as u64 * 50_000, part.len() as u64).expect("bytes");
        assert!(read == part, "{place}");
    }
    let requests = server.take_requests();
    assert!(requests <= 7, "{requests}");
    // Random reads fetch only what is requested.
    for place in [4, 2, 3, 1] {
        object.read_at(place * 1_000_000, 1000).expect("bytes");
    }
    assert_eq!(server.take_requests(), 4);
}

/// A write without an answer may still take effect: its process must count as alive.
#[test]
fn a_write_without_an_answer_leaves_the_store_in_doubt() {
    let (store, mut server, _dir) = store();
    store.put(ObjectKind::Mark, &name(1), b"bytes").expect("written");
    assert!(store.get(ObjectKind::Mark, &name(2)).is_err() && store.is_settled());
    server.stop();
    assert!(store.get(ObjectKind::Mark, &name(1)).is_err() && store.is_settled());
    assert!(store.put(ObjectKind::Mark, &name(2), b"bytes").is_err() && !store.is_settled());
}
