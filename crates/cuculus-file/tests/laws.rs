//! A file is replaced as a whole, by one writer at a time, or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use cuculus_file::{Error, Replacement};
use tempfile::TempDir;

fn names(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let mut names: Vec<String> = names.map(|name| name.expect("UTF-8")).collect();
    names.sort();
    names
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    Replacement::begin(path)?.commit(|file| file.write_all(bytes))
}

#[test]
fn a_file_is_the_old_one_until_it_is_the_new_one() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("file");
    put(&path, b"old").expect("a new file");
    let mut replacement = Replacement::begin(&path).expect("no other writer");
    assert!(replacement.replaces_a_file());
    replacement.append(b"ne").expect("room");
    assert!(matches!(put(&path, b"other"), Err(Error::Busy { .. })), "one writer at a time");
    let written = replacement.written(|file| file.write_all(b"w")).expect("room");
    assert_eq!(fs::read(&path).expect("the file"), b"old");
    written.rename().expect("the same directory");
    assert_eq!(fs::read(&path).expect("the file"), b"new");
    assert_eq!(names(&directory), ["file"]);
}

#[test]
fn a_writer_that_fails_changes_nothing() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("file");
    let fails = |file: &mut fs::File| {
        file.write_all(b"half")?;
        Err(io::ErrorKind::StorageFull.into())
    };
    let error = Replacement::begin(&path).expect("a new file").commit(fails).expect_err("it fails");
    assert!(error.to_string().contains("the file is unchanged"), "{error}");
    drop(Replacement::begin(&path).expect("the lock is free again"));
    assert!(names(&directory).is_empty(), "{:?}", names(&directory));
}

/// Renamed over, a device would be a file for every program from then on.
#[cfg(unix)]
#[test]
fn devices_pipes_sockets_and_directories_are_refused() {
    use std::os::unix::fs::FileTypeExt;
    let directory = TempDir::new().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let pipe = at("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
    std::os::unix::fs::symlink("/dev/null", at("link")).expect("a link");
    fs::create_dir(at("directory")).expect("a directory");
    for name in ["pipe", "socket", "directory", "link", "/dev/null", "/"] {
        let refused = put(&at(name), b"bytes");
        assert!(matches!(refused, Err(Error::NotRegular { .. })), "{name}: {refused:?}");
    }
    assert_eq!(names(&directory), ["directory", "link", "pipe", "socket"]);
    assert!(fs::metadata("/dev/null").expect("the device").file_type().is_char_device());
    assert!(fs::metadata(&pipe).expect("the pipe").file_type().is_fifo());
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_named() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("link");
    std::os::unix::fs::symlink("not/there", &path).expect("a link");
    let error = put(&path, b"bytes").expect_err("it leads nowhere").to_string();
    assert!(error.ends_with(
        "is a link to not/there, which does not exist; remove the link, or name the file itself"
    ));
    assert_eq!(names(&directory), ["link"]);
}
