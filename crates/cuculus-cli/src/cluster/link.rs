//! A connection to a cluster, or to one server, that goes on while slots move, servers restart and replicas
//! take over. Knows how commands are sent and sent again; knows nothing of sets.
//!
//! What a primary has acknowledged is lost if it fails before a replica has it. So commands that change
//! something are kept until replicas have confirmed them, and sent again if the primaries are not the
//! same any more. Such commands must not do harm when they are repeated.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use redis::cluster::{ClusterClient, ClusterConnection, cluster_pipe};
use redis::cluster_routing::{RoutingInfo, SingleNodeRoutingInfo};
use redis::{
    Client, Cmd, Connection, ConnectionAddr, FromRedisValue, RedisError, RedisResult, Value,
};

use super::Nodes;

const RETRIES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(200);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(3);
/// For replicas to confirm, in milliseconds.
const WAIT: usize = 10_000;
/// Commands between two confirmations.
const UNCONFIRMED: usize = 1 << 14;
/// The last slot of a cluster.
const LAST_SLOT: i64 = 16_383;

/// A command, as far as its words are known.
pub(super) fn command(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    command.arg(words);
    command
}

pub(super) struct Link {
    server: Server,
    connection: Option<Connected>,
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
        let mut link = Self {
            server: Server::at(&nodes.urls)?,
            connection: None,
            replicas: nodes.replicas.get() as usize,
            patience: Duration::from_secs(nodes.patience.get()),
            unconfirmed: Vec::new(),
            primaries: Vec::new(),
            repeated: 0,
        };
        // Once without patience: a wrong address should not take a minute.
        link.connect().with_context(|| cannot_reach(&nodes.urls))?;
        link.primaries = link.topology()?.ranges;
        Ok(link)
    }

    fn connect(&mut self) -> RedisResult<&mut Connected> {
        match self.connection {
            Some(ref mut connection) => Ok(connection),
            None => Ok(self.connection.insert(self.server.connect()?)),
        }
    }

    /// Repeats a request until it succeeds, is refused for a reason that will not pass, or patience ends.
    fn persistently<T>(
        &mut self,
        mut request: impl FnMut(&mut Connected) -> RedisResult<T>,
    ) -> Result<T> {
        let start = Instant::now();
        loop {
            let error = match self.connect().and_then(&mut request) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            // Replies of other commands may still be on their way: a new connection has none.
            self.connection = None;
            let name = self.server.name();
            if !passes(&error) {
                return Err(refusal(name, error));
            }
            if start.elapsed() > self.patience {
                return Err(anyhow!(error).context(format!("{name} is still down; see --patience")));
            }
            self.repeated += 1;
            std::thread::sleep(PAUSE);
        }
    }

    /// The reply to one command.
    pub(super) fn one<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T> {
        self.persistently(|connection| connection.one(command))
    }

    /// The replies to several commands, sent at once to all nodes.
    pub(super) fn all<T: FromRedisValue>(&mut self, commands: &[Cmd]) -> Result<Vec<T>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        self.persistently(|connection| connection.all(commands))
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
            let Topology { ranges, replicas } = self.topology()?;
            if ranges != self.primaries {
                // What the old ones acknowledged may be lost.
                self.primaries = ranges;
                let again = std::mem::take(&mut self.unconfirmed);
                self.repeated += 1;
                for commands in again.chunks(256) {
                    self.all::<Value>(commands)?;
                }
                self.unconfirmed = again;
            } else if self.are_replicated(replicas) && self.topology()?.ranges == self.primaries {
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
    fn are_replicated(&mut self, replicas: BTreeMap<Primary, usize>) -> bool {
        let most = self.replicas;
        let asked = replicas.into_iter().map(|(primary, replicas)| (primary, replicas.min(most)));
        asked.filter(|&(_, replicas)| replicas > 0).all(|(primary, replicas)| {
            let mut wait = command(&["WAIT"]);
            wait.arg(replicas).arg(WAIT);
            let replied = self.connect().and_then(|connection| connection.at(&wait, primary));
            match replied.map(redis::from_redis_value::<usize>) {
                Ok(Ok(have)) => have >= replicas,
                _ => {
                    self.connection = None;
                    false
                }
            }
        })
    }

    /// Who has which slots. One server has them all.
    pub(super) fn topology(&mut self) -> Result<Topology> {
        let mut found = Topology::default();
        if let Server::One(client) = &self.server {
            let address = client.get_connection_info().addr().clone();
            let info: String = self.one(&command(&["INFO"]))?;
            let (primary, replicas) = Primary::of_server(&address, &info);
            found.replicas.insert(primary.clone(), replicas);
            found.ranges.push(Range { first: 0, last: LAST_SLOT, primary });
            return Ok(found);
        }
        let ranges: Vec<Vec<Value>> = self.one(&command(&["CLUSTER", "SLOTS"]))?;
        for fields in ranges {
            let (range, replicas) = Range::of(&fields)?;
            found.replicas.insert(range.primary.clone(), replicas);
            found.ranges.push(range);
        }
        found.ranges.sort();
        Ok(found)
    }
}

fn cannot_reach(urls: &[String]) -> String {
    format!("cannot reach a server at {}; is one running there?", urls.join(", "))
}

/// What is at the addresses.
enum Server {
    Cluster(ClusterClient),
    One(Client),
}

