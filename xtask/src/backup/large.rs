//! `cargo xtask bench-backup --large`: a sparse file of two terabytes and a directory of two million
//! files, saved, checked, listed and restored in part. Knows what is made and compared; the limit on
//! memory is a promise of the documentation.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::run::{Failure, cargo, program, step, target_directory};
use crate::usage::{self, Usage};

/// The promise: no step takes more memory.
const MAX_BYTES: u64 = 80_000_000;
const FILE_SIZE: u64 = 2_000_000_000_000;
/// Where the file has data, and how much.
const STRIDE: u64 = 32 << 20;
const DATA: usize = 8 << 10;

struct Large {
    binary: PathBuf,
    place: PathBuf,
    /// The rows of the table so far.
    rows: RefCell<String>,
}

pub(super) fn run(arguments: &[&str], show: super::Show<'_>) -> Result<(), Failure> {
    let files = match arguments {
        [] => 2_000_000,
        [word, number] if *word == "--files" => {
            number.parse().map_err(|_| Failure::Usage("--files needs a number".into()))?
        }
        _ => return Err(Failure::Usage("bench-backup --large takes [--files N] [--write]".into())),
    };
    step("build", &mut cargo(["build", "--release", "-p", "cuculus-backup"]))?;
    let place = std::env::current_dir()?.join(target_directory().join("backup-large"));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let head = "| step | CPU s | peak, MB |\n|---|---|---|\n";
    let binary = target_directory().join("release/cuculus-backup");
    let large = Large { binary, place, rows: RefCell::new(head.into()) };
    let outcome = large.file().and_then(|()| large.directory(files));
    fs::remove_dir_all(&large.place)?;
    outcome?;
    show("large", "cargo xtask bench-backup --large", &large.rows.take())
}

/// Bytes that do not compress, and differ from place to place.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..DATA).map(|_| next()).collect()
}

impl Large {
    /// Runs a command of the backup and adds a row with what it took.
    fn took(&self, what: &str, step: &str, words: &[&str], out: Stdio) -> Result<(), Failure> {
        let mut command: Command = program(&self.binary, words.iter().copied());
        command
            .env("CUCULUS_BACKUP_REPO", self.place.join(what))
            .env("CUCULUS_BACKUP_PASSPHRASE", "a passphrase")
            .env("XDG_CACHE_HOME", self.place.join("cache"))
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::piped());
        let start = Instant::now();
        let (status, usage, said) = usage::of(command.spawn()?, start)?;
        if !status.success() {
            return Err(Failure::Failed(format!("{step} failed: {}", said.trim())));
        }
        let Usage { cpu_seconds, peak_bytes, .. } = usage;
        let peak = peak_bytes as f64 / 1e6;
        eprintln!("    {what}: {step}: {cpu_seconds:.1} CPU s, {peak:.1} MB");
        if step != "init" {
            self.rows
                .borrow_mut()
                .push_str(&format!("| {what}: {step} | {cpu_seconds:.1} | {peak:.1} |\n"));
        }
        if peak_bytes > MAX_BYTES {
            return Err(Failure::Failed(format!("{step} took {peak:.1} MB of memory")));
        }
        Ok(())
    }

    fn file(&self) -> Result<(), Failure> {
        let path = self.place.join("large file");
        let mut file = File::create(&path)?;
        file.set_len(FILE_SIZE)?;
        let places = FILE_SIZE / STRIDE;
        for number in 0..places {
            file.seek(SeekFrom::Start(number * STRIDE + number % 5000))?;
            file.write_all(&noise(number))?;
        }
        drop(file);
        println!("a file of {FILE_SIZE} bytes with {places} stretches of {DATA} bytes");
        let text = path.display().to_string();
        let target = self.place.join("restored");
        let into = target.display().to_string();
        for (step, words) in [
            ("init", &["init"][..]),
            ("backup", &["backup", &text]),
            ("backup --read-all", &["backup", &text, "--read-all"]),
            ("check", &["check"]),
            ("ls", &["ls", "latest"]),
            ("restore", &["restore", "latest", "--target", &into]),
        ] {
            self.took("file", step, words, Stdio::null())?;
        }
        let restored = File::open(target.join(text.trim_start_matches('/')))?;
        if restored.metadata()?.len() != FILE_SIZE {
            return Err(Failure::Failed("the restored file has another size".into()));
        }
        let mut bytes = vec![0; DATA];
        for number in 0..places {
            restored.read_exact_at(&mut bytes, number * STRIDE + number % 5000)?;
            if bytes != noise(number) {
                return Err(Failure::Failed(format!("stretch {number} came back wrong")));
            }
        }
        println!("all stretches came back");
        fs::remove_dir_all(&target)?;
        fs::remove_file(&path)?;
        fs::remove_dir_all(self.place.join("file"))?;
        Ok(())
    }

    fn directory(&self, files: u64) -> Result<(), Failure> {
        let path = self.place.join("many files");
        fs::create_dir(&path)?;
        let name = |number: u64| format!("file{number:07}");
        for number in 0..files {
            fs::write(path.join(name(number)), format!("contents of {number}"))?;
        }
        println!("a directory of {files} files");
        let text = path.display().to_string();
        for (step, words) in [
            ("init", &["init"][..]),
            ("backup", &["backup", &text]),
            ("backup, unchanged", &["backup", &text]),
            ("check", &["check"]),
        ] {
            self.took("files", step, words, Stdio::null())?;
        }
        let listing = self.place.join("listing");
        self.took("files", "ls", &["ls", "latest"], File::create(&listing)?.into())?;
        let mut lines = 0;
        let mut buffer = vec![0; 1 << 20];
        let mut listed = File::open(&listing)?;
        loop {
            match listed.read(&mut buffer)? {
                0 => break,
                read => {
                    lines += buffer[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
                }
            }
        }
        let above = Path::new(&text).components().count() as u64 - 1;
        if lines != files + above {
            return Err(Failure::Failed(format!("{lines} lines for {files} files")));
        }
        let chosen: Vec<u64> = (0..10).map(|part| part * files / 10 + 7).collect();
        let target = self.place.join("restored");
        let into = target.display().to_string();
        let mut words: Vec<String> =
            ["restore", "latest", "--target", &into].map(str::to_owned).to_vec();
        for number in &chosen {
            words.extend(["--include".to_owned(), format!("{text}/{}", name(*number))]);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.took("files", "restore of ten", &words, Stdio::null())?;
        for number in &chosen {
            let restored = target.join(text.trim_start_matches('/')).join(name(*number));
            if fs::read_to_string(restored)? != format!("contents of {number}") {
                return Err(Failure::Failed(format!("file {number} came back wrong")));
            }
        }
        println!("the restored files are right");
        Ok(())
    }
}
