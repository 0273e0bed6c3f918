//! Commands on snapshots that a filter chooses: `find`, `tag`, `copy`.

use std::io::{self, BufWriter, Write};

use cuculus_backup::{Name, Snapshot, TagChange};
use serde_json::json;

use super::arguments::{Copy, Filter, Tag};
use super::commands::{Cli, failed, open, snapshot_line};
use super::passphrase::Source;
use super::progress::Unit;
use super::{Outcome, Result, text, usage};

impl Cli<'_> {
    pub(super) fn find(
        &self,
        patterns: &[String],
        snapshot: Option<&str>,
        long: bool,
        filter: &Filter,
    ) -> Result<Outcome> {
        let snapshots = match snapshot {
            Some(word) => vec![self.snapshot(word, filter)?],
            None => self.repository.snapshots_where(&filter.chosen())?,
        };
        let mut out = BufWriter::new(io::stdout().lock());
        for snapshot in &snapshots {
            let mut is_first = true;
            self.repository.find_paths(snapshot, patterns, &mut |listed| {
                if self.arguments.json {
                    let found: serde_json::Value =
                        serde_json::from_str(&self.listed(listed, long)).unwrap_or_default();
                    let line = json!({ "snapshot": snapshot.name, "found": found });
                    return writeln!(out, "{line}").map_err(failed);
                }
                if std::mem::take(&mut is_first) {
                    writeln!(out, "{}", snapshot_line(snapshot)).map_err(failed)?;
                }
                writeln!(out, "  {}", self.listed(listed, long)).map_err(failed)
            })?;
        }
        out.flush().map_err(failed)?;
        Ok(Outcome::Done)
    }

    /// The named snapshots, or all that the filter chooses.
    fn several(
        repository: &cuculus_backup::Repository,
        names: &[String],
        filter: &Filter,
    ) -> Result<Vec<Snapshot>> {
        let filter = filter.chosen();
        if names.is_empty() {
            return Ok(repository.snapshots_where(&filter)?);
        }
        let one = |name: &String| Ok(repository.snapshot_where(name, &filter)?);
        names.iter().map(one).collect()
    }

    pub(super) fn tag(&self, options: &Tag) -> Result<Outcome> {
        let change = TagChange {
            set: (!options.set.is_empty()).then(|| options.set.clone()),
            add: options.add.clone(),
            remove: options.remove.clone(),
        };
        if change == TagChange::default() {
            return Err(usage("nothing to change; use --set, --add or --remove"));
        }
        let snapshots = Self::several(&self.repository, &options.snapshots, &options.filter)?;
        let changed = self.repository.change_tags(&snapshots, &change)?;
        let value: Vec<_> = changed
            .iter()
            .map(|(old, new)| json!({ "was": old, "name": new.name, "tags": new.tags }))
            .collect();
        self.print(&value, || {
            let line = |(old, new): &(Name, Snapshot)| {
                format!("{}  (was {})", snapshot_line(new), old.short())
            };
            let mut lines: Vec<String> = changed.iter().map(line).collect();
            lines.push(format!("{} changed", changed.len()));
            lines.join("\n")
        })
    }

    pub(super) fn copy(&self, options: &Copy) -> Result<Outcome> {
        let source = Source {
            file: options.from_passphrase_file.as_ref(),
            command: options.from_passphrase_command.as_ref(),
            variable: "CUCULUS_BACKUP_FROM_PASSPHRASE",
            prompt: "Passphrase of the repository to copy from: ",
            new: false,
        };
        let (other, _) = open(self.arguments, &options.from_repo, &source)?;
        let snapshots = Self::several(&other, &options.snapshots, &options.filter)?;
        let report = self.repository.copy_from(&other, &snapshots, &self.progress(Unit::Bytes))?;
        self.print(&report, || {
            let line = |(from, to): &(Name, Name)| {
                format!("snapshot {} is a copy of {}", to.short(), from.short())
            };
            let mut lines: Vec<String> = report.copied.iter().map(line).collect();
            lines.push(format!(
                "{} copied, {} were here already; {} new, stored as {}",
                report.copied.len(),
                report.present.len(),
                text::bytes(report.new_bytes),
                text::bytes(report.stored_bytes)
            ));
            lines.join("\n")
        })
    }
}
