//! One connection to the DevTools protocol: numbered calls and their answers, events in between.

use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// No call of ours takes longer, not even a page load on a busy machine.
const CALL_TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) struct Connection {
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    last_id: u64,
    /// The tab that calls go to; none means the browser.
    session: Option<String>,
    /// Events that nobody has looked at yet.
    events: Vec<Event>,
}

pub(crate) struct Event {
    pub method: String,
    pub params: Value,
}

impl Connection {
    pub fn open(endpoint: &str) -> Result<Self> {
        // Screenshots of long pages exceed the default limits.
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let (socket, _) = tungstenite::client::connect_with_config(endpoint, Some(config), 0)
            .with_context(|| format!("cannot connect to {endpoint}"))?;
        Ok(Self { socket, last_id: 0, session: None, events: Vec::new() })
    }

    /// Sends later calls to the tab of this session.
    pub fn attach(&mut self, session: String) {
        self.session = Some(session);
    }

    /// Calls a method and waits for its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(message.to_string()))?;
        let deadline = Instant::now() + CALL_TIMEOUT;
        loop {
            let answer = self.read(deadline);
            let mut answer = answer.with_context(|| format!("no answer to {method}"))?;
            if answer["id"] == json!(id) {
                if let Some(error) = answer.get("error") {
                    bail!("{method}: {}", error["message"].as_str().unwrap_or("failed"));
                }
                return Ok(answer["result"].take());
            }
            self.keep_if_event(answer);
        }
    }

    /// Waits for an event that has not been taken yet, and leaves the others.
    pub fn wait_for_event(&mut self, method: &str, timeout: Duration) -> Result<Value> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(index) = self.events.iter().position(|event| event.method == method) {
                return Ok(self.events.remove(index).params);
            }
            let message = self.read(deadline).with_context(|| format!("no {method}"))?;
            self.keep_if_event(message);
        }
    }

    /// Takes every event received until now.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Forgets the events of one method, so that a later wait sees only new ones.
    pub fn forget_events(&mut self, method: &str) {
        self.events.retain(|event| event.method != method);
    }

    fn read(&mut self, deadline: Instant) -> Result<Value> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            ensure!(!left.is_zero(), "Chromium kept silent for too long");
            if let MaybeTlsStream::Plain(stream) = self.socket.get_mut() {
                stream.set_read_timeout(Some(left))?;
            }
            let message = match self.socket.read() {
                // What has arrived of a message is kept; the next turn finds the time used up.
                Err(tungstenite::Error::Io(error)) if is_pause(&error) => continue,
                message => message?,
            };
            match message {
                Message::Text(text) => return Ok(serde_json::from_str(&text)?),
                Message::Close(_) => bail!("Chromium closed the connection"),
                _ => {}
            }
        }
    }

    fn keep_if_event(&mut self, mut message: Value) {
        if let Some(method) = message["method"].as_str() {
            let method = method.to_owned();
            self.events.push(Event { method, params: message["params"].take() });
        }
    }
}

/// The time is used up, or a signal came.
fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
