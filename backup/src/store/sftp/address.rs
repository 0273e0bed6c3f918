//! `sftp://[USER@]HOST[:PORT]/PATH`. Knows which characters cannot be taken for an option of `ssh`.

use std::fmt;
use std::path::PathBuf;

use crate::error::{Error, Result};

const FORM: &str = "sftp://[USER@]HOST[:PORT]/PATH, or /~/PATH below the home directory";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) user: Option<String>,
    pub(super) host: String,
    pub(super) port: Option<u16>,
    /// Absolute, or relative to the home directory.
    pub(super) path: PathBuf,
}

impl Address {
    /// Of what follows `sftp://`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let invalid = |reason| Error::InvalidLocation {
            location: format!("sftp://{text}"),
            reason,
            form: FORM,
        };
        let (server, path) = text.split_once('/').ok_or_else(|| invalid("there is no path"))?;
        let (user, server) = match server.rsplit_once('@') {
            Some((user, server)) => (Some(user), server),
            None => (None, server),
        };
        let (host, port) = match server.strip_prefix('[') {
            // An IPv6 address.
            Some(rest) => {
                let (host, rest) =
                    rest.split_once(']').ok_or_else(|| invalid("a bracket is not closed"))?;
                (host, rest.strip_prefix(':').or((!rest.is_empty()).then_some("")))
            }
            None => {
                server.split_once(':').map_or((server, None), |(host, port)| (host, Some(port)))
            }
        };
        let port = port.map(|port| port.parse().ok().filter(|port| *port > 0));
        let port = match port {
            Some(None) => return Err(invalid("the port is not a number")),
            port => port.flatten(),
        };
        let is_word = |word: &str, more: &[u8]| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || more.contains(&byte);
            !word.is_empty() && !word.starts_with('-') && word.bytes().all(fits)
        };
        if !is_word(host, b"-._:%") {
            return Err(invalid("the name of the machine is not valid"));
        }
        if user.is_some_and(|user| !is_word(user, b"-._+@\\")) {
            return Err(invalid("the name of the user is not valid"));
        }
        let path = match path.strip_prefix("~/") {
            Some(below) => below.trim_end_matches('/').to_owned(),
            None => format!("/{}", path.trim_matches('/')),
        };
        if path.is_empty() || path == "/" || path.contains('\0') {
            return Err(invalid("there is no path"));
        }
        let (user, host) = (user.map(str::to_owned), host.to_owned());
        Ok(Self { user, host, port, path: path.into() })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sftp://")?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)
        } else {
            f.write_str(&self.host)
        }?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        let home = if self.path.is_absolute() { "" } else { "/~/" };
        write!(f, "{home}{}", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_what_it_was_written_as() {
        for text in [
            "host/path",
            "host/~/path/below",
            "me@host:2222/a/b c",
            "me@example.org@host/a",
            "[::1]:22/a",
            "[fe80::1%eth0]/~/a",
        ] {
            let address = Address::parse(text).expect(text);
            assert_eq!(address.to_string(), format!("sftp://{text}"));
        }
        assert_eq!(Address::parse("host//a/b/").ok(), Address::parse("host/a/b").ok());
    }

    /// Nothing in an address becomes an option or a command of `ssh`.
    #[test]
    fn addresses_that_ssh_would_misread_are_refused() {
        for text in [
            "",
            "host",
            "host/",
            "host/~/",
            "/path",
            "-oProxyCommand=x/path",
            "-l@host/path",
            "@host/path",
            "ho st/path",
            "host:/path",
            "host:0/path",
            "host:x/path",
            "host:70000/p",
            "[::1/path",
            "[::1]x/path",
            "a;b/path",
            "host/a\0b",
            "$(x)/path",
        ] {
            let refused = Address::parse(text).expect_err(text).to_string();
            assert!(refused.contains("[USER@]HOST"), "{refused}");
        }
    }
}
