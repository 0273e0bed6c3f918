//! What is backed up in the comparison: versions of a package, an image file with edits, or many
//! small files. Knows how each is made; nothing of what is measured.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::versions;
use crate::run::{Failure, target_directory};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workload {
    /// Versions of one package, side by side.
    Versions,
    /// An image of 400 MB and two versions of it with edits.
    Image,
    /// 200,000 small files.
    Small,
}

const IMAGE_BYTES: usize = 400_000_000;
const SMALL_FILES: usize = 200_000;

impl Workload {
    pub(super) fn parse(word: &str) -> Option<Self> {
        [Self::Versions, Self::Image, Self::Small].into_iter().find(|one| one.name() == word)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Versions => "versions",
            Self::Image => "image",
            Self::Small => "small",
        }
    }

    /// The directories to back up, in order; made if they are missing.
    pub(super) fn sources(self, versions: usize) -> Result<Vec<PathBuf>, Failure> {
        let root = std::env::current_dir()?.join(target_directory().join("backup-workloads"));
        Ok(match self {
            Self::Versions => return versions::fetched(versions),
            Self::Image => images(&root)?,
            Self::Small => vec![small(&root.join("small"))?],
        })
    }
}

/// A generator of numbers, a function of its seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Half of it compresses.
    fn fill(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(4096) {
            let plain = self.next().is_multiple_of(2);
            for byte in part {
                let number = (self.next() >> 32) as u8;
                *byte = if plain { b"0123456789abcdef"[usize::from(number % 16)] } else { number };
            }
        }
    }
}

fn images(root: &Path) -> io::Result<Vec<PathBuf>> {
    let places: Vec<PathBuf> = (0..3).map(|number| root.join(format!("image{number}"))).collect();
    if places.iter().all(|place| place.join("done").exists()) {
        return Ok(places);
    }
    let mut numbers = Numbers(88_172_645_463_325_252);
    // Part by part: the peak memory of a process counts for the processes that it starts.
    let mut part = vec![0; 1 << 20];
    let mut last: Option<PathBuf> = None;
    for (number, place) in places.iter().enumerate() {
        fs::create_dir_all(place)?;
        let path = place.join("disk.img");
        match &last {
            Some(last) => {
                fs::copy(last, &path)?;
            }
            None => {
                let mut image = File::create(&path)?;
                let mut left = IMAGE_BYTES;
                while left > 0 {
                    let part = &mut part[..left.min(1 << 20)];
                    numbers.fill(part);
                    image.write_all(part)?;
                    left -= part.len();
                }
            }
        }
        // Blocks are overwritten, as in a disk image, and in the last version some bytes inserted.
        let image = File::options().write(true).open(&path)?;
        for _ in 0..if number == 0 { 0 } else { 2000 } {
            let at = numbers.next() as usize % (IMAGE_BYTES - 8192) / 4096 * 4096;
            let block = &mut part[..4096];
            numbers.fill(block);
            image.write_all_at(block, at as u64)?;
        }
        if number == 2 {
            insert(&path, IMAGE_BYTES as u64 / 3, b"inserted")?;
        }
        File::create(place.join("done"))?;
        last = Some(path);
    }
    Ok(places)
}

/// Inserts bytes into a file.
fn insert(path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
    let longer = path.with_extension("part");
    let (mut from, mut to) = (File::open(path)?, File::create(&longer)?);
    io::copy(&mut Read::by_ref(&mut from).take(at), &mut to)?;
    to.write_all(bytes)?;
    io::copy(&mut from, &mut to)?;
    fs::rename(&longer, path)
}

fn small(place: &Path) -> io::Result<PathBuf> {
    if place.join("done").exists() {
        return Ok(place.to_owned());
    }
    let mut numbers = Numbers(2_463_534_242);
    for number in 0..SMALL_FILES {
        let folder = place.join(format!("d{:03}", number / 500));
        if number % 500 == 0 {
            fs::create_dir_all(&folder)?;
        }
        let mut bytes = vec![0; 100 + numbers.next() as usize % 1900];
        numbers.fill(&mut bytes);
        fs::write(folder.join(format!("f{number}")), bytes)?;
    }
    File::create(place.join("done"))?;
    Ok(place.to_owned())
}
