//! Memory that is refused: every operation of the papers' filters with each of its allocations failing
//! in turn.

use cuculus::lab::Search;
use cuculus::{Filter, Persist, Remove};
use cuculus_papers::{
    ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter, Resizing,
};
use testkit::failing::{Tally, done, of_cause, try_all, try_build, try_common};
use testkit::filled;
use testkit::heap::{self, failing};

/// Frees what can be freed with the memory that there is: each allocation fails in turn, and the keys
/// that are left stay.
fn frees_what_it_can<F: Persist + Clone>(
    tally: &mut Tally,
    filter: &F,
    free: impl Fn(&mut F),
    keeps: &dyn Fn(&F) -> bool,
) {
    for n in 0.. {
        let (live, mut filter) = (heap::live(), filter.clone());
        let ((), failed) = failing(n, || free(&mut filter));
        assert!(keeps(&filter) && F::from_bytes(&filter.to_bytes()).is_ok(), "at {n}");
        drop(filter);
        assert_eq!(heap::live(), live, "leaked at {n}");
        tally.failures += usize::from(failed);
        if !failed {
            break;
        }
    }
}

#[test]
fn dynamic_filters() {
    for reuse_holes in [false, true] {
        let builder = DynamicCuckooFilter::builder().buckets_per_filter(16).fingerprint_bits(16);
        let builder = builder.reuse_holes(reuse_holes).seed(1);
        try_build("dynamic", || builder.build());
        let mut filter = filled(builder.build().expect("valid"), 300);
        let keys: Vec<u64> = (290..330).collect();
        try_common(&format!("dynamic {reuse_holes}"), &|| filter.clone(), &keys);
        (0..300u64).filter(|key| key % 3 > 0).for_each(|key| assert!(filter.remove(&key)));
        let left = |filter: &DynamicCuckooFilter| {
            (0..300u64).filter(|key| key % 3 == 0).all(|key| filter.contains(&key))
        };
        // They free what they can with the memory that there is.
        let mut tally = Tally { operations: 2, ..Tally::default() };
        for free in [DynamicCuckooFilter::compact, DynamicCuckooFilter::shrink_to_fit] {
            frees_what_it_can(&mut tally, &filter, |filter| _ = free(filter), &left);
        }
        tally.print(&format!("dynamic {reuse_holes}, compacting and shrinking"));
    }
}

#[test]
fn filters_on_rings() {
    for search in [Search::BreadthFirst, Search::RandomWalk] {
        let builder = IndexIndependentCuckooFilter::builder().buckets(100).search(search).seed(1);
        let builder = builder.fingerprint_bits(24);
        try_build("index-independent", || builder.build());
        let filter = filled(builder.build().expect("valid"), 390);
        let keys: Vec<u64> = (380..410).collect();
        let name = format!("index-independent {search:?}");
        try_common(&name, &|| filter.clone(), &keys);
        let mut tally = Tally::default();
        try_all(
            &format!("{name} add_bucket"),
            &mut tally,
            || filter.clone(),
            |filter| of_cause(&filter.add_bucket().map_err(|full| full.cause)),
        );
        let half = filled(builder.build().expect("valid"), 200);
        for bucket in 0..20 {
            try_all(
                &format!("{name} remove_bucket"),
                &mut tally,
                || half.clone(),
                |filter| done(filter.remove_bucket_at(bucket)),
            );
        }
        tally.print(&format!("{name}, buckets"));
    }
    for (resizing, max_filters) in [
        (Resizing::Adaptive, 4),
        (Resizing::Buckets, 1),
        (Resizing::Filters, 6),
        (Resizing::FiltersActiveOnly, 6),
    ] {
        let builder = ConsistentCuckooFilter::builder().resizing(resizing).seed(1);
        let builder = builder.buckets_per_filter(8).max_filters(max_filters);
        try_build("consistent", || builder.build());
        let filter = filled(builder.build().expect("valid"), 160);
        let name = format!("consistent {resizing:?}");
        let keys: Vec<u64> = (100..190).collect();
        try_common(&name, &|| filter.clone(), &keys);
        let mut tally = Tally::default();
        try_all(
            &format!("{name} scale_up"),
            &mut tally,
            || filter.clone(),
            |filter| of_cause(&filter.scale_up(5).map_err(|full| full.cause)),
        );
        try_all(
            &format!("{name} scale_out"),
            &mut tally,
            || filter.clone(),
            |filter| of_cause(&filter.scale_out().map_err(|full| full.cause)),
        );
        let part = IndexIndependentCuckooFilter::builder().buckets(30);
        try_all(
            &format!("{name} scale_out_with"),
            &mut tally,
            || filter.clone(),
            |filter| done(filter.scale_out_with(&part).is_ok()),
        );
        let mut sparse = filter.clone();
        (0..100u64).for_each(|key| assert!(sparse.remove(&key)));
        let _ = sparse.scale_out();
        tally.operations += 2;
        let left = |filter: &_| (100..160u64).all(|key| Filter::contains(filter, &key));
        frees_what_it_can(&mut tally, &sparse, |filter| _ = filter.scale_down(), &left);
        frees_what_it_can(&mut tally, &sparse, |filter| _ = filter.compact(), &left);
        tally.print(&format!("{name}, resizing"));
    }
}
