//! What each subcommand does, and how its report reads.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use clap::CommandFactory;
use cuculus_backup::{
    BackupOptions, Change, Error, Keep, ListEntry, Lock, Name, Parameters, PruneOptions,
    PruneReport, ReadData, Repository, RestoreOptions, Snapshot,
};
use serde::Serialize;
use serde_json::json;

use zeroize::Zeroizing;

use super::arguments::{Arguments, Backup, Command, Filter, Forget, Init, Restore};
use super::progress::{TerminalProgress, Unit};
use super::{Outcome, Result, lists, passphrase, text, usage};

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    match &arguments.command {
        Command::Completions { shell } => return completions(*shell),
        Command::Manual { directory } => return manual_pages(directory),
        Command::Mount { .. } if cfg!(not(feature = "mount")) => {
            return Err(usage(
                "this program was built without `mount`; install it with `cargo install cuculus-backup \
                 --features mount`",
            ));
        }
        _ => {}
    }
    let repo = arguments
        .repo
        .as_deref()
        .ok_or_else(|| usage("no repository; use --repo LOCATION, or set CUCULUS_BACKUP_REPO"))?;
    if let Command::Init(options) = &arguments.command {
        return init(arguments, repo, options);
    }
    let (repository, passphrase) = open(arguments, repo, &arguments.passphrase())?;
    // `check` has them in its report.
    if !matches!(arguments.command, Command::Check { .. }) || arguments.accept_missing_snapshots {
        warn_of_missing(&repository, arguments.accept_missing_snapshots)?;
    }
    let cli = Cli { arguments, repository };
    match &arguments.command {
        Command::Init(_) | Command::Completions { .. } | Command::Manual { .. } => {
            Ok(Outcome::Done)
        }
        Command::Mount { target, filter } => mount(cli.repository, target, filter),
        Command::Backup(options) => cli.backup(options),
        Command::Snapshots(filter) => cli.snapshots(filter),
        Command::Ls { snapshot, path, long, filter } => {
            let snapshot = cli.snapshot(snapshot, filter)?;
            cli.ls(&snapshot, path.as_deref(), *long)
        }
        Command::Find { patterns, snapshot, long, filter } => {
            cli.find(patterns, snapshot.as_deref(), *long, filter)
        }
        Command::Diff { first, second, filter } => {
            cli.diff(&cli.snapshot(first, filter)?, &cli.snapshot(second, filter)?)
        }
        Command::Dump { snapshot, path, filter } => {
            let snapshot = cli.snapshot(snapshot, filter)?;
            cli.repository.dump(&snapshot, path, &mut io::stdout().lock())?;
            Ok(Outcome::Done)
        }
        Command::Restore(options) => cli.restore(options),
        Command::Forget(options) => cli.forget(options),
        Command::Tag(options) => cli.tag(options),
        Command::Copy(options) => cli.copy(options),
        Command::Prune(options) => {
            let max_unused = options.max_unused.map(|percent| percent / 100.0);
            let report = cli.prune(&PruneOptions { max_unused, dry_run: options.dry_run })?;
            cli.print(&report, || prune_text(&report, options.dry_run))
        }
        Command::Check { read_data, read_data_subset } => cli.check(match read_data_subset {
            Some(subset) => *subset,
            None if *read_data => ReadData::Everything,
            None => ReadData::Nothing,
        }),
        Command::Unlock { locks } => cli.unlock(locks),
        Command::Repair => cli.repair(),
        Command::Key(command) => {
            let current = passphrase.as_ref().map(|text| text.as_str()).unwrap_or_default();
            cli.key(command, current)
        }
        Command::Stats => cli.stats(),
    }
}

#[cfg_attr(
    not(feature = "mount"),
    expect(unused_variables, clippy::needless_pass_by_value, reason = "refused before")
)]
fn mount(repository: Repository, target: &Path, filter: &Filter) -> Result<Outcome> {
    #[cfg(feature = "mount")]
    repository.mount(target, &filter.chosen())?;
    Ok(Outcome::Done)
}

