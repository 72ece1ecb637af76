//! What a command is doing, step by step: on a terminal one line that is drawn again and again, elsewhere plain lines.
//! Steps go to standard error, so that standard output holds nothing but results.

use std::io::{self, IsTerminal as _, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the line of the current step is drawn.
const FRAME: Duration = Duration::from_millis(100);
/// Where nothing is drawn again, a step that lasts longer is announced.
const ANNOUNCED_AFTER: Duration = Duration::from_secs(2);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Says what a command is doing. Clones write to the same place.
#[derive(Clone)]
pub struct Progress {
    screen: Arc<Mutex<ProgressOutput>>,
}

/// Where lines go, and the one that is drawn again and again.
struct ProgressOutput {
    steps: Box<dyn Write + Send>,
    results: Box<dyn Write + Send>,
    /// Whether it is a terminal, where a line can be drawn again.
    is_live: bool,
    has_colours: bool,
    /// The line of the current step, while there is one.
    line: Option<Line>,
}

struct Line {
    step: u64,
    what: String,
    detail: String,
    began: Instant,
    frame: usize,
}

#[derive(Clone, Copy)]
enum Colour {
    Green,
    Red,
    Yellow,
    Cyan,
    Faint,
}

impl Default for Progress {
    fn default() -> Self {
        Progress::new()
    }
}

impl Progress {
    /// On the terminal or the pipe of this process.
    pub fn new() -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_live = io::stderr().is_terminal() && !is_dumb;
        let wants_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Progress::on(
            Box::new(io::stderr()),
            Box::new(io::stdout()),
            is_live,
            is_live && !wants_none,
        )
    }

    /// Elsewhere, as plain lines and without results: for a command that has its own way of showing them.
    pub fn written_to(steps: Box<dyn Write + Send>) -> Self {
        Progress::on(steps, Box::new(io::sink()), false, false)
    }

    fn on(steps: Box<dyn Write + Send>, results: Box<dyn Write + Send>, is_live: bool, has_colours: bool) -> Self {
        Progress {
            screen: Arc::new(Mutex::new(ProgressOutput {
                steps,
                results,
                is_live,
                has_colours,
                line: None,
            })),
        }
    }

    /// Begins a step, such as "Building the operator". Dropped before it is done, it has failed.
    pub fn step(&self, what: impl Into<String>) -> ProgressStep {
        self.begin(what.into(), true)
    }

    /// Begins a step that a child process reports on: it writes to the terminal by itself.
    pub fn noisy_step(&self, what: impl Into<String>) -> ProgressStep {
        let what = what.into();
        self.screen().say("•", Colour::Cyan, &what);
        self.begin(what, false)
    }

    /// A line of results, on standard output.
    pub fn line(&self, text: impl AsRef<str>) {
        self.screen().result(text.as_ref());
    }

    /// Something worth knowing.
    pub fn note(&self, text: impl AsRef<str>) {
        self.screen().say("•", Colour::Cyan, text.as_ref());
    }

    /// A warning.
    pub fn warn(&self, text: impl AsRef<str>) {
        self.screen().say("!", Colour::Yellow, text.as_ref());
    }

    /// A line as it is.
    pub fn plain(&self, text: impl AsRef<str>) {
        self.screen().plain(text.as_ref());
    }

    /// From now on lines are only added, plainly: standard error is not the terminal any more.
    pub fn add_plain_lines(&self) {
        let mut screen = self.screen();
        screen.clear();
        screen.is_live = false;
        screen.has_colours = false;
    }

    fn begin(&self, what: String, lives: bool) -> ProgressStep {
        let began = Instant::now();
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let step = next_step();
        let ticker = lives.then(|| {
            let mut screen = self.screen();
            screen.clear();
            screen.line = Some(Line {
                step,
                what: what.clone(),
                detail: String::new(),
                began,
                frame: 0,
            });
            screen.draw();
            let (screen, ended) = (self.screen.clone(), ended.clone());
            std::thread::spawn(move || tick(&screen, &ended, step))
        });
        ProgressStep {
            progress: self.clone(),
            id: step,
            what,
            began,
            ended,
            ticker,
            is_over: false,
            said: Mutex::new(String::new()),
        }
    }

    fn screen(&self) -> MutexGuard<'_, ProgressOutput> {
        lock(&self.screen)
    }
}

/// A step under way.
pub struct ProgressStep {
    progress: Progress,
    id: u64,
    what: String,
    began: Instant,
    ended: Arc<(Mutex<bool>, Condvar)>,
    ticker: Option<JoinHandle<()>>,
    is_over: bool,
    said: Mutex<String>,
}

