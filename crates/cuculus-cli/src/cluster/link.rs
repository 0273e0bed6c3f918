//! A connection to a cluster that goes on while slots move and replicas take over. Knows how commands
//! are sent and sent again; knows nothing of sets.
//!
//! What a primary has acknowledged is lost if it fails before a replica has it. So commands that change
//! something are kept until replicas have confirmed them, and sent again if the primaries are not the
//! same any more. Such commands must not do harm when they are repeated.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use redis::cluster::{ClusterClient, ClusterConnection, cluster_pipe};
use redis::cluster_routing::{AggregateOp, MultipleNodeRoutingInfo, ResponsePolicy, RoutingInfo};
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
    primaries: Vec<(i64, i64, String)>,
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
            .context("cannot use the addresses of the nodes")?;
        let mut link = Self {
            client,
            connection: None,
            replicas: nodes.replicas,
            patience: Duration::from_secs(nodes.patience),
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

    /// Returns when replicas have all changes.
    pub(super) fn confirm(&mut self) -> Result<()> {
        let start = Instant::now();
        loop {
            let are_known = self.replicas == 0 || self.wait()? >= self.replicas as i64;
            let primaries = self.topology()?;
            if are_known && primaries == self.primaries {
                self.unconfirmed.clear();
                return Ok(());
            }
            if start.elapsed() > self.patience {
                bail!(
                    "fewer than {} replicas have the last changes; see --replicas and --patience",
                    self.replicas
                );
            }
            if primaries != self.primaries {
                self.primaries = primaries;
                let again = std::mem::take(&mut self.unconfirmed);
                self.repeated += 1;
                for commands in again.chunks(256) {
                    self.all::<Value>(commands)?;
                }
                self.unconfirmed = again;
            } else {
                std::thread::sleep(PAUSE);
            }
        }
    }

    /// The fewest replicas that a primary has for what was sent to it.
    fn wait(&mut self) -> Result<i64> {
        let mut wait = redis::cmd("WAIT");
        wait.arg(self.replicas).arg(WAIT);
        let least = Some(ResponsePolicy::Aggregate(AggregateOp::Min));
        self.persistently(|connection| {
            let to = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, least));
            redis::from_redis_value(connection.route_command(&wait, to)?).map_err(Into::into)
        })
    }

    /// Ranges of slots, each with the name of its primary.
    pub(super) fn topology(&mut self) -> Result<Vec<(i64, i64, String)>> {
        let ranges: Vec<Vec<Value>> = self.one(redis::cmd("CLUSTER").arg("SLOTS"))?;
        let mut primaries = Vec::new();
        for range in ranges {
            let [first, last, primary, ..] = range.as_slice() else {
                bail!("CLUSTER SLOTS is unknown")
            };
            let Value::Array(node) = primary else { bail!("CLUSTER SLOTS has no primary") };
            let text = |at: usize| -> Result<String> {
                let value = node.get(at).context("CLUSTER SLOTS has no name")?;
                Ok(redis::from_redis_value(value.clone())?)
            };
            let name = format!("{}:{} {}", text(0)?, text(1)?, text(2).unwrap_or_default());
            let (first, last) =
                (redis::from_redis_value(first.clone())?, redis::from_redis_value(last.clone())?);
            primaries.push((first, last, name));
        }
        primaries.sort();
        Ok(primaries)
    }
}

/// Whether the reason for an error may go away: a node is down or moved.
fn passes(error: &redis::RedisError) -> bool {
    error.is_io_error()
        || error.is_cluster_error()
        || error.is_connection_dropped()
        || error.is_timeout()
        || error.is_connection_refusal()
        || !matches!(error.code(), Some(_))
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