/// Opens a repository, and prints what the user should know of it.
pub(super) fn open(
    arguments: &Arguments,
    repo: &Path,
    source: &passphrase::Source<'_>,
) -> Result<(Repository, Option<Zeroizing<String>>)> {
    let found = Repository::find(repo)?
        .cache_in(arguments.cache_dir.as_deref())
        .remembered(arguments.new_repository_id);
    // One that was given for an encrypted repository must not be ignored.
    let passphrase = if found.needs_passphrase() { source.find()? } else { source.given()? };
    let repository = found.open(passphrase.as_ref().map(|text| text.as_str()))?;
    repository.warnings().iter().for_each(|warning| crate::print_error(warning));
    Ok((repository, passphrase))
}

fn warn_of_missing(repository: &Repository, accept: bool) -> Result<()> {
    let missing = repository.missing_snapshots(accept)?;
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = missing.iter().map(Name::short).collect();
    let advice = if accept { "accepted" } else { "--accept-missing-snapshots accepts that" };
    crate::print_error(&format!(
        "warning: snapshots that this machine has seen are gone, and nobody with the key has \
         forgotten them: {}; the repository may have been rolled back; {advice}",
        names.join(" ")
    ));
    Ok(())
}

/// Made from the definition of the arguments, as the manual pages are.
fn completions(shell: clap_complete::Shell) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "cuculus-backup", &mut script);
    io::stdout().write_all(&script).map_err(failed)?;
    Ok(Outcome::Done)
}

/// One page for the program and one for each command.
fn manual_pages(folder: &Path) -> Result<Outcome> {
    let cannot = |source| Error::Io { what: format!("cannot write {}", folder.display()), source };
    std::fs::create_dir_all(folder).map_err(cannot)?;
    clap_mangen::generate_to(Arguments::command(), folder).map_err(cannot)?;
    Ok(Outcome::Done)
}

fn init(arguments: &Arguments, repo: &Path, options: &Init) -> Result<Outcome> {
    let mut parameters = Parameters::with_mean_chunk(options.chunk_size.saturating_mul(1024));
    parameters.compression_level = options.compression;
    parameters.kdf_memory_kib = options.kdf_memory.saturating_mul(1024);
    parameters.kdf_passes = options.kdf_passes;
    let source = passphrase::Source { new: true, ..arguments.passphrase() };
    let passphrase = if options.no_encryption { None } else { source.find()? };
    if passphrase.is_none() && !options.no_encryption {
        return Err(usage(
            "no passphrase; set CUCULUS_BACKUP_PASSPHRASE, use --passphrase-file or \
             --passphrase-command, or create the repository with --no-encryption",
        ));
    }
    Repository::create(repo, &parameters, passphrase.as_ref().map(|text| text.as_str()))?;
    // From now on this machine expects this repository here; one that was here before is forgotten.
    let found = Repository::find(repo)?.cache_in(arguments.cache_dir.as_deref()).remembered(true);
    let opened = found.open(passphrase.as_ref().map(|text| text.as_str()))?;
    opened.warnings().iter().for_each(|warning| crate::print_error(warning));
    let (id, encrypted) = (opened.id(), passphrase.is_some());
    let location = repo.display().to_string();
    let value = json!({ "repository": location, "id": id, "encrypted": encrypted });
    Cli { arguments, repository: opened }.print(&value, || {
        let how = if encrypted {
            "encrypted; without the passphrase nobody can read it"
        } else {
            "not encrypted"
        };
        format!("created the repository {location} with id {} ({how})", id.short())
    })
}

pub(super) fn failed(source: io::Error) -> Error {
    Error::Io { what: "cannot write to standard output".into(), source }
}

pub(super) struct Cli<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) repository: Repository,
}