impl ProgressStep {
    /// What the step waits for. On a terminal it stands behind the step; elsewhere each change is a line.
    pub fn waiting(&self, detail: impl Into<String>) {
        // What is drawn again is one line.
        let detail = detail.into().split_whitespace().collect::<Vec<_>>().join(" ");
        {
            let mut said = lock(&self.said);
            if *said == detail {
                return;
            }
            said.clone_from(&detail);
        }
        let mut screen = self.progress.screen();
        if !screen.is_live || self.ticker.is_none() {
            if !detail.is_empty() {
                screen.plain(&format!("  {detail}"));
            }
            return;
        }
        if let Some(line) = screen.line.as_mut().filter(|line| line.step == self.id) {
            line.detail = detail;
        }
        screen.draw();
    }

    /// It is done.
    pub fn done(self) {
        self.done_with("");
    }

    /// It is done, and this came of it.
    pub fn done_with(mut self, outcome: impl AsRef<str>) {
        self.end("✓", Colour::Green, outcome.as_ref());
    }

    /// It failed. Why is for the error to say.
    pub fn failed(mut self) {
        self.end("✗", Colour::Red, "");
    }

    fn end(&mut self, mark: &str, colour: Colour, outcome: &str) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        *lock(&self.ended.0) = true;
        self.ended.1.notify_all();
        if let Some(ticker) = self.ticker.take() {
            // The thread does nothing that can fail.
            let _ = ticker.join();
        }
        let mut screen = self.progress.screen();
        screen.clear();
        if screen.line.as_ref().is_some_and(|line| line.step == self.id) {
            screen.line = None;
        }
        let took = screen.painted(Colour::Faint, &format!("({})", duration(self.began.elapsed())));
        let outcome = if outcome.is_empty() {
            String::new()
        } else {
            format!(": {outcome}")
        };
        let text = format!("{}{outcome} {took}", self.what);
        screen.say(mark, colour, &text);
    }
}

impl Drop for ProgressStep {
    fn drop(&mut self) {
        self.end("✗", Colour::Red, "");
    }
}

impl ProgressOutput {
    fn say(&mut self, mark: &str, colour: Colour, text: &str) {
        let mark = self.painted(colour, mark);
        self.plain(&format!("{mark} {text}"));
    }

    fn plain(&mut self, text: &str) {
        self.clear();
        // A command goes on if its output is closed.
        let _ = writeln!(self.steps, "{text}");
        let _ = self.steps.flush();
        self.draw();
    }

    fn result(&mut self, text: &str) {
        self.clear();
        let _ = self.steps.flush();
        let _ = writeln!(self.results, "{text}");
        let _ = self.results.flush();
        self.draw();
    }

