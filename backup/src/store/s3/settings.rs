//! How a bucket is reached, and the timeouts. Knows the usual AWS environment variables, and which
//! of their values the client does not handle well.

use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey as Key};
use object_store::path::Path;
use object_store::{BackoffConfig, ClientConfigKey, RetryConfig};
use url::Url;

use crate::error::{Error, Result};

/// How long a request is retried if there is no server or it is too busy. A restarted server is
/// back by then, and the program does not seem to hang.
const RETRY_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout of one request including its body: a pack, over a slow line.
const REQUEST_TIMEOUT: &str = "300 seconds";

const ENDPOINT: &str = "AWS_ENDPOINT_URL";

/// The client, the prefix and the name of the server for `BUCKET/PREFIX`.
pub(super) fn client(builder: AmazonS3Builder, place: &str) -> Result<(AmazonS3, Path, String)> {
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    let invalid = |reason| Error::InvalidLocation {
        location: format!("s3://{place}"),
        reason,
        form: "s3://BUCKET/PREFIX",
    };
    if !is_bucket(bucket) {
        return Err(invalid("the bucket name is not valid"));
    }
    let prefix = Path::parse(prefix).map_err(|_| invalid("the prefix is not valid"))?;
    let mut builder = builder.with_bucket_name(bucket);
    let endpoint = endpoint(&builder)?;
    if let Some(endpoint) = &endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    let timeout = Key::Client(ClientConfigKey::Timeout);
    if std::env::var_os("AWS_TIMEOUT").is_none() {
        builder = builder.with_config(timeout, REQUEST_TIMEOUT);
    }
    // These become part of a header or an address.
    for (key, variable) in [
        (Key::AccessKeyId, "AWS_ACCESS_KEY_ID"),
        (Key::Token, "AWS_SESSION_TOKEN"),
        (Key::Region, "AWS_REGION"),
    ] {
        let value = builder.get_config_value(&key).unwrap_or_default();
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            let reason = "contains a character that is not printable ASCII".into();
            return Err(Error::InvalidSetting { variable, reason });
        }
    }
    let region = builder.get_config_value(&Key::Region);
    let server = endpoint.or(region.map(|region| format!("S3 in {region}")));
    let backoff = BackoffConfig { max_backoff: Duration::from_secs(4), ..BackoffConfig::default() };
    let retry = RetryConfig { backoff, max_retries: 8, retry_timeout: RETRY_TIMEOUT };
    // The HTTP client has no TLS provider of its own. An error means that one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = builder.with_retry(retry).build().map_err(|error| {
        let reason = format!("has a value that cannot be used: {}", super::failure::text(&error));
        Error::InvalidSetting { variable: "a variable AWS_…", reason }
    })?;
    Ok((client, prefix, server.unwrap_or_else(|| "S3".into())))
}

/// Less strict than Amazon, as other servers are.
fn is_bucket(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(fits)
}

/// The address of an S3-compatible server, if one is set.
fn endpoint(builder: &AmazonS3Builder) -> Result<Option<String>> {
    let Some(text) = builder.get_config_value(&Key::Endpoint) else { return Ok(None) };
    let url = Url::parse(&text)
        .ok()
        .filter(|url| url.has_host() && url.query().is_none() && url.fragment().is_none());
    let allowed = builder.get_config_value(&Key::Client(ClientConfigKey::AllowHttp));
    match url {
        Some(url) if url.scheme() == "http" && allowed.as_deref() != Some("true") => {
            let reason = "is plain http, which others can read and change on the way; use https, \
                          or set AWS_ALLOW_HTTP=true";
            Err(Error::InvalidSetting { variable: ENDPOINT, reason: reason.into() })
        }
        Some(url) if matches!(url.scheme(), "http" | "https") => {
            Ok(Some(url.as_str().trim_end_matches('/').to_owned()))
        }
        _ => Err(Error::InvalidSetting {
            variable: ENDPOINT,
            reason: format!("is {text:?}, which is not an address; use https://SERVER"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(endpoint: &str, place: &str) -> std::result::Result<String, String> {
        let builder = AmazonS3Builder::new().with_endpoint(endpoint).with_allow_http(true);
        let client = client(builder, place).map(|(.., server)| server);
        client.map_err(|error| error.to_string())
    }

    #[test]
    fn addresses_that_the_client_would_stumble_over_are_refused() {
        for good in ["http://127.0.0.1:9000", "https://s3.example.org/", "http://[::1]:1/base"] {
            let server = outcome(good, "bucket/prefix").expect("an address");
            assert_eq!(server, good.trim_end_matches('/'));
        }
        for bad in
            ["", "server", "http://", "http://a b", "http://[::1", "http://h:99999", "ftp://h"]
        {
            let refusal = outcome(bad, "bucket/prefix").expect_err(bad);
            assert!(refusal.contains("AWS_ENDPOINT_URL"), "{refusal}");
        }
        for bad in ["", "/prefix", "a b/prefix", "a?/prefix", "../x", "b/../x", "b/x//y", "b/\n"] {
            let refusal = outcome("http://127.0.0.1:9000", bad).expect_err(bad);
            assert!(refusal.contains("s3://BUCKET/PREFIX"), "{refusal}");
        }
        let builder = AmazonS3Builder::new().with_region("a b");
        assert!(
            client(builder, "b/p").is_err_and(|error| error.to_string().contains("AWS_REGION"))
        );
    }
}
