//! The examples that README.md names are those that there are. Cargo compiles them with the tests.

use std::fs;
use std::path::Path;

/// The names in code font after "Examples:".
fn named(readme: &str) -> Vec<&str> {
    let (_, rest) = readme.split_once("Examples:").expect("a list of examples");
    let (list, _) = rest.split_once('.').expect("its end");
    let mut names: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
    names.sort_unstable();
    names
}

#[test]
fn the_examples_of_the_readme_are_there() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(package.join("README.md")).expect("the README");
    let entries = fs::read_dir(package.join("examples")).expect("a directory of examples");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut there: Vec<String> = paths
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    there.sort_unstable();
    assert_eq!(named(&readme), there);
}