    fn painted(&self, colour: Colour, text: &str) -> String {
        let code = match colour {
            Colour::Green => 32,
            Colour::Red => 31,
            Colour::Yellow => 33,
            Colour::Cyan => 36,
            Colour::Faint => 2,
        };
        if self.has_colours {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Erases the line of the current step.
    fn clear(&mut self) {
        if self.is_live && self.line.is_some() {
            let _ = write!(self.steps, "\r\x1b[2K");
        }
    }

    fn draw(&mut self) {
        if !self.is_live {
            return;
        }
        let Some(line) = &self.line else {
            return;
        };
        let frame = self.painted(Colour::Cyan, FRAMES[line.frame % FRAMES.len()]);
        let detail = if line.detail.is_empty() {
            String::new()
        } else {
            format!(": {}", line.detail)
        };
        let took = self.painted(Colour::Faint, &format!("{}s", line.began.elapsed().as_secs()));
        // Without wrapping, so that what is longer than the terminal is wide can be taken away again.
        let text = format!("\r\x1b[2K\x1b[?7l{frame} {}{detail} {took}\x1b[?7h", line.what);
        let _ = self.steps.write_all(text.as_bytes());
        let _ = self.steps.flush();
    }
}

/// Draws the line of a step again until the step has ended.
fn tick(screen: &Mutex<ProgressOutput>, ended: &(Mutex<bool>, Condvar), step: u64) {
    let is_live = lock(screen).is_live;
    let pace = if is_live { FRAME } else { ANNOUNCED_AFTER };
    let mut over = lock(&ended.0);
    loop {
        let (waited, timeout) = ended
            .1
            .wait_timeout_while(over, pace, |over| !*over)
            .unwrap_or_else(PoisonError::into_inner);
        over = waited;
        if !timeout.timed_out() {
            return;
        }
        let mut screen = lock(screen);
        let Some(line) = screen.line.as_mut().filter(|line| line.step == step) else {
            continue;
        };
        line.frame += 1;
        if is_live {
            screen.draw();
        } else {
            let text = format!("… {}", line.what);
            screen.plain(&text);
            return;
        }
    }
}

fn next_step() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// A lock that a panicking thread poisoned guards only lines, which are still good.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A duration as people write it: `240ms`, `3.2s`, `2m5s`.
pub fn duration(took: Duration) -> String {
    let seconds = took.as_secs();
    match seconds {
        0 => format!("{}ms", took.as_millis()),
        1..60 => format!("{seconds}.{}s", took.subsec_millis() / 100),
        _ => format!("{}m{}s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer whose text can be looked at.
    #[derive(Clone, Default)]
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            lock(&self.0).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl SharedBuffer {
        fn text(&self) -> String {
            String::from_utf8(lock(&self.0).clone()).unwrap()
        }
    }

    fn progress(is_live: bool, has_colours: bool) -> (Progress, SharedBuffer, SharedBuffer) {
        let (steps, results) = (SharedBuffer::default(), SharedBuffer::default());
        let progress = Progress::on(Box::new(steps.clone()), Box::new(results.clone()), is_live, has_colours);
        (progress, steps, results)
    }

    /// The text with durations left out.
    fn timeless(text: &str) -> String {
        let lines = text
            .lines()
            .map(|line| line.rsplit_once(" (").map_or(line, |(line, _)| line));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn piped_steps_are_plain_lines_and_results_are_apart() {
        let (progress, steps, results) = progress(false, false);
        let step = progress.step("Applying");
        step.waiting("waiting for\n  the Pod");
        step.waiting("waiting for the Pod");
        progress.line("service/shop created");
        step.done_with("3 objects");
        progress.warn("mind the gap");
        assert_eq!(
            timeless(&steps.text()),
            "  waiting for the Pod\n✓ Applying: 3 objects\n! mind the gap"
        );
        assert_eq!(results.text(), "service/shop created\n");
        assert!(!steps.text().contains('\x1b'));
    }

    #[test]
    fn a_step_that_is_dropped_has_failed() {
        let (progress, steps, _) = progress(false, false);
        drop(progress.step("Building"));
        progress.step("Deploying").failed();
        assert_eq!(timeless(&steps.text()), "✗ Building\n✗ Deploying");
    }

    #[test]
    fn on_a_terminal_the_line_of_a_step_is_erased_before_others_are_written() {
        let (progress, steps, _) = progress(true, false);
        let step = progress.step("Waiting");
        step.waiting("0 of 1 ready");
        progress.note("a Pod is there");
        step.done();
        let text = steps.text();
        assert!(text.contains("Waiting: 0 of 1 ready"), "{text:?}");
        assert!(text.contains("\r\x1b[2K• a Pod is there\n"), "{text:?}");
        assert!(text.contains("\r\x1b[2K✓ Waiting ("), "{text:?}");
        assert!(text.ends_with(")\n"), "{text:?}");
        assert!(!text.contains("\x1b[3"), "no colours were asked for: {text:?}");
    }

    #[test]
    fn where_the_terminal_is_somebody_elses_nothing_is_drawn_again() {
        let (progress, steps, _) = progress(true, true);
        progress.add_plain_lines();
        let step = progress.step("Waiting");
        step.waiting("0 of 1 ready");
        step.done();
        assert_eq!(timeless(&steps.text()), "  0 of 1 ready\n✓ Waiting");
    }

    #[test]
    fn colours_are_there_only_where_they_are_wanted() {
        let (progress, steps, results) = progress(true, true);
        progress.step("Waiting").done();
        progress.line("service/shop created");
        assert!(steps.text().contains("\x1b[32m✓\x1b[0m Waiting"), "{:?}", steps.text());
        assert_eq!(results.text(), "service/shop created\n");
    }

    #[test]
    fn a_noisy_step_leaves_the_terminal_to_others() {
        let (progress, steps, _) = progress(true, false);
        let step = progress.noisy_step("Building");
        assert_eq!(steps.text(), "• Building\n");
        step.done();
        assert_eq!(timeless(&steps.text()), "• Building\n✓ Building");
    }

    #[test]
    fn durations_read_as_people_write_them() {
        let text = |millis| duration(Duration::from_millis(millis));
        assert_eq!([text(240), text(3_250), text(125_000)], ["240ms", "3.2s", "2m5s"]);
    }
}
