//! Runs the checks of each target on some thousand random inputs. This searches no new paths, but it
//! needs no special compiler and shows that the targets work.

use arbitrary::{Arbitrary, Unstructured};

/// Checks inputs of `len` bytes, made of `total` random bytes.
fn on_random_inputs<T>(seed: u64, total: usize, len: usize, check: impl Fn(&T))
where
    T: for<'a> Arbitrary<'a>,
{
    let mut random = fastrand::Rng::with_seed(seed);
    let bytes: Vec<u8> = (0..total).map(|_| random.u8(..)).collect();
    for chunk in bytes.chunks(len) {
        if let Ok(input) = T::arbitrary_take_rest(Unstructured::new(chunk)) {
            check(&input);
        }
    }
}

macro_rules! checks {
    ($($module:ident: $seed:expr, $total:expr, $len:expr;)*) => {
        $(#[test]
        fn $module() {
            on_random_inputs($seed, $total, $len, |input| _ = crate::$module::check(input));
        })*
    };
}

checks! {
    backup: 8, 1 << 18, 64;
    // Short inputs: a file with many changes is refused for the first one.
    decode: 1, 1 << 18, 48;
    operations: 2, 1 << 18, 256;
    maplet: 3, 1 << 18, 256;
    dynamic: 5, 1 << 16, 256;
    // Fewer inputs: each runs through thousands of keys.
    elastic: 4, 1 << 13, 256;
    shared: 9, 1 << 13, 256;
    consistent: 6, 1 << 15, 256;
    valkey: 7, 1 << 18, 64;
}
