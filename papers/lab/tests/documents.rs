//! What the documents say about the repository is true: links and paths exist, the front pages keep
//! their lengths, the wording rules of CONTRIBUTING.md hold, and figures of speed are where commands
//! write them. Knows Markdown, nothing of filters.

use std::fs;
use std::path::{Path, PathBuf};

use cuculus_lab::experiments;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A document's name, from the root, and its text.
struct Document {
    name: String,
    text: String,
}

impl Document {
    fn read(name: &str) -> Self {
        let text = fs::read_to_string(root().join(name));
        Self { name: name.to_owned(), text: text.unwrap_or_else(|error| panic!("{name}: {error}")) }
    }

    fn directory(&self) -> PathBuf {
        root().join(&self.name).parent().expect("documents are in a directory").to_owned()
    }

    /// The text without blocks of code.
    fn prose(&self) -> String {
        let mut in_code = false;
        let lines = self.text.lines().filter(|line| {
            let is_fence = line.trim_start().starts_with("```");
            in_code ^= is_fence;
            !in_code && !is_fence
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// What stands between single backticks.
    fn code_spans(&self) -> Vec<String> {
        self.prose().split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    /// Where links lead.
    fn links(&self) -> Vec<String> {
        let prose = self.prose();
        let targets = prose.split("](").skip(1);
        targets
            .filter_map(|rest| rest.split_once(')'))
            .map(|(target, _)| target.to_owned())
            .collect()
    }

    /// The anchors of its headings, as GitHub makes them.
    fn anchors(&self) -> Vec<String> {
        let prose = self.prose();
        let headings = prose.lines().filter(|line| line.starts_with('#'));
        let anchor = |heading: &str| {
            let words = heading.trim_start_matches('#').trim().to_lowercase();
            let kept =
                words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        };
        headings.map(anchor).collect()
    }
}

/// Directories with documents, besides the root.
const BELOW: [&str; 3] = ["docs", "backup", "papers"];

/// All documents: those at the root, those below docs, those of the other houses and of the crates.
fn documents() -> Vec<Document> {
    let mut names = Vec::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(root().join(&directory)).expect("a directory") {
            let name = entry.expect("an entry").file_name();
            let path = directory.join(name);
            let is_below = BELOW.iter().any(|below| path.starts_with(below));
            // The crates' own are each in its directory.
            let is_crate = path.starts_with("crates") && path.components().count() <= 2;
            if path.extension().is_some_and(|extension| extension == "md") {
                names.push(path.to_str().expect("names are text").to_owned());
            } else if (is_below || is_crate) && root().join(&path).is_dir() {
                directories.push(path);
            }
        }
    }
    names.sort();
    let documents: Vec<_> = names.iter().map(|name| Document::read(name)).collect();
    assert!(documents.len() >= 10, "found {} documents only", documents.len());
    documents
}

/// No document has a fault of this kind.
fn none_has(what: &str, faults: impl Fn(&Document) -> Vec<String>) {
    let named = |of: &Document| {
        let named = |fault| format!("{}: {fault}", of.name);
        faults(of).into_iter().map(named).collect::<Vec<_>>()
    };
    let all: Vec<String> = documents().iter().flat_map(named).collect();
    assert!(all.is_empty(), "{what}:\n{}", all.join("\n"));
}

#[test]
fn front_pages_keep_their_lengths() {
    for (name, most) in [("README.md", 150), ("ARCHITECTURE.md", 250)] {
        let lines = Document::read(name).text.lines().count();
        assert!(lines <= most, "{name} has {lines} lines");
    }
}

#[test]
fn relative_links_lead_somewhere() {
    none_has("links that lead nowhere", |document| {
        let is_broken = |link: &String| {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => root().join(&document.name),
                path => document.directory().join(path),
            };
            let has_anchor = || {
                let text = fs::read_to_string(&target).unwrap_or_default();
                Document { name: link.clone(), text }.anchors().iter().any(|found| found == anchor)
            };
            !target.exists() || (!anchor.is_empty() && !has_anchor())
        };
        let links = document.links().into_iter().filter(|link| !link.contains("://"));
        links.filter(is_broken).collect()
    });
}

/// Where two versions of a line were to be made one.
#[test]
fn no_document_has_two_versions_of_a_line() {
    none_has("marks of a merge", |document| {
        let marks = ["<<<<<<< ", "=======", ">>>>>>> "];
        let is_marked = |line: &&str| {
            marks.iter().any(|mark| line.starts_with(mark) || *line == mark.trim_end())
        };
        document.prose().lines().filter(is_marked).map(str::to_owned).collect()
    });
}

/// A document that begins with a list of its chapters lists all of them.
#[test]
fn contents_are_complete() {
    let mut lists = 0;
    for document in documents() {
        let prose = document.prose();
        let Some((before, _)) = prose.split_once("\n## ") else { continue };
        let listed: Vec<&str> = before
            .split("](#")
            .skip(1)
            .filter_map(|rest| rest.split_once(')'))
            .map(|(anchor, _)| anchor)
            .collect();
        if listed.len() < 3 {
            continue;
        }
        lists += 1;
        let chapters: String = prose
            .lines()
            .filter(|line| line.starts_with("## "))
            .fold(String::new(), |all, line| all + line + "\n");
        for anchor in (Document { name: String::new(), text: chapters }).anchors() {
            assert!(listed.contains(&&*anchor), "{}: {anchor} is not listed", document.name);
        }
    }
    assert!(lists >= 2, "{lists} lists of contents only");
}

/// What installs a package by its name, and what adds one to a program.
const INSTALLERS: [&str; 10] = [
    "cargo add",
    "cargo binstall",
    "cargo install",
    "npm i",
    "npm install",
    "pip install",
    "pip3 install",
    "pipx install",
    "uv add",
    "uv pip install",
];

/// Packages of others that are used beside ours.
const OTHERS: [&str; 2] = ["polars", "redis"];

/// The packages that the release notes list as published.
fn published() -> Vec<String> {
    let notes = Document::read("CHANGELOG.md").text;
    let lines = notes.lines().filter_map(|line| line.strip_prefix("Published: "));
    let names = lines.flat_map(|line| line.split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

/// What is wrong with the install commands of a text: names that are not published, and paths that are
/// not there. A sentence that says what will work once it is published may name what is not.
fn faults_of_installs(
    text: &str,
    published: &[String],
    exists: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut faults = Vec::new();
    for installer in INSTALLERS {
        for (at, _) in text.match_indices(&format!("{installer} ")) {
            let sentence = text[..at].rsplit(". ").next().unwrap_or_default();
            if sentence.rsplit("\n\n").next().unwrap_or_default().contains("published") {
                continue;
            }
            let rest = &text[at + installer.len()..];
            let command = rest.split(['`', '\n', '#', '&', ';', '|']).next().unwrap_or_default();
            let mut words = command.split_whitespace();
            while let Some(word) = words.next() {
                let path = match word {
                    "--path" => words.next().unwrap_or_default(),
                    "--features" | "-r" | "--requirement" => {
                        words.next();
                        continue;
                    }
                    _ if word.starts_with('-') => continue,
                    _ if word.starts_with('.') => word,
                    _ => {
                        let name = word.split(['@', '[', '=']).next().unwrap_or_default();
                        if !OTHERS.contains(&name) && !published.iter().any(|one| one == name) {
                            faults.push(format!("{installer} {name}: not published"));
                        }
                        continue;
                    }
                };
                if !exists(path.trim_start_matches("CHECKOUT/").trim_start_matches("./")) {
                    faults.push(format!("{installer} {path}: not there"));
                }
            }
        }
    }
    faults
}

/// A name that is not published installs nothing, or what somebody else publishes under it.
#[test]
fn only_what_is_published_is_installed_by_name() {
    let mut published = published();
    published.extend(OTHERS.map(str::to_owned));
    let installs = |of: &Document| INSTALLERS.map(|one| of.text.matches(one).count());
    let commands: usize = documents().iter().flat_map(installs).sum();
    assert!(commands >= 8, "{commands} commands only");
    let exists = |path: &str| root().join(path).join("Cargo.toml").exists();
    none_has("installs", |document| faults_of_installs(&document.text, &published, exists));
}

#[test]
fn installs_by_name_are_found() {
    let published = ["ours".to_owned()];
    let faults = |text: &str| faults_of_installs(text, &published, |path| path == "crates/here");
    assert_eq!(faults("`cargo add theirs`"), ["cargo add theirs: not published"]);
    assert_eq!(faults("pip install -U 'a' theirs==1 # x").len(), 2);
    assert_eq!(faults("npm install --save theirs@2\n"), ["npm install theirs: not published"]);
    assert_eq!(
        faults("cargo install --path crates/gone"),
        ["cargo install crates/gone: not there"]
    );
    assert_eq!(faults("A sentence. `cargo add theirs` is published.").len(), 1);
    for fine in [
        "cargo install ours --features s3",
        "`cargo add --path CHECKOUT/crates/here`",
        "pip install ./crates/here && true",
        "Once it is published, `cargo add theirs` and `pip install theirs` will do.",
    ] {
        assert_eq!(faults(fine), [""; 0], "{fine}");
    }
}

/// The first line of a table says what each column is.
#[test]
fn every_column_of_a_table_has_a_heading() {
    none_has("columns without a heading", |document| {
        let prose = document.prose();
        let is_rule = |line: &str| line.starts_with("|--") || line.starts_with("|:-");
        let heads = prose.lines().zip(prose.lines().skip(1)).filter(|(_, next)| is_rule(next));
        let is_short = |head: &&str| {
            head.trim().trim_matches('|').split('|').any(|cell| cell.trim().is_empty())
        };
        heads.map(|(head, _)| head).filter(is_short).map(str::to_owned).collect()
    });
}

/// Whether a code span names a file or directory of the repository.
fn is_path(span: &str) -> bool {
    let is_plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let is_known = [".rs", ".md", ".py", ".toml"].iter().any(|end| span.ends_with(end));
    let is_rooted = ["backup/", "crates/", "docs/", "fuzz/", "papers/", "xtask/"]
        .iter()
        .any(|start| span.starts_with(start));
    is_plain && span.contains('/') && !span.starts_with('/') && (is_known || is_rooted)
}

/// A path is given from the root, from the document, or from a directory that the document names.
#[test]
fn paths_in_code_font_exist() {
    none_has("paths that do not exist", |document| {
        let spans = document.code_spans().into_iter().filter(|span| is_path(span));
        let spans: Vec<String> = spans.collect();
        let mut bases = vec![root(), document.directory()];
        bases.extend(spans.iter().map(|span| root().join(span)).filter(|base| base.is_dir()));
        let exists = |span: &String| bases.iter().any(|base| base.join(span).exists());
        spans.iter().filter(|span| !exists(span)).cloned().collect()
    });
}

/// The experiments that a document names: in commands, and in the tables' column of experiments.
fn experiments_in(document: &Document) -> Vec<String> {
    let commands = ["xtask bench ", "cuculus-lab -- run "].iter().flat_map(|command| {
        let rests = document.text.split(command).skip(1);
        rests.filter_map(|rest| rest.split([' ', '`', '\n', '|']).next())
    });
    let mut column = None;
    let rows = document.text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if cells.len() < 3 {
            column = None;
        } else if let Some(at) = cells.iter().position(|cell| *cell == "experiment") {
            column = Some(at);
        } else {
            return cells.get(column?).copied();
        }
        None
    });
    let names = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let names = names.filter(|name| !name.starts_with("cargo "));
    commands.chain(names.filter_map(|name| name.split(' ').next())).map(str::to_owned).collect()
}

/// `cf-*` stands for all experiments whose names begin like this.
fn is_experiment(name: &str) -> bool {
    match name.strip_suffix('*') {
        Some(start) => experiments::ALL.iter().any(|one| one.name.starts_with(start)),
        None => experiments::named(name).is_some(),
    }
}

/// `NAME` or `[NAME]`, in the description of a command.
fn is_placeholder(name: &str) -> bool {
    name.trim_matches(['[', ']']) == "NAME"
}

#[test]
fn experiments_are_in_the_registry() {
    let named = experiments_in(&Document::read("papers/claims.md")).len();
    assert!(named >= 40, "papers/claims.md names {named} experiments only");
    none_has("experiments that do not exist", |document| {
        let names = experiments_in(document).into_iter();
        names.filter(|name| !is_experiment(name) && !is_placeholder(name)).collect()
    });
}

/// The numbers of a kind of item in the first column of a table: `Figs. 3, 4` and `Eq. 5–11` are several.
fn numbers_of(kind: &str, cell: &str) -> Vec<u32> {
    let mut numbers = Vec::new();
    for part in cell.replace(';', ",").split(kind).skip(1) {
        for piece in part.split(',') {
            let piece = piece.trim_start_matches(['s', '.', ' ']);
            let mut ends = piece.split('–').map_while(|end| {
                let end = end.trim();
                ["I", "II"]
                    .iter()
                    .position(|&roman| roman == end)
                    .map(|at| at as u32 + 1)
                    .or(end.parse().ok())
            });
            let Some(first) = ends.next() else { break };
            numbers.extend(first..=ends.next().unwrap_or(first));
        }
    }
    numbers
}

/// How many there are of each kind of numbered item, by the texts of the papers.
const ITEMS: [(&str, &[(&str, u32)]); 3] = [
    ("### Cuckoo Filter", &[("Fig", 8), ("Table", 3), ("Alg", 3), ("Eq", 8)]),
    ("### Dynamic Cuckoo Filter", &[("Fig", 20), ("Table", 1), ("Alg", 4), ("Eq", 13)]),
    (
        "### Consistent Cuckoo Filter",
        &[("Fig", 5), ("Table", 2), ("Alg", 4), ("Theorem", 5), ("Observation", 3), ("Eq", 11)],
    ),
];

/// What has no number in its paper but the one of its section, as the rows begin.
const SECTIONS: [(&str, &[&str]); 2] =
    [("### Cuckoo Filter", &["§5.2", "§6"]), ("### Consistent Cuckoo Filter", &["§II"])];

/// What is wrong with the list of the papers' items: numbers that are missing, or that no paper
/// has, and rows that do not say where an item is implemented, what judges it, and the verdict.
fn faults_of_the_list(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (paper, items) in ITEMS {
        let Some((_, rest)) = text.split_once(&format!("{paper}\n")) else {
            faults.push(format!("no section {paper}"));
            continue;
        };
        let section = rest.split("\n### ").next().unwrap_or_default();
        let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
        let rows: Vec<Vec<&str>> =
            rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect();
        for &(kind, most) in items {
            let mut found: Vec<u32> =
                rows.iter().flat_map(|row| numbers_of(kind, row[0])).collect();
            found.sort_unstable();
            found.dedup();
            if found != (1..=most).collect::<Vec<_>>() {
                faults.push(format!("{paper}: {kind} {found:?}, not 1 to {most}"));
            }
        }
        let sections = SECTIONS.iter().filter(|(of, _)| *of == paper).flat_map(|(_, names)| *names);
        let missing = sections.filter(|name| !rows.iter().any(|row| row[0] == **name));
        faults.extend(missing.map(|name| format!("{paper}: {name}")));
        for row in &rows {
            let [item, what, place, experiment, verdict] = row[..] else {
                faults.push(format!("{paper}: {row:?}"));
                continue;
            };
            let is_said = [item, what, place, experiment, verdict].iter().all(|it| !it.is_empty());
            // What has no experiment has the reason in the place of a verdict.
            let is_judged = experiment.contains('`') || verdict.starts_with("nothing to measure");
            if !is_said || !is_judged {
                faults.push(format!("{paper}: {item} is not judged, and there is no reason"));
            }
        }
    }
    faults
}

/// Every numbered item of the papers is in the list, with an experiment or a reason.
#[test]
fn no_item_of_the_papers_is_missing() {
    let document = Document::read("papers/claims.md");
    assert_eq!(faults_of_the_list(&document.text), [""; 0]);
}

/// The test above notices a numbered item that is left out, wherever it stands, and a row without a
/// verdict.
#[test]
fn an_item_that_is_missing_is_noticed() {
    let document = Document::read("papers/claims.md");
    let (before, list) = document.text.split_once("## Every item of the papers").expect("the list");
    let section = list.split("\n### The trace").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| item"));
    let mut left_out = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('|').collect();
        let without = format!("{before}{}", list.replacen(&format!("{row}\n"), "", 1));
        let kinds = ITEMS.iter().flat_map(|(_, kinds)| *kinds);
        let is_numbered = kinds.into_iter().any(|of| !numbers_of(of.0, cells[1]).is_empty());
        let is_noticed = !faults_of_the_list(&without).is_empty();
        assert!(is_noticed || !is_numbered, "not noticed: {row}");
        let unsaid = [&cells[..5], &[" "], &cells[6..]].concat().join("|");
        let unsaid = format!("{before}{}", list.replacen(row, &unsaid, 1));
        assert!(!faults_of_the_list(&unsaid).is_empty(), "not noticed: {row}");
        left_out += 1;
    }
    assert!(left_out >= 35, "{left_out} rows only");
}

#[test]
fn experiments_are_found_in_commands_and_tables() {
    let text = "Run `cargo xtask bench speed --full`.\n\n| item | experiment |\n|---|---|\n\
                | one | `acf`, `cf-*` |\n| two | `cf-table3 --full` |\n| three | `cargo bench` |\n\n\
                | item | other |\n|---|---|\n| one | `no` |\n";
    let document = Document { name: "a.md".to_owned(), text: text.to_owned() };
    assert_eq!(experiments_in(&document), ["speed", "acf", "cf-*", "cf-table3"]);
    assert!(is_experiment("cf-*") && !is_experiment("no-*") && !is_experiment("no"));
}

const PHRASES: &[&str] = &[
    "anew",
    "brought to the disk",
    "here and there",
    "in the hundred",
    "once more",
    "so many",
    "stranger",
    "strangers",
];
const UNITS: &[&str] =
    &["bits", "ns", "nanoseconds", "bytes", "items", "nodes", "seconds", "slots"];
const THINGS: &[&str] =
    &["bucket", "chunk", "entry", "id", "insert", "item", "key", "line", "lookup", "node", "slot"];

/// Phrases that CONTRIBUTING.md asks to avoid. They do not reach over the end of a sentence.
fn unclear_phrases(text: &str) -> Vec<String> {
    text.split(['.', ';', ':', '|']).flat_map(unclear_phrases_of_sentence).collect()
}

fn unclear_phrases_of_sentence(sentence: &str) -> Vec<String> {
    let words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let spaced = format!(" {} ", words.join(" "));
    let phrases = PHRASES.iter().filter(|phrase| spaced.contains(&format!(" {phrase} ")));
    let measures = words.windows(3).filter(|three| {
        let is_article = three[1] == "a" || three[1] == "an";
        is_article && UNITS.contains(&three[0].as_str()) && THINGS.contains(&three[2].as_str())
    });
    phrases
        .map(|phrase| (*phrase).to_owned())
        .chain(measures.map(|three| three.join(" ")))
        .collect()
}

#[test]
fn documents_are_plain_english() {
    none_has("say it plainly", |document| unclear_phrases(&document.text));
}

#[test]
fn unclear_phrases_are_found() {
    assert_eq!(unclear_phrases("Ten bits a key, written anew."), ["anew", "bits a key"]);
    assert_eq!(
        unclear_phrases("It takes 20 ns an\ninsert, so many times."),
        ["so many", "ns an insert"]
    );
    assert!(unclear_phrases("Ten bits per key. It has 13 bits. A key is rewritten.").is_empty());
}

/// What commands wrote: the names of the tables of a document, and the text without them.
fn tables_and_rest(document: &Document) -> (Vec<String>, String) {
    let (mut names, mut rest) = (Vec::new(), String::new());
    let mut parts = document.text.split("<!-- begin: ");
    rest += parts.next().unwrap_or_default();
    for part in parts {
        let (name, part) = part.split_once(" -->\n").unwrap_or((part, ""));
        let after = part.split_once(&format!("<!-- end: {name} -->\n"));
        let (_, after) = after.unwrap_or_else(|| panic!("{}: no end: {name}", document.name));
        names.push(name.to_owned());
        rest += after;
    }
    (names, rest)
}

/// Each table of docs/benchmarks.md is one that `cargo xtask bench NAME --write` or another of the
/// benchmarks can replace.
#[test]
fn tables_between_markers_have_a_command() {
    let (names, _) = tables_and_rest(&Document::read("docs/benchmarks.md"));
    assert!(names.len() >= 10, "{names:?}");
    for name in names {
        let word = name.split(' ').next().unwrap_or_default();
        assert!(experiments::named(word).is_some() || word.starts_with("bench-"), "{name}");
    }
}

const TIMES: &[&str] =
    &["ns", "µs", "ms", "nanoseconds", "microseconds", "milliseconds", "millisecond"];
const COMPARISONS: &[&str] = &["fast", "slow", "slowly", "long"];

/// Figures of speed: a number with a unit of time below a second, of things per second, or of times
/// as fast. Numbers in words, and limits in seconds, are none.
fn figures_of_speed(text: &str) -> Vec<String> {
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && word.chars().any(|c| c.is_ascii_digit())
    };
    let trim =
        |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '.').to_owned();
    let words: Vec<String> = text.split_whitespace().map(trim).collect();
    let is_figure = |at: usize| {
        let after = |by: usize| words.get(at + by).map_or("", |word| word.trim_end_matches('.'));
        let is_compared = after(1) == "times"
            && (["faster", "slower"].contains(&after(2))
                || after(2) == "as" && COMPARISONS.contains(&after(3)));
        let is_rate = after(1).ends_with("/s")
            || (1..=3).any(|by| after(by) == "per" && after(by + 1) == "second");
        is_number(&words[at]) && (TIMES.contains(&after(1)) || is_compared || is_rate)
    };
    (0..words.len())
        .filter(|&at| is_figure(at))
        .map(|at| words[at..].iter().take(4).cloned())
        .map(|four| four.collect::<Vec<_>>().join(" "))
        .collect()
}

/// Figures of speed are written by commands, with their machine and date, and typed nowhere.
#[test]
fn figures_of_speed_are_between_markers() {
    none_has("figures that no command writes", |document| {
        figures_of_speed(&tables_and_rest(document).1)
    });
}

#[test]
fn figures_of_speed_are_found() {
    let found = |text: &str| figures_of_speed(text).len();
    assert_eq!(found("It takes 12 ns, or 1.8 times as\nfast. 5 µs; .3 ms"), 4);
    assert_eq!(found("2.4 million keys per second, 300 MB/s, 2 times slower"), 3);
    assert_eq!(
        found("ns per insert; 60 seconds; three times as fast; 2.5 times the memory; 3 msets"),
        0
    );
    let text = "<!-- begin: a -->\n5 ns\n<!-- end: a -->\nrest\n";
    let document = Document { name: "a.md".to_owned(), text: text.to_owned() };
    assert_eq!(tables_and_rest(&document), (vec!["a".to_owned()], "rest\n".to_owned()));
}
