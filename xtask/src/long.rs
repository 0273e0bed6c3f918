//! Tests that run for as long as one likes: `cargo xtask promises` and the soak tests. The tests are those of
//! the crates, which take their numbers from the environment.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::run::{cargo, step};

/// A test whose output is shown.
fn test(package: &str, words: &[&str]) -> Command {
    let shown = ["--", "--nocapture", "--test-threads", "1"];
    cargo([&["test", "-p", package], words, &shown].concat())
}

/// How much of everything; 0 leaves a part out. Without --full it takes a minute or two.
#[derive(Args)]
pub(crate) struct Promises {
    /// The figures of the documents: a million keys, 200,000 files, 600,000 loaded keys; an hour or so
    #[arg(long)]
    full: bool,
    /// Chosen keys (default: 5,000)
    #[arg(long)]
    keys: Option<u64>,
    /// Forged files (default: 2,000)
    #[arg(long)]
    files: Option<u64>,
    /// Loaded keys, whose memory is measured (default: 100,000)
    #[arg(long)]
    loaded: Option<u64>,
    /// Forge files of one kind, such as Elastic
    #[arg(long)]
    kind: Option<String>,
}

/// The library against an enemy who knows the seed or writes the files, without memory, and after loading; prints
/// the tables. In the profile of the tests, which is optimised and checks more.
pub(crate) fn promises(numbers: &Promises) -> Result<()> {
    let chosen = |number: Option<u64>, small, full| {
        let number = number.unwrap_or(if numbers.full { full } else { small });
        (number > 0).then(|| number.to_string())
    };
    let suite = |name: &str| test("cuculus", &["--test", name]);
    let papers = |name: &str| test("cuculus-papers", &["--test", "all", name]);
    if let Some(keys) = chosen(numbers.keys, 5000, 1_000_000) {
        let keys = ("CUCULUS_CHOSEN_KEYS", keys);
        let mut library = test("cuculus", &["--test", "enemy", "chosen_keys"]);
        step("chosen keys", library.envs([keys.clone()]))?;
        let mut others = papers("chosen_keys");
        step("chosen keys, filters of the papers", others.envs([keys.clone()]))?;
        let mut hashes = test("cuculus", &["--test", "enemy", "hashes"]);
        step("hash functions", hashes.envs([keys]))?;
        step("memory that is refused", &mut suite("failing_memory"))?;
        step("memory that is refused, filters of the papers", &mut papers("failing_memory"))?;
    }
    if let Some(loaded) = chosen(numbers.loaded, 100_000, 600_000) {
        let loaded = ("CUCULUS_LOADED_KEYS", loaded);
        step("memory after loading", suite("loaded_memory").envs([loaded.clone()]))?;
        let mut others = papers("loaded_memory");
        step("memory after loading, filters of the papers", others.envs([loaded]))?;
    }
    if let Some(files) = chosen(numbers.files, 2000, 200_000) {
        let mut forged = test("cuculus-fuzz", &["--lib", "forged"]);
        forged.envs(numbers.kind.as_ref().map(|kind| ("CUCULUS_FORGED_KIND", kind)));
        step("forged files", forged.env("CUCULUS_FORGED_FILES", files))?;
    }
    Ok(())
}

#[derive(Args)]
pub(crate) struct Soak {
    #[arg(long, default_value_t = 100_000_000)]
    operations: u64,
    /// Of the random operations
    #[arg(long)]
    seed: Option<u64>,
    /// The most items of a filter
    #[arg(long)]
    items: Option<u64>,
}

pub(crate) fn soak(numbers: &Soak) -> Result<()> {
    let words = ["--release", "--test", "soak", "--", "--exact", "every_kind_of_filter"];
    let mut command = cargo([&["test", "-p", "cuculus"], &words[..], &["--nocapture"]].concat());
    command.env("CUCULUS_SOAK_OPERATIONS", numbers.operations.to_string());
    command.envs(numbers.seed.map(|seed| ("CUCULUS_SOAK_SEED", seed.to_string())));
    command.envs(numbers.items.map(|items| ("CUCULUS_SOAK_ITEMS", items.to_string())));
    step("soak", &mut command)
}

#[derive(Args)]
pub(crate) struct SoakShared {
    #[arg(long, default_value_t = 3600)]
    seconds: u64,
}

pub(crate) fn soak_shared(numbers: &SoakShared) -> Result<()> {
    let mut command = test("cuculus", &["--release", "--test", "shared_stress"]);
    step("soak-shared", command.env("CUCULUS_STRESS_SECONDS", numbers.seconds.to_string()))
}

#[derive(Args)]
pub(crate) struct SoakBackup {
    /// Processes that are killed
    #[arg(long, default_value_t = 2000)]
    kills: u64,
    /// Rounds of damage
    #[arg(long, default_value_t = 500)]
    rounds: u64,
}

/// On encrypted repositories, with more changed bytes too.
pub(crate) fn soak_backup(numbers: &SoakBackup) -> Result<()> {
    let words = ["test", "--release", "-p", "cuculus-backup", "--test", "suite", "--"];
    let tests = ["--nocapture", "crash::", "damage::", "rounds::"];
    let mut command = cargo(words.into_iter().chain(tests));
    command.env("CUCULUS_BACKUP_KILLS", numbers.kills.to_string());
    command.env("CUCULUS_BACKUP_ROUNDS", numbers.rounds.to_string());
    step("soak-backup", command.env("CUCULUS_BACKUP_BYTES", "2000"))
}
