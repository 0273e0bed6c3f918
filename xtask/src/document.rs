//! Writes the tables of benchmarks into documents: between `<!-- begin: NAME -->` and
//! `<!-- end: NAME -->`, with the command, the machine and the date. Knows nothing of what was measured.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::run::{output_of, program, root};

/// Replaces the table of this name in a document.
pub(crate) fn write_table(document: &str, name: &str, command: &str, table: &str) -> Result<()> {
    let date = output_of(&mut program("date", ["--utc", "+%F"]))?;
    let block = format!("`{command}`; {}; {}.\n\n{}\n", machine(), date.trim(), table.trim());
    let path = root().join(document);
    let text = fs::read_to_string(&path)?;
    let text = replaced(&text, name, &block).with_context(|| no_table(document, name))?;
    fs::write(Path::new(&path), text)?;
    println!("wrote the table `{name}` of {document}");
    Ok(())
}

/// Fails if a document has no table of this name.
pub(crate) fn expect_table(document: &str, name: &str) -> Result<()> {
    let text = fs::read_to_string(root().join(document))?;
    replaced(&text, name, "").map(drop).with_context(|| no_table(document, name))
}

fn no_table(document: &str, name: &str) -> String {
    format!(
        "{document} has no table `{name}`; put `<!-- begin: {name} -->` and `<!-- end: … -->` where \
         it belongs"
    )
}

fn replaced(text: &str, name: &str, block: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- begin: {name} -->\n"), format!("<!-- end: {name} -->"));
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some([before, &begin, block, &end, after].concat())
}

/// The processors of this machine.
fn machine() -> String {
    let described = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut models = described.lines().filter_map(|line| line.strip_prefix("model name"));
    let model =
        models.next().unwrap_or(std::env::consts::ARCH).trim_start_matches([' ', '\t', ':']);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    format!("{cores} cores of {model}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_table_of_this_name_is_replaced() {
        let text =
            "a\n<!-- begin: x -->\nold\n<!-- end: x -->\n<!-- begin: y -->\ny\n<!-- end: y -->\n";
        let new = replaced(text, "x", "new\n").expect("a table");
        assert_eq!(new, text.replace("old", "new"));
        assert_eq!(replaced(text, "z", "new\n"), None);
        assert_eq!(replaced("<!-- begin: x -->\nno end", "x", "new\n"), None);
    }
}
