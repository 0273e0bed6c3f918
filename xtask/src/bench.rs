//! `cargo xtask bench`: the laboratory in release, from any directory, and its tables in the document.

use crate::document::{expect_table, write_table};
use crate::run::{Failure, cargo, output_of, step};

/// Where the tables go.
const DOCUMENT: &str = "docs/benchmarks.md";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let words = lab_words(arguments);
    let mut command = cargo(["run", "--release", "-p", "cuculus-lab", "--"]);
    let Some((_, words)) = words.split_last().filter(|(last, _)| **last == "--write") else {
        return step("bench", command.args(words));
    };
    // The arguments are the name of the table. It is looked for before anything is measured.
    let Some((&"run", experiment)) = words.split_first() else {
        return Err(Failure::Usage("bench takes --write with an experiment only".to_owned()));
    };
    let name = experiment.join(" ");
    expect_table(DOCUMENT, &name)?;
    let tables = output_of(command.args(words).arg("--markdown"))?;
    println!("{tables}");
    write_table(DOCUMENT, &name, &format!("cargo xtask bench {name}"), &tables)
}

/// The arguments of the laboratory: `speed --rounds 4` is `run speed --rounds 4`, and nothing is
/// `run speed`. `--write` is the last of them, wherever it was given.
fn lab_words(arguments: &[String]) -> Vec<&str> {
    let (writes, mut words): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|word| *word == "--write");
    match words.first() {
        None => words.extend(["run", "speed"]),
        Some(&("list" | "run" | "report")) => {}
        Some(_) => words.insert(0, "run"),
    }
    words.extend(writes.first());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_those_of_the_laboratory() {
        let of = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            lab_words(&words).join(" ")
        };
        assert_eq!(of(""), "run speed");
        assert_eq!(of("--write"), "run speed --write");
        assert_eq!(of("kicks --write --log2-buckets 20"), "run kicks --log2-buckets 20 --write");
        assert_eq!(of("run kicks"), "run kicks");
        assert_eq!(of("list"), "list");
    }

    /// The error comes before anything is built or measured.
    #[test]
    fn what_has_no_table_is_refused_at_once() {
        let failure = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            match run(&words) {
                Err(Failure::Failed(message) | Failure::Usage(message)) => message,
                Ok(()) => "nothing was refused".to_owned(),
            }
        };
        assert_eq!(
            failure("kicks --log2-buckets 3 --write"),
            "docs/benchmarks.md has no table `kicks --log2-buckets 3`; put \
             `<!-- begin: kicks --log2-buckets 3 -->` and `<!-- end: … -->` where it belongs"
        );
        assert_eq!(failure("list --write"), "bench takes --write with an experiment only");
    }
}
