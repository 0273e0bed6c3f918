//! Parts become one filter, and one filter parts: segments are copied as they are, since segment `i`
//! of part `p` of `P` is segment `p + P · i` of the whole.

use super::address::PATH_BITS;
use super::code::Form;
use super::engine::Engine;
use super::filter::ElasticFilter;
use super::lengths::Lengths;
use super::level::{Level, Work};
use super::levels::Levels;
use super::policy::Settings;
use super::reshape::counts_of;
use super::segment::Segment;
use crate::memory::with_room;
use crate::table::OutOfMemory;
use crate::{FullCause, KeyHasher};

/// The form of an empty segment of a level other than the first: any will do.
const EMPTY: Form = Form { width: 8, ended: true };

/// One filter with the keys of all parts.
pub(crate) fn join(
    settings: Settings,
    hasher: KeyHasher,
    mut parts: Vec<Engine>,
    refused: u64,
) -> Result<ElasticFilter, FullCause> {
    let shift = parts.len().ilog2();
    let (mut levels, mut lengths) = (Levels::default(), Lengths::default());
    let mut at = 0;
    while parts.iter().any(|part| part.levels.iter().skip(at).any(|level| level.len() > 0)) {
        // The same number of segments in each part. What is too short for a split goes to the next
        // level, whose turn comes after.
        let most = parts.iter().filter_map(|part| part.levels.iter().nth(at));
        let most = most.map(Level::segment_count).max().unwrap_or(0).max(1);
        for part in &mut parts {
            let (levels, mut cx) = part.parts();
            while levels.overflow.len() < at {
                levels.overflow.push(Level::overflow()).map_err(|_| FullCause::OutOfMemory)?;
            }
            if levels.level_mut(at).segment_count() == 0 {
                let form = if at == 0 { cx.settings.goal(1, cx.lengths).form(0, 0) } else { EMPTY };
                levels.level_mut(at).begin_with(form)?;
            }
            levels.split_to(at, most, &mut cx)?;
        }
        let mut whole: Level = if at == 0 { Level::default() } else { Level::overflow() };
        for i in 0..most {
            for part in &mut parts {
                let segment = part.levels.level_mut(at).directory.get(i);
                let depth = segment.depth() + shift;
                whole.directory.push_copy(segment, depth).map_err(|_| FullCause::OutOfMemory)?;
            }
        }
        for part in &mut parts {
            let Level { entries, counted, copies, .. } = *part.levels.level_mut(at);
            whole.entries += entries;
            whole.counted += counted;
            whole.copies += copies;
        }
        if at == 0 {
            levels.main = whole;
        } else {
            levels.overflow.push(whole).map_err(|_| FullCause::OutOfMemory)?;
        }
        at += 1;
    }
    for part in &parts {
        for (length, entries) in part.lengths.iter() {
            lengths.reserve(length + shift).map_err(|_| FullCause::OutOfMemory)?;
            lengths.add_many(length + shift, entries);
        }
    }
    let engine = Engine { settings, levels, lengths, work: Work::default() };
    Ok(ElasticFilter { hasher, engine, refused })
}

/// The parts of a filter, at most 2^shift: fewer if some keys have become so short that nothing
/// says which part is theirs, if segments cannot be split because of what somebody has chosen or
/// written, or if one part would not keep the rate while all together do.
pub(crate) fn divide(mut filter: ElasticFilter, mut shift: u32) -> Result<Vec<Engine>, FullCause> {
    let mut at = 0;
    while filter.engine.levels.iter().count() > at {
        // Again after each split, which may have shortened some.
        shift =
            filter.engine.lengths.iter().next().map_or(shift, |(shortest, _)| shift.min(shortest));
        let count = filter.engine.levels.level_mut(at).segment_count();
        let (levels, mut cx) = filter.engine.parts();
        match levels.split_to(at, count.next_multiple_of(1 << shift), &mut cx) {
            Ok(()) => at += 1,
            Err(FullCause::OutOfMemory) => return Err(FullCause::OutOfMemory),
            // One part needs no split, so there is an end to this.
            Err(_) => shift -= 1,
        }
    }
    let mut lengths = with_room(1 << shift).map_err(|_| FullCause::OutOfMemory)?;
    lengths.resize_with(1 << shift, Lengths::default);
    for level in filter.engine.levels.iter() {
        for (index, segment) in level.segments().enumerate() {
            let lengths = &mut lengths[index & ((1 << shift) - 1)];
            add_lengths(segment, shift, lengths)?;
        }
    }
    while lengths.iter().any(|lengths| !filter.engine.settings.allows(lengths.sum())) && shift > 0 {
        shift -= 1;
        lengths = halve(&lengths).map_err(|_| FullCause::OutOfMemory)?;
    }
    let mut parts: Vec<Engine> = with_room(1 << shift).map_err(|_| FullCause::OutOfMemory)?;
    parts.resize_with(1 << shift, || Engine::part_of(&filter.engine.settings, shift));
    for (part, lengths) in parts.iter_mut().zip(lengths) {
        part.lengths = lengths;
    }
    for (at, level) in filter.engine.levels.iter().enumerate() {
        divide_level(level, at, shift, &mut parts).map_err(|_| FullCause::OutOfMemory)?;
    }
    for part in &mut parts {
        part.levels.drop_empty();
        part.drop_if_empty();
    }
    Ok(parts)
}

/// The lengths of half as many parts.
fn halve(lengths: &[Lengths]) -> Result<Vec<Lengths>, OutOfMemory> {
    let (low, high) = lengths.split_at(lengths.len() / 2);
    let mut halved = with_room(low.len())?;
    for (low, high) in low.iter().zip(high) {
        let mut both = Lengths::default();
        for (length, entries) in low.iter().chain(high.iter()) {
            both.reserve(length + 1)?;
            both.add_many(length + 1, entries);
        }
        halved.push(both);
    }
    Ok(halved)
}

fn divide_level(
    level: &Level,
    at: usize,
    shift: u32,
    parts: &mut [Engine],
) -> Result<(), OutOfMemory> {
    let mask = parts.len() - 1;
    if at > 0 {
        for part in &mut *parts {
            part.levels.overflow.push(Level::overflow())?;
        }
    }
    for (index, segment) in level.segments().enumerate() {
        let part = parts[index & mask].levels.level_mut(at);
        copy_segment(segment, segment.depth() - shift, part)?;
    }
    Ok(())
}

/// Counts the lengths of a segment's entries, as a part knows them that some bits have chosen.
pub(super) fn add_lengths(
    segment: &Segment,
    shift: u32,
    lengths: &mut Lengths,
) -> Result<(), FullCause> {
    let (form, depth) = (segment.form(), segment.depth());
    let mut held = [0u64; PATH_BITS as usize + 1];
    segment.each_code(|_, code| held[(depth + form.length(code)) as usize] += 1);
    for (length, &entries) in (0..).zip(&held).filter(|&(_, &entries)| entries > 0) {
        let length: u32 = length;
        lengths.reserve(length - shift).map_err(|_| FullCause::OutOfMemory)?;
        lengths.add_many(length - shift, entries);
    }
    Ok(())
}

/// Adds a copy of a segment to a level, at some depth.
pub(super) fn copy_segment(
    segment: &Segment,
    depth: u32,
    to: &mut Level,
) -> Result<(), OutOfMemory> {
    to.directory.push_copy(segment, depth)?;
    let (entries, counted, copies) = counts_of(segment);
    to.count_in(entries, counted, copies);
    Ok(())
}
