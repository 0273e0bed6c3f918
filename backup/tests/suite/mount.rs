//! Snapshots as a file system, through the kernel. Needs `/dev/fuse` and the right to mount.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::binary::{Backend, Place, Running};
use crate::trees::{self, manifest};

struct Mounted(Running, PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.1).stderr(Stdio::null()).status();
    }
}

fn mount(place: &Place, arguments: &[&str]) -> Mounted {
    let target = place.path("mounted");
    fs::create_dir_all(&target).expect("a directory");
    let words = [&["mount", target.to_str().expect("text")], arguments].concat();
    let mut mounted = Mounted(place.start(&words), target.clone());
    let start = Instant::now();
    while fs::read_dir(&target).map_or(0, Iterator::count) == 0 {
        if mounted.0.has_ended() {
            panic!("{:?}", mounted.0.end());
        }
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is mounted");
        std::thread::sleep(Duration::from_millis(20));
    }
    mounted
}

/// Whether the system lets anybody mount: containers often do not.
fn is_possible() -> bool {
    let possible = Path::new("/dev/fuse").exists() && trees::is_root();
    if !possible {
        println!("skipped: this system does not allow a mount");
    }
    possible
}

#[test]
fn a_mounted_snapshot_is_what_was_saved() {
    if !is_possible() {
        return;
    }
    let (place, source) = Place::with_files(Backend::Directory, true, 1, 30);
    let words: String = (0..900_000).map(|number| format!("{number}\n")).collect();
    fs::write(source.join("large"), &words).expect("a file");
    let sparse = fs::File::create(source.join("sparse")).expect("a file");
    sparse.set_len(3 << 30).expect("a hole");
    sparse.write_all_at(b"in the middle", 2 << 30).expect("bytes");
    fs::create_dir(source.join("many")).expect("a directory");
    for number in 0..3000 {
        fs::write(source.join(format!("many/{number}")), format!("{number}")).expect("a file");
    }
    std::os::unix::fs::symlink("large", source.join("link")).expect("a link");
    place.succeeds(&["backup", "source", "--tag", "one"]);
    fs::write(source.join("later"), "later").expect("a file");
    place.succeeds(&["backup", "source", "--tag", "two"]);
    fs::remove_file(source.join("later")).expect("a file");

    let mounted = mount(&place, &[]);
    assert_eq!(fs::read_dir(&mounted.1).expect("a directory").count(), 3);
    let tree = trees::below(&mounted.1.join("latest"), &source);
    assert_eq!(fs::read(tree.join("later")).expect("a file"), b"later");
    assert_eq!(fs::read_dir(tree.join("many")).expect("a directory").count(), 3000);
    assert_eq!(fs::read(tree.join("many/1234")).expect("a file"), b"1234");
    assert_eq!(fs::read_link(tree.join("link")).expect("a link"), Path::new("large"));
    let (found, saved) = (manifest(&tree.join("dir3")), manifest(&source.join("dir3")));
    assert!(found == saved);
    // From the beginning, and in the middle of lists of chunks and of holes.
    assert!(fs::read(tree.join("large")).expect("a file") == words.as_bytes());
    let large = fs::File::open(tree.join("large")).expect("a file");
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..50 {
        let at = random.usize(..words.len() - 5000);
        let mut bytes = vec![0; random.usize(1..5000)];
        large.read_exact_at(&mut bytes, at as u64).expect("bytes");
        assert!(bytes == words.as_bytes()[at..at + bytes.len()], "at {at}");
    }
    let sparse = fs::File::open(tree.join("sparse")).expect("a file");
    let mut bytes = [1; 40];
    sparse.read_exact_at(&mut bytes, (2 << 30) - 10).expect("bytes");
    assert_eq!(&bytes[..10], [0; 10]);
    assert_eq!(&bytes[10..23], b"in the middle");
    assert_eq!(&bytes[23..], [0; 17]);
    assert!(fs::write(tree.join("new"), "").is_err(), "it can be written");
    drop((large, sparse, mounted));

    let one = mount(&place, &["--tag", "one"]);
    let tree = trees::below(&one.1.join("latest"), &source);
    assert!(tree.join("large").exists() && !tree.join("later").exists());
}

#[test]
fn what_is_damaged_cannot_be_read() {
    if !is_possible() {
        return;
    }
    let (place, source) = Place::with_noise(Backend::Directory, false, 400_000);
    place.succeeds(&["backup", "source"]);
    trees::flip(&place.objects("packs")[0], 100);
    let mounted = mount(&place, &[]);
    let tree = trees::below(&mounted.1.join("latest"), &source);
    assert!(fs::read(tree.join("noise")).is_err());
    place.ends_with(2, &["mount", "/nowhere/at/all"]);
}
