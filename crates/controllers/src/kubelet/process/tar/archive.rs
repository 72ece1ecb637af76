//! The format of tar archives, read and written as a stream: POSIX headers with the extensions that Go's and GNU's programs use. What
//! a header makes us keep in memory is bounded.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Headers and contents are padded to blocks of this size.
const BLOCK: usize = 512;
/// How long a name or a list of extended attributes may be. Paths end at 4 KiB everywhere.
const LONGEST_EXTENSION: u64 = 64 * 1024;
/// The largest size that fits into a header.
const LARGEST_OCTAL: u64 = 0o777_7777_7777;
const NAME_LENGTH: usize = 100;
const PREFIX_LENGTH: usize = 155;

/// What a member of an archive is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MemberKind {
    /// A file with this many bytes, which follow.
    File { size: u64 },
    /// A folder.
    Folder,
    /// A symbolic link to this.
    Link { target: Vec<u8> },
    /// Another name of an earlier member.
    HardLink { target: Vec<u8> },
    /// A device, a pipe, or something that nobody knows.
    Special { size: u64 },
}

/// A member of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) path: Vec<u8>,
    pub(super) kind: MemberKind,
    pub(super) mode: u32,
    /// When it was changed, in seconds since 1970.
    pub(super) modified: u64,
}

/// Writes an archive.
pub(super) struct Writer<W>(W);

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub(super) fn new(out: W) -> Self {
        Writer(out)
    }

    /// Writes the header of a member. The bytes of a file come next, by [`contents`](Self::contents).
    pub(super) async fn header(&mut self, member: &Member) -> io::Result<()> {
        let (size, flag, target): (u64, u8, &[u8]) = match &member.kind {
            MemberKind::File { size } => (*size, b'0', b""),
            MemberKind::Folder => (0, b'5', b""),
            MemberKind::Link { target } => (0, b'2', target),
            MemberKind::HardLink { target } => (0, b'1', target),
            MemberKind::Special { .. } => return Err(io::ErrorKind::Unsupported.into()),
        };
        let mut extended = Vec::new();
        let split = split_path(&member.path);
        if split.is_none() {
            extended.extend(record("path", &member.path));
        }
        if target.len() > NAME_LENGTH {
            extended.extend(record("linkpath", target));
        }
        if size > LARGEST_OCTAL {
            extended.extend(record("size", size.to_string().as_bytes()));
        }
        if !extended.is_empty() {
            let header = header(b"", b"././@PaxHeader", b"", b'x', 0o644, extended.len() as u64, 0);
            self.0.write_all(&header).await?;
            self.padded(&extended).await?;
        }
        let (prefix, name) = split.unwrap_or((b"", &member.path));
        let size = if size > LARGEST_OCTAL { 0 } else { size };
        let header = header(prefix, name, target, flag, member.mode, size, member.modified);
        self.0.write_all(&header).await
    }

    /// Writes the contents of a file, of the size that its header has: what the file lacks meanwhile is zeros, what it gained is left out.
    pub(super) async fn contents(&mut self, from: impl AsyncRead + Unpin, size: u64) -> io::Result<()> {
        let mut from = from.take(size);
        let copied = tokio::io::copy(&mut from, &mut self.0).await?;
        let missing = size - copied + padding(size) as u64;
        tokio::io::copy(&mut tokio::io::repeat(0).take(missing), &mut self.0).await?;
        Ok(())
    }

    /// Ends the archive.
    pub(super) async fn finish(mut self) -> io::Result<()> {
        self.0.write_all(&[0; 2 * BLOCK]).await?;
        self.0.flush().await
    }

    async fn padded(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await?;
        self.0.write_all(&[0; BLOCK][..padding(bytes.len() as u64)]).await
    }
}

/// How many bytes are missing to a full block.
fn padding(size: u64) -> usize {
    let over = (size % BLOCK as u64) as usize;
    if over == 0 { 0 } else { BLOCK - over }
}

/// A path as the prefix and the name of a header, if it fits.
fn split_path(path: &[u8]) -> Option<(&[u8], &[u8])> {
    if path.len() <= NAME_LENGTH {
        return Some((b"", path));
    }
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut slashes = slashes.map(|(at, _)| at);
    let at = slashes.find(|at| path.len() - at - 1 <= NAME_LENGTH)?;
    let (prefix, name) = (&path[..at], &path[at + 1..]);
    (prefix.len() <= PREFIX_LENGTH && !prefix.is_empty() && !name.is_empty()).then_some((prefix, name))
}

