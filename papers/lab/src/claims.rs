//! How many claims of the papers hold: the counts in papers/claims.md, which a report writes between
//! two markers. Knows Markdown and verdicts, nothing of experiments.

use std::fmt;

use cuculus_page::{Claimant, Finding, Holds};

/// How many claims hold, hold in part, do not hold, and are not tested.
pub type Count = [usize; 4];

const VERDICTS: [Holds; 4] = [Holds::Yes, Holds::Partly, Holds::No, Holds::Untested];
const MARKERS: [&str; 2] = ["<!-- counts -->\n", "<!-- end of counts -->"];

/// The counts of each experiment; those of claims about times are in a row of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub Vec<(String, Count)>);

impl Counts {
    /// Counts what an experiment found about the papers.
    pub fn add(&mut self, experiment: &str, findings: &[Finding]) {
        for (is_timed, suffix) in [(false, ""), (true, ", times")] {
            let mut count = [0; 4];
            for finding in findings.iter().filter(|of| of.about == Some(Claimant::Paper)) {
                let at = VERDICTS.iter().position(|&of| of == finding.holds);
                count[at.unwrap_or(3)] += usize::from(finding.is_timed == is_timed);
            }
            if count != [0; 4] {
                self.0.push((format!("{experiment}{suffix}"), count));
            }
        }
    }

    /// The counts that a document has.
    pub fn in_document(text: &str) -> Option<Self> {
        let [_, block, _] = parts(text)?;
        let row = |line: &str| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [name, counts @ ..] = &cells[..] else { return None };
            let counts: Option<Vec<usize>> = counts.iter().map(|of| of.parse().ok()).collect();
            Some((name.replace('`', ""), counts?.try_into().ok()?))
        };
        let rows = block.lines().filter(|line| line.starts_with("| `"));
        let counts = Self(rows.map(row).collect::<Option<_>>()?);
        (counts.to_string() == block).then_some(counts)
    }

    /// A document with these counts instead of its own, if it has the markers.
    pub fn written_into(&self, text: &str) -> Option<String> {
        let [before, _, after] = parts(text)?;
        Some(format!("{before}{}{self}{after}", MARKERS[0]))
    }
}

/// A document before the markers, between them, and from the second on.
fn parts(text: &str) -> Option<[&str; 3]> {
    let (before, rest) = text.split_once(MARKERS[0])?;
    Some([before, &rest[..rest.find(MARKERS[1])?], &rest[rest.find(MARKERS[1])?..]])
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |at: usize| self.0.iter().map(|(_, count)| count[at]).sum::<usize>();
        let [hold, partly, not, untested] = [0, 1, 2, 3].map(sum);
        let all = hold + partly + not + untested;
        writeln!(
            f,
            "Of {all} claims of the papers {hold} hold, {partly} hold in part, {not} do not, and \
             {untested} were not tested.\n\n\
             | experiment | hold | in part | do not | not tested |\n|---|---|---|---|---|"
        )?;
        for (name, [hold, partly, not, untested]) in &self.0 {
            let (name, times) =
                name.split_once(',').map_or((&name[..], ""), |(name, _)| (name, ", times"));
            writeln!(f, "| `{name}`{times} | {hold} | {partly} | {not} | {untested} |")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_written_between_the_markers_and_read_again() {
        let of_paper = |holds| Finding::new("x", "y", holds).of(Claimant::Paper);
        let mut counts = Counts::default();
        let found = [of_paper(Holds::Yes), of_paper(Holds::No), of_paper(Holds::Yes).timed()];
        counts.add("dbf", &found);
        counts.add("acf", &[Finding::new("x", "y", Holds::Yes)]);
        assert_eq!(counts.0, [("dbf".into(), [1, 0, 1, 0]), ("dbf, times".into(), [1, 0, 0, 0])]);
        let document = format!("before\n{}old\n{}\nafter", MARKERS[0], MARKERS[1]);
        assert_eq!(Counts::in_document(&document), None, "not what these counts write");
        let written = counts.written_into(&document).expect("markers");
        assert!(written.starts_with("before\n") && written.ends_with("\nafter"));
        assert_eq!(Counts::in_document(&written), Some(counts.clone()));
        assert_eq!(counts.written_into("no markers"), None);
        let other = written.replace("Of 3", "Of 4");
        assert_eq!(Counts::in_document(&other), None, "the sum is part of it");
    }
}
