//! Asks before a command changes the system. Knows `--yes`, `CI` and the terminal; nothing of packages.

use std::env;
use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::OnceLock;

use anyhow::{Result, anyhow};

/// Whether it was agreed to before: `--yes` on the command line, or a yes to the first question.
static AGREED: OnceLock<()> = OnceLock::new();

/// The arguments of any command without `--yes`, which is remembered. `CI` in the environment, which
/// services for tests set, is a yes too.
pub(crate) fn without_yes(words: impl Iterator<Item = String>) -> Vec<String> {
    let (yes, others): (Vec<_>, Vec<_>) = words.partition(|word| word == "--yes");
    let is_ci = env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    if !yes.is_empty() || is_ci {
        let _ = AGREED.set(());
    }
    others
}

/// Says what is missing and how much it is, and asks whether to install it.
pub(crate) fn to(missing: &[&str], size: &str) -> Result<()> {
    let names = missing.join(" ");
    println!("==> missing: {names}");
    println!("    `apt-get install {names}` as root installs it. {size}");
    if AGREED.get().is_some() {
        return Ok(());
    }
    let refused = || {
        anyhow!(
            "nothing was installed; add --yes to install it, or run `sudo apt-get install {names}`"
        )
    };
    if !io::stdin().is_terminal() {
        return Err(refused());
    }
    print!("    Install it now? [y/N] ");
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if !is_yes(&answer) {
        return Err(refused());
    }
    let _ = AGREED.set(());
    Ok(())
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        for (answer, expected) in [
            ("y\n", true),
            (" YES \n", true),
            ("\n", false),
            ("", false),
            ("n\n", false),
            ("yy\n", false),
        ] {
            assert_eq!(is_yes(answer), expected, "{answer:?}");
        }
    }

    /// Tests have no terminal, so the answer is no until it is given on the command line.
    #[test]
    fn nothing_is_installed_without_a_yes() {
        let words = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            without_yes(words.into_iter()).join(" ")
        };
        if env::var_os("CI").is_none() && !io::stdin().is_terminal() {
            assert_eq!(words("soak --items 5"), "soak --items 5");
            let refused = to(&["clang"], "").map_err(|error| error.to_string());
            assert!(refused.is_err_and(|said| said.contains("add --yes")));
        }
        assert_eq!(words("soak --yes --items 5"), "soak --items 5");
        assert!(to(&["clang"], "").is_ok());
    }
}