/// A record of an extended header: its own length, in decimal, comes first.
fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    let mut record = format!("{length} {key}=").into_bytes();
    record.extend_from_slice(value);
    record.push(b'\n');
    record
}

fn header(prefix: &[u8], name: &[u8], target: &[u8], flag: u8, mode: u32, size: u64, modified: u64) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, room: usize, bytes: &[u8]| {
        let length = bytes.len().min(room);
        header[at..at + length].copy_from_slice(&bytes[..length]);
    };
    put(0, NAME_LENGTH, name);
    put(100, 8, format!("{:07o}\0", mode & 0o7777).as_bytes());
    put(108, 8, b"0000000\0");
    put(116, 8, b"0000000\0");
    put(124, 12, format!("{size:011o}\0").as_bytes());
    put(136, 12, format!("{:011o}\0", modified.min(LARGEST_OCTAL)).as_bytes());
    put(148, 8, b"        ");
    put(156, 1, &[flag]);
    put(157, NAME_LENGTH, target);
    put(257, 8, b"ustar\x0000");
    put(345, PREFIX_LENGTH, prefix);
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// Reads an archive.
pub(super) struct Reader<R> {
    from: R,
    /// How many bytes are left of the contents of the last member, and how many pad them.
    left: u64,
    padding: usize,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(super) fn new(from: R) -> Self {
        Reader {
            from,
            left: 0,
            padding: 0,
        }
    }

    /// The next member, or `None` at the end of the archive. What was not read of the last one is skipped.
    pub(super) async fn next(&mut self) -> io::Result<Option<Member>> {
        let mut extensions = Extensions::default();
        loop {
            self.skip().await?;
            let Some(block) = self.block().await? else {
                return Ok(None);
            };
            let Some(header) = Header::parse(&block)? else {
                return Ok(None);
            };
            match header.flag {
                b'x' => {
                    let bytes = self.extension(header.size).await?;
                    extensions.read(&bytes)?;
                }
                b'L' => extensions.path = Some(until_zero(&self.extension(header.size).await?).to_vec()),
                b'K' => extensions.target = Some(until_zero(&self.extension(header.size).await?).to_vec()),
                // What is said of all members is nothing that we need.
                b'g' => self.set_left(header.size)?,
                _ => {
                    let member = header.member(extensions)?;
                    let size = match member.kind {
                        MemberKind::File { size } | MemberKind::Special { size } => size,
                        _ => 0,
                    };
                    self.set_left(size)?;
                    return Ok(Some(member));
                }
            }
        }
    }

    /// Copies the contents of the last member.
    pub(super) async fn contents(&mut self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        while self.left > 0 {
            let copied = tokio::io::copy(&mut (&mut self.from).take(self.left), to).await?;
            if copied == 0 {
                return Err(truncated());
            }
            self.left -= copied;
        }
        Ok(())
    }

    fn set_left(&mut self, size: u64) -> io::Result<()> {
        // No archive is that large; its padding must not overflow.
        if size > u64::MAX / 2 {
            return Err(malformed("a member of impossible size"));
        }
        (self.left, self.padding) = (size, padding(size));
        Ok(())
    }

    async fn skip(&mut self) -> io::Result<()> {
        let rest = self.left + self.padding as u64;
        (self.left, self.padding) = (0, 0);
        let skipped = tokio::io::copy(&mut (&mut self.from).take(rest), &mut tokio::io::sink()).await?;
        if skipped < rest { Err(truncated()) } else { Ok(()) }
    }

    /// The next block; `None` if the stream ends before it.
    async fn block(&mut self) -> io::Result<Option<[u8; BLOCK]>> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            match self.from.read(&mut block[filled..]).await? {
                0 if filled == 0 => return Ok(None),
                0 => return Err(truncated()),
                read => filled += read,
            }
        }
        Ok(Some(block))
    }

    async fn extension(&mut self, size: u64) -> io::Result<Vec<u8>> {
        if size > LONGEST_EXTENSION {
            return Err(malformed("a name or attribute that is too long"));
        }
        let mut bytes = vec![0; size as usize];
        self.from.read_exact(&mut bytes).await.map_err(|_| truncated())?;
        self.padding = padding(size);
        Ok(bytes)
    }
}

fn truncated() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "Unexpected EOF in archive")
}

fn malformed(why: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("This does not look like a tar archive: {why}"),
    )
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0);
    &bytes[..end.unwrap_or(bytes.len())]
}

