/// A destination of text that grows in memory: the `String` of a message or the bytes of a document. Writing cannot fail.
pub trait Output {
    /// Appends a text.
    fn push_str(&mut self, text: &str);
}

impl Output for String {
    fn push_str(&mut self, text: &str) {
        String::push_str(self, text);
    }
}

impl Output for Vec<u8> {
    fn push_str(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }
}
