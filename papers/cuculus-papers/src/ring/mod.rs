//! Buckets on a consistent-hash ring: each has a few nodes there, and a point of the ring belongs
//! to the bucket of the next node. A bucket that comes or goes changes the owner of its own arcs
//! and of nothing else. Knows names and numbers of buckets, nothing of what lies in them.
//!
//! A node is four bytes: its position alone. The position is a scramble of the node's number that
//! can be undone, so the position says whose it is, no two nodes ever share one, and nothing about
//! nodes has to be saved.

mod names;
mod nodes;

use names::Names;
use nodes::RingNodes;

use cuculus::lab::placement::{BucketIndex, Fingerprint};
use cuculus::lab::table::OutOfMemory;
use cuculus::{FullCause, lab::memory};

/// The most candidate buckets that a fingerprint can have.
pub(crate) const MAX_CANDIDATES: usize = 16;
/// The most nodes that a bucket can have.
pub(crate) const MAX_VIRTUAL_NODES: u32 = 64;

/// Where on the ring a fingerprint looks for buckets: as many points as it has candidates. The
/// points depend on the fingerprint alone, and serve every ring.
#[derive(Clone, Copy)]
pub(crate) struct Points {
    at: [u32; MAX_CANDIDATES],
    count: usize,
}

impl Points {
    #[inline(always)]
    pub(crate) fn of(fingerprint: Fingerprint, count: usize) -> Self {
        let mut at = [0; MAX_CANDIDATES];
        for (i, at) in at.iter_mut().take(count).enumerate() {
            *at = point(fingerprint, i as u32);
        }
        Self { at, count: count.min(MAX_CANDIDATES) }
    }

    #[inline(always)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.at[..self.count].iter().copied()
    }
}

/// Point `i` of a fingerprint: the high half of a well-mixed number (SplitMix64's finalizer).
#[inline(always)]
fn point(fingerprint: Fingerprint, i: u32) -> u32 {
    let x = (u64::from(i) << 32 | u64::from(fingerprint.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 32) as u32
}

/// A scramble of 32 bits that can be undone (MurmurHash3's finalizer).
#[inline(always)]
fn scramble(number: u32) -> u32 {
    let x = (number ^ (number >> 16)).wrapping_mul(FACTORS[0]);
    let x = (x ^ (x >> 13)).wrapping_mul(FACTORS[1]);
    x ^ (x >> 16)
}

#[inline(always)]
fn unscramble(position: u32) -> u32 {
    let x = (position ^ (position >> 16)).wrapping_mul(INVERSES[1]);
    let x = (x ^ (x >> 13) ^ (x >> 26)).wrapping_mul(INVERSES[0]);
    x ^ (x >> 16)
}

const FACTORS: [u32; 2] = [0x85eb_ca6b, 0xc2b2_ae35];
const INVERSES: [u32; 2] = [inverse(FACTORS[0]), inverse(FACTORS[1])];

/// The number that undoes a multiplication by an odd one, modulo 2^32.
const fn inverse(odd: u32) -> u32 {
    // Right to three bits; each step doubles them.
    let mut x = odd;
    let mut step = 0;
    while step < 4 {
        x = x.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(x)));
        step += 1;
    }
    x
}

/// The ring. Buckets have names, which fix their nodes, and indices, which say where they lie in a
/// table; an index changes when another bucket goes.
#[derive(Clone)]
pub(crate) struct Ring {
    nodes: RingNodes,
    pub(crate) virtual_nodes: u32,
    /// Sets rings of the same names apart.
    pub(crate) salt: u32,
    names: Names,
}

impl Ring {
    pub(crate) fn new(virtual_nodes: u32, salt: u32) -> Self {
        Self { nodes: RingNodes::default(), virtual_nodes, salt, names: Names::new() }
    }

    pub(crate) fn with_buckets(
        virtual_nodes: u32,
        salt: u32,
        buckets: u32,
    ) -> Result<Self, OutOfMemory> {
        let names = memory::collected(0..buckets, buckets as usize)?;
        let ring = Self::from_names(virtual_nodes, salt, names, buckets)?;
        Ok(ring.unwrap_or_else(|| Self::new(virtual_nodes, salt)))
    }

    /// The most buckets that a ring can have: their nodes' numbers fit 32 bits.
    pub(crate) fn most_buckets(virtual_nodes: u32) -> u32 {
        u32::MAX / virtual_nodes
    }

    pub(crate) fn buckets(&self) -> u32 {
        self.names.as_slice().len() as u32
    }

    /// The names of the buckets in the order of their indices: with the number of nodes, the salt
    /// and the next name, all that there is to know of a ring.
    pub(crate) fn names(&self) -> &[u32] {
        self.names.as_slice()
    }

