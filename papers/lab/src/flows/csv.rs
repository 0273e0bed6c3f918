//! Flows from lines of `source,destination,start,end`. Knows nothing of files.

use anyhow::{Context, bail, ensure};

use super::Flow;

const HEAD: &str = "source,destination,start,end";

/// Reads all lines. A head of the four names and empty lines are passed over.
pub(super) fn flows(text: &str) -> anyhow::Result<Vec<Flow>> {
    let mut flows = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let is_head = at == 0 && line.replace(' ', "").eq_ignore_ascii_case(HEAD);
        if !is_head && !line.trim().is_empty() {
            flows.push(flow(line).with_context(|| format!("line {}", at + 1))?);
        }
    }
    ensure!(!flows.is_empty(), "no flows; expected lines of {HEAD}");
    Ok(flows)
}

fn flow(line: &str) -> anyhow::Result<Flow> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let [source, destination, start, end] = cells[..] else {
        bail!("{} columns; expected {HEAD}", cells.len());
    };
    ensure!(!source.is_empty() && !destination.is_empty(), "an address is missing");
    let (start, end) = (seconds("start", start)?, seconds("end", end)?);
    ensure!(start <= end, "the flow ends at {end}, before it starts at {start}");
    Ok(Flow { source: source.to_owned(), destination: destination.to_owned(), start, end })
}

fn seconds(column: &str, text: &str) -> anyhow::Result<f64> {
    let seconds = text.parse().ok().filter(|seconds: &f64| seconds.is_finite());
    seconds.with_context(|| format!("{column} is {text:?}; expected a number of seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        format!("{:#}", flows(text).unwrap_err())
    }

    #[test]
    fn lines_become_flows() {
        let text =
            "Source, Destination, Start, End\n10.0.0.1,10.0.0.2,0.5,3\r\n\n a , b , 1 , 1 \n";
        let read = flows(text).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].key().as_str(), read[0].end), ("10.0.0.1 10.0.0.2", 3.0));
        assert_eq!((read[1].key().as_str(), read[1].start), ("a b", 1.0));
    }

    #[test]
    fn errors_name_the_line_and_what_is_wrong() {
        assert_eq!(
            error("a,b,1,2\na,b,1\n"),
            "line 2: 3 columns; expected source,destination,start,end"
        );
        assert_eq!(
            error("source,destination,start,end\n\na,b,soon,2"),
            "line 3: start is \"soon\"; expected a number of seconds"
        );
        assert_eq!(error("a,b,1,NaN"), "line 1: end is \"NaN\"; expected a number of seconds");
        assert_eq!(error("a,b,2,1"), "line 1: the flow ends at 1, before it starts at 2");
        assert_eq!(error("a,,1,2"), "line 1: an address is missing");
        assert!(error("").starts_with("no flows"));
    }
}
