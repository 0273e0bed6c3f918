//! Whether keys with given candidates all fit into buckets of given slots: a maximum matching, by
//! augmenting paths. The truth that bounds and walks are held against. Knows nothing of filters.

pub(crate) struct Matching {
    slots: usize,
    held: Vec<Vec<usize>>,
    keys: Vec<Vec<usize>>,
}

impl Matching {
    pub(crate) fn new(buckets: usize, slots: usize) -> Self {
        Self { slots, held: vec![Vec::new(); buckets], keys: Vec::new() }
    }

    /// Adds a key, moving others along the shortest way; false if no arrangement holds all.
    pub(crate) fn add(&mut self, candidates: &[usize]) -> bool {
        let key = self.keys.len();
        self.keys.push(candidates.to_vec());
        // From which key each bucket was reached.
        let mut reached: Vec<Option<usize>> = vec![None; self.held.len()];
        let mut queue = vec![key];
        let mut at = 0;
        while at < queue.len() {
            let from = queue[at];
            at += 1;
            for place in 0..self.keys[from].len() {
                let bucket = self.keys[from][place];
                if reached[bucket].is_some() {
                    continue;
                }
                reached[bucket] = Some(from);
                if self.held[bucket].len() < self.slots {
                    self.move_along(bucket, &reached, key);
                    return true;
                }
                queue.extend(&self.held[bucket]);
            }
        }
        self.keys.pop();
        false
    }

    /// The key that reached the free bucket goes there, and so on back to the new one.
    fn move_along(&mut self, free: usize, reached: &[Option<usize>], new: usize) {
        let mut bucket = free;
        while let Some(key) = reached[bucket] {
            let former = self.held.iter().position(|held| held.contains(&key));
            self.held[bucket].push(key);
            let Some(former) = former.filter(|_| key != new) else { return };
            self.held[former].retain(|&other| other != key);
            bucket = former;
        }
    }
}

/// The share of `trials` in which this many keys with random candidates all fit.
pub(crate) fn success(
    (buckets, slots, candidates): (usize, usize, usize),
    keys: usize,
    trials: u32,
    random: &mut fastrand::Rng,
) -> f64 {
    let mut fitted = 0;
    for _ in 0..trials {
        let mut matching = Matching::new(buckets, slots);
        let mut drawn = vec![0; candidates];
        let mut fits = || {
            drawn.iter_mut().for_each(|bucket| *bucket = random.usize(..buckets));
            matching.add(&drawn)
        };
        fitted += u32::from((0..keys).all(|_| fits()));
    }
    f64::from(fitted) / f64::from(trials)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every arrangement of few keys is tried, and one that holds all is found if there is one.
    #[test]
    fn it_finds_an_arrangement_whenever_there_is_one() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..2000 {
            let keys: Vec<[usize; 2]> =
                (0..5).map(|_| [random.usize(..3), random.usize(..3)]).collect();
            let exists = (0..32).any(|choice| {
                let mut held = [0; 3];
                keys.iter().enumerate().for_each(|(at, key)| held[key[choice >> at & 1]] += 1);
                held.iter().all(|&held| held <= 2)
            });
            let mut matching = Matching::new(3, 2);
            assert_eq!(keys.iter().all(|key| matching.add(key)), exists, "{keys:?}");
        }
    }

    #[test]
    fn few_keys_fit_and_too_many_do_not() {
        let mut random = fastrand::Rng::with_seed(1);
        assert_eq!(success((50, 2, 2), 30, 20, &mut random), 1.0);
        assert_eq!(success((50, 2, 2), 101, 20, &mut random), 0.0);
    }
}
