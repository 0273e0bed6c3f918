//! Checks the packages of the crates that people install. Knows which crates these are and which
//! files each package must hold; cargo writes the packages.

use anyhow::{Result, ensure};

use crate::run::{cargo, output_of};
use crate::test::Steps;

/// Each after those it depends on.
const PUBLISHED: [&str; 6] =
    ["cuculus", "cuculus-file", "cuculus-page", "cuculus-papers", "cuculus-cli", "cuculus-backup"];
const REQUIRED: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Packages all crates, in one call because they depend on each other, and checks their files.
pub(crate) fn check(steps: &mut Steps) -> Result<()> {
    // Not compiled again: the other steps compile the same files.
    let mut words = vec!["package", "--quiet", "--no-verify", "--allow-dirty"];
    words.extend(PUBLISHED.iter().flat_map(|name| ["--package", name]));
    steps.cargo("packages", &words)?;
    for name in PUBLISHED {
        let list = ["package", "--list", "--allow-dirty", "--package", name];
        let list = output_of(&mut cargo(list))?;
        let missing = missing_from(&list);
        ensure!(
            missing.is_empty(),
            "the package {name} lacks {}; add the files to its directory",
            missing.join(", ")
        );
    }
    Ok(())
}

fn missing_from(list: &str) -> Vec<&'static str> {
    REQUIRED.into_iter().filter(|file| !list.lines().any(|line| line == *file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_a_folder_does_not_count() {
        assert_eq!(missing_from("README.md\nLICENSE-MIT\nLICENSE-APACHE\n"), Vec::<&str>::new());
        assert_eq!(
            missing_from("Cargo.toml\nLICENSE-MIT\ndocs/README.md\n"),
            ["README.md", "LICENSE-APACHE"]
        );
    }
}
