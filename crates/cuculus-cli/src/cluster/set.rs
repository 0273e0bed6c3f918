//! A set in a cluster: its name, its parts, and the seed that all clients share. Knows the keys in the
//! cluster and the parameters of the filters; sends nothing but what opens or makes a set.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};
use cuculus::{ElasticFilter, ElasticFilterBuilder, KeyHash, KeyHasher, Partition};

use super::Shape;
use super::link::{Link, command};

/// The capacity that means "unknown" to the module.
pub(super) const UNKNOWN: u32 = 1024;
/// The largest capacity of a filter, and the largest hint for a rate of 1.
const MOST_CAPACITY: u64 = 1 << 30;
const LARGEST_HINT: f64 = 1e12;
/// Parts differ by chance: the hint of a part is this much more than its share.
const SLACK: f64 = 1.05;

/// What all clients of a set must know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parameters {
    pub(super) bits: u32,
    pub(super) rate: f64,
    /// Of each part.
    pub(super) capacity: u32,
    pub(super) seed: u64,
}

impl Parameters {
    pub(super) fn new(shape: &Shape) -> Result<Self> {
        let (parts, rate) = (shape.parts.get() as u32, shape.fpr.get());
        ensure!(
            parts.is_power_of_two(),
            "--parts {parts}: it must be a power of two, such as 256 or 512"
        );
        ensure!(
            rate >= 0.00001,
            "--fpr {}: the smallest rate of a set in parts is 0.00001",
            shape.fpr.typed()
        );
        let share = shape.items.map(|items| items.get() as f64 / f64::from(parts) * SLACK);
        let capacity =
            share.map_or(UNKNOWN, |share| (share.ceil() as u64).clamp(4, MOST_CAPACITY) as u32);
        let seed = match shape.seed {
            Some(seed) => seed.get(),
            None => KeyHasher::random()?.seed().context("no random seed")?,
        };
        Ok(Self { bits: parts.ilog2(), rate, capacity, seed })
    }

    pub(super) fn hasher(&self) -> KeyHasher {
        KeyHasher::xxh3(self.seed)
    }

    pub(super) fn partition(&self) -> Result<Partition> {
        Ok(Partition::new(self.bits)?)
    }

    /// What the module builds for a part.
    pub(super) fn builder(&self) -> ElasticFilterBuilder {
        let most = (self.rate * LARGEST_HINT) as usize;
        let hint = if self.capacity == UNKNOWN { 0 } else { self.capacity as usize };
        ElasticFilter::builder()
            .false_positive_rate(self.rate)
            .expected_items(hint.min(most))
            .hasher(self.hasher())
    }
}

/// A set and the keys of its parts.
pub(super) struct Set {
    pub(super) name: String,
    pub(super) parameters: Parameters,
    pub(super) keys: Vec<String>,
    partition: Partition,
}

impl Set {
    pub(super) fn new(name: &str, parameters: Parameters) -> Result<Self> {
        let partition = parameters.partition()?;
        let keys = partition.tags().iter().map(|tag| format!("{name}:{{{tag}}}")).collect();
        Ok(Self { name: name.into(), parameters, keys, partition })
    }

    /// The part of an item's hash.
    pub(super) fn part(&self, hash: KeyHash) -> usize {
        self.partition.part(hash)
    }

    /// Refuses to make a set that exists.
    pub(super) fn check_absent(&self, link: &mut Link) -> Result<()> {
        let exists: bool = link.one(&command(&["EXISTS", &self.name]))?;
        ensure!(!exists, "the key {} exists already; choose another name", self.name);
        Ok(())
    }

    /// Writes the parameters where clients read them. The last step of making a set.
    pub(super) fn announce(&self, link: &mut Link) -> Result<()> {
        let Parameters { bits, rate, capacity, seed } = self.parameters;
        link.one::<()>(
            command(&["HSET", &self.name])
                .arg(&[("parts", (1u32 << bits).to_string()), ("seed", seed.to_string())])
                .arg(&[("error", rate.to_string()), ("capacity", capacity.to_string())]),
        )
    }

    /// The set of this name.
    pub(super) fn open(link: &mut Link, name: &str) -> Result<Self> {
        let fields: HashMap<String, String> = link.one(&command(&["HGETALL", name]))?;
        if fields.is_empty() {
            bail!("there is no set {name}; make it with `cuculus cluster create {name}`");
        }
        let field = |field: &str| {
            fields.get(field).with_context(|| format!("the hash {name} has no field {field}"))
        };
        let parts: u32 = field("parts")?.parse()?;
        ensure!(parts.is_power_of_two(), "the set {name} has {parts} parts, not a power of two");
        let parameters = Parameters {
            bits: parts.ilog2(),
            rate: field("error")?.parse()?,
            capacity: field("capacity")?.parse()?,
            seed: field("seed")?.parse()?,
        };
        Self::new(name, parameters)
    }
}
