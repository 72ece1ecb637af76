//! A story that is told beside what happens, chapter by chapter, with the moments and objects that it is about.

use serde::Serialize;

/// Of more lines of a chapter the first are dropped: a story may have no end.
const LINES: usize = 200;

/// What a story says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoryLine {
    /// A command that is run, as a user would type it.
    Command(String),
    /// Something in words.
    Words(String),
    /// What was refused, and why.
    Refused(String),
    /// What happened to an object.
    Object {
        /// Its kind.
        kind: String,
        /// Its namespace; empty if it has none.
        namespace: String,
        /// Its name.
        name: String,
        /// What happened, in words.
        words: String,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Story {
    chapters: Vec<Chapter>,
    change: u64,
}

#[derive(Debug, Serialize)]
struct Chapter {
    number: usize,
    title: String,
    words: String,
    /// The newest revision when it began; 0 if nothing was known by then.
    revision: u64,
    lines: Vec<ToldLine>,
    #[serde(skip)]
    change: u64,
}

/// A line, with the version of the object that it is about.
#[derive(Debug, Serialize)]
pub(crate) struct ToldLine {
    pub(crate) is: &'static str,
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<u64>,
}

/// The chapters that a reader does not know as they are.
#[derive(Debug, Serialize)]
pub(crate) struct StoryNews<'a> {
    #[serde(skip)]
    pub(crate) change: u64,
    chapters: Vec<&'a Chapter>,
}

impl Story {
    /// A chapter begins, at a revision.
    pub(crate) fn begin(&mut self, title: &str, words: &str, revision: u64) {
        self.change += 1;
        self.chapters.push(Chapter {
            number: self.chapters.len() + 1,
            title: title.to_owned(),
            words: words.to_owned(),
            revision,
            lines: Vec::new(),
            change: self.change,
        });
    }

    /// The chapter goes on. What is told before the first belongs to none.
    pub(crate) fn add(&mut self, line: ToldLine) {
        let Some(chapter) = self.chapters.last_mut() else {
            return;
        };
        self.change += 1;
        chapter.change = self.change;
        if chapter.lines.len() == LINES {
            chapter.lines.remove(0);
        }
        chapter.lines.push(line);
    }

    /// The chapters that began or went on after a change.
    pub(crate) fn since(&self, seen: u64) -> Option<StoryNews<'_>> {
        (self.change > seen).then(|| StoryNews {
            change: self.change,
            chapters: self.chapters.iter().filter(|chapter| chapter.change > seen).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(text: &str) -> ToldLine {
        ToldLine {
            is: "words",
            text: text.to_owned(),
            uid: None,
            revision: None,
        }
    }

    #[test]
    fn a_reader_gets_the_chapters_that_went_on() {
        let mut story = Story::default();
        assert!(story.since(0).is_none());
        story.add(line("before the first"));
        story.begin("One", "first", 0);
        story.begin("Two", "second", 7);
        story.add(line("it happens"));
        let news = story.since(0).unwrap();
        assert_eq!(news.chapters.len(), 2);
        let seen = news.change;
        assert!(story.since(seen).is_none());
        story.add(line("and again"));
        assert_eq!(
            json!(story.since(seen).unwrap()),
            json!({ "chapters": [{ "number": 2, "title": "Two", "words": "second", "revision": 7,
                "lines": [{ "is": "words", "text": "it happens" }, { "is": "words", "text": "and again" }] }] })
        );
    }

    #[test]
    fn a_story_without_an_end_is_kept_within_bounds() {
        let mut story = Story::default();
        story.begin("Stay", "for ever", 0);
        for number in 0..2 * LINES {
            story.add(line(&number.to_string()));
        }
        let lines = &story.chapters[0].lines;
        assert_eq!((lines.len(), &*lines[0].text), (LINES, "200"));
    }
}
