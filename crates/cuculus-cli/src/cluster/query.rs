//! `cuculus cluster query` and `stats`.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::Result;
use redis::Value;
use serde_json::json;

use super::add::Batch;
use super::link::{Link, command};
use super::set::Set;
use super::{Nodes, Query, Stats};
use crate::NOT_FOUND;
use crate::keys::{Form, Keyless};

pub(super) fn query(nodes: &Nodes, options: &Query, out: &mut impl Write) -> Result<ExitCode> {
    let mut link = Link::open(nodes)?;
    let set = Set::open(&mut link, &options.name)?;
    let begin = |key: &str| command(&["CF.MEXISTS", key]);
    let mut batch = Batch::new(&set, &begin);
    let separator = options.lines.separator();
    let source = options.lines.source(
        Form::default(),
        Keyless::Refuse,
        &set.parameters.hasher(),
        !options.count,
    )?;
    let mut matched = 0u64;
    let mut printed = Vec::new();
    source.each_block(|block| {
        let mut first = 0;
        while first < block.len() {
            let mut end = first;
            while end < block.len() && !batch.is_full() {
                batch.push(block.hashes[end], block.line(end));
                end += 1;
            }
            let (commands, places) = batch.take();
            let replies: Vec<Vec<bool>> = link.all(&commands)?;
            printed.clear();
            for (i, &(command, place)) in (first..end).zip(&places) {
                let found = replies.get(command).and_then(|reply| reply.get(place));
                if found.copied().unwrap_or(false) != options.invert {
                    matched += 1;
                    if !options.count {
                        printed.extend_from_slice(block.line(i));
                        printed.push(separator);
                    }
                }
            }
            out.write_all(&printed)?;
            first = end;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if options.count {
        writeln!(out, "{matched}")?;
    }
    Ok(if matched > 0 { ExitCode::SUCCESS } else { ExitCode::from(NOT_FOUND) })
}

/// The first and the fourth number of CF.INFO: bytes and items.
fn size_and_items(info: &Value) -> Option<(u64, u64)> {
    let numbers: Vec<u64> = match info {
        Value::Array(fields) => fields.iter().filter_map(number).collect(),
        Value::Map(fields) => fields.iter().filter_map(|(_, value)| number(value)).collect(),
        _ => return None,
    };
    Some((*numbers.first()?, *numbers.get(3)?))
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

pub(super) fn stats(nodes: &Nodes, options: &Stats, out: &mut impl Write) -> Result<ExitCode> {
    let mut link = Link::open(nodes)?;
    let set = Set::open(&mut link, &options.name)?;
    let info = |key: &String| command(&["CF.INFO", key]);
    let infos: Vec<Value> = link.all(&set.keys.iter().map(info).collect::<Vec<_>>())?;
    let parts: Vec<(u64, u64)> = infos.iter().filter_map(size_and_items).collect();
    let partition = set.parameters.partition()?;
    let ranges = link.topology()?.ranges;
    let mut primaries: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (part, &(_, items)) in parts.iter().enumerate() {
        let slot = partition.slot(part);
        let owner = ranges.iter().find(|range| range.has(slot)).map(|range| &range.primary);
        let owner = owner.map_or("none".into(), |node| format!("{}:{}", node.host, node.port));
        let entry = primaries.entry(owner).or_default();
        *entry = (entry.0 + 1, entry.1 + items);
    }
    let (bytes, items) = parts.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let least = parts.iter().map(|part| part.1).min().unwrap_or(0);
    let most = parts.iter().map(|part| part.1).max().unwrap_or(0);
    let bytes_per_item = bytes as f64 / (items as f64).max(1.0);
    if options.json {
        let primaries: Vec<_> = primaries
            .iter()
            .map(|(node, (parts, items))| json!({ "node": node, "parts": parts, "items": items }))
            .collect();
        let json = json!({
            "items": items, "bytes": bytes, "bytes_per_item": bytes_per_item, "parts": parts.len(),
            "least_in_a_part": least, "most_in_a_part": most, "false_positive_rate": set.parameters.rate,
            "primaries": primaries,
        });
        writeln!(out, "{json}")?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "items            {items}")?;
    writeln!(out, "memory           {bytes} bytes, {bytes_per_item:.2} per item")?;
    writeln!(out, "parts            {}, of {least} to {most} items", parts.len())?;
    writeln!(out, "rate             at most {} %", 100.0 * set.parameters.rate)?;
    let even = items as f64 / primaries.len().max(1) as f64;
    for (node, (parts, items)) in &primaries {
        let share = 100.0 * *items as f64 / even.max(1.0);
        writeln!(out, "{node:<16} {parts} parts, {items} items, {share:.1} % of an even share")?;
    }
    Ok(ExitCode::SUCCESS)
}
