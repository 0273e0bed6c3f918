//! How a long operation reports its progress. Knows amounts and problems; nothing of terminals.

/// Receives the progress of a long operation. Every method may ignore its call.
pub trait Progress: Sync {
    /// Whether it is worth counting the work in advance.
    fn wants_total(&self) -> bool {
        false
    }

    /// The amount of work of this phase, as far as it is known.
    fn total(&self, _units: u64) {}

    /// This amount of work is done, in addition to what was reported before.
    fn advance(&self, _units: u64) {}

    /// A new phase begins.
    fn phase(&self, _name: &str) {}

    /// Something was left out or is damaged; the operation goes on.
    fn problem(&self, _message: &str) {}
}

/// Ignores all progress.
impl Progress for () {}
