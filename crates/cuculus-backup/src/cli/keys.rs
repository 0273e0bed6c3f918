//! What `key` does.

use cuculus_backup::Result;
use serde_json::json;

use super::arguments::Key;
use super::commands::Cli;
use super::{Outcome, passphrase};

pub(super) fn run(cli: &Cli<'_>, command: &Key, current: &str) -> Result<Outcome> {
    let repository = &cli.repository;
    match command {
        Key::List => {
            let keys = repository.keys(current)?;
            cli.print(&keys, || {
                let line = |key: &cuculus_backup::Key| {
                    let own = if key.current { "  (your passphrase)" } else { "" };
                    format!("{}{own}", key.name)
                };
                keys.iter().map(line).collect::<Vec<_>>().join("\n")
            })
        }
        Key::Add(options) => {
            // What is wrong with the old one is said before a new one is asked for.
            repository.keys(current)?;
            let name = repository.add_passphrase(current, &passphrase::find_new(options)?)?;
            cli.print(&json!({ "added": name.to_string() }), || format!("added the key {name}"))
        }
        Key::Change(options) => {
            repository.keys(current)?;
            repository.change_passphrase(current, &passphrase::find_new(options)?)?;
            cli.print(&json!({ "changed": true }), || {
                "changed; the old passphrase opens the repository no longer".into()
            })
        }
        Key::Remove { key } => {
            let name = repository.remove_passphrase(current, key)?;
            cli.print(&json!({ "removed": name.to_string() }), || format!("removed the key {name}"))
        }
    }
}
