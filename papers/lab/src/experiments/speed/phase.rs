//! The measured parts of a round, in the order in which they run.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The constructor and all insertions, one by one.
    Build,
    /// The same in batches.
    BuildBatched,
    /// Lookups of keys that are in.
    Present,
    /// Lookups of keys that are not.
    Absent,
    /// Half and half, in random order.
    Mixed,
    /// The same, each lookup waiting for the answer to the last.
    Dependent,
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
    pub(super) const COUNT: usize = Self::DeleteAll as usize + 1;

    /// Beside filters that are made for all keys at once.
    pub(super) const FIXED: &[Self] = &[
        Self::Build,
        Self::BuildBatched,
        Self::Present,
        Self::Absent,
        Self::Mixed,
        Self::PresentBatched,
        Self::AbsentBatched,
        Self::PresentHashed,
        Self::AbsentHashed,
        Self::Delete,
        Self::DeleteBatched,
    ];

    /// For a filter that grows as it is built, and shrinks as keys are removed.
    pub(super) const ELASTIC: &[Self] = &[
        Self::Build,
        Self::BuildBatched,
        Self::Dependent,
        Self::Present,
        Self::Absent,
        Self::PresentBatched,
        Self::AbsentBatched,
        Self::PresentHashed,
        Self::AbsentHashed,
        Self::DeleteAll,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::BuildBatched => "build batch",
            Self::Present => "hit",
            Self::Absent => "miss",
            Self::Mixed => "mixed",
            Self::Dependent => "dependent",
            Self::PresentBatched => "hit batch",
            Self::AbsentBatched => "miss batch",
            Self::PresentHashed => "hit hashed",
            Self::AbsentHashed => "miss hashed",
            Self::Delete => "delete",
            Self::DeleteBatched => "delete batch",
            Self::DeleteAll => "delete all",
        }
    }
}

/// Millions of operations per second of each phase, the best of all rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Speeds([Option<f64>; Phase::COUNT]);

impl Speeds {
    pub(super) fn get(&self, phase: Phase) -> Option<f64> {
        self.0[phase as usize]
    }

    pub(super) fn keep_best(&mut self, phase: Phase, mops: f64) {
        let best = &mut self.0[phase as usize];
        *best = Some(best.map_or(mops, |best| best.max(mops)));
    }
}