impl Server {
    /// Asks the first node that answers what it is. A client for clusters would take a single server for a
    /// cluster that is down.
    fn at(urls: &[String]) -> Result<Self> {
        let no_address = || {
            let urls = urls.join(", ");
            format!("--node {urls}: expected an address such as redis://10.0.0.1:6379")
        };
        let clients = urls.iter().map(|url| Client::open(url.as_str()));
        let clients = clients.collect::<RedisResult<Vec<_>>>().with_context(no_address)?;
        let mut answer = None;
        for client in clients {
            match is_cluster(&client) {
                Ok(false) => return Ok(Self::One(client)),
                other => answer = Some(other),
            }
            if matches!(answer, Some(Ok(_))) {
                break;
            }
        }
        answer.transpose().with_context(|| cannot_reach(urls))?;
        let cluster = ClusterClient::builder(urls.iter().map(String::as_str))
            .retries(RETRIES)
            .min_retry_wait(50)
            .max_retry_wait(1000)
            .response_timeout(RESPONSE_TIMEOUT)
            .connection_timeout(CONNECTION_TIMEOUT)
            .build();
        Ok(Self::Cluster(cluster.with_context(no_address)?))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Cluster(_) => "the cluster",
            Self::One(_) => "the server",
        }
    }

    fn connect(&self) -> RedisResult<Connected> {
        match self {
            Self::Cluster(client) => client.get_connection().map(Box::new).map(Connected::Cluster),
            Self::One(client) => connected(client).map(Connected::One),
        }
    }
}

fn connected(client: &Client) -> RedisResult<Connection> {
    let connection = client.get_connection_with_timeout(CONNECTION_TIMEOUT)?;
    connection.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
    connection.set_write_timeout(Some(RESPONSE_TIMEOUT))?;
    Ok(connection)
}

fn is_cluster(client: &Client) -> RedisResult<bool> {
    let info: String = command(&["INFO", "cluster"]).query(&mut connected(client)?)?;
    Ok(fields_of(&info).get("cluster_enabled") == Some(&"1"))
}

/// The fields of an `INFO` reply.
fn fields_of(info: &str) -> HashMap<&str, &str> {
    info.lines().filter_map(|line| line.trim_end().split_once(':')).collect()
}

/// An open connection.
enum Connected {
    Cluster(Box<ClusterConnection>),
    One(Connection),
}

impl Connected {
    fn one<T: FromRedisValue>(&mut self, command: &Cmd) -> RedisResult<T> {
        match self {
            Self::Cluster(connection) => command.query(connection),
            Self::One(connection) => command.query(connection),
        }
    }

    fn all<T: FromRedisValue>(&mut self, commands: &[Cmd]) -> RedisResult<Vec<T>> {
        match self {
            Self::Cluster(connection) => {
                let mut pipe = cluster_pipe();
                commands.iter().for_each(|command| {
                    pipe.add_command(command.clone());
                });
                pipe.query(connection)
            }
            Self::One(connection) => {
                let mut pipe = redis::pipe();
                commands.iter().for_each(|command| {
                    pipe.add_command(command.clone());
                });
                pipe.query(connection)
            }
        }
    }

    /// Sends a command to one node.
    fn at(&mut self, command: &Cmd, Primary { host, port, .. }: Primary) -> RedisResult<Value> {
        match self {
            Self::Cluster(connection) => {
                let to = RoutingInfo::SingleNode(SingleNodeRoutingInfo::ByAddress { host, port });
                connection.route_command(command, to)
            }
            Self::One(connection) => command.query(connection),
        }
    }
}

/// Who has which slots.
#[derive(Default)]
pub(super) struct Topology {
    pub(super) ranges: Vec<Range>,
    /// Of each primary.
    replicas: BTreeMap<Primary, usize>,
}

/// A range of slots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Range {
    first: i64,
    last: i64,
    pub(super) primary: Primary,
}

/// A node that has slots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Primary {
    pub(super) host: String,
    pub(super) port: u16,
    name: String,
}

impl Primary {
    /// A server that is no cluster, and its replicas. After a restart it is another one: what it had not saved
    /// is lost.
    fn of_server(address: &ConnectionAddr, info: &str) -> (Self, usize) {
        let (host, port) = match address {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                (host.clone(), *port)
            }
            other => (other.to_string(), 0),
        };
        let fields = fields_of(info);
        let name = fields.get("run_id").copied().unwrap_or_default().to_owned();
        let replicas = fields.get("connected_slaves").and_then(|number| number.parse().ok());
        (Self { host, port, name }, replicas.unwrap_or(0))
    }
}

impl Range {
    /// A range, and the number of its replicas.
    fn of(fields: &[Value]) -> Result<(Self, usize)> {
        let [first, last, primary, replicas @ ..] = fields else {
            bail!("CLUSTER SLOTS is unknown")
        };
        let Value::Array(node) = primary else { bail!("CLUSTER SLOTS has no primary") };
        let text = |at: usize| -> Result<String> {
            let value = node.get(at).context("CLUSTER SLOTS has no name")?;
            Ok(redis::from_redis_value(value.clone())?)
        };
        let primary = Primary { host: text(0)?, port: text(1)?.parse()?, name: text(2)? };
        let number = |value: &Value| redis::from_redis_value(value.clone());
        Ok((Self { first: number(first)?, last: number(last)?, primary }, replicas.len()))
    }

    pub(super) fn has(&self, slot: u16) -> bool {
        (self.first..=self.last).contains(&i64::from(slot))
    }
}

/// What a server said to a command, or to the first of several that it refused.
fn refusal(name: &str, error: RedisError) -> anyhow::Error {
    let first = error.clone().into_server_errors().and_then(|errors| errors.first().cloned());
    let error = first.map_or(error, |(_, first)| first.into());
    let has_no_module = error.detail().is_some_and(|said| said.starts_with("unknown command"));
    let remedy = if has_no_module { " of the module; load it there (docs/valkey.md)" } else { "" };
    anyhow!(error).context(format!("{name} refused a command{remedy}"))
}

/// Whether the reason for an error may go away: a node is down or moved.
fn passes(error: &RedisError) -> bool {
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