impl Cli<'_> {
    pub(super) fn progress(&self, unit: Unit) -> TerminalProgress {
        TerminalProgress::new(unit, self.arguments.progress, self.arguments.quiet)
    }

    /// Prints one line: JSON for programs, or text for people.
    pub(super) fn print(
        &self,
        value: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<Outcome> {
        let line = if self.arguments.json {
            serde_json::to_string(value).map_err(|error| failed(error.into()))?
        } else if self.arguments.quiet {
            return Ok(Outcome::Done);
        } else {
            text()
        };
        writeln!(io::stdout(), "{line}").map_err(failed)?;
        Ok(Outcome::Done)
    }

    fn backup(&self, given: &Backup) -> Result<Outcome> {
        let options = BackupOptions {
            paths: lists::paths(given)?,
            exclude: lists::patterns(given)?,
            exclude_caches: given.exclude_caches,
            one_file_system: given.one_file_system,
            read_all: given.read_all,
            tags: given.tag.clone(),
            host: given.host.clone(),
            time: given.time.map(|time| u64::try_from(time.as_nanosecond()).unwrap_or(0)),
            dry_run: given.dry_run,
        };
        let progress = self.progress(Unit::Bytes);
        let report = if given.stdin {
            let mut input = io::stdin().lock();
            self.repository.backup_stream(&options, &given.stdin_name, &mut input, &progress)?
        } else {
            self.repository.backup(&options, &progress)?
        };
        drop(progress);
        self.print(&report, || {
            let what = match &report.snapshot {
                Some(name) => format!("snapshot {}", name.short()),
                None => "dry run".into(),
            };
            let mut message = format!(
                "{what}: {} files ({} unchanged), {}; {} new chunks, {}, stored as {}",
                report.files,
                report.unchanged_files,
                text::bytes(report.bytes),
                report.new_chunks,
                text::bytes(report.new_bytes),
                text::bytes(report.stored_bytes),
            );
            if report.problems > 0 {
                message += &format!("; {} files had problems, see above", report.problems);
            }
            message
        })?;
        Ok(if report.problems > 0 { Outcome::Incomplete } else { Outcome::Done })
    }

    pub(super) fn snapshot(&self, word: &str, filter: &Filter) -> Result<Snapshot> {
        Ok(self.repository.snapshot_where(word, &filter.chosen())?)
    }

    fn snapshots(&self, filter: &Filter) -> Result<Outcome> {
        let snapshots = self.repository.snapshots_where(&filter.chosen())?;
        let values: Vec<_> = snapshots.iter().map(snapshot_json).collect();
        let others = if values.is_empty() { self.repository.snapshots()? } else { Vec::new() };
        self.print(&values, || {
            let lines: Vec<String> = snapshots.iter().map(snapshot_line).collect();
            if lines.is_empty() { none_of(&others) } else { lines.join("\n") }
        })
    }

    fn ls(&self, snapshot: &Snapshot, path: Option<&Path>, long: bool) -> Result<Outcome> {
        let mut out = BufWriter::new(io::stdout().lock());
        self.repository.list(snapshot, path, &mut |listed| {
            writeln!(out, "{}", self.listed(listed, long)).map_err(failed)
        })?;
        out.flush().map_err(failed)?;
        Ok(Outcome::Done)
    }

    pub(super) fn listed(&self, listed: &ListEntry, long: bool) -> String {
        if self.arguments.json {
            listed_json(listed).to_string()
        } else if long {
            listed_line(listed)
        } else {
            text::escaped(&listed.path)
        }
    }

    fn diff(&self, first: &Snapshot, second: &Snapshot) -> Result<Outcome> {
        let mut out = BufWriter::new(io::stdout().lock());
        self.repository.diff(first, second, &mut |change, path| {
            let (sign, word) = match change {
                Change::Added => ('+', "added"),
                Change::Removed => ('-', "removed"),
                Change::Contents => ('M', "contents"),
                Change::Metadata => ('m', "metadata"),
            };
            let path = text::escaped(path);
            let line = if self.arguments.json {
                json!({ "change": word, "path": path }).to_string()
            } else {
                format!("{sign} {path}")
            };
            writeln!(out, "{line}").map_err(failed)
        })?;
        out.flush().map_err(failed)?;
        Ok(Outcome::Done)
    }

    fn restore(&self, options: &Restore) -> Result<Outcome> {
        let snapshot = self.snapshot(&options.snapshot, &options.filter)?;
        let options = RestoreOptions {
            target: options.target.clone(),
            include: options.include.clone(),
            overwrite: options.overwrite,
            dry_run: options.dry_run,
        };
        let report = self.repository.restore(&snapshot, &options, &self.progress(Unit::Bytes))?;
        self.print(&report, || {
            let done = if options.dry_run { "can be restored" } else { "restored" };
            let mut message = format!(
                "{} files and links, {} directories, {} {done}",
                report.files,
                report.directories,
                text::bytes(report.bytes)
            );
            if report.problems > 0 {
                message += &format!("; {} had problems, see above", report.problems);
            }
            message
        })?;
        Ok(if report.problems > 0 { Outcome::Incomplete } else { Outcome::Done })
    }

    fn forget(&self, options: &Forget) -> Result<Outcome> {
        let keep = Keep {
            last: options.keep_last,
            hourly: options.keep_hourly,
            daily: options.keep_daily,
            weekly: options.keep_weekly,
            monthly: options.keep_monthly,
            yearly: options.keep_yearly,
            within: options.keep_within,
            tags: options.keep_tag.clone(),
        };
        let (filter, by) = (options.filter.chosen(), options.group_by);
        let names = &options.snapshots;
        let done = self.repository.forget(names, &keep, &filter, by, options.dry_run)?;
        let prune = options.prune && !options.dry_run;
        let pruned = if prune { Some(self.prune(&PruneOptions::default())?) } else { None };
        let names = |snapshots: &[Snapshot]| -> Vec<Name> {
            snapshots.iter().map(|snapshot| snapshot.name).collect()
        };
        let value = json!({
            "forgotten": names(&done.forgotten),
            "kept": names(&done.kept),
            "prune": pruned,
        });
        self.print(&value, || {
            let mut lines: Vec<String> = done.forgotten.iter().map(snapshot_line).collect();
            let verb = if options.dry_run { "would be forgotten" } else { "forgotten" };
            lines.push(format!("{} {verb}, {} kept", done.forgotten.len(), done.kept.len()));
            lines.extend(pruned.as_ref().map(|report| prune_text(report, false)));
            lines.join("\n")
        })
    }

    fn prune(&self, options: &PruneOptions) -> Result<PruneReport> {
        Ok(self.repository.prune(options, &self.progress(Unit::Steps))?)
    }

    fn check(&self, read_data: ReadData) -> Result<Outcome> {
        let report = self.repository.check(read_data, &self.progress(Unit::Bytes))?;
        self.print(&report, || {
            let mut lines: Vec<String> =
                report.notes.iter().map(|note| format!("note: {note}")).collect();
            let verdict = match report.errors.len() {
                0 => "no damage".to_owned(),
                count => format!("{count} errors, see above"),
            };
            lines.push(format!(
                "{} snapshots, {} packs, {} chunks, {} read: {verdict}",
                report.snapshots,
                report.packs,
                report.chunks,
                text::bytes(report.read_bytes)
            ));
            lines.join("\n")
        })?;
        Ok(if report.errors.is_empty() { Outcome::Done } else { Outcome::CheckFailed })
    }

    fn unlock(&self, names: &[String]) -> Result<Outcome> {
        let remove = !names.is_empty();
        let locks =
            if remove { self.repository.unlock(names)? } else { self.repository.locks()? };
        self.print(&json!({ "locks": locks, "removed": remove }), || {
            let line = |lock: &Lock| {
                let state = match (remove, lock.counts) {
                    (true, _) => "removed",
                    (false, true) => "at work, or may be",
                    (false, false) => "dead; any other command removes it",
                };
                format!(
                    "{}  {}  {}  process {} on {}: {state}",
                    lock.name.short(),
                    text::time(i64::try_from(lock.heartbeat).unwrap_or(0)),
                    lock.work,
                    lock.process,
                    text::escaped(lock.host.as_bytes()),
                )
            };
            let lines: Vec<String> = locks.iter().map(line).collect();
            if lines.is_empty() { "no locks".into() } else { lines.join("\n") }
        })
    }

    fn repair(&self) -> Result<Outcome> {
        let report = self.repository.repair(&self.progress(Unit::Bytes))?;
        self.print(&report, || {
            let mut lines: Vec<String> = Vec::new();
            for name in &report.snapshots {
                lines.push(format!("snapshot {name} was damaged and has been removed"));
            }
            for damaged in &report.damaged_paths {
                let snapshot = damaged.snapshot.short();
                let path = text::escaped(damaged.path.as_bytes());
                lines.push(format!("damaged: {snapshot} {path}"));
            }
            if report.configurations > 0 {
                lines.push(format!("{} configurations replaced", report.configurations));
            }
            let mut message = format!(
                "{} packs and {} index runs replaced, {} chunks lost",
                report.packs, report.runs, report.lost_chunks
            );
            if !report.damaged_paths.is_empty() {
                message += &format!(
                    "; {} files are damaged: back them up again, or forget the snapshots",
                    report.damaged_paths.len()
                );
            }
            if !report.waits_for.is_empty() {
                let who = report.waits_for.join(", ");
                message += &format!("; prune when {who} has ended, to remove damaged packs");
            }
            lines.push(message);
            lines.join("\n")
        })?;
        Ok(if report.damaged_paths.is_empty() { Outcome::Done } else { Outcome::CheckFailed })
    }

    fn stats(&self) -> Result<Outcome> {
        let stats = self.repository.stats()?;
        self.print(&stats, || {
            format!(
                "{} snapshots with {} of files\n{} chunks with {}, stored in {} packs with {}\n\
                 {} index runs with {}; their filters use {} of memory\n{} in total",
                stats.snapshots,
                text::bytes(stats.logical_bytes),
                stats.chunks,
                text::bytes(stats.chunk_bytes),
                stats.packs,
                text::bytes(stats.pack_bytes),
                stats.index_runs,
                text::bytes(stats.index_bytes),
                text::bytes(stats.filter_bytes),
                text::bytes(stats.repository_bytes),
            )
        })
    }
}