    /// Where the search for the name of the next bucket begins.
    pub(crate) fn next_name(&self) -> u32 {
        self.names.next()
    }

    /// Undoes what the naming of buckets did to [`next_name`](Self::next_name), once they are gone.
    pub(crate) fn set_next_name(&mut self, next: u32) {
        self.names.set_next(next);
    }

    /// The ring of buckets with these names, if it can be one.
    pub(crate) fn from_names(
        virtual_nodes: u32,
        salt: u32,
        names: Vec<u32>,
        next_name: u32,
    ) -> Result<Option<Self>, OutOfMemory> {
        if names.iter().any(|&name| name >= Self::most_buckets(virtual_nodes)) {
            return Ok(None);
        }
        let Some(names) = Names::of(names, next_name)? else { return Ok(None) };
        let mut ring = Self { names, ..Self::new(virtual_nodes, salt) };
        let count = ring.names().len() * virtual_nodes as usize;
        let positions = ring.names().iter().flat_map(|&name| ring.positions(name));
        ring.nodes = RingNodes::of(memory::collected(positions, count)?)?;
        Ok(Some(ring))
    }

    fn positions(&self, name: u32) -> impl Iterator<Item = u32> + use<> {
        let (first, salt) = (name * self.virtual_nodes, self.salt);
        (first..first + self.virtual_nodes).map(move |number| scramble(number ^ salt))
    }

    /// The bucket that a point belongs to. There must be one.
    #[inline(always)]
    pub(crate) fn owner(&self, point: u32) -> BucketIndex {
        let Some(position) = self.nodes.successor(point) else { return BucketIndex(0) };
        BucketIndex(self.names.index(self.name_at(position)).unwrap_or(0))
    }

    /// The name that has a node at this position.
    #[inline(always)]
    fn name_at(&self, position: u32) -> u32 {
        (unscramble(position) ^ self.salt) / self.virtual_nodes
    }

    /// Puts a new bucket on the ring, with the index after the last. There must be fewer than
    /// [`most_buckets`](Self::most_buckets).
    ///
    /// If points are given it gets a node at one of them, if a bucket that is free to be named has
    /// it: the point is then the bucket's own.
    ///
    /// Calls `former` with the bucket that each of its nodes takes points from; with the same one
    /// several times, perhaps, and not at all for the first bucket of a ring. After an error nothing
    /// has changed: there is no memory, or all names that were tried are taken (`Crowded`).
    pub(crate) fn push(
        &mut self,
        points: Option<&Points>,
        mut former: impl FnMut(BucketIndex),
    ) -> Result<(), FullCause> {
        let no_memory = |_: OutOfMemory| FullCause::OutOfMemory;
        self.names.reserve().map_err(no_memory)?;
        let end = Self::most_buckets(self.virtual_nodes);
        let mut names = points.into_iter().flat_map(Points::iter).map(|point| self.name_at(point));
        let wanted = names.find(|&name| name < end && self.names.index(name).is_none());
        let name = wanted.or_else(|| self.names.free(end)).ok_or(FullCause::Crowded)?;
        if self.buckets() > 0 {
            // All before any node is added: a new node may follow another one.
            self.positions(name).for_each(|position| former(self.owner(position)));
        }
        self.add_nodes(name).map_err(no_memory)?;
        self.names.push(name);
        Ok(())
    }

    /// Puts the nodes of a name on the ring, all or none.
    fn add_nodes(&mut self, name: u32) -> Result<(), OutOfMemory> {
        for (added, position) in self.positions(name).enumerate() {
            match self.nodes.insert(position) {
                Ok(new) => debug_assert!(new, "no two numbers have the same position"),
                Err(failed) => {
                    for position in self.positions(name).take(added) {
                        self.nodes.remove(position);
                    }
                    return Err(failed);
                }
            }
        }
        Ok(())
    }

    /// Takes a bucket's nodes off the ring, so that its points belong to others. The bucket keeps
    /// its index, and its nodes their memory, until [`forget`](Self::forget), or until it comes back
    /// with [`enter`](Self::enter).
    pub(crate) fn leave(&mut self, bucket: BucketIndex) {
        for position in self.positions(self.names()[bucket.0 as usize]) {
            let there = self.nodes.remove(position);
            debug_assert!(there, "the nodes of a bucket are on the ring");
        }
    }

    /// Puts a bucket's nodes on the ring: undoes [`leave`](Self::leave), and needs no memory then.
    pub(crate) fn enter(&mut self, bucket: BucketIndex) {
        let added = self.add_nodes(self.names()[bucket.0 as usize]);
        debug_assert!(added.is_ok(), "needs no memory");
    }

