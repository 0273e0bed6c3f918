//! Which paths are left out of a backup. Knows patterns and paths.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::error::{Error, Result};

/// Patterns with a slash match whole paths; others match names in any directory.
pub(super) struct Exclude {
    paths: GlobSet,
    names: GlobSet,
}

impl Exclude {
    pub(super) fn new(patterns: &[String]) -> Result<Self> {
        let (mut paths, mut names) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let trimmed = pattern.trim_end_matches('/');
            let invalid = |error: globset::Error| Error::InvalidPattern {
                pattern: pattern.clone(),
                reason: error.kind().to_string(),
            };
            let whole = trimmed.contains('/');
            // "*" does not match a slash; "**" does.
            let glob =
                GlobBuilder::new(trimmed).literal_separator(true).build().map_err(invalid)?;
            if whole {
                paths.add(glob)
            } else {
                names.add(glob)
            };
        }
        let build = |set: GlobSetBuilder| {
            set.build().map_err(|error| Error::InvalidPattern {
                pattern: patterns.join(" "),
                reason: error.to_string(),
            })
        };
        Ok(Self { paths: build(paths)?, names: build(names)? })
    }

    pub(super) fn matches(&self, path: &Path) -> bool {
        self.paths.is_match(path)
            || (!self.names.is_empty()
                && path.file_name().is_some_and(|name| self.names.is_match(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_with_a_slash_are_for_paths_and_others_for_names() {
        let patterns = ["*.o", "/home/*/cache/", "/srv/**/tmp"].map(String::from);
        let exclude = Exclude::new(&patterns).expect("patterns");
        for path in ["/a/b/c.o", "/x.o", "/home/u/cache", "/srv/a/b/tmp"] {
            assert!(exclude.matches(Path::new(path)), "{path}");
        }
        for path in ["/a/b/c.oo", "/home/u/v/cache", "/srv/a/tmpx", "/cache"] {
            assert!(!exclude.matches(Path::new(path)), "{path}");
        }
        assert!(Exclude::new(&["[".to_owned()]).is_err());
    }
}