fn prune_text(report: &PruneReport, dry_run: bool) -> String {
    let (would, freed) = if dry_run {
        ("would be ", String::new())
    } else {
        ("", format!(", {} freed", text::bytes(report.freed_bytes)))
    };
    let mut message = format!(
        "{} in use, {} unused; of {} packs {} {would}removed and {} {would}rewritten{freed}",
        text::bytes(report.used_bytes),
        text::bytes(report.unused_bytes),
        report.packs,
        report.dead_packs,
        report.rewritten_packs,
    );
    if !report.waits_for.is_empty() {
        let who = report.waits_for.join(", ");
        message +=
            &format!("; some packs are still needed by {who}: prune again when it has ended");
    }
    message
}

/// No snapshot is listed, though these are there.
fn none_of(others: &[Snapshot]) -> String {
    let host = |snapshot: &Snapshot| text::escaped(snapshot.host.as_bytes());
    let hosts: Vec<String> = others.iter().map(host).collect::<BTreeSet<_>>().into_iter().collect();
    match others.len() {
        0 => "no snapshots yet".into(),
        count => format!("none of {count} snapshots matches; they are of {}", hosts.join(", ")),
    }
}

pub(super) fn snapshot_line(snapshot: &Snapshot) -> String {
    let paths: Vec<String> = snapshot.paths.iter().map(|path| text::escaped(path)).collect();
    let tags: String =
        snapshot.tags.iter().map(|tag| format!(" [{}]", text::escaped(tag.as_bytes()))).collect();
    format!(
        "{}  {}  {}  {:>8} files  {:>10}  {}{tags}",
        snapshot.name.short(),
        text::time((snapshot.time / 1_000_000_000) as i64),
        text::escaped(snapshot.host.as_bytes()),
        snapshot.files,
        text::bytes(snapshot.bytes),
        paths.join(" "),
    )
}

