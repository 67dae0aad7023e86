//! Offers a built page on 127.0.0.1, below any path.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::thread;

use anyhow::{Context as _, Result, bail};

use crate::compress::with_ending;
use crate::http::{self, Request, Response, TEXT, content_type};
use crate::index_html;

/// How many ports after the wanted one are tried.
const PORTS: u16 = 20;
const VERSION: &str = "__version";
const HTML: &str = "text/html; charset=utf-8";

/// A page being served, or about to be.
pub struct Site {
    /// Starts and ends with a slash.
    prefix: String,
    folder: RwLock<Option<PathBuf>>,
    /// Counts the builds; the page asks for it if it reloads by itself.
    version: AtomicU64,
    reloads: bool,
}

/// A server that runs until the process ends.
pub struct Server {
    pub site: Arc<Site>,
    pub port: u16,
    pub url: String,
}

impl Site {
    /// A finished page below a prefix such as `/` or `/some/place/`.
    pub fn finished(folder: &Path, prefix: &str) -> Self {
        Self::new(Some(folder.to_owned()), prefix, false)
    }

    /// A page that is built while it is served and reloads itself after each build.
    pub fn in_the_making() -> Self {
        Self::new(None, "/", true)
    }

    fn new(folder: Option<PathBuf>, prefix: &str, reloads: bool) -> Self {
        let prefix = prefix.to_owned();
        Self { prefix, folder: RwLock::new(folder), version: AtomicU64::new(0), reloads }
    }

    /// Shows a new build.
    pub fn show(&self, folder: &Path) {
        *self.folder.write().expect("no reader panics") = Some(folder.to_owned());
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// Serves on a port of 127.0.0.1: the wanted one or, if that is taken, one of the next. 0 is any.
    pub fn serve(self, port: u16) -> Result<Server> {
        let listener = bind(port)?;
        let port = listener.local_addr()?.port();
        let url = format!("http://127.0.0.1:{port}{}", self.prefix);
        let site = Arc::new(self);
        let served = Arc::clone(&site);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let site = Arc::clone(&served);
                // A visitor who goes away early is no error of ours.
                thread::spawn(move || http::answer(&stream, |request| site.respond(request)));
            }
        });
        Ok(Server { site, port, url })
    }

    fn respond(&self, request: &Request) -> Response {
        let Some(below) = self.below_prefix(request) else {
            return Response::new(
                "404 Not Found",
                TEXT,
                format!("the page is at {}\n", self.prefix),
            );
        };
        if self.reloads && below == [VERSION] {
            let version = self.version.load(Ordering::SeqCst).to_string();
            return Response::new("200 OK", TEXT, version).with("Cache-Control", "no-store");
        }
        let folder = self.folder.read().expect("no writer panics").clone();
        let Some(folder) = folder else { return self.building() };

        let name = below.last().map_or("", String::as_str);
        let file = below.iter().fold(folder.clone(), |path, segment| path.join(segment));
        if file.is_file() && name != "index.html" {
            return self.file(&file, name, request);
        }
        // An address inside of the page; but a missing script must not be answered with HTML.
        if !below.is_empty() && name.contains('.') && name != "index.html" {
            return Response::new("404 Not Found", TEXT, "no such file\n");
        }
        self.index(&folder, request)
    }

    fn below_prefix<'a>(&self, request: &'a Request) -> Option<&'a [String]> {
        let path = request.path.as_deref()?;
        let prefix: Vec<&str> = self.prefix.split('/').filter(|part| !part.is_empty()).collect();
        let (head, below) = path.split_at_checked(prefix.len())?;
        // Without the slash at its end, relative addresses would start from the parent.
        let complete = !below.is_empty() || request.raw_path.ends_with('/');
        (head == prefix && complete).then_some(below)
    }

    fn index(&self, folder: &Path, request: &Request) -> Response {
        let file = folder.join("index.html");
        let html = match fs::read_to_string(&file) {
            Ok(html) => html,
            Err(error) => return not_readable(&file, &error),
        };
        let at_home = request.raw_path == self.prefix;
        if at_home && !self.reloads {
            return self.file(&file, "index.html", request);
        }
        let mut html = if at_home { html } else { index_html::with_base(&html, &self.prefix) };
        if self.reloads {
            html = index_html::with_script(&html, &self.reload_script());
        }
        Response::new("200 OK", HTML, html).with("Cache-Control", "no-cache")
    }

    fn file(&self, file: &Path, name: &str, request: &Request) -> Response {
        let accepted = |encoding: &str| request.encodings.iter().any(|known| known == encoding);
        let copies = [("br", "br"), ("gzip", "gz")];
        let packed = copies.into_iter().find_map(|(encoding, ending)| {
            let copy = with_ending(file, ending);
            (accepted(encoding) && copy.is_file()).then_some((encoding, copy))
        });
        let (encoding, path) = match packed {
            Some((encoding, copy)) => (Some(encoding), copy),
            None => (None, file.to_owned()),
        };
        let body = match fs::read(&path) {
            Ok(body) => body,
            Err(error) => return not_readable(&path, &error),
        };
        let cache =
            if is_hashed(name) { "public, max-age=31536000, immutable" } else { "no-cache" };
        let response = Response::new("200 OK", content_type(name), body)
            .with("Cache-Control", cache)
            .with("Vary", "Accept-Encoding");
        match encoding {
            Some(encoding) => response.with("Content-Encoding", encoding),
            None => response,
        }
    }

    fn building(&self) -> Response {
        let script = self.reload_script();
        let html = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Headroom</title></head>\
             <body style=\"font-family: system-ui; color-scheme: light dark\">\
             <p>Headroom is being built; this page shows it when it is ready. \
             If the build fails, the terminal says why.</p><script>{script}</script></body></html>"
        );
        Response::new("503 Service Unavailable", HTML, html).with("Cache-Control", "no-store")
    }

    fn reload_script(&self) -> String {
        let (version, prefix) = (self.version.load(Ordering::SeqCst), &self.prefix);
        format!(
            "setInterval(async () => {{ \
               if (document.hidden) return; \
               const answer = await fetch('{prefix}{VERSION}').catch(() => null); \
               if (answer?.ok && await answer.text() !== '{version}') location.reload(); \
             }}, 500);"
        )
    }
}

