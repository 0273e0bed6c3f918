//! A minimal client: sends pipelined commands and reads replies.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use anyhow::{Context, bail};

pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    out: Vec<u8>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Reply {
    Integer(i64),
    Bytes(Vec<u8>),
    Array(Vec<Reply>),
    Nothing,
}

impl Reply {
    pub(crate) fn integer(&self) -> anyhow::Result<i64> {
        match self {
            Self::Integer(number) => Ok(*number),
            other => bail!("expected a number, got {other:?}"),
        }
    }

    pub(crate) fn text(&self) -> anyhow::Result<String> {
        match self {
            Self::Bytes(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            other => bail!("expected text, got {other:?}"),
        }
    }

    pub(crate) fn array(self) -> anyhow::Result<Vec<Self>> {
        match self {
            Self::Array(replies) => Ok(replies),
            other => bail!("expected an array, got {other:?}"),
        }
    }
}

impl Connection {
    pub(crate) fn open(port: u16) -> std::io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::with_capacity(1 << 16, stream), out: Vec::new() })
    }

    /// Adds a command to the next batch.
    pub(crate) fn add(&mut self, words: &[&[u8]]) {
        let out = &mut self.out;
        write_number(out, b'*', words.len());
        for word in words {
            write_number(out, b'$', word.len());
            out.extend_from_slice(word);
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Sends the batch.
    pub(crate) fn send(&mut self) -> std::io::Result<()> {
        self.stream.get_mut().write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Sends one command and waits for the reply.
    pub(crate) fn call(&mut self, words: &[&[u8]]) -> anyhow::Result<Reply> {
        self.add(words);
        self.send()?;
        self.reply().with_context(|| {
            let name = words.first().copied().unwrap_or_default();
            format!("{} failed", String::from_utf8_lossy(name))
        })
    }

    pub(crate) fn reply(&mut self) -> anyhow::Result<Reply> {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line)?;
        let line = line.strip_suffix(b"\r\n").context("the server closed the connection")?;
        let (kind, rest) = line.split_first().context("an empty reply")?;
        let text = str::from_utf8(rest)?;
        Ok(match kind {
            b':' => Reply::Integer(text.parse()?),
            b'+' => Reply::Bytes(rest.to_vec()),
            b'-' => bail!("{text}"),
            b'$' => match usize::try_from(text.parse::<i64>()?) {
                Err(_) => Reply::Nothing,
                Ok(len) => {
                    let mut bytes = vec![0; len + 2];
                    self.stream.read_exact(&mut bytes)?;
                    bytes.truncate(len);
                    Reply::Bytes(bytes)
                }
            },
            b'*' => {
                let len = text.parse::<i64>()?.max(0);
                Reply::Array((0..len).map(|_| self.reply()).collect::<anyhow::Result<_>>()?)
            }
            other => bail!("unknown reply type {other}"),
        })
    }

    /// Reads replies of one line each and counts those that equal `expected`. Fails on an error reply.
    pub(crate) fn count(&mut self, replies: usize, expected: &[u8]) -> anyhow::Result<usize> {
        let (mut counted, mut line) = (0, Vec::new());
        for _ in 0..replies {
            line.clear();
            self.stream.read_until(b'\n', &mut line)?;
            counted += usize::from(line == expected);
            if line.first() == Some(&b'-') {
                bail!("{}", String::from_utf8_lossy(&line));
            }
        }
        Ok(counted)
    }
}

fn write_number(out: &mut Vec<u8>, kind: u8, number: usize) {
    out.push(kind);
    out.extend_from_slice(Digits::of(number as u64).as_slice());
    out.extend_from_slice(b"\r\n");
}

/// The digits of a number, without an allocation: the client must not slow the measurement.
struct Digits {
    text: [u8; 20],
    start: usize,
}

impl Digits {
    fn of(mut number: u64) -> Self {
        let mut digits = Self { text: [0; 20], start: 20 };
        loop {
            digits.start -= 1;
            digits.text[digits.start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return digits;
            }
        }
    }

    fn as_slice(&self) -> &[u8] {
        &self.text[self.start..]
    }
}

/// The name of an item.
pub(crate) struct Item {
    text: [u8; 25],
    len: usize,
}

pub(crate) fn item(number: u64) -> Item {
    let (name, digits) = (b"item:", Digits::of(number));
    let (digits, mut text) = (digits.as_slice(), [0; 25]);
    let len = name.len() + digits.len();
    text[..name.len()].copy_from_slice(name);
    text[name.len()..len].copy_from_slice(digits);
    Item { text, len }
}

impl core::ops::Deref for Item {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.text[..self.len]
    }
}
