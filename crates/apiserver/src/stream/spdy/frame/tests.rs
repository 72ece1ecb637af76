use proptest::prelude::*;

use super::*;

/// A client's frame that opens a stream.
fn syn_stream(compressor: &mut Compressor, stream: StreamId, headers: &Headers, flags: u8) -> Vec<u8> {
    let block = compressor.compress(headers);
    let mut frame = Vec::new();
    control(&mut frame, 1, block.len() + 10);
    frame[4] = flags;
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(&[0; 6]);
    frame.extend_from_slice(&block);
    frame
}

/// What bytes are read as, however they are cut.
fn read(bytes: &[u8], cuts: usize) -> Result<Vec<Received>, Error> {
    let mut decoder = Decoder::new();
    let mut buffer = BytesMut::new();
    let mut all = Vec::new();
    for piece in bytes.chunks(cuts) {
        buffer.extend_from_slice(piece);
        while let Some(received) = decoder.decode(&mut buffer)? {
            all.push(received);
        }
    }
    Ok(all)
}

fn data(stream: StreamId, payload: &[u8], fin: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let payload = Bytes::copy_from_slice(payload);
    Encoder::new().encode(&Frame::Data { stream, payload, fin }, &mut bytes);
    bytes
}

#[test]
fn frames_are_read_whatever_they_are_cut_into() {
    let mut compressor = Compressor::new();
    let (error, stdout) = (
        Headers::of(&[("streamtype", "error")]),
        Headers::of(&[("streamtype", "stdout")]),
    );
    let mut bytes = syn_stream(&mut compressor, 1, &error, FIN);
    bytes.extend(syn_stream(&mut compressor, 3, &stdout, 0));
    words(&mut bytes, 6, &[7]);
    words(&mut bytes, 4, &[0]);
    words(&mut bytes, 9, &[0, 65_536]);
    words(&mut bytes, 3, &[3, 5]);
    words(&mut bytes, 12, &[1, 2, 3]);
    bytes.extend(data(3, b"", true));
    words(&mut bytes, 7, &[3, 0]);
    for cuts in [1, 2, 7, 1000] {
        assert_eq!(
            read(&bytes, cuts).unwrap(),
            [
                Received::SynStream {
                    stream: 1,
                    headers: error.clone(),
                    fin: true
                },
                Received::SynStream {
                    stream: 3,
                    headers: stdout.clone(),
                    fin: false
                },
                Received::Ping(7),
                Received::Ignored,
                Received::Ignored,
                Received::RstStream(3),
                Received::Ignored,
                Received::Data {
                    stream: 3,
                    payload: Bytes::new(),
                    fin: true
                },
                Received::GoAway,
            ]
        );
    }
}

#[test]
fn a_large_frame_of_data_comes_in_small_pieces() {
    let sent = data(5, &vec![b'x'; 1 << 20], true);
    let all = read(&sent, 1 << 21).unwrap();
    let mut length = 0;
    for (index, received) in all.iter().enumerate() {
        let Received::Data {
            stream: 5,
            payload,
            fin,
        } = received
        else {
            panic!("{received:?}");
        };
        assert!(payload.len() <= MAX_PIECE);
        length += payload.len();
        assert_eq!(*fin, index + 1 == all.len());
    }
    assert_eq!(length, 1 << 20);
}

#[test]
fn data_beyond_the_length_of_a_frame_are_several_frames() {
    let sent = data(1, &vec![0; MAX_LENGTH + 10], true);
    assert_eq!(sent.len(), MAX_LENGTH + 10 + 2 * 8);
    assert_eq!(sent[4..8], [0, 0xff, 0xff, 0xff]);
    assert_eq!(sent[8 + MAX_LENGTH + 4..][..4], [FIN, 0, 0, 10]);
}

#[test]
fn what_is_no_frame_is_an_error() {
    assert_eq!(read(&[0x80, 2, 0, 6, 0, 0, 0, 4, 0, 0, 0, 1], 12), Err(Error::Version));
    // Refused by its head, before its bytes are waited for.
    assert_eq!(read(&[0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff], 8), Err(Error::TooLarge));
    assert_eq!(read(&[0x80, 3, 0, 6, 0, 0, 0, 2, 0, 0], 10), Err(Error::Length));
    assert_eq!(read(&[0x80, 3, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1], 12), Err(Error::Length));
    let garbage = [&[0x80, 3, 0, 1, 0, 0, 0, 20][..], &[7; 20]].concat();
    assert_eq!(read(&garbage, 28), Err(Error::MalformedHeaders));
}

#[test]
fn replies_have_the_form_of_the_specification() {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new();
    encoder.encode(
        &Frame::RstStream {
            stream: 3,
            code: ResetCode::Cancel,
        },
        &mut bytes,
    );
    assert_eq!(bytes, [0x80, 3, 0, 3, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0, 5]);
    bytes.clear();
    encoder.encode(&Frame::Ping(9), &mut bytes);
    assert_eq!(bytes, [0x80, 3, 0, 6, 0, 0, 0, 4, 0, 0, 0, 9]);
    bytes.clear();
    encoder.encode(
        &Frame::GoAway {
            last: 5,
            code: GoAwayCode::Ok,
        },
        &mut bytes,
    );
    assert_eq!(bytes, [0x80, 3, 0, 7, 0, 0, 0, 8, 0, 0, 0, 5, 0, 0, 0, 0]);
    bytes.clear();
    encoder.encode(
        &Frame::SynReply {
            stream: 1,
            headers: Headers::default(),
        },
        &mut bytes,
    );
    assert_eq!(bytes[..4], [0x80, 3, 0, 2]);
    let length = usize::from(bytes[7]);
    assert_eq!(bytes.len(), 8 + length);
    assert_eq!(Decompressor::new().decompress(&bytes[12..]), Ok(Headers::default()));
}

proptest! {
    #[test]
    fn data_are_what_was_sent_however_they_are_cut(
        frames in prop::collection::vec((1_u32..8, prop::collection::vec(any::<u8>(), 0..200), any::<bool>()), 0..20),
        cuts in 1_usize..50,
    ) {
        let bytes: Vec<u8> = frames.iter().flat_map(|(stream, payload, fin)| data(*stream, payload, *fin)).collect();
        let mut joined: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut ends = 0;
        for received in read(&bytes, cuts).unwrap() {
            let Received::Data { stream, payload, fin } = received else { panic!() };
            match joined.last_mut() {
                Some((last, all)) if *last == stream => all.extend_from_slice(&payload),
                _ => joined.push((stream, payload.to_vec())),
            }
            ends += usize::from(fin);
        }
        let mut expected: Vec<(u32, Vec<u8>)> = Vec::new();
        for (stream, payload, _) in &frames {
            match expected.last_mut() {
                Some((last, all)) if last == stream => all.extend_from_slice(payload),
                _ => expected.push((*stream, payload.clone())),
            }
        }
        prop_assert_eq!(joined, expected);
        prop_assert_eq!(ends, frames.iter().filter(|(_, _, fin)| *fin).count());
    }

    #[test]
    fn any_bytes_are_frames_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..600), cuts in 1_usize..64) {
        let _ = read(&bytes, cuts);
    }
}
