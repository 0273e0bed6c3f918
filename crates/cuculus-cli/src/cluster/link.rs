//! A connection to a cluster that goes on while slots move and replicas take over. Knows how commands
//! are sent and sent again; knows nothing of sets.
//!
//! What a primary has acknowledged is lost if it fails before a replica has it. So commands that change
//! something are kept until replicas have confirmed them, and sent again if the primaries are not the
//! same any more. Such commands must not do harm when they are repeated.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use redis::cluster::{ClusterClient, ClusterConnection, cluster_pipe};
use redis::cluster_routing::{RoutingInfo, SingleNodeRoutingInfo};
use redis::{Cmd, FromRedisValue, Value};

use super::Nodes;

const RETRIES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(200);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(3);
/// For replicas to confirm, in milliseconds.
const WAIT: usize = 10_000;
/// Commands between two confirmations.
const UNCONFIRMED: usize = 1 << 14;

pub(super) struct Link {
    client: ClusterClient,
    connection: Option<ClusterConnection>,
    replicas: usize,
    patience: Duration,
    unconfirmed: Vec<Cmd>,
    /// The primaries when the first of the unconfirmed commands was sent.
    primaries: Vec<Range>,
    /// How often commands had to be sent again.
    pub(super) repeated: u64,
}

impl Link {
    pub(super) fn open(nodes: &Nodes) -> Result<Self> {
        let client = ClusterClient::builder(nodes.urls.iter().map(String::as_str))
            .retries(RETRIES)
            .min_retry_wait(50)
            .max_retry_wait(1000)
            .response_timeout(RESPONSE_TIMEOUT)
            .connection_timeout(CONNECTION_TIMEOUT)
            .build()
            .with_context(|| {
                let urls = nodes.urls.join(", ");
                format!("--node {urls}: expected an address such as redis://10.0.0.1:6379")
            })?;
        let mut link = Self {
            client,
            connection: None,
            replicas: nodes.replicas.get() as usize,
            patience: Duration::from_secs(nodes.patience.get()),
            unconfirmed: Vec::new(),
            primaries: Vec::new(),
            repeated: 0,
        };
        // Once without patience: a wrong address should not take a minute.
        link.connect().with_context(|| {
            format!("cannot reach a cluster at {}; is a node running there?", nodes.urls.join(", "))
        })?;
        link.primaries = link.topology()?;
        Ok(link)
    }

    fn connect(&mut self) -> redis::RedisResult<&mut ClusterConnection> {
        match self.connection {
            Some(ref mut connection) => Ok(connection),
            None => Ok(self.connection.insert(self.client.get_connection()?)),
        }
    }

    /// Repeats a request until it succeeds, is refused for a reason that will not pass, or patience ends.
    fn persistently<T>(
        &mut self,
        mut request: impl FnMut(&mut ClusterConnection) -> redis::RedisResult<T>,
    ) -> Result<T> {
        let start = Instant::now();
        loop {
            let error = match self.connect().and_then(&mut request) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            // Replies of other commands may still be on their way: a new connection has none.
            self.connection = None;
            if !passes(&error) {
                return Err(anyhow!(error).context("the cluster refused a command"));
            }
            if start.elapsed() > self.patience {
                return Err(anyhow!(error).context("the cluster is still down; see --patience"));
            }
            self.repeated += 1;
            std::thread::sleep(PAUSE);
        }
    }

    /// The reply to one command.
    pub(super) fn one<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T> {
        self.persistently(|connection| command.query(connection))
    }

