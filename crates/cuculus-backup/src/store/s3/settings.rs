//! How a bucket is reached, and for how long an answer is waited for. Knows what the usual variables
//! of the environment mean, and which values the client would stumble over.

use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey as Key};
use object_store::path::Path;
use object_store::{BackoffConfig, ClientConfigKey, RetryConfig};
use url::Url;

use crate::error::{Error, Result};

/// A request that found no server, or one that was too busy, is sent again for this long. A server
/// that is started anew is back by then, and nobody takes us for hung.
const RETRIES: Duration = Duration::from_secs(20);
/// A request must be answered in this time, its body sent or received: a pack, over a slow line.
const ANSWER: &str = "300 seconds";

/// The client, the prefix and a name of the server for `BUCKET/PREFIX`.
pub(super) fn client(builder: AmazonS3Builder, place: &str) -> Result<(AmazonS3, Path, String)> {
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    let refused =
        |why: &str| Error::refused(format!("s3://{place}: {why}; say s3://BUCKET/PREFIX"));
    if !is_bucket(bucket) {
        return Err(refused("this cannot be a bucket's name"));
    }
    let prefix = Path::parse(prefix).map_err(|_| refused("this cannot be a prefix"))?;
    let mut builder = builder.with_bucket_name(bucket);
    let endpoint = endpoint(&builder)?;
    if let Some(endpoint) = &endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    let timeout = Key::Client(ClientConfigKey::Timeout);
    if std::env::var_os("AWS_TIMEOUT").is_none() {
        builder = builder.with_config(timeout, ANSWER);
    }
    // They become part of a header or an address.
    for (key, variable) in [
        (Key::AccessKeyId, "AWS_ACCESS_KEY_ID"),
        (Key::Token, "AWS_SESSION_TOKEN"),
        (Key::Region, "AWS_REGION"),
    ] {
        let value = builder.get_config_value(&key).unwrap_or_default();
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::refused(format!("{variable} has a character that none can have")));
        }
    }
    let region = builder.get_config_value(&Key::Region);
    let server = endpoint.or(region.map(|region| format!("S3 in {region}")));
    let backoff = BackoffConfig { max_backoff: Duration::from_secs(4), ..BackoffConfig::default() };
    let retry = RetryConfig { backoff, max_retries: 8, retry_timeout: RETRIES };
    let client = builder.with_retry(retry).build().map_err(|error| {
        let why = super::failure::text(&error);
        Error::refused(format!("a variable AWS_… cannot be used: {why}"))
    })?;
    Ok((client, prefix, server.unwrap_or_else(|| "S3".into())))
}

/// More than Amazon allows: others are not as strict.
fn is_bucket(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(fits)
}

/// The address of another server than Amazon's, if one is named.
fn endpoint(builder: &AmazonS3Builder) -> Result<Option<String>> {
    let Some(text) = builder.get_config_value(&Key::Endpoint) else { return Ok(None) };
    let url = Url::parse(&text)
        .ok()
        .filter(|url| url.has_host() && url.query().is_none() && url.fragment().is_none());
    let allowed = builder.get_config_value(&Key::Client(ClientConfigKey::AllowHttp));
    match url {
        Some(url) if url.scheme() == "http" && allowed.as_deref() != Some("true") => {
            Err(Error::refused(
                "AWS_ENDPOINT_URL is plain http, which others can read and change on the way; \
                 use https, or set AWS_ALLOW_HTTP=true",
            ))
        }
        Some(url) if matches!(url.scheme(), "http" | "https") => {
            Ok(Some(url.as_str().trim_end_matches('/').to_owned()))
        }
        _ => Err(Error::refused(format!(
            "AWS_ENDPOINT_URL is {text:?}, which is no address; say https://SERVER"
        ))),
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
