//! The subcommands of `key`.

use serde_json::json;

use super::arguments::Key;
use super::commands::Cli;
use super::{Outcome, Result, passphrase};

pub(super) fn run(cli: &Cli<'_>, command: &Key, current: &str) -> Result<Outcome> {
    let repository = &cli.repository;
    match command {
        Key::List => {
            let keys = repository.keys(current)?;
            cli.print(&keys, || {
                let line = |key: &cuculus_backup::KeyInfo| {
                    let own = if key.current { "  (your passphrase)" } else { "" };
                    format!("{}{own}", key.name)
                };
                keys.iter().map(line).collect::<Vec<_>>().join("\n")
            })
        }
        Key::Add(options) => {
            // A wrong old passphrase is reported before a new one is asked for.
            repository.keys(current)?;
            let name = repository.add_passphrase(current, &passphrase::find_new(options)?)?;
            cli.print(&json!({ "added": name.to_string() }), || format!("added key {name}"))
        }
        Key::Change(options) => {
            repository.keys(current)?;
            repository.change_passphrase(current, &passphrase::find_new(options)?)?;
            cli.print(&json!({ "changed": true }), || {
                "changed; the old passphrase no longer opens the repository".into()
            })
        }
        Key::Remove { key } => {
            let name = repository.remove_passphrase(current, key)?;
            cli.print(&json!({ "removed": name.to_string() }), || format!("removed key {name}"))
        }
    }
}