    /// The replies to several commands, sent at once to all nodes.
    pub(super) fn all<T: FromRedisValue>(&mut self, commands: &[Cmd]) -> Result<Vec<T>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let mut pipe = cluster_pipe();
        commands.iter().for_each(|command| {
            pipe.add_command(command.clone());
        });
        self.persistently(|connection| pipe.query(connection))
    }

    /// As `all`, for commands that change something and may be repeated.
    pub(super) fn change<T: FromRedisValue>(&mut self, commands: Vec<Cmd>) -> Result<Vec<T>> {
        let replies = self.all(&commands)?;
        self.unconfirmed.extend(commands);
        if self.unconfirmed.len() >= UNCONFIRMED {
            self.confirm()?;
        }
        Ok(replies)
    }

    /// Returns when replicas have all changes, as far as their primaries still have replicas.
    pub(super) fn confirm(&mut self) -> Result<()> {
        let start = Instant::now();
        loop {
            let primaries = self.topology()?;
            if primaries != self.primaries {
                // What the old ones acknowledged may be lost.
                self.primaries = primaries;
                let again = std::mem::take(&mut self.unconfirmed);
                self.repeated += 1;
                for commands in again.chunks(256) {
                    self.all::<Value>(commands)?;
                }
                self.unconfirmed = again;
            } else if self.are_replicated() && self.topology()? == self.primaries {
                self.unconfirmed.clear();
                return Ok(());
            } else if start.elapsed() > self.patience {
                bail!("replicas do not get the last changes; see --replicas and --patience");
            } else {
                std::thread::sleep(PAUSE);
            }
        }
    }

    /// Whether replicas have what was sent to their primaries.
    fn are_replicated(&mut self) -> bool {
        let primaries: BTreeSet<_> = self.primaries.iter().map(|range| &range.primary).collect();
        let asked: Vec<_> = primaries
            .into_iter()
            .map(|primary| {
                (primary.host.clone(), primary.port, primary.replicas.min(self.replicas))
            })
            .filter(|&(_, _, replicas)| replicas > 0)
            .collect();
        asked.into_iter().all(|(host, port, replicas)| {
            let mut wait = redis::cmd("WAIT");
            wait.arg(replicas).arg(WAIT);
            let to = RoutingInfo::SingleNode(SingleNodeRoutingInfo::ByAddress { host, port });
            let replied = self.connect().and_then(|connection| connection.route_command(&wait, to));
            match replied.map(redis::from_redis_value::<usize>) {
                Ok(Ok(have)) => have >= replicas,
                _ => {
                    self.connection = None;
                    false
                }
            }
        })
    }

    /// Ranges of slots, each with its primary.
    pub(super) fn topology(&mut self) -> Result<Vec<Range>> {
        let ranges: Vec<Vec<Value>> = self.one(redis::cmd("CLUSTER").arg("SLOTS"))?;
        let mut found = ranges.iter().map(|range| Range::of(range)).collect::<Result<Vec<_>>>()?;
        found.sort();
        Ok(found)
    }
}

/// A range of slots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Range {
    first: i64,
    last: i64,
    pub(super) primary: Primary,
}

/// A node that has slots. Two are the same whatever replicas they have.
#[derive(Clone, Debug)]
pub(super) struct Primary {
    pub(super) host: String,
    pub(super) port: u16,
    name: String,
    replicas: usize,
}

impl Primary {
    fn identity(&self) -> (&str, u16, &str) {
        (&self.host, self.port, &self.name)
    }
}

impl PartialEq for Primary {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Primary {}

impl PartialOrd for Primary {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Primary {
    fn cmp(&self, other: &Self) -> Ordering {
        self.identity().cmp(&other.identity())
    }
}

impl Range {
    fn of(fields: &[Value]) -> Result<Self> {
        let [first, last, primary, replicas @ ..] = fields else {
            bail!("CLUSTER SLOTS is unknown")
        };
        let Value::Array(node) = primary else { bail!("CLUSTER SLOTS has no primary") };
        let text = |at: usize| -> Result<String> {
            let value = node.get(at).context("CLUSTER SLOTS has no name")?;
            Ok(redis::from_redis_value(value.clone())?)
        };
        let primary = Primary {
            host: text(0)?,
            port: text(1)?.parse()?,
            name: text(2)?,
            replicas: replicas.len(),
        };
        let number = |value: &Value| redis::from_redis_value(value.clone());
        Ok(Self { first: number(first)?, last: number(last)?, primary })
    }

    pub(super) fn has(&self, slot: u16) -> bool {
        (self.first..=self.last).contains(&i64::from(slot))
    }
}

/// Whether the reason for an error may go away: a node is down or moved.
fn passes(error: &redis::RedisError) -> bool {
    error.is_io_error()
        || error.is_cluster_error()
        || error.is_connection_dropped()
        || error.is_timeout()
        || error.is_connection_refusal()
        || error.code().is_none()
        || matches!(
            error.code(),
            Some(
                "CLUSTERDOWN"
                    | "TRYAGAIN"
                    | "LOADING"
                    | "MASTERDOWN"
                    | "READONLY"
                    | "MOVED"
                    | "ASK"
            )
        )
}