    /// Gives up the name of a bucket that has left; the last bucket gets its index.
    pub(crate) fn forget(&mut self, bucket: BucketIndex) {
        for position in self.positions(self.names()[bucket.0 as usize]) {
            self.nodes.tidy(position);
        }
        self.names.swap_remove(bucket.0);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.nodes.heap_bytes() + self.names.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuculus::conformance::Random;

    #[test]
    fn positions_say_whose_they_are() {
        let mut random = Random::new(1);
        for _ in 0..100_000 {
            let number = random.bits() as u32;
            assert_eq!(unscramble(scramble(number)), number);
        }
        assert_eq!(unscramble(scramble(u32::MAX)), u32::MAX);
    }

    /// The oracle: every node of every bucket, and a search through all of them.
    fn owner(ring: &Ring, point: u32) -> BucketIndex {
        let nodes = (0..).zip(ring.names()).flat_map(|(index, &name)| {
            ring.positions(name).map(move |position| (position.wrapping_sub(point), index))
        });
        BucketIndex(nodes.min().expect("a bucket").1)
    }

    #[test]
    fn points_belong_to_the_next_node_through_any_changes() {
        for virtual_nodes in [1, 2, 10, 33] {
            let mut ring = Ring::new(virtual_nodes, 0x1234_5678);
            let heap_of_none = ring.heap_bytes();
            let mut random = Random::new(u64::from(virtual_nodes));
            for step in 0..600 {
                let rising = (step / 100) % 2 == 0;
                if ring.buckets() < 2 || (random.below(10) < 8) == rising {
                    // Points that get a new owner had one of the former owners, and no other.
                    let points: Vec<u32> = (0..50).map(|_| random.bits() as u32).collect();
                    let before: Vec<_> = match ring.buckets() {
                        0 => Vec::new(),
                        _ => points.iter().map(|&point| ring.owner(point)).collect(),
                    };
                    let (names, new) = (ring.names().to_vec(), BucketIndex(ring.buckets()));
                    let mut former = Vec::new();
                    ring.push(None, |bucket| former.push(bucket)).expect("memory");
                    let name = ring.names()[new.0 as usize];
                    assert!(!names.contains(&name));
                    for (&point, was) in points.iter().zip(before) {
                        let is = ring.owner(point);
                        assert!(is == was || is == new && former.contains(&was));
                    }
                } else {
                    let bucket = BucketIndex(random.below(ring.buckets() as usize) as u32);
                    ring.leave(bucket);
                    if random.below(3) == 0 {
                        ring.enter(bucket);
                    } else {
                        ring.forget(bucket);
                    }
                }
                if random.below(20) == 0 {
                    ring = Ring::from_names(
                        virtual_nodes,
                        ring.salt,
                        ring.names().to_vec(),
                        ring.next_name(),
                    )
                    .expect("memory")
                    .expect("its own");
                }
                for _ in 0..20 {
                    let point = random.bits() as u32;
                    assert_eq!(ring.owner(point), owner(&ring, point), "step {step}");
                }
            }
            while ring.buckets() > 1 {
                ring.leave(BucketIndex(0));
                ring.forget(BucketIndex(0));
            }
            assert!(ring.heap_bytes() < heap_of_none + 1000, "{}", ring.heap_bytes());
        }
    }

    #[test]
    fn names_that_are_no_ring_are_refused() {
        let ring = |names: &[u32]| Ring::from_names(2, 0, names.to_vec(), 0).expect("memory");
        assert!(ring(&[7, 0, (1 << 31) - 2]).is_some());
        assert!(ring(&[0, 7, 0]).is_none(), "one name twice");
        assert!(ring(&[1 << 31]).is_none(), "a name too large");
    }

    /// With ten nodes a bucket's share of the ring deviates by about a third from the mean, with
    /// one by all of it.
    #[test]
    fn more_nodes_make_even_shares() {
        let deviation = |virtual_nodes| {
            let mut ring = Ring::new(virtual_nodes, 1);
            (0..256).for_each(|_| ring.push(None, |_| ()).expect("memory"));
            let mut shares = [0f64; 256];
            for step in 0..1u32 << 18 {
                shares[ring.owner(step << 14).0 as usize] += 1.0 / 1024.0;
            }
            (shares.iter().map(|share| (share - 1.0).powi(2)).sum::<f64>() / 256.0).sqrt()
        };
        let (one, ten) = (deviation(1), deviation(10));
        assert!((0.85..1.2).contains(&one), "{one}");
        assert!((0.26..0.38).contains(&ten), "{ten}");
    }
}
