//! `cuculus cluster export`, `import` and `build`: sets between clusters and files, part by part.

use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use cuculus::{ElasticFilter, Insert};
use redis::Value;

use super::chunks;
use super::file::{Reading, Writing};
use super::link::{Link, command};
use super::set::{Parameters, Set};
use super::{Build, Export, Import, Nodes};
use crate::keys::{Form, Keyless, shown};

/// The bytes of a filter that are sent at once.
const CHUNK: usize = 4 << 20;

pub(super) fn export(nodes: &Nodes, options: &Export) -> Result<ExitCode> {
    let mut file = Writing::begin(&options.file, options.force)?;
    let mut link = Link::open(nodes)?;
    let set = Set::open(&mut link, &options.name)?;
    file.header(&set.parameters)?;
    for key in &set.keys {
        let part = copy_part(&mut link, &set, key).with_context(|| format!("cannot copy {key}"))?;
        file.part(&part)?;
    }
    file.end()?;
    Ok(ExitCode::SUCCESS)
}

fn copy_part(link: &mut Link, set: &Set, key: &str) -> Result<ElasticFilter> {
    let mut part = set.parameters.builder().build()?;
    let mut position = 0u64;
    loop {
        let reply = link.one(command(&["CF.SCANDUMP", key]).arg(position))?;
        let (next, data): (u64, Value) = reply;
        if next == 0 {
            return Ok(part);
        }
        // The first chunk has the parameters, which the set has too.
        if position > 0 {
            let Value::BulkString(chunk) = data else { bail!("SCANDUMP returned no bytes") };
            chunks::add_chunk(&mut part, &chunk)?;
        }
        position = next;
    }
}

pub(super) fn import(nodes: &Nodes, options: &Import) -> Result<ExitCode> {
    let mut file = Reading::open(&options.file)?;
    let set = Set::new(&options.name, file.parameters)?;
    let mut link = Link::open(nodes)?;
    set.check_absent(&mut link)?;
    for key in &set.keys {
        let part =
            file.part()?.with_context(|| format!("{} is too short", shown(&options.file)))?;
        // Not repeated blindly: a chunk that arrived is refused the second time.
        load_part(&mut link, &set, key, &part).with_context(|| format!("cannot load {key}"))?;
    }
    file.part()?;
    link.confirm()?;
    set.announce(&mut link)?;
    link.confirm()?;
    Ok(ExitCode::SUCCESS)
}

fn load_part(link: &mut Link, set: &Set, key: &str, part: &[u8]) -> Result<()> {
    let load = |position: u64, data: &[u8]| {
        let mut command = command(&["CF.LOADCHUNK", key]);
        command.arg(position).arg(data);
        command
    };
    let mut commands = vec![load(1, &chunks::header(&set.parameters, part.len() as u64))];
    let mut position = 1;
    for chunk in part.chunks(CHUNK) {
        position += chunk.len() as u64;
        commands.push(load(position, chunk));
    }
    for attempt in 0.. {
        let sent: Result<Vec<()>> = link.all(&commands);
        match sent {
            Ok(_) => break,
            // Perhaps a part of it arrived before a failure.
            Err(_) if attempt < 3 => link.one::<()>(&command(&["DEL", key]))?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(super) fn build(options: &Build) -> Result<ExitCode> {
    let parameters = Parameters::new(&options.shape)?;
    let mut file = Writing::begin(&options.file, options.force)?;
    let partition = parameters.partition()?;
    let mut parts = Vec::new();
    for _ in 0..partition.parts() {
        parts.push(parameters.builder().build()?);
    }
    let source =
        options.lines.source(Form::default(), Keyless::Refuse, &parameters.hasher(), false)?;
    source.each_block(|block| {
        for &hash in &block.hashes {
            parts[partition.part(hash)].insert_hash(hash)?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    file.header(&parameters)?;
    parts.iter().try_for_each(|part| file.part(part))?;
    file.end()?;
    Ok(ExitCode::SUCCESS)
}
