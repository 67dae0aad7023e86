//! Just enough HTTP for a static site: one GET or HEAD a connection, one answer.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST_HEAD: u64 = 16 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// Decoded, and split at the slashes: `/a%20b/c` is `["a b", "c"]`. None if it names nothing below the root.
    pub path: Option<Vec<String>>,
    /// The path as it was sent, without the query.
    pub raw_path: String,
    /// Encodings that the client takes: `br`, `gzip`, …
    pub encodings: Vec<String>,
}

pub struct Response {
    pub status: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn new(status: &'static str, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![
            ("Content-Type", content_type.to_owned()),
            ("X-Content-Type-Options", "nosniff".to_owned()),
        ];
        Self { status, headers, body: body.into() }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Reads one request from a connection and answers it. Nothing asked is nothing answered.
pub fn answer(stream: &TcpStream, respond: impl Fn(&Request) -> Response) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut lines = Vec::new();
    for line in BufReader::new(stream.take(LONGEST_HEAD)).lines() {
        let line = line?;
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    if lines.is_empty() {
        return Ok(());
    }
    let (response, head_only) = match Request::parse(&lines) {
        Some(request) if request.method == "GET" || request.method == "HEAD" => {
            (respond(&request), request.method == "HEAD")
        }
        Some(_) => (
            Response::new("405 Method Not Allowed", TEXT, "GET only\n").with("Allow", "GET, HEAD"),
            false,
        ),
        None => (Response::new("400 Bad Request", TEXT, "not understood\n"), false),
    };
    let mut head = format!("HTTP/1.1 {}\r\n", response.status);
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\nConnection: close\r\n\r\n", response.body.len()));
    let mut stream = stream;
    stream.write_all(head.as_bytes())?;
    if !head_only {
        stream.write_all(&response.body)?;
    }
    stream.flush()
}

pub const TEXT: &str = "text/plain; charset=utf-8";

/// The type of a file by its ending.
pub fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" | "md" => TEXT,
        "csv" => "text/csv; charset=utf-8",
        _ => "application/octet-stream",
    }
}

impl Request {
    fn parse(lines: &[String]) -> Option<Self> {
        let mut first = lines.first()?.split(' ');
        let (method, target) = (first.next()?, first.next()?);
        if !first.next()?.starts_with("HTTP/1.") || !target.starts_with('/') {
            return None;
        }
        let raw_path = target.split(['?', '#']).next()?;
        let encodings = lines[1..]
            .iter()
            .filter_map(|line| line.split_once(':'))
            .filter(|(name, _)| name.eq_ignore_ascii_case("accept-encoding"))
            .flat_map(|(_, value)| value.split(','))
            .filter_map(accepted_encoding)
            .collect();
        Some(Self {
            method: method.to_owned(),
            path: segments(raw_path),
            raw_path: raw_path.to_owned(),
            encodings,
        })
    }
}

/// `br;q=0.5` is `br`; `br;q=0` is a refusal.
fn accepted_encoding(item: &str) -> Option<String> {
    let (name, weight) = item.split_once(";").unwrap_or((item, ""));
    let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
    let refused = weight.is_some_and(|weight| weight <= 0.0);
    (!refused).then(|| name.trim().to_ascii_lowercase())
}

/// The parts of a path, decoded. None as soon as one could lead anywhere but down.
fn segments(path: &str) -> Option<Vec<String>> {
    path.split('/')
        .filter(|segment| !segment.is_empty())
        .map(|segment| {
            let segment = percent_decode(segment)?;
            let leads_down =
                segment != "." && segment != ".." && !segment.contains(['/', '\\', ':', '\0']);
            leads_down.then_some(segment)
        })
        .collect()
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(head: &str) -> Option<Request> {
        Request::parse(&head.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_path_is_decoded_and_loses_its_query() {
        let request = request("GET /a%20b//c.js?v=1 HTTP/1.1").expect("a request");
        assert_eq!(request.path, Some(vec!["a b".to_owned(), "c.js".to_owned()]));
        assert_eq!(request.raw_path, "/a%20b//c.js");
    }

    #[test]
    fn no_path_leads_out_of_the_root() {
        for path in [
            "/..",
            "/../x",
            "/a/../../x",
            "/%2e%2e/x",
            "/..%2fx",
            "/a%5c..%5cx",
            "/C:/x",
            "/%00",
            "/.",
            "/%2E./x",
            "/%zz",
            "/%f",
            "/%ff",
        ] {
            let request = request(&format!("GET {path} HTTP/1.1")).expect("a request");
            assert_eq!(request.path, None, "{path}");
        }
        assert!(request("GET http://x/ HTTP/1.1").is_none(), "no proxy");
        assert!(request("GET").is_none());
    }

    #[test]
    fn refused_encodings_do_not_count() {
        let head = "GET / HTTP/1.1\nHost: x\nAccept-Encoding: gzip, br;q=0, zstd;q=0.5";
        assert_eq!(request(head).expect("a request").encodings, ["gzip", "zstd"]);
    }
}