fn snapshot_json(snapshot: &Snapshot) -> serde_json::Value {
    let paths: Vec<String> = snapshot.paths.iter().map(|path| text::escaped(path)).collect();
    json!({
        "name": snapshot.name,
        "time": snapshot.time / 1_000_000_000,
        "time_ns": snapshot.time,
        "host": snapshot.host,
        "paths": paths,
        "tags": snapshot.tags,
        "files": snapshot.files,
        "bytes": snapshot.bytes,
        "problems": snapshot.unreadable,
    })
}

fn listed_line(listed: &ListEntry) -> String {
    let arrow = listed.target.as_ref().map(|to| format!(" -> {}", text::escaped(to)));
    format!(
        "{} {:>5} {:>5} {:>12} {}  {}{}",
        text::mode(listed.kind, listed.mode),
        listed.uid,
        listed.gid,
        listed.size,
        text::time(listed.modified.0),
        text::escaped(&listed.path),
        arrow.unwrap_or_default(),
    )
}

fn listed_json(listed: &ListEntry) -> serde_json::Value {
    json!({
        "path": text::escaped(&listed.path),
        "kind": listed.kind.to_string(),
        "mode": listed.mode,
        "uid": listed.uid,
        "gid": listed.gid,
        "size": listed.size,
        "modified": [listed.modified.0, i64::from(listed.modified.1)],
        "target": listed.target.as_ref().map(|to| text::escaped(to)),
    })
}
