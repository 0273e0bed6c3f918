//! The measured parts of a round, in the order in which they run.

/// As they are listed below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The constructor and all insertions, one by one.
    Build,
    /// The same in batches.
    BuildBatched,
    /// Lookups of keys that are in and that are not, each waiting for the answer to the last.
    Dependent,
    /// Lookups of keys that are in.
    Present,
    /// Lookups of keys that are not.
    Absent,
    /// Half and half, in random order.
    Mixed,
    /// Batched lookups of keys that are in.
    PresentBatched,
    /// Batched lookups of keys that are not.
    AbsentBatched,
    /// The same, hashed before.
    PresentHashed,
    /// The same for keys that are not in.
    AbsentHashed,
    /// Removal of a random quarter of the keys.
    Delete,
    /// The same in batches, after they were inserted again.
    DeleteBatched,
    /// Removal of all keys.
    DeleteAll,
}

impl Phase {
    const ALL: [(Self, &str); 13] = [
        (Self::Build, "build"),
        (Self::BuildBatched, "build batch"),
        (Self::Dependent, "dependent"),
        (Self::Present, "hit"),
        (Self::Absent, "miss"),
        (Self::Mixed, "mixed"),
        (Self::PresentBatched, "hit batch"),
        (Self::AbsentBatched, "miss batch"),
        (Self::PresentHashed, "hit hashed"),
        (Self::AbsentHashed, "miss hashed"),
        (Self::Delete, "delete"),
        (Self::DeleteBatched, "delete batch"),
        (Self::DeleteAll, "delete all"),
    ];

    pub(super) fn all_but(others: &[Self]) -> Vec<Self> {
        let all = Self::ALL.iter().map(|(phase, _)| *phase);
        all.filter(|phase| !others.contains(phase)).collect()
    }

    pub(super) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// Millions of operations per second of each phase, the best of all rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Speeds([Option<f64>; Phase::ALL.len()]);

impl Speeds {
    pub(super) fn get(&self, phase: Phase) -> Option<f64> {
        self.0[phase as usize]
    }

    pub(super) fn keep_best(&mut self, phase: Phase, mops: f64) {
        let best = &mut self.0[phase as usize];
        *best = Some(best.map_or(mops, |best| best.max(mops)));
    }
}
