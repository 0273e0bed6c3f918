//! How a long operation reports its progress. Knows amounts and problems; nothing of terminals.

/// Receives the progress of a long operation. Every method may ignore its call.
pub trait Progress: Sync {
    /// Whether it is worth counting the work in advance.
    fn wants_total(&self) -> bool {
        false
    }

    /// This amount of work is done, in addition to what was reported before.
    fn advance(&self, _units: u64) {}

    /// A new phase begins, with this amount of work as far as it is known.
    fn phase(&self, _name: &str, _total: Option<u64>) {}

    /// Something was left out or is damaged; the operation goes on.
    fn problem(&self, _message: &str) {}
}

/// Ignores all progress.
impl Progress for () {}
