//! `cuculus cluster create` and `add`.

use std::io::Write;
use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::{Result, bail};
use redis::Cmd;
use serde_json::json;

use super::link::{Link, command};
use super::set::{Parameters, Set};
use super::{Add, Create, Nodes};
use crate::keys::{Form, Keyless};

/// Items that are sent at once.
const BATCH: usize = 1 << 15;

pub(super) fn create(nodes: &Nodes, options: &Create) -> Result<ExitCode> {
    let set = Set::new(&options.name, Parameters::new(&options.shape)?)?;
    let mut link = Link::open(nodes)?;
    set.check_absent(&mut link)?;
    let Parameters { rate, capacity, seed, .. } = set.parameters;
    let reserve = |key: &String| {
        let mut command = command(&["CF.RESERVE", key]);
        command.arg(capacity).arg("ERROR").arg(rate).arg("SEED").arg(seed);
        command
    };
    link.all::<()>(&set.keys.iter().map(reserve).collect::<Vec<_>>())?;
    set.announce(&mut link)?;
    Ok(ExitCode::SUCCESS)
}

/// Items by part, until there are enough to send.
pub(super) struct Batch<'a> {
    set: &'a Set,
    /// How a command for a part begins.
    begin: &'a dyn Fn(&str) -> Cmd,
    commands: Vec<Option<Cmd>>,
    /// For each item, in order: its part, and which of the part's items it is.
    places: Vec<(u32, u32)>,
    counts: Vec<u32>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(set: &'a Set, begin: &'a dyn Fn(&str) -> Cmd) -> Self {
        let commands = set.keys.iter().map(|_| None).collect();
        Self { set, begin, commands, places: Vec::new(), counts: vec![0; set.keys.len()] }
    }

    pub(super) fn push(&mut self, hash: cuculus::KeyHash, item: &[u8]) {
        let part = self.set.part(hash);
        let begin = || (self.begin)(&self.set.keys[part]);
        self.commands[part].get_or_insert_with(begin).arg(item);
        self.places.push((part as u32, self.counts[part]));
        self.counts[part] += 1;
    }

    pub(super) fn is_full(&self) -> bool {
        self.places.len() >= BATCH
    }

    /// The commands, and for each item the command and the reply in it.
    pub(super) fn take(&mut self) -> (Vec<Cmd>, Vec<(usize, usize)>) {
        let mut at = vec![0; self.commands.len()];
        let mut commands = Vec::new();
        for (at, command) in at.iter_mut().zip(&mut self.commands) {
            *at = commands.len();
            commands.extend(command.take());
        }
        self.counts.fill(0);
        let places = self.places.drain(..);
        (commands, places.map(|(part, place)| (at[part as usize], place as usize)).collect())
    }
}

pub(super) fn add(nodes: &Nodes, options: &Add, out: &mut impl Write) -> Result<ExitCode> {
    let mut link = Link::open(nodes)?;
    let set = Set::open(&mut link, &options.name)?;
    // Repeating it does no harm.
    let name = if options.copies { "CF.INSERT" } else { "CF.INSERTNX" };
    let begin = |key: &str| command(&[name, key, "NOCREATE", "ITEMS"]);
    let mut batch = Batch::new(&set, &begin);
    let (mut read, mut added) = (0u64, 0u64);
    let mut send = |batch: &mut Batch<'_>, link: &mut Link| -> Result<()> {
        let (commands, places) = batch.take();
        let replies: Vec<Vec<i64>> = link.change(commands)?;
        read += places.len() as u64;
        for reply in replies.iter().flatten() {
            match reply {
                1 => added += 1,
                0 => {}
                _ => bail!(
                    "a part of {} accepts no more items; raise cuculus.max-object-bytes, or make a set \
                     with more parts",
                    set.name
                ),
            }
        }
        Ok(())
    };
    let source =
        options.lines.source(Form::default(), Keyless::Refuse, &set.parameters.hasher(), false)?;
    source.each_block(|block| {
        for (i, &hash) in block.hashes.iter().enumerate() {
            batch.push(hash, block.line(i));
            if batch.is_full() {
                send(&mut batch, &mut link)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    send(&mut batch, &mut link)?;
    link.confirm()?;
    writeln!(out, "{}", json!({ "read": read, "added": added, "sent_again": link.repeated }))?;
    Ok(ExitCode::SUCCESS)
}
