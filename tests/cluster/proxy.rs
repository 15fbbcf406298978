//! A wire between a client and the server: counts what passes, and can be cut or go dead.
//!
//! It sees bytes and no requests, since they are encrypted; the server's certificate is good for its address too.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// The wire. What was opened through it is closed with it.
pub struct Proxy {
    address: SocketAddr,
    wire: Arc<Wire>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Whole,
    /// Connections break.
    Cut,
    /// Connections stay, and nothing passes.
    Dead,
}

struct Wire {
    upstream: SocketAddr,
    state: Mutex<State>,
    changed: Condvar,
    sent: AtomicU64,
    received: AtomicU64,
    opened: AtomicU64,
}

struct State {
    health: Health,
    /// Both ends of all connections.
    ends: Vec<TcpStream>,
}

impl Proxy {
    /// A wire to an address.
    pub fn to(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let state = Mutex::new(State { health: Health::Whole, ends: Vec::new() });
        let [sent, received, opened] = Default::default();
        let wire = Arc::new(Wire { upstream, state, changed: Condvar::new(), sent, received, opened });
        let proxy = Self { address: listener.local_addr().unwrap(), wire: Arc::clone(&wire) };
        // Ends with the test process only: nobody can interrupt it, and it costs nothing.
        thread::spawn(move || listener.incoming().flatten().for_each(|client| wire.connect(client)));
        proxy
    }

    /// What clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Bytes from clients so far.
    pub fn sent(&self) -> u64 {
        self.wire.sent.load(Ordering::SeqCst)
    }

    /// Bytes to clients so far.
    pub fn received(&self) -> u64 {
        self.wire.received.load(Ordering::SeqCst)
    }

    /// Connections that reached the server so far.
    pub fn connections(&self) -> u64 {
        self.wire.opened.load(Ordering::SeqCst)
    }

    /// Breaks all connections, and every new one.
    pub fn cut(&self) {
        self.wire.turn(Health::Cut);
    }

    /// From now on nothing passes, and nobody is told.
    pub fn stall(&self) {
        self.wire.turn(Health::Dead);
    }

    /// Lets everything pass again, what waited first.
    pub fn heal(&self) {
        self.wire.turn(Health::Whole);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Wire {
    fn turn(&self, health: Health) {
        let mut state = self.state.lock().unwrap();
        state.health = health;
        if health == Health::Cut {
            for end in state.ends.drain(..) {
                let _ = end.shutdown(Shutdown::Both);
            }
        }
        self.changed.notify_all();
    }

    fn connect(self: &Arc<Self>, client: TcpStream) {
        let mut state = self.state.lock().unwrap();
        if state.health == Health::Cut {
            return;
        }
        // Without a server the client finds its connection closed.
        let Ok(server) = TcpStream::connect(self.upstream) else { return };
        self.opened.fetch_add(1, Ordering::SeqCst);
        let ends = [client.try_clone(), server.try_clone(), client.try_clone(), server.try_clone()];
        let [Ok(one), Ok(other), Ok(from_client), Ok(from_server)] = ends else { return };
        state.ends.extend([one, other]);
        let [up, down] = [Arc::clone(self), Arc::clone(self)];
        thread::spawn(move || up.carry(from_client, server, &up.sent));
        thread::spawn(move || down.carry(from_server, client, &down.received));
    }

    fn carry(&self, mut from: TcpStream, mut to: TcpStream, count: &AtomicU64) {
        let mut buffer = [0; 16 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let state = self.state.lock().unwrap();
            drop(self.changed.wait_while(state, |state| state.health == Health::Dead).unwrap());
            // First, so that whoever has received something finds it counted.
            count.fetch_add(length as u64, Ordering::SeqCst);
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }
}
