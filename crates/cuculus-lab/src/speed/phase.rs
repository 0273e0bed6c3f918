//! The measured parts of a round, in the order in which they run.

/// A part of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The constructor and all insertions, one by one.
    Build,
    /// The same in batches.
    BuildBatched,
    /// Questions for keys that are in.
    Present,
    /// Questions for keys that are not.
    Absent,
    /// Half and half, in random order.
    Mixed,
    /// Batched questions for keys that are in.
    PresentBatched,
    /// Batched questions for keys that are not.
    AbsentBatched,
    /// The same, hashed before.
    PresentHashed,
    /// The same for keys that are not in.
    AbsentHashed,
    /// Removal of a random quarter of the keys.
    Delete,
}

impl Phase {
    pub(super) const ALL: [Self; 10] = [
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
    ];

    /// The name in a table's head.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::BuildBatched => "build batch",
            Self::Present => "hit",
            Self::Absent => "miss",
            Self::Mixed => "mixed",
            Self::PresentBatched => "hit batch",
            Self::AbsentBatched => "miss batch",
            Self::PresentHashed => "hit hashed",
            Self::AbsentHashed => "miss hashed",
            Self::Delete => "delete",
        }
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
