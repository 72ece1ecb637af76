//! Conversations that were recorded from kube-apiserver in front of a kubelet with upstream's library for containers
//! (`conformance/upstream/spdy/record`), with the same commands and ports behind the Pod.
//!
//! Compared is whether each stream was accepted, what it was sent (a Status by its value), whether it ended, which pings were answered and
//! whether the session was closed. Whether a stream of a command ends with FIN or RST is left to runtimes: upstream's library resets all of
//! them when the command has ended, and containerd finishes those that it wrote to before. What was recorded to end after three seconds of
//! silence ends here after upstream's own four hours, on a clock that runs ahead.

use std::collections::BTreeMap;

use tokio::time::{Instant, timeout_at};

use super::*;

/// Upstream gives up without a word and keeps the connection; here it is closed, so that the client hears of it and nothing is held.
const CLOSED_HERE: &str = "too few streams";

/// What a stream was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Heard {
    is_accepted: bool,
    text: String,
    has_ended: bool,
}

/// A client that notes what it hears.
struct Listener {
    client: Client,
    streams: BTreeMap<u32, Heard>,
    pings: Vec<u32>,
    is_closed: bool,
}

impl Listener {
    async fn hear(&mut self) {
        match self.client.receive_any().await {
            Some(Received::SynReply(stream)) => {
                let heard = self.streams.get_mut(&stream).expect("a stream that was opened");
                heard.is_accepted = true;
            }
            Some(Received::Data { stream, payload, fin }) => {
                let heard = self.streams.get_mut(&stream).expect("a stream that was opened");
                heard.text += &String::from_utf8_lossy(&payload);
                heard.has_ended |= fin;
            }
            Some(Received::RstStream(stream)) => {
                self.streams
                    .get_mut(&stream)
                    .expect("a stream that was opened")
                    .has_ended = true;
            }
            // The server's own have even numbers.
            Some(Received::Ping(id)) if id % 2 == 0 => {}
            Some(Received::Ping(id)) => self.pings.push(id),
            Some(Received::GoAway) => {}
            None => {
                self.is_closed = true;
                // With the session ends what it carried.
                for heard in self.streams.values_mut() {
                    heard.has_ended = true;
                }
            }
            Some(other) => panic!("{other:?}"),
        }
    }

    async fn until(&mut self, step: &Value) {
        let pings = self.pings.len();
        let streams: Vec<u32> = numbers(&step["streams"]);
        while !self.is_closed {
            let is_there = match step["until"].as_str() {
                Some("ended") => streams.iter().all(|stream| self.streams[stream].has_ended),
                Some("accepted") => streams.iter().all(|stream| self.streams[stream].is_accepted),
                Some("text") => streams.iter().all(|stream| !self.streams[stream].text.is_empty()),
                Some("ping") => self.pings.len() > pings,
                _ => false,
            };
            if is_there {
                return;
            }
            self.hear().await;
        }
    }

    /// Hears what comes for so long.
    async fn silence(&mut self, seconds: u64) {
        let end = Instant::now() + Duration::from_secs(seconds);
        while !self.is_closed && timeout_at(end, self.hear()).await.is_ok() {}
    }

    async fn play(&mut self, step: &Value) {
        if self.is_closed {
            return;
        }
        if let Some(seconds) = step["pass"].as_u64() {
            self.silence(seconds).await;
        } else if let Some(headers) = step["open"].as_object() {
            let headers: Vec<(&str, &str)> = headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
                .collect();
            let stream = self.client.open(&headers).await;
            self.streams.insert(stream, Heard::default());
        } else if let Some(stream) = step["send"].as_u64() {
            let (text, fin) = (step["text"].as_str().unwrap(), step["fin"] == true);
            self.client.send(stream as u32, text.as_bytes(), fin).await;
        } else if let Some(stream) = step["reset"].as_u64() {
            let payload = [(stream as u32).to_be_bytes(), 5_u32.to_be_bytes()].concat();
            self.client.control(3, 0, &payload).await;
        } else if let Some(id) = step["ping"].as_u64() {
            self.client.control(6, 0, &(id as u32).to_be_bytes()).await;
        } else {
            self.until(step).await;
        }
    }
}

