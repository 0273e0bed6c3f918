//! Asks before a command changes the system. Knows `--yes`, `CI` and the terminal; nothing of packages.

use std::env;
use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::OnceLock;

use crate::run::Failure;

/// Whether it was agreed to before: `--yes` on the command line, or a yes to the first question.
static AGREED: OnceLock<()> = OnceLock::new();

/// Takes `--yes` out of the arguments of any command, and remembers it. `CI` in the environment, which
/// services for tests set, is a yes too.
pub(crate) fn take_yes(arguments: &mut Vec<String>) {
    let before = arguments.len();
    arguments.retain(|word| word != "--yes");
    let is_ci = env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    if arguments.len() < before || is_ci {
        let _ = AGREED.set(());
    }
}

/// Says what is missing and how much it is, and asks whether to install it.
pub(crate) fn to(missing: &[&str], size: &str) -> Result<(), Failure> {
    let names = missing.join(" ");
    println!("==> missing: {names}");
    println!("    `apt-get install {names}` as root installs it. {size}");
    if AGREED.get().is_some() {
        return Ok(());
    }
    let refused = || {
        Failure::Failed(format!(
            "nothing was installed; add --yes to install it, or run `sudo apt-get install {names}`"
        ))
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
        let mut words = vec!["--items".to_owned(), "5".to_owned()];
        if env::var_os("CI").is_none() && !io::stdin().is_terminal() {
            take_yes(&mut words);
            let refused = to(&["clang"], "").map_err(|failure| failure.to_string());
            assert!(refused.is_err_and(|said| said.contains("add --yes")));
        }
        words.insert(1, "--yes".to_owned());
        take_yes(&mut words);
        assert_eq!(words, ["--items", "5"]);
        assert!(to(&["clang"], "").is_ok());
    }
}
