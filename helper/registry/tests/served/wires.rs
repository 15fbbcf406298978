//! What may lie between a client and a registry, and what may pretend to be one: a wire that counts, a proxy, and a server
//! that says what it is told to.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// Carries connections and counts them.
pub struct Wire {
    pub port: u16,
    open: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    total: Arc<AtomicUsize>,
}

impl Wire {
    /// To a port.
    pub async fn to(target: u16) -> Self {
        Self::start(Some(target)).await
    }

    /// A proxy, which goes where it is told to.
    pub async fn proxy() -> Self {
        Self::start(None).await
    }

    async fn start(target: Option<u16>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let [open, most, total] = std::array::from_fn(|_| Arc::new(AtomicUsize::new(0)));
        let wire = Self { port, open, most, total };
        let (open, most, total) = (Arc::clone(&wire.open), Arc::clone(&wire.most), Arc::clone(&wire.total));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                total.fetch_add(1, Ordering::SeqCst);
                most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let open = Arc::clone(&open);
                tokio::spawn(async move {
                    carry(client, target).await;
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        wire
    }

    /// The most connections at one time.
    pub fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    /// All connections there were.
    pub fn total(&self) -> usize {
        self.total.load(Ordering::SeqCst)
    }
}

async fn carry(client: TcpStream, target: Option<u16>) {
    let mut client = BufReader::new(client);
    let target = match target {
        Some(port) => format!("127.0.0.1:{port}"),
        None => connected(&mut client).await,
    };
    if let Ok(mut server) = TcpStream::connect(target).await {
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

/// Answers `CONNECT` and gives where to.
async fn connected(client: &mut BufReader<TcpStream>) -> String {
    let head = head(client).await;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()).unwrap_or_default().to_owned()
}

async fn head(client: &mut BufReader<TcpStream>) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && client.read_line(&mut head).await.unwrap_or(0) > 0 {}
    head
}

/// A server without TLS that answers by a function of the request's head.
pub struct Scripted {
    pub port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    /// Answers are whole: status line, headers and body. One that ends in `...` never ends.
    pub async fn start(answer: impl Fn(&str, usize) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&heads), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                tokio::spawn(async move {
                    let mut client = BufReader::new(client);
                    let head = head(&mut client).await;
                    // Whoever begins with TLS here gets nothing that makes sense to it.
                    if !head.starts_with("GET ") {
                        return;
                    }
                    let count = {
                        let mut seen = seen.lock().unwrap();
                        seen.push(head.clone());
                        seen.len()
                    };
                    give(&mut client, &answer(&head, count)).await;
                });
            }
        });
        Self { port, heads }
    }

    /// Everything that was asked.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn give(client: &mut BufReader<TcpStream>, answer: &str) {
    let _ = client.write_all(answer.strip_suffix("...").unwrap_or(answer).as_bytes()).await;
    if answer.ends_with("...") {
        while client.write_all(&[b' '; 4096]).await.is_ok() {}
        return;
    }
    let _ = client.shutdown().await;
    let _ = client.read_to_end(&mut Vec::new()).await;
}

/// An answer.
pub fn answer(status: &str, headers: &[&str], body: &str) -> String {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len())
}
