//! Ways to keep the nodes of a ring. All answer the same question: the first node that is not
//! before a point, going round.

use std::collections::BTreeMap;

use cuculus_papers::RingNodes;

pub(super) trait Ring {
    /// Whether a node can be added without rebuilding the ring.
    const CHANGES: bool = true;

    /// The ring of these nodes, which are sorted and distinct.
    fn of(nodes: &[u32]) -> Self;

    /// There must be a node.
    fn successor(&self, point: u32) -> u32;

    fn insert(&mut self, node: u32);

    fn remove(&mut self, node: u32);
}

/// The order in which buckets come: not that of the ring.
fn shuffled(nodes: &[u32]) -> Vec<u32> {
    let mut nodes = nodes.to_vec();
    fastrand::Rng::with_seed(1).shuffle(&mut nodes);
    nodes
}

/// The library's.
impl Ring for RingNodes {
    fn of(nodes: &[u32]) -> Self {
        let mut ring = Self::default();
        for node in shuffled(nodes) {
            Ring::insert(&mut ring, node);
        }
        ring
    }

    #[inline(always)]
    fn successor(&self, point: u32) -> u32 {
        RingNodes::successor(self, point).unwrap_or(0)
    }

    fn insert(&mut self, node: u32) {
        let _ = RingNodes::insert(self, node);
    }

    fn remove(&mut self, node: u32) {
        RingNodes::remove(self, node);
        self.tidy(node);
    }
}

/// A search tree, as the paper has it: from the node to its bucket. (Ours has no such number: the
/// position says whose it is.)
impl Ring for BTreeMap<u32, u32> {
    fn of(nodes: &[u32]) -> Self {
        let mut ring = Self::new();
        for node in shuffled(nodes) {
            ring.insert(node, 0);
        }
        ring
    }

    #[inline(always)]
    fn successor(&self, point: u32) -> u32 {
        let next = self.range(point..).next().or_else(|| self.first_key_value());
        next.map_or(0, |(&node, _)| node)
    }

    fn insert(&mut self, node: u32) {
        self.insert(node, 0);
    }

    fn remove(&mut self, node: u32) {
        self.remove(&node);
    }
}

/// One sorted list, searched by halving.
pub(super) struct Sorted(Vec<u32>);

impl Ring for Sorted {
    fn of(nodes: &[u32]) -> Self {
        Self(nodes.to_vec())
    }

    #[inline(always)]
    fn successor(&self, point: u32) -> u32 {
        let at = self.0.partition_point(|&node| node < point);
        self.0.get(at).copied().unwrap_or(self.0[0])
    }

    fn insert(&mut self, node: u32) {
        let at = self.0.partition_point(|&other| other < node);
        self.0.insert(at, node);
    }

    fn remove(&mut self, node: u32) {
        let at = self.0.partition_point(|&other| other < node);
        self.0.remove(at);
    }
}

/// One sorted list; where to look follows from the point, since nodes are spread evenly.
pub(super) struct Interpolated(Sorted);

impl Ring for Interpolated {
    fn of(nodes: &[u32]) -> Self {
        Self(Sorted::of(nodes))
    }

    /// From the guess step by step: it is off by the square root of the nodes, so first by leaps
    /// that double, then by halving.
    #[inline(always)]
    fn successor(&self, point: u32) -> u32 {
        let nodes = &self.0.0;
        let guess = ((u64::from(point) * nodes.len() as u64) >> 32) as usize;
        let (mut low, mut high, mut leap) = (guess, guess, 8);
        // All before `low` are smaller, none from `high` on is.
        while low > 0 && nodes[low - 1] >= point {
            high = low - 1;
            low = low.saturating_sub(leap);
            leap *= 2;
        }
        while high < nodes.len() && nodes[high] < point {
            low = high + 1;
            high = (high + leap).min(nodes.len());
            leap *= 2;
        }
        let at = low + nodes[low..high].partition_point(|&node| node < point);
        nodes.get(at).copied().unwrap_or(nodes[0])
    }

    fn insert(&mut self, node: u32) {
        self.0.insert(node);
    }

    fn remove(&mut self, node: u32) {
        self.0.remove(node);
    }
}

/// The order in which halving meets the nodes: those of the first steps lie together. A change
/// rebuilds all of it.
pub(super) struct Eytzinger {
    /// From one on; the children of `i` are `2i` and `2i + 1`.
    tree: Vec<u32>,
    first: u32,
}

impl Eytzinger {
    fn fill(nodes: &mut impl Iterator<Item = u32>, tree: &mut [u32], at: usize) {
        if at < tree.len() {
            Self::fill(nodes, tree, 2 * at);
            tree[at] = nodes.next().unwrap_or(u32::MAX);
            Self::fill(nodes, tree, 2 * at + 1);
        }
    }
}

impl Ring for Eytzinger {
    const CHANGES: bool = false;

    fn of(nodes: &[u32]) -> Self {
        let mut tree = vec![0; nodes.len() + 1];
        Self::fill(&mut nodes.iter().copied(), &mut tree, 1);
        Self { tree, first: nodes[0] }
    }

    #[inline(always)]
    fn successor(&self, point: u32) -> u32 {
        let mut at = 1;
        while at < self.tree.len() {
            at = 2 * at + usize::from(self.tree[at] < point);
        }
        // The last turn to the left was at the answer: undo the turns to the right after it.
        at >>= at.trailing_ones() + 1;
        if at == 0 { self.first } else { self.tree[at] }
    }

    fn insert(&mut self, _: u32) {}

    fn remove(&mut self, _: u32) {}
}
