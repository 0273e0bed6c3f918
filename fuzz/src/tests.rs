//! Runs the checks of each target on some thousand random inputs. This searches no new paths, but it
//! needs no special compiler and shows that the targets work.

use arbitrary::{Arbitrary, Unstructured};

fn on_random_inputs<'a, T: Arbitrary<'a>>(len: usize, bytes: &'a [u8], check: impl Fn(&T)) {
    for chunk in bytes.chunks(len) {
        if let Ok(input) = T::arbitrary_take_rest(Unstructured::new(chunk)) {
            check(&input);
        }
    }
}

fn random_bytes(seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..1 << 18).map(|_| random.u8(..)).collect()
}

#[test]
fn backup() {
    random_bytes(8).chunks(64).for_each(crate::backup::check);
}

#[test]
fn decode() {
    // Short inputs: a file with many changes is refused for the first one.
    on_random_inputs(48, &random_bytes(1), |input| {
        crate::decode::check(input);
    });
}

#[test]
fn operations() {
    on_random_inputs(256, &random_bytes(2), crate::operations::check);
}

#[test]
fn maplet() {
    on_random_inputs(256, &random_bytes(3), crate::maplet::check);
}

#[test]
fn dynamic() {
    on_random_inputs(256, &random_bytes(5)[..1 << 16], crate::dynamic::check);
}

#[test]
fn elastic() {
    // Fewer inputs: each runs through thousands of keys.
    on_random_inputs(256, &random_bytes(4)[..1 << 13], crate::elastic::check);
}

#[test]
fn shared() {
    on_random_inputs(256, &random_bytes(9)[..1 << 13], crate::shared::check);
}

#[test]
fn consistent() {
    on_random_inputs(256, &random_bytes(6)[..1 << 15], crate::consistent::check);
}

#[test]
fn valkey() {
    on_random_inputs(64, &random_bytes(7), crate::valkey::check);
}
