//! Flows of a network: who talks to whom, from when to when. A set that grows and shrinks, for
//! all experiments that need one. Knows nothing of filters.

mod csv;
mod synthetic;

pub(crate) use synthetic::Synthetic;

use std::path::Path;

use anyhow::Context;

/// One flow. It is alive from its start to its end, both included.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flow {
    pub(crate) source: String,
    pub(crate) destination: String,
    pub(crate) start: f64,
    pub(crate) end: f64,
}

impl Flow {
    /// What identifies the flow; the same two addresses give the same key again.
    pub(crate) fn key(&self) -> String {
        format!("{} {}", self.source, self.destination)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) time: f64,
    pub(crate) flow: usize,
    pub(crate) begins: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trace {
    pub(crate) flows: Vec<Flow>,
}

impl Trace {
    pub(crate) fn from_csv(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let flows = csv::flows(&text).with_context(|| path.display().to_string())?;
        Ok(Self { flows })
    }

    /// Beginnings and ends in the order of time. At the same time beginnings come first, so a
    /// flow of no length begins before it ends.
    pub(crate) fn events(&self) -> Vec<Event> {
        let both = |(flow, at): (usize, &Flow)| {
            [(at.start, true), (at.end, false)].map(|(time, begins)| Event { time, flow, begins })
        };
        let mut events: Vec<Event> = self.flows.iter().enumerate().flat_map(both).collect();
        events.sort_by(|a, b| a.time.total_cmp(&b.time).then(b.begins.cmp(&a.begins)));
        events
    }

    pub(crate) fn peak(&self) -> usize {
        peak(self.flows.iter().map(|flow| (flow.start, flow.end)))
    }
}

/// The most intervals that share a moment.
fn peak(intervals: impl Iterator<Item = (f64, f64)>) -> usize {
    let (mut starts, mut ends): (Vec<f64>, Vec<f64>) = intervals.unzip();
    starts.sort_by(f64::total_cmp);
    ends.sort_by(f64::total_cmp);
    let mut ended = 0;
    let alive = starts.iter().enumerate().map(|(begun, start)| {
        while ends[ended] < *start {
            ended += 1;
        }
        begun + 1 - ended
    });
    alive.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(start: f64, end: f64) -> Flow {
        Flow { source: "a".to_owned(), destination: "b".to_owned(), start, end }
    }

    #[test]
    fn events_are_in_order_and_beginnings_come_first() {
        let trace = Trace { flows: vec![flow(1.0, 3.0), flow(3.0, 3.0), flow(0.0, 1.0)] };
        let seen: Vec<_> = trace.events().iter().map(|event| (event.flow, event.begins)).collect();
        assert_eq!(seen, [(2, true), (0, true), (2, false), (1, true), (0, false), (1, false)]);
        assert_eq!(trace.peak(), 2);
        assert_eq!(Trace { flows: Vec::new() }.peak(), 0);
    }

    #[test]
    fn the_peak_is_that_of_the_events() {
        let trace = Synthetic { flows: 2000, peak: 250, seed: 5 }.trace();
        let mut alive = 0;
        let peak = trace.events().into_iter().map(|event| {
            alive += if event.begins { 1 } else { -1 };
            alive
        });
        assert_eq!(peak.max(), Some(250));
    }
}
