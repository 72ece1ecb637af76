//! The wire format, writing: from the last byte to the first, so that a length is known when it is written.

/// A message that grows at its front.
#[derive(Default)]
pub(super) struct Writer {
    /// The bytes so far, the last one first.
    reversed: Vec<u8>,
}

/// A place behind which everything belongs to a message whose length is to come.
#[derive(Clone, Copy)]
pub(super) struct End(usize);

impl Writer {
    pub(super) fn finish(self) -> Vec<u8> {
        let mut bytes = self.reversed;
        bytes.reverse();
        bytes
    }

    /// The bytes, with others before them.
    pub(super) fn finish_behind(mut self, prefix: &[u8]) -> Vec<u8> {
        self.reversed.extend(prefix.iter().rev());
        self.finish()
    }

    pub(super) fn len(&self) -> usize {
        self.reversed.len()
    }

    pub(super) fn end(&self) -> End {
        End(self.reversed.len())
    }

    /// Makes all that was written since `end` the content of field `number`.
    pub(super) fn delimit(&mut self, number: u16, end: End) {
        self.raw_varint((self.reversed.len() - end.0) as u64);
        self.raw_varint(u64::from(number) << 3 | 2);
    }

    pub(super) fn bytes(&mut self, number: u16, bytes: &[u8]) {
        let end = self.end();
        self.reversed.extend(bytes.iter().rev());
        self.delimit(number, end);
    }

    /// Negative numbers are written as the 64 bits they are in two's complement.
    pub(super) fn integer(&mut self, number: u16, value: i64) {
        self.raw_varint(value as u64);
        self.raw_varint(u64::from(number) << 3);
    }

    pub(super) fn double(&mut self, number: u16, value: f64) {
        self.reversed.extend(value.to_be_bytes());
        self.raw_varint(u64::from(number) << 3 | 1);
    }

    fn raw_varint(&mut self, mut value: u64) {
        let mut digits = [0u8; 10];
        let mut count = 0;
        loop {
            digits[count] = (value & 0x7f) as u8 | 0x80;
            value >>= 7;
            count += 1;
            if value == 0 {
                break;
            }
        }
        digits[count - 1] &= 0x7f;
        self.reversed.extend(digits[..count].iter().rev());
    }
}
