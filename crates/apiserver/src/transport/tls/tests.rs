use std::pin::pin;
use std::task::Waker;

use proptest::prelude::*;
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as ClientStream;

use super::*;
use crate::transport::certificates::{Certificates, GivenCertificates};

type Pair = (TlsStream<DuplexStream>, ClientStream<DuplexStream>);

struct Sides {
    server: Arc<ServerConfig>,
    client: TlsConnector,
}

impl Sides {
    fn new(version: &'static SupportedProtocolVersion) -> Sides {
        let certificates = Certificates::new(&GivenCertificates::default(), &[]).unwrap();
        let mut roots = RootCertStore::empty();
        let authority = kubewright_x509::pem::blocks(certificates.authority_pem().as_bytes())
            .next()
            .unwrap();
        roots.add(authority.bytes.into()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Sides {
            server: Arc::new(certificates.server_config().unwrap()),
            client: TlsConnector::from(Arc::new(client)),
        }
    }

    /// Both ends of a connection whose socket holds so many bytes.
    async fn connected(&self, room: usize) -> Pair {
        let (server, client) = duplex(room);
        let name = ServerName::try_from("kubernetes.default.svc").unwrap();
        let (server, client) = tokio::join!(
            TlsStream::accept(Arc::clone(&self.server), server),
            self.client.connect(name, client)
        );
        (server.unwrap(), client.unwrap())
    }
}

async fn connected() -> Pair {
    Sides::new(&TLS13).connected(1 << 16).await
}

/// What a poll says now.
fn now<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    poll(&mut Context::from_waker(Waker::noop()))
}

fn holds_nothing<S>(stream: &TlsStream<S>) -> bool {
    stream.incoming.capacity() == 0 && stream.received.is_empty() && stream.outgoing.records.capacity() == 0
}

/// Bytes that tell where they are.
fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|at| u8::try_from((at * 7 + seed + at / 251) % 256).unwrap())
        .collect()
}

/// Writes in pieces of any size, some of them of several parts.
async fn write(to: &mut (impl AsyncWrite + Unpin), all: &[u8], sizes: &[usize]) {
    let mut rest = all;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let piece = &rest[..(*size).min(rest.len())];
        let written = if size % 2 == 0 {
            let (one, other) = piece.split_at(piece.len() / 2);
            let slices = [io::IoSlice::new(one), io::IoSlice::new(&[]), io::IoSlice::new(other)];
            to.write_vectored(&slices).await.unwrap()
        } else {
            to.write(piece).await.unwrap()
        };
        rest = &rest[written..];
    }
    to.flush().await.unwrap();
}

