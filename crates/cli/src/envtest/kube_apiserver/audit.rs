//! `--audit-policy-file` and `--audit-log-*`: the audit log, a file that is put aside when it is full.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kubewright_apimachinery::go::quote;
use kubewright_apiserver::{AuditLogFormat, AuditPolicy, Options};

use super::super::flags::Given;
use super::settings::read;
use crate::output;

const FORMATS: &str = "legacy,json";
/// What upstream's library takes where no size is given.
const DEFAULT_MEGABYTES: u64 = 100;

/// Checks what can be checked without files.
pub(super) fn check(given: &Given, problems: &mut Vec<String>) {
    if given.text("audit-log-path").is_none() {
        return;
    }
    let format = given.text("audit-log-format").unwrap_or("json");
    if !FORMATS.split(',').any(|known| known == format) {
        problems.push(format!(
            "invalid audit log format {format}, allowed formats are {}",
            quote(FORMATS)
        ));
    }
    for flag in ["audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize"] {
        if let Some(number) = given.text(flag).filter(|number| number.starts_with('-')) {
            problems.push(format!("--{flag} {number} can't be a negative number"));
        }
    }
}

/// Makes the server log its requests, if there are a file and a policy. Without a policy there are no events, as upstream has it.
pub(super) fn apply(given: &Given, options: Options) -> Result<Options, String> {
    let policy = match given.text("audit-policy-file") {
        None => None,
        Some(path) => {
            let text = read("audit-policy-file", path)?;
            let policy = AuditPolicy::parse(&text);
            Some(policy.map_err(|why| format!("loading audit policy file: {why}: from file {path}"))?)
        }
    };
    let (Some(path), Some(policy)) = (given.text("audit-log-path"), policy) else {
        return Ok(options);
    };
    let format = match given.text("audit-log-format") {
        Some("legacy") => AuditLogFormat::Legacy,
        _ => AuditLogFormat::Json,
    };
    if path == "-" {
        return Ok(options.audit_log(policy, format, |line| {
            let _ = output::write(&format!("{line}\n"));
        }));
    }
    let number = |flag: &str| given.text(flag).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let megabytes = Some(number("audit-log-maxsize")).filter(|size| *size > 0);
    let log = RotatedFile {
        path: path.into(),
        most: megabytes.unwrap_or(DEFAULT_MEGABYTES) * 1024 * 1024,
        backups: usize::try_from(number("audit-log-maxbackup")).unwrap_or(usize::MAX),
        days: number("audit-log-maxage"),
    };
    let open = log
        .open()
        .map_err(|error| format!("--audit-log-path: cannot write {path}: {error}"))?;
    let open = Mutex::new(open);
    Ok(options.audit_log(policy, format, move |line| {
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk must not end the server; the real one goes on, too.
        let _ = log.write(&mut open, line);
    }))
}

/// A file that is put aside under the name of the time when it would become too long.
struct RotatedFile {
    path: PathBuf,
    most: u64,
    /// How many files stay that were put aside; 0 is all.
    backups: usize,
    /// For how many days they stay; 0 is for ever.
    days: u64,
}

struct Open {
    file: File,
    length: u64,
}

impl RotatedFile {
    fn open(&self) -> io::Result<Open> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&self.path)?;
        let length = file.metadata()?.len();
        Ok(Open { file, length })
    }

    fn write(&self, open: &mut Open, line: &str) -> io::Result<()> {
        let length = line.len() as u64 + 1;
        if open.length > 0 && open.length + length > self.most {
            fs::rename(&self.path, self.aside(Timestamp::now()))?;
            *open = self.open()?;
            self.remove_old(SystemTime::now())?;
        }
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        open.file.write_all(&bytes)?;
        open.length += length;
        Ok(())
    }

    /// The name without its extension, and the extension with its dot.
    fn name(&self) -> (String, String) {
        let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let extension = part(self.path.extension());
        let dot = if extension.is_empty() { "" } else { "." };
        (part(self.path.file_stem()), format!("{dot}{extension}"))
    }

    fn aside(&self, now: Timestamp) -> PathBuf {
        let (stem, extension) = self.name();
        let time = now.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H-%M-%S.%3f");
        self.path.with_file_name(format!("{stem}-{time}{extension}"))
    }

    /// Removes what is beyond the number and the age of files.
    fn remove_old(&self, now: SystemTime) -> io::Result<()> {
        let (stem, extension) = self.name();
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut aside: Vec<PathBuf> = fs::read_dir(folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let time = name
                    .strip_prefix(&format!("{stem}-"))
                    .and_then(|rest| rest.strip_suffix(&extension));
                time.is_some_and(|time| time.len() == "2006-01-02T15-04-05.000".len())
            })
            .collect();
        // The newest first: names are times.
        aside.sort_unstable_by(|one, other| other.cmp(one));
        for (at, path) in aside.iter().enumerate() {
            let age = fs::metadata(path)?.modified()?;
            let age = now.duration_since(age).unwrap_or_default();
            let is_old = self.days > 0 && age > Duration::from_hours(24 * self.days);
            if is_old || (self.backups > 0 && at >= self.backups) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_put_aside_and_only_so_many_stay() {
        let folder = tempfile::tempdir().unwrap();
        let log = RotatedFile {
            path: folder.path().join("audit.log"),
            most: 10,
            backups: 2,
            days: 0,
        };
        let mut open = log.open().unwrap();
        for line in ["first", "second", "third", "fourth", "fifth"] {
            log.write(&mut open, line).unwrap();
            // Two files of one millisecond would have one name.
            while log.aside(Timestamp::now()).exists() {
                std::thread::yield_now();
            }
        }
        assert_eq!(fs::read_to_string(&log.path).unwrap(), "fifth\n");
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        names.sort();
        assert_eq!(names.len(), 3, "{names:?}");
        let texts: Vec<_> = names.iter().map(|name| fs::read_to_string(name).unwrap()).collect();
        assert_eq!(texts, ["third\n", "fourth\n", "fifth\n"]);
    }

    #[test]
    fn old_files_are_removed_by_their_age() {
        let folder = tempfile::tempdir().unwrap();
        let log = RotatedFile {
            path: folder.path().join("audit.log"),
            most: 10,
            backups: 0,
            days: 1,
        };
        let aside = log.aside(Timestamp::now());
        let other = folder.path().join("audit-notes.log");
        fs::write(&aside, "").unwrap();
        fs::write(&other, "").unwrap();
        log.remove_old(SystemTime::now()).unwrap();
        assert!(aside.exists());
        log.remove_old(SystemTime::now() + Duration::from_hours(25)).unwrap();
        assert!(!aside.exists() && other.exists());
    }
}