fn numbers(list: &Value) -> Vec<u32> {
    let list = list.as_array().into_iter().flatten();
    list.map(|number| number.as_u64().unwrap() as u32).collect()
}

/// What was said, with the members of a Status in order, without the uid of the Pod (the recorded kubelet was told none), and without where
/// in its memory upstream has the connection.
fn comparable(text: &str) -> String {
    if let Ok(status @ Value::Object(_)) = serde_json::from_str(text) {
        return status.to_string();
    }
    let text = &text.replace("(conn=<address>, request=", "(request=");
    let uid = text.split_once(", uid ").and_then(|(before, rest)| {
        let (_, after) = rest.split_once(": ")?;
        Some(format!("{before}, uid : {after}"))
    });
    uid.unwrap_or_else(|| text.to_owned())
}

/// The containers of the kubelet that was recorded.
async fn answering_server() -> ApiServer {
    let server = server().await;
    server.on_exec("default", "web", |command, mut streams| async move {
        let words: Vec<&str> = command.command.iter().map(String::as_str).collect();
        let line = |words: &[&str]| format!("{}\n", words.join(" "));
        match words[..] {
            ["print", ref words @ ..] => drop(streams.stdout.write_all(line(words).as_bytes()).await),
            ["complain", ref words @ ..] => drop(streams.stderr.write_all(line(words).as_bytes()).await),
            ["exit", code] => return ExecEnd::Exited(code.parse().unwrap()),
            ["copy"] => drop(tokio::io::copy(&mut streams.stdin, &mut streams.stdout).await),
            _ => std::future::pending().await,
        }
        ExecEnd::Exited(0)
    });
    server.on_attach("default", "web", |_, mut streams| async move {
        let _ = streams.stdout.write_all(b"attached\n").await;
        let mut byte = [0];
        while let Ok(1) = streams.stdin.read(&mut byte).await {
            let _ = streams.stdout.write_all(&byte).await;
            if byte == *b"\n" {
                break;
            }
        }
        ExecEnd::Exited(0)
    });
    server.on_connect("default", "web", 7, |connection| async move {
        let (mut reading, mut writing) = tokio::io::split(connection);
        let _ = tokio::io::copy(&mut reading, &mut writing).await;
    });
    server.on_connect("default", "web", 13, |mut connection| async move {
        let _ = connection.write_all(b"noon\n").await;
    });
    server
}

#[tokio::test(start_paused = true)]
async fn conversations_are_those_of_the_real_server() {
    let conversations: Vec<Value> = serde_json::from_str(include_str!("../recorded.json")).unwrap();
    assert!(conversations.len() >= 31);
    for conversation in &conversations {
        let title = conversation["title"].as_str().unwrap();
        let server = answering_server().await;
        let protocols = conversation["protocols"].as_array().unwrap();
        let protocols: Vec<&str> = protocols.iter().map(|name| name.as_str().unwrap()).collect();
        let client = connect(&server, conversation["path"].as_str().unwrap(), &protocols).await;
        let mut listener = Listener {
            client,
            streams: BTreeMap::new(),
            pings: Vec::new(),
            is_closed: false,
        };
        for step in conversation["steps"].as_array().unwrap() {
            listener.play(step).await;
        }
        let received = &conversation["received"];
        let expected: BTreeMap<u32, Heard> = received["streams"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(stream, heard)| {
                let heard = Heard {
                    is_accepted: heard["accepted"] == true,
                    text: comparable(heard["text"].as_str().unwrap()),
                    has_ended: [&heard["fin"], &heard["reset"], &received["closed"]].contains(&&Value::Bool(true)),
                };
                (stream.parse().unwrap(), heard)
            })
            .collect();
        for heard in listener.streams.values_mut() {
            heard.text = comparable(&heard.text);
        }
        if title == CLOSED_HERE {
            assert!(listener.is_closed && received["closed"] == false, "{title}");
            continue;
        }
        assert_eq!(listener.streams, expected, "{title}");
        assert_eq!(listener.pings, numbers(&received["pings"]), "{title}");
        assert_eq!(listener.is_closed, received["closed"] == true, "{title}");
    }
}