fn not_readable(file: &Path, error: &io::Error) -> Response {
    let text = format!("cannot read {}: {error}\n", file.display());
    Response::new("500 Internal Server Error", TEXT, text)
}

/// Names that change with their content: `app-0123456789abcdef.js`.
fn is_hashed(name: &str) -> bool {
    name.rsplit_once('.').and_then(|(stem, _)| stem.rsplit_once('-')).is_some_and(|(_, hash)| {
        hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn bind(wanted: u16) -> Result<TcpListener> {
    let last = if wanted == 0 { 0 } else { wanted.saturating_add(PORTS) };
    for port in wanted..=last {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(listener) => {
                if port != wanted {
                    println!("Port {wanted} is taken; using {port}.");
                }
                return Ok(listener);
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot listen on 127.0.0.1:{port}"));
            }
        }
    }
    bail!("ports {wanted} to {last} are taken; choose another with --port");
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str) -> Self {
            let folder =
                std::env::temp_dir().join(format!("headroom-site-{name}-{}", std::process::id()));
            let inner = folder.join("site");
            fs::create_dir_all(&inner).expect("the temporary folder is writable");
            for (file, content) in [
                ("index.html", "<head></head><body></body>"),
                ("app-0123456789abcdef.js", "plain"),
                ("app-0123456789abcdef.js.br", "packed"),
                ("../secret.txt", "secret"),
            ] {
                fs::write(inner.join(file), content).expect("writable");
            }
            Self(folder)
        }

        fn site(&self, prefix: &str) -> Site {
            Site::finished(&self.0.join("site"), prefix)
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("removable");
        }
    }

    /// Asks a real server and returns the head and the body.
    fn get(url: &str, path: &str, more: &str) -> (String, String) {
        use std::io::{Read as _, Write as _};
        let host = url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let mut stream =
            std::net::TcpStream::connect(host.expect("an address")).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n{more}\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        (head.to_owned(), body.to_owned())
    }

    #[test]
    fn a_page_works_below_a_prefix_and_only_there() {
        let temporary = Temporary::new("prefix");
        let server = temporary.site("/some/prefix/").serve(0).expect("any port");
        let status = |path: &str| get(&server.url, path, "").0[9..12].to_owned();
        assert_eq!(status("/some/prefix/"), "200");
        assert_eq!(status("/some/prefix/index.html"), "200");
        assert_eq!(status("/some/prefix"), "404");
        assert_eq!(status("/"), "404");
        assert_eq!(status("/some/prefix/missing.js"), "404");
        let (_, deep) = get(&server.url, "/some/prefix/deep/er", "");
        assert!(deep.contains(r#"<base href="/some/prefix/">"#), "{deep}");
    }

    #[test]
    fn a_compressed_copy_is_sent_to_those_who_take_it() {
        let temporary = Temporary::new("compressed");
        let server = temporary.site("/").serve(0).expect("any port");
        let path = "/app-0123456789abcdef.js";
        let (head, body) = get(&server.url, path, "Accept-Encoding: gzip, br\r\n");
        assert_eq!(body, "packed");
        assert!(head.contains("Content-Encoding: br") && head.contains("immutable"), "{head}");
        assert!(head.contains("text/javascript"), "{head}");
        let (head, body) = get(&server.url, path, "");
        assert_eq!(body, "plain");
        assert!(!head.contains("Content-Encoding"), "{head}");
    }

    #[test]
    fn nothing_outside_of_the_folder_is_served() {
        let temporary = Temporary::new("outside");
        let server = temporary.site("/").serve(0).expect("any port");
        for path in ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "//../secret.txt"]
        {
            let (head, body) = get(&server.url, path, "");
            assert!(head.contains("404") && !body.contains("secret"), "{path}: {head}\n{body}");
        }
    }

    #[test]
    fn a_page_in_the_making_says_so_and_then_reloads() {
        let temporary = Temporary::new("making");
        let server = Site::in_the_making().serve(0).expect("any port");
        assert!(get(&server.url, "/", "").0.contains("503"));
        assert_eq!(get(&server.url, "/__version", "").1, "0");
        server.site.show(&temporary.0.join("site"));
        assert_eq!(get(&server.url, "/__version", "").1, "1");
        assert!(get(&server.url, "/", "").1.contains("location.reload()"));
    }

    #[test]
    fn a_taken_port_gives_way_to_the_next() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("any port");
        let port = taken.local_addr().expect("it has one").port();
        if port < u16::MAX - PORTS {
            let next = bind(port).expect("one of the next is free");
            assert_ne!(next.local_addr().expect("it has one").port(), port);
        }
    }
}
