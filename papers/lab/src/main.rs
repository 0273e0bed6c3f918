//! The laboratory at the command line: lists the experiments, runs some and prints what they found,
//! or runs all and writes a page. The experiments themselves are in the library.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use cuculus_lab::claims::Counts;
use cuculus_lab::experiment::{Choice, Experiment, Outcome, SEEDS, Settings, Size};
use cuculus_lab::experiments::elastic::{LEG, measure_leg};
use cuculus_lab::experiments::{self, ALL};
use cuculus_lab::heap::CountingAllocator;
use cuculus_lab::machine;
use cuculus_page::{Page, Palette};
use serde_json::{Map, Value};

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator;

const NAME: &str = "cuculus-lab";

/// Exit codes: 0; 1 if a filter of ours gave a wrong answer; 2 if the experiment could not be run.
fn main() -> ExitCode {
    let outcome = match command().try_get_matches() {
        Ok(matches) => run(&matches, &mut io::stdout().lock()),
        Err(error) if !error.use_stderr() => {
            // A closed standard output is no reason to fail.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(anyhow::anyhow!(one_line(&error.to_string()))),
    };
    match outcome {
        Ok(wrong_answers) => ExitCode::from(u8::from(wrong_answers > 0)),
        Err(error) => {
            eprintln!("{NAME}: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The error and the tips out of clap's paragraphs; the usage is in the help.
fn one_line(message: &str) -> String {
    let paragraphs = message.split("\n\n").filter(|paragraph| !paragraph.starts_with("Usage:"));
    let words: Vec<&str> = paragraphs.flat_map(str::split_whitespace).collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

fn command() -> Command {
    let name = |arg: Arg| arg.value_name("NAME").help("Experiments, as `list` names them");
    let list = Command::new("list").about("List the experiments, one per line");
    let run = Command::new("run")
        .about("Run experiments and print what they found")
        .arg(name(Arg::new("names").required(true).num_args(1..)))
        .arg(flag("json", "Print all numbers as JSON"))
        .arg(flag("markdown", "Print the tables only, in Markdown").conflicts_with("json"))
        .args(common())
        .next_help_heading("Options of single experiments")
        .args(options())
        .after_help(
            "Examples:\n  \
             cuculus-lab run cf-table3               Table 3 of the Cuckoo Filter paper, small\n  \
             cuculus-lab run cf-table3 --full        with 192 MB per filter: half an hour\n  \
             cuculus-lab run ccf-trace --csv FILE    filters that follow a trace of your own\n  \
             cuculus-lab run ccf-trace --m 128       with other parameters than the paper's\n  \
             cuculus-lab run speed --items 1000000,16000000 --rounds 4\n  \
             cuculus-lab run dcf-times --json        all numbers, for programs",
        );
    let report = Command::new("report")
        .about("Run all experiments and write a page with plots")
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("DIR")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Directory for report.html and report.json; created if missing"),
        )
        .arg(name(Arg::new("names").long("only").value_delimiter(',')))
        .arg(
            Arg::new("claims")
                .long("claims")
                .value_name("FILE")
                .conflicts_with("names")
                .value_parser(value_parser!(PathBuf))
                .help("A document that gets the counts of the papers' claims between its markers"),
        )
        .args(common())
        .after_help(
            "Examples:\n  \
             cuculus-lab report --out report                       all experiments: minutes\n  \
             cuculus-lab report --out report --only systems,speed  some of them",
        );
    let leg = Command::new(LEG).hide(true).arg(Arg::new("leg").required(true));
    Command::new(NAME)
        .version(env!("CARGO_PKG_VERSION"))
        .about("Experiments and measurements of the cuculus filters")
        .subcommand_required(true)
        .subcommands([list, run, report, leg])
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn common() -> [Arg; 3] {
    let number = |name: &'static str| {
        Arg::new(name).long(name).value_name("N").value_parser(value_parser!(u64))
    };
    [
        flag("full", "As large as in the papers: minutes to hours instead of seconds"),
        number("seed").default_value("1").help("The seed of everything random"),
        number("repeat").help(format!(
            "Seeds that each experiment is run with, where the seed is what is left to chance; \
             {SEEDS} by default"
        )),
    ]
}

/// The options of all experiments, each once, with the experiments that take it.
fn options() -> Vec<Arg> {
    let mut seen: Vec<Choice> = Vec::new();
    for choice in ALL.iter().flat_map(|experiment| experiment.options) {
        if !seen.contains(choice) {
            seen.push(*choice);
        }
    }
    let arg = |choice: Choice| {
        let takers: Vec<&str> =
            ALL.iter().filter(|of| of.options.contains(&choice)).map(|of| of.name).collect();
        let arg = Arg::new(choice.name).long(choice.name);
        let arg = arg.help(format!("{} [{}]", choice.help, takers.join(", ")));
        match choice.value {
            "" => arg.action(ArgAction::SetTrue),
            value => arg.value_name(value),
        }
    };
    seen.into_iter().map(arg).collect()
}

/// Runs a command and counts the wrong answers of our filters.
fn run(matches: &ArgMatches, out: &mut impl Write) -> anyhow::Result<usize> {
    match matches.subcommand() {
        Some(("run", matches)) => run_some(matches, out),
        Some(("report", matches)) => report(matches, out),
        Some((LEG, matches)) => {
            let leg = matches.get_one::<String>("leg").context("no leg")?;
            writeln!(out, "{}", measure_leg(leg)?)?;
            Ok(0)
        }
        _ => list(out),
    }
}

fn list(out: &mut impl Write) -> anyhow::Result<usize> {
    let width = ALL.iter().map(|experiment| experiment.name.len()).max().unwrap_or(0);
    for experiment in ALL {
        writeln!(out, "{:width$}  {}", experiment.name, experiment.question)?;
    }
    Ok(0)
}

fn chosen(matches: &ArgMatches) -> anyhow::Result<Vec<&'static Experiment>> {
    let Some(names) = matches.get_many::<String>("names") else { return Ok(ALL.iter().collect()) };
    let named = |name: &String| match experiments::named(name) {
        Some(experiment) => Ok(experiment),
        None => bail!("no experiment {name:?}; `{NAME} list` lists all"),
    };
    names.map(named).collect()
}

struct How<'a> {
    full: bool,
    seed: u64,
    seeds: u64,
    given: Vec<(&'a str, String)>,
    is_watched: bool,
}

impl<'a> How<'a> {
    fn new(matches: &ArgMatches, given: Vec<(&'a str, String)>) -> Self {
        let seed = matches.get_one("seed").copied().unwrap_or(1);
        let seeds = matches.get_one("repeat").copied().unwrap_or(SEEDS).max(1);
        let (full, is_watched) = (matches.get_flag("full"), io::stderr().is_terminal());
        Self { full, seed, seeds, given, is_watched }
    }

    fn command(&self, name: &str) -> String {
        let full = if self.full { " --full" } else { "" };
        let seed = if self.seed == 1 { String::new() } else { format!(" --seed {}", self.seed) };
        let repeat = match self.seeds {
            SEEDS => String::new(),
            seeds => format!(" --repeat {seeds}"),
        };
        format!("{NAME} run {name}{full}{seed}{repeat}")
    }

    fn run(&self, experiment: &Experiment) -> anyhow::Result<Outcome> {
        // On a terminal one line that changes, elsewhere a line for each part. A closed standard
        // error is no reason to stop.
        let progress = |part: &str| {
            let (start, end) = if self.is_watched { ("\r\x1b[K", "") } else { ("", "\n") };
            let _ = write!(io::stderr(), "{start}{}: {part}{end}", experiment.name);
        };
        progress(experiment.title);
        let size = if self.full { Size::Full } else { Size::Quick };
        let Self { seed, seeds, .. } = *self;
        let settings = Settings { size, seed, seeds, progress: &progress, given: &self.given };
        let outcome = experiment.run(&settings);
        if self.is_watched {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
        outcome.with_context(|| format!("{} failed", experiment.name))
    }
}

fn run_some(matches: &ArgMatches, out: &mut impl Write) -> anyhow::Result<usize> {
    let chosen = chosen(matches)?;
    let mut given: Vec<(&str, String)> = Vec::new();
    for choice in ALL.iter().flat_map(|experiment| experiment.options) {
        let value = match choice.value {
            "" => matches.get_flag(choice.name).then(String::new),
            _ => matches.get_one::<String>(choice.name).cloned(),
        };
        let Some(value) = value else { continue };
        if let Some(other) = chosen.iter().find(|experiment| !experiment.options.contains(choice)) {
            bail!(
                "{} does not take --{}; `{NAME} run --help` says which do",
                other.name,
                choice.name
            );
        }
        given.push((choice.name, value));
    }
    let how = How::new(matches, given);
    let (mut wrong_answers, mut numbers) = (0, Map::new());
    for experiment in chosen {
        let outcome = how.run(experiment)?;
        wrong_answers += outcome.wrong_answers;
        if matches.get_flag("json") {
            numbers.insert(experiment.name.to_owned(), outcome.to_json());
        } else if matches.get_flag("markdown") {
            print_tables(&outcome, out)?;
        } else {
            print(experiment, &outcome, out)?;
        }
    }
    if matches.get_flag("json") {
        writeln!(out, "{:#}", Value::Object(numbers))?;
    }
    Ok(wrong_answers)
}

/// The tables in Markdown, each below its title if there are several.
fn print_tables(outcome: &Outcome, out: &mut impl Write) -> io::Result<()> {
    for (title, table) in &outcome.tables {
        if outcome.tables.len() > 1 {
            writeln!(out, "{title}\n")?;
        }
        writeln!(out, "{}", table.to_markdown())?;
    }
    Ok(())
}

fn print(experiment: &Experiment, outcome: &Outcome, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}\n{}\n", experiment.question, machine::processor())?;
    for (title, table) in &outcome.tables {
        writeln!(out, "{title}\n{table}")?;
    }
    for finding in &outcome.findings {
        let verdict = finding.holds.word();
        writeln!(out, "{verdict}: {}\n  measured: {}", finding.claim, finding.measured)?;
        if !finding.reason.is_empty() {
            writeln!(out, "  {}", finding.reason)?;
        }
    }
    for note in &outcome.notes {
        writeln!(out, "\n{note}")?;
    }
    if outcome.wrong_answers > 0 {
        writeln!(out, "\nWRONG ANSWERS of our filters: {}", outcome.wrong_answers)?;
    }
    writeln!(out)
}

/// The filters that have a colour of their own on the page, or from the thirteenth on a shade.
const COLOURS: &[&[&str]] = &[
    &["CF", "cuculus", "CuckooFilter", "cuckoo filter"],
    &["DCF", "cuculus DCF"],
    &["elastic", "cuculus elastic", "ElasticFilter"],
    &["CCF_B", "CCF", "as in the paper"],
    &["DBF"],
    &["BF", "fastbloom"],
    &["QF", "qfilter"],
    &["ss-CF", "CF, semi-sorted", "cuculus semi-sorted"],
    &["blk-BF"],
    &["dl-CBF"],
    &["CCF_F"],
    &["I2CF"],
    &["SCF"],
    &["autoscale"],
    &["scalable"],
    &["ACF"],
    &["bloom-lib"],
    &["sketches"],
    &["xorf"],
];

fn introduction(full: bool, seeds: u64) -> String {
    let (size, other) = match full {
        true => ("full: as large as in the papers", "without `--full` it takes minutes"),
        false => (
            "quick: smaller than in the papers",
            "claims that need the papers' sizes are \"not tested at this size\"; `cuculus-lab \
             report --full --out DIR` tests them too, in hours",
        ),
    };
    format!(
        "The figures and tables of the Cuckoo Filter, Dynamic Cuckoo Filter and Consistent Cuckoo \
         Filter papers, and what our own filters promise: the claim, the measurement, and whether \
         the claim holds.\n\nSize of this run: {size}; {other}. Where the seed is what is left to \
         chance, a finding is about {seeds} seeds, and says how far they are spread. Diamonds in \
         plots are numbers that a paper prints."
    )
}

fn report(matches: &ArgMatches, out: &mut impl Write) -> anyhow::Result<usize> {
    let chosen = chosen(matches)?;
    let directory = matches.get_one::<PathBuf>("out").context("no --out")?;
    let (page_path, numbers_path) = (directory.join("report.html"), directory.join("report.json"));
    // Before the experiments, so that a place that cannot be written to costs no time.
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&page_path, ""))
        .with_context(|| format!("cannot write to {}; give another --out", directory.display()))?;
    let mut document = matches.get_one::<PathBuf>("claims").map(Document::read).transpose()?;
    let started = Instant::now();
    let how = How::new(matches, Vec::new());
    let mut page = Page {
        title: "Cuckoo filters: what the papers claim, measured".to_owned(),
        introduction: introduction(how.full, how.seeds),
        palette: Palette::new(COLOURS),
        ..Page::default()
    };
    let (mut wrong_answers, mut numbers) = (0, Map::new());
    for experiment in chosen {
        let outcome = how.run(experiment)?;
        wrong_answers += outcome.wrong_answers;
        numbers.insert(experiment.name.to_owned(), outcome.to_json());
        if let Some(document) = &mut document {
            document.counts.add(experiment.name, &outcome.findings);
        }
        page.sections.push(outcome.section(experiment, how.command(experiment.name)));
    }
    let size = if how.full { "full" } else { "quick" };
    page.facts = [
        ("processor", machine::processor()),
        ("size", size.to_owned()),
        ("seed", how.seed.to_string()),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("time taken", format!("{:.0} s", started.elapsed().as_secs_f64())),
        ("wrong answers of our filters", wrong_answers.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec();
    fs::write(&page_path, page.to_html())
        .and_then(|()| fs::write(&numbers_path, format!("{:#}\n", Value::Object(numbers))))
        .with_context(|| format!("cannot write to {}", directory.display()))?;
    document.as_ref().map_or(Ok(()), Document::write)?;
    writeln!(out, "{}", page_path.display())?;
    Ok(wrong_answers)
}

struct Document {
    path: PathBuf,
    text: String,
    counts: Counts,
}

impl Document {
    /// Read before the experiments, so that another file costs no time.
    fn read(path: &PathBuf) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        if Counts::default().written_into(&text).is_none() {
            bail!("{} has no markers for counts; give papers/claims.md", path.display());
        }
        Ok(Self { path: path.clone(), text, counts: Counts::default() })
    }

    fn write(&self) -> anyhow::Result<()> {
        let text = self.counts.written_into(&self.text).context("the markers are gone")?;
        fs::write(&self.path, text).with_context(|| format!("cannot write {}", self.path.display()))
    }
}
