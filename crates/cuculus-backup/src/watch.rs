//! How a long work tells how far it is. Knows amounts and complaints; nothing of screens.

/// One who watches. All calls may be ignored.
pub trait Watch: Sync {
    /// Whether it is worth finding out how much there is to do.
    fn wants_total(&self) -> bool {
        false
    }

    /// So much there is to do, as far as known by now.
    fn total(&self, _units: u64) {}

    /// So much more is done.
    fn advance(&self, _units: u64) {}

    /// What is being done now.
    fn phase(&self, _name: &str) {}

    /// Something was left out, and why; the work goes on.
    fn problem(&self, _what: &str) {}
}

/// Nobody watches.
impl Watch for () {}
