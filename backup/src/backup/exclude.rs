//! Which paths are left out of a backup. Knows patterns as in gitignore, and paths.
//!
//! A pattern without a slash matches names in any directory; one that begins with a slash matches
//! whole paths; any other is relative to each path that is backed up. A slash at the end matches
//! directories only, `!` at the beginning takes back what an earlier pattern left out, and the last
//! pattern that matches decides.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::error::{Error, Result};

pub(super) struct Exclude {
    globs: GlobSet,
    /// What each glob means; several come from one relative pattern.
    rules: Vec<Rule>,
}

#[derive(Clone, Copy)]
struct Rule {
    /// Whether it takes back what was left out.
    keeps: bool,
    directories_only: bool,
}

impl Exclude {
    /// `roots` are the paths that are backed up.
    pub(super) fn new(patterns: &[String], roots: &[Vec<u8>]) -> Result<Self> {
        let (mut globs, mut rules) = (GlobSetBuilder::new(), Vec::new());
        for pattern in patterns {
            let (keeps, rest) = match pattern.strip_prefix('!') {
                Some(rest) => (true, rest),
                None => (false, pattern.as_str()),
            };
            // "\!" and "\#" begin patterns with these characters.
            let rest = match rest.strip_prefix('\\') {
                Some(escaped) if escaped.starts_with(['!', '#']) => escaped,
                _ => rest,
            };
            let body = rest.trim_end_matches('/');
            if body.is_empty() {
                continue;
            }
            let rule = Rule { keeps, directories_only: body.len() < rest.len() };
            for text in absolute(body, roots) {
                globs.add(glob(&text, pattern)?);
                rules.push(rule);
            }
        }
        let globs = globs.build().map_err(|error| Error::InvalidPattern {
            pattern: patterns.join(" "),
            reason: error.to_string(),
        })?;
        Ok(Self { globs, rules })
    }

    pub(super) fn matches(&self, path: &Path, is_directory: bool) -> bool {
        if self.rules.is_empty() {
            return false;
        }
        let matching = self.globs.matches(path);
        let rules = matching.iter().rev().filter_map(|number| self.rules.get(*number));
        let mut deciding = rules.filter(|rule| is_directory || !rule.directories_only);
        deciding.next().is_some_and(|rule| !rule.keeps)
    }
}

/// A glob that comes from a pattern. "*" does not match a slash; "**" does.
pub(crate) fn glob(text: &str, pattern: &str) -> Result<Glob> {
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    glob.map_err(|error| {
        let reason = error.kind().to_string();
        Error::InvalidPattern { pattern: pattern.into(), reason }
    })
}

/// Globs for whole paths that mean the same as a pattern.
fn absolute(pattern: &str, roots: &[Vec<u8>]) -> Vec<String> {
    if pattern.starts_with('/') {
        return vec![pattern.to_owned()];
    }
    if !pattern.contains('/') {
        return vec![format!("/**/{pattern}")];
    }
    let below = |root: &Vec<u8>| {
        let root = OsStr::from_bytes(root).to_string_lossy();
        format!("{}/{pattern}", globset::escape(root.trim_end_matches('/')))
    };
    roots.iter().map(below).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exclude(patterns: &[&str]) -> Exclude {
        let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
        Exclude::new(&patterns, &[b"/home/u".to_vec(), b"/srv".to_vec()]).expect("patterns")
    }

    /// Paths that end in a slash are directories.
    fn check(patterns: &[&str], out: &[&str], kept: &[&str]) {
        let exclude = exclude(patterns);
        let matches = |path: &str| {
            exclude.matches(Path::new(path.trim_end_matches('/')), path.ends_with('/'))
        };
        out.iter().for_each(|path| assert!(matches(path), "{path} is not left out"));
        kept.iter().for_each(|path| assert!(!matches(path), "{path} is left out"));
    }

    #[test]
    fn patterns_mean_what_they_mean_in_gitignore() {
        check(&["*.o"], &["/a/b/c.o", "/x.o"], &["/a/b/c.oo", "/a/c.o/d"]);
        check(&["/home/*/cache/"], &["/home/u/cache/"], &["/home/u/cache", "/home/u/v/cache/"]);
        check(&["/srv/**/tmp"], &["/srv/a/b/tmp", "/srv/tmp/"], &["/srv/a/tmpx", "/cache"]);
        // Relative to each path that is backed up.
        check(&["a/b"], &["/home/u/a/b", "/srv/a/b/"], &["/home/u/x/a/b", "/a/b", "/srv/a"]);
        check(&["a/*.c", "**/x/y"], &["/srv/a/m.c", "/srv/p/x/y"], &["/srv/a/b/m.c"]);
        check(&["tmp/"], &["/srv/tmp/"], &["/srv/tmp"]);
        check(&["*.log", "!keep.log"], &["/srv/a.log"], &["/srv/keep.log"]);
        check(&["!keep.log", "*.log"], &["/srv/keep.log"], &[]);
        check(&["\\!odd", "\\#x", "a b"], &["/srv/!odd", "/srv/#x", "/srv/a b"], &["/srv/odd"]);
        check(&["", "/"], &[], &["/srv/a"]);
        assert!(Exclude::new(&["[".to_owned()], &[]).is_err());
    }

    #[test]
    fn a_root_with_special_characters_is_taken_as_it_is() {
        let exclude = Exclude::new(&["a/b".to_owned()], &[b"/x[1]*".to_vec()]).expect("patterns");
        assert!(exclude.matches(Path::new("/x[1]*/a/b"), false));
        assert!(!exclude.matches(Path::new("/x1y/a/b"), false));
    }
}