/// Reads so many bytes, in pieces of any size.
async fn read(from: &mut (impl AsyncRead + Unpin), length: usize, sizes: &[usize]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut sizes = sizes.iter().cycle();
    while all.len() < length {
        let mut piece = vec![0; *sizes.next().unwrap()];
        let read = from.read(&mut piece).await.unwrap();
        assert!(read > 0, "an end after {} bytes", all.len());
        all.extend_from_slice(&piece[..read]);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_at_one_end_is_read_at_the_other(
        is_new in any::<bool>(),
        room in 1..40_000_usize,
        lengths in (0..120_000_usize, 0..120_000_usize),
        sizes in prop::collection::vec(1..40_000_usize, 1..6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let sides = Sides::new(if is_new { &TLS13 } else { &TLS12 });
            let (server, client) = sides.connected(room).await;
            let (mut server_reads, mut server_writes) = tokio::io::split(server);
            let (mut client_reads, mut client_writes) = tokio::io::split(client);
            let (down, up) = (bytes(lengths.0, 1), bytes(lengths.1, 2));
            let ((), (), got_down, got_up) = tokio::join!(
                write(&mut server_writes, &down, &sizes),
                write(&mut client_writes, &up, &sizes),
                read(&mut client_reads, down.len(), &sizes),
                read(&mut server_reads, up.len(), &sizes),
            );
            assert!(got_down == down && got_up == up);
            let server = server_reads.unsplit(server_writes);
            assert!(holds_nothing(&server));
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered_or_refused(
        kept in 0..600_usize,
        (at, flipped) in (0..600_usize, 1..=255_u8),
        rest in prop::collection::vec(any::<u8>(), 0..200),
        is_connected in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let sides = Sides::new(&TLS13);
            if is_connected {
                let (mut server, client) = sides.connected(1 << 16).await;
                let (mut peer, _) = client.into_inner();
                peer.write_all(&rest).await.unwrap();
                peer.shutdown().await.unwrap();
                // A connection that is cut off without a word is no end, either.
                let mut read = Vec::new();
                assert!(server.read_to_end(&mut read).await.is_err() && read.is_empty());
                return;
            }
            // The first message of a client, cut off, with one byte changed and others behind it.
            let mut client = rustls::ClientConnection::new(Arc::clone(sides.client.config()), "host".try_into().unwrap()).unwrap();
            let mut hello = Vec::new();
            client.write_tls(&mut hello).unwrap();
            if let Some(byte) = hello.get_mut(at) {
                *byte ^= flipped;
            }
            hello.truncate(kept);
            hello.extend_from_slice(&rest);
            let (socket, mut peer) = duplex(1 << 16);
            peer.write_all(&hello).await.unwrap();
            peer.shutdown().await.unwrap();
            assert!(TlsStream::accept(sides.server, socket).await.is_err());
        });
    }
}

#[tokio::test]
async fn nothing_is_held_while_nothing_is_on_its_way() {
    let (mut server, mut client) = connected().await;
    assert!(holds_nothing(&server));
    client.write_all(b"hello").await.unwrap();
    client.flush().await.unwrap();
    let mut read = [0; 3];
    server.read_exact(&mut read).await.unwrap();
    // The rest waits to be read.
    assert_eq!((&read, &server.received[..]), (b"hel", &b"lo"[..]));
    server.read_exact(&mut read[..2]).await.unwrap();
    server.write_all(b"world").await.unwrap();
    server.flush().await.unwrap();
    assert!(holds_nothing(&server));
    assert!(now(|context| Pin::new(&mut server).poll_read(context, &mut ReadBuf::new(&mut [0; 8]))).is_pending());
    assert!(holds_nothing(&server));
}

#[tokio::test]
async fn an_end_is_told_and_understood() {
    let (mut server, mut client) = connected().await;
    client.write_all(b"last").await.unwrap();
    client.shutdown().await.unwrap();
    let mut all = Vec::new();
    server.read_to_end(&mut all).await.unwrap();
    assert_eq!(all, b"last");
    // The other direction is still open.
    server.write_all(b"answer").await.unwrap();
    server.shutdown().await.unwrap();
    assert_eq!(
        server.write(b"more").await.unwrap_err().kind(),
        io::ErrorKind::BrokenPipe
    );
    let mut all = Vec::new();
    client.read_to_end(&mut all).await.unwrap();
    assert_eq!(all, b"answer");
}

#[tokio::test]
async fn a_connection_that_breaks_off_is_no_end() {
    let (mut server, client) = connected().await;
    drop(client.into_inner());
    let error = server.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    let sides = Sides::new(&TLS13);
    let (socket, peer) = duplex(64);
    drop(peer);
    let error = TlsStream::accept(sides.server, socket).await.err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn what_is_no_tls_is_answered_with_an_alert() {
    let sides = Sides::new(&TLS13);
    let (socket, mut peer) = duplex(1024);
    peer.write_all(b"SSH-2.0-client\r\n").await.unwrap();
    let error = TlsStream::accept(sides.server, socket).await.err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert_eq!(peer.read_u8().await.unwrap(), 0x15);
}

#[tokio::test]
async fn a_forged_record_is_answered_with_an_alert_and_nothing_of_it_is_read() {
    let (mut server, client) = connected().await;
    let (mut peer, _) = client.into_inner();
    let record = [&[0x17, 3, 3, 0, 40][..], &[0x55; 40]].concat();
    peer.write_all(&record).await.unwrap();
    let mut all = Vec::new();
    let error = server.read_to_end(&mut all).await.unwrap_err();
    assert_eq!((error.kind(), all.len()), (io::ErrorKind::InvalidData, 0));
    // Encrypted, as everything is.
    assert_eq!(peer.read_u8().await.unwrap(), 0x17);
    assert!(server.read_u8().await.is_err() || server.write(b"more").await.is_err());
}

#[tokio::test]
async fn a_client_may_change_its_keys_and_is_answered_with_new_ones() {
    let (mut server, mut client) = connected().await;
    for round in 0..5_u8 {
        client.get_mut().1.refresh_traffic_keys().unwrap();
        client.write_all(&[round; 100]).await.unwrap();
        client.flush().await.unwrap();
        let mut read = [0; 100];
        server.read_exact(&mut read).await.unwrap();
        assert_eq!(read, [round; 100]);
        server.write_all(&read).await.unwrap();
        server.flush().await.unwrap();
        client.read_exact(&mut read).await.unwrap();
        assert_eq!(read, [round; 100]);
    }
    assert!(holds_nothing(&server));
}

#[tokio::test]
async fn a_handshake_without_end_is_given_up() {
    let sides = Sides::new(&TLS13);
    let (socket, mut peer) = duplex(1 << 12);
    let accepting = tokio::spawn(TlsStream::accept(sides.server, socket));
    // A client's first message that claims to be 16 MB long.
    let mut record = [&[0x16, 3, 1, 0x40, 0][..], &[0; 0x4000]].concat();
    record[5..9].copy_from_slice(&[1, 0xff, 0xff, 0xff]);
    let mut sent = 0;
    while peer.write_all(&record).await.is_ok() {
        sent += record.len();
        record[5..9].copy_from_slice(&[0; 4]);
        assert!(sent < 1 << 20, "a megabyte is taken of a message that has no end");
    }
    assert!(accepting.await.unwrap().is_err());
}

#[tokio::test]
async fn little_waits_for_a_peer_that_does_not_read() {
    let (mut server, _client) = Sides::new(&TLS13).connected(4096).await;
    let data = [0; 10_000];
    let mut taken = 0;
    while let Poll::Ready(written) = now(|context| Pin::new(&mut server).poll_write(context, &data)) {
        taken += written.unwrap();
        assert!(taken < 1 << 20);
    }
    assert!(
        server.outgoing.len() < MAX_OUTGOING + RECORD,
        "{}",
        server.outgoing.len()
    );
    let mut flush = pin!(server.flush());
    assert!(now(|context| flush.as_mut().poll(context)).is_pending());
}