/// What extended headers say of the next member.
#[derive(Debug, Default)]
struct Extensions {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Extensions {
    fn read(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let broken = || malformed("a broken extended header");
        while !bytes.is_empty() {
            let space = bytes.iter().position(|byte| *byte == b' ').ok_or_else(broken)?;
            let length = std::str::from_utf8(&bytes[..space])
                .ok()
                .and_then(|text| text.parse().ok());
            let length = length.filter(|length: &usize| *length > space + 1 && *length <= bytes.len());
            let (record, rest) = bytes.split_at(length.ok_or_else(broken)?);
            bytes = rest;
            let record = record[space + 1..].strip_suffix(b"\n").ok_or_else(broken)?;
            let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(broken)?;
            let (key, value) = (&record[..equals], &record[equals + 1..]);
            match key {
                b"path" => self.path = Some(value.to_vec()),
                b"linkpath" => self.target = Some(value.to_vec()),
                b"size" => {
                    let size = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                    self.size = Some(size.ok_or_else(broken)?);
                }
                key if key.starts_with(b"GNU.sparse") => {
                    return Err(malformed("a sparse file, which is not supported"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A header as it is in its block.
struct Header {
    path: Vec<u8>,
    target: Vec<u8>,
    flag: u8,
    mode: u32,
    size: u64,
    modified: u64,
}

impl Header {
    /// Reads a block; `None` if it is the end of the archive.
    fn parse(block: &[u8; BLOCK]) -> io::Result<Option<Self>> {
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let sum = number(&block[148..156]).ok_or_else(|| malformed("a checksum that is no number"))?;
        let bytes = block.iter().enumerate();
        let bytes = bytes.map(|(at, byte)| if (148..156).contains(&at) { b' ' } else { *byte });
        let unsigned: u64 = bytes.clone().map(u64::from).sum();
        // Some old programs added up signed bytes.
        let signed: i64 = bytes.map(|byte| i64::from(byte as i8)).sum();
        if sum != unsigned && i64::try_from(sum) != Ok(signed) {
            return Err(malformed("a wrong checksum"));
        }
        let name = until_zero(&block[..NAME_LENGTH]);
        let is_posix = &block[257..263] == b"ustar\0";
        let prefix = until_zero(&block[345..500]);
        let path = if is_posix && !prefix.is_empty() {
            [prefix, b"/", name].concat()
        } else {
            name.to_vec()
        };
        let field =
            |at: usize, end: usize| number(&block[at..end]).ok_or_else(|| malformed("a field that is no number"));
        Ok(Some(Header {
            path,
            target: until_zero(&block[157..257]).to_vec(),
            flag: block[156],
            mode: (field(100, 108)? & 0o7777) as u32,
            size: field(124, 136)?,
            modified: number(&block[136..148]).unwrap_or(0),
        }))
    }

    fn member(self, extensions: Extensions) -> io::Result<Member> {
        let path = extensions.path.unwrap_or(self.path);
        let target = extensions.target.unwrap_or(self.target);
        let size = extensions.size.unwrap_or(self.size);
        let kind = match self.flag {
            // Before POSIX, a folder was a file whose name ends with a slash.
            b'0' | 0 if path.ends_with(b"/") => MemberKind::Folder,
            b'1' => MemberKind::HardLink { target },
            b'2' => MemberKind::Link { target },
            b'5' => MemberKind::Folder,
            b'3' | b'4' | b'6' => MemberKind::Special { size },
            b'S' => return Err(malformed("a sparse file, which is not supported")),
            _ => MemberKind::File { size },
        };
        Ok(Member {
            path,
            kind,
            mode: self.mode,
            modified: self.modified,
        })
    }
}

/// A number: in octal, or in base 256 if its first bit is set.
fn number(field: &[u8]) -> Option<u64> {
    if field.first().is_some_and(|first| first & 0x80 != 0) {
        // The first byte of what is not negative is 0x80 and a few bits.
        let first = u64::from(field[0] & 0x7f);
        return field[1..].iter().try_fold(first, |sum, byte| {
            let shifted = sum.checked_mul(256)?;
            shifted.checked_add(u64::from(*byte))
        });
    }
    let text = std::str::from_utf8(until_zero(field)).ok()?.trim_matches(' ');
    if text.is_empty() {
        return Some(0);
    }
    u64::from_str_radix(text, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, size: u64) -> Member {
        Member {
            path: path.as_bytes().to_vec(),
            kind: MemberKind::File { size },
            mode: 0o640,
            modified: 1_700_000_000,
        }
    }

    async fn archive(members: &[(Member, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        for (member, contents) in members {
            writer.header(member).await.unwrap();
            if let MemberKind::File { size } = member.kind {
                writer.contents(*contents, size).await.unwrap();
            }
        }
        writer.finish().await.unwrap();
        bytes
    }

    async fn read(bytes: &[u8]) -> io::Result<Vec<(Member, Vec<u8>)>> {
        let mut reader = Reader::new(bytes);
        let mut found = Vec::new();
        while let Some(member) = reader.next().await? {
            let mut contents = Vec::new();
            reader.contents(&mut contents).await?;
            found.push((member, contents));
        }
        Ok(found)
    }

    #[tokio::test]
    async fn what_is_written_is_read_again_whatever_the_length_of_its_name() {
        for length in [1, 99, 100, 101, 200, 256, 257, 900, 5000] {
            let path = "deep/".repeat(length / 5) + &"n".repeat(length % 5 + 1);
            let one_part = "n".repeat(length);
            for path in [path, one_part] {
                let contents = vec![b'x'; length];
                let link = Member {
                    kind: MemberKind::Link {
                        target: path.clone().into_bytes(),
                    },
                    ..file("link", 0)
                };
                let members = [
                    (file(&path, length as u64), contents.as_slice()),
                    (link.clone(), b""),
                    (file("after", 0), b""),
                ];
                let bytes = archive(&members).await;
                assert_eq!(bytes.len() % BLOCK, 0);
                let found = read(&bytes).await.unwrap();
                assert_eq!(found[0], (file(&path, length as u64), contents));
                assert_eq!((&found[1].0, &found[2].0), (&link, &file("after", 0)));
            }
        }
    }

    #[tokio::test]
    async fn a_member_that_is_not_read_is_skipped_and_a_file_that_changed_has_its_promised_size() {
        let bytes = archive(&[(file("one", 700), b"short"), (file("two", 2), b"longer")]).await;
        let mut reader = Reader::new(bytes.as_slice());
        reader.next().await.unwrap();
        assert_eq!(reader.next().await.unwrap(), Some(file("two", 2)));
        let found = read(&bytes).await.unwrap();
        assert_eq!((found[0].1.len(), found[1].1.as_slice()), (700, &b"lo"[..]));
    }

    #[tokio::test]
    async fn what_is_no_archive_or_only_a_part_of_one_is_an_error() {
        let whole = archive(&[(file("one", 3), b"abc")]).await;
        for wrong in [&b"hello"[..], &[b'a'; 512], &whole[..BLOCK + 100], &whole[..300]] {
            assert!(read(wrong).await.is_err(), "{} bytes", wrong.len());
        }
        assert_eq!(read(&[]).await.unwrap(), []);
        let mut changed = whole.clone();
        changed[0] = b'x';
        assert!(read(&changed).await.unwrap_err().to_string().contains("checksum"));
    }

    #[tokio::test]
    async fn a_header_cannot_make_us_keep_a_name_of_a_gigabyte() {
        for flag in [b'x', b'L', b'K'] {
            let bytes = header(b"", b"long", b"", flag, 0o644, 1 << 30, 0);
            assert!(read(&bytes).await.unwrap_err().to_string().contains("too long"));
        }
        let mut size = header(b"", b"size", b"", b'0', 0o644, 0, 0);
        size[124..136].copy_from_slice(&[0xff; 12]);
        assert!(read(&size).await.is_err());
    }

    #[test]
    fn numbers_are_octal_or_binary() {
        assert_eq!(number(b"0000644\0"), Some(0o644));
        assert_eq!(number(b"   644 \0"), Some(0o644));
        assert_eq!(number(b"\0\0\0"), Some(0));
        assert_eq!(number(&[0x80, 0, 0, 1, 2]), Some(258));
        assert_eq!(number(b"9"), None);
        assert_eq!(number(&[0xff; 12]), None);
    }

    #[test]
    fn a_record_counts_its_own_length() {
        assert_eq!(record("path", b"ab"), b"11 path=ab\n");
        for length in [1, 90, 91, 92, 93, 990, 991, 992, 993] {
            let record = record("path", &vec![b'a'; length]);
            assert!(record.starts_with(record.len().to_string().as_bytes()), "{length}");
        }
    }
}
