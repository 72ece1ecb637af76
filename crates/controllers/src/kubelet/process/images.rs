//! The images that processes are made from: binaries in a folder, each under the name that Pods call it by.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The file that describes an image, beside its binary.
const DESCRIPTION: &str = "image.json";
const BINARY: &str = "binary";

/// Why an image cannot be loaded, found or removed.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The name is not that of an image.
    #[error("{name:?} is no name of an image: write one such as shop:dev or registry.example.com/shop:v1")]
    Name {
        /// What was given.
        name: String,
    },
    /// The binary is not a file that can be run.
    #[error("{} {why}", path.display())]
    Binary {
        /// What was given.
        path: PathBuf,
        /// `is a folder`, and what to do instead.
        why: &'static str,
    },
    /// Others could put binaries into the folder.
    #[error("{} is open to others: only its owner may use it (chmod 700)", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// A description is not one.
    #[error("{} is broken: remove it and load the image again", path.display())]
    Description {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// A binary that was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Image {
    /// The name Pods call it by, with its tag.
    pub name: String,
    /// What Pods call the binary in their `command`: `/manager`.
    pub entrypoint: String,
    /// Its contents: `sha256:…`.
    pub id: String,
    /// Where it came from.
    pub source: PathBuf,
    /// When it was loaded.
    pub loaded: Timestamp,
    /// The paths of other programs in it, in the order in which they were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// The binary.
    #[serde(skip)]
    pub binary: PathBuf,
}

impl Image {
    /// The file behind a program of the image, by its path or by the last part of it; the error says what there is instead.
    pub(super) fn program(&self, called: &str) -> Result<PathBuf, String> {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let is_called = |path: &str| path == called || name(path) == name(called);
        if is_called(&self.entrypoint) {
            return Ok(self.binary.clone());
        }
        let place = self.programs.iter().position(|path| path == called);
        let place = place.or_else(|| self.programs.iter().position(|path| is_called(path)));
        match place {
            Some(place) => Ok(self.binary.with_file_name(program_file(place))),
            None if self.programs.is_empty() => Err(format!("which is the binary {} alone", self.entrypoint)),
            None => Err(format!(
                "which has {} and {}",
                self.entrypoint,
                self.programs.join(", ")
            )),
        }
    }
}

/// The name of the file behind another program of an image.
fn program_file(place: usize) -> String {
    format!("program.{place}")
}

/// A folder of images. Only its owner has access to it, since every binary in it can be run.
///
/// ```
/// use kubewright_controllers::process::ImageFolder;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let place = std::env::temp_dir().join(format!("images-{}", std::process::id()));
/// let images = ImageFolder::open(place.join("images"))?;
/// images.load("shop:dev", &std::env::current_exe()?, Some("/manager"))?;
/// assert_eq!(images.find("docker.io/library/shop:dev")?.unwrap().entrypoint, "/manager");
/// assert_eq!(images.list()?.len(), 1);
/// assert!(images.remove("shop:dev")? && images.find("shop:dev")?.is_none());
/// # std::fs::remove_dir_all(place)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ImageFolder(PathBuf);

impl ImageFolder {
    /// Opens a folder, and makes it if it is not there.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, ImageError> {
        let path = path.into();
        super::files::private_folder(&path).map_err(at(&path))?;
        let path = fs::canonicalize(&path).map_err(at(&path))?;
        if !super::files::is_private(&path).map_err(at(&path))? {
            return Err(ImageError::Open { path });
        }
        Ok(ImageFolder(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Copies a binary into the folder. An image of the same name is replaced; what runs goes on with the old one.
    ///
    /// Pods name the binary in their `command` by its entrypoint, `/` and the name of the file unless another is given.
    pub fn load(&self, name: &str, binary: &Path, entrypoint: Option<&str>) -> Result<Image, ImageError> {
        self.load_with(name, binary, entrypoint, &[])
    }

    /// The same with other programs, each the path that commands call it by and the binary.
    pub fn load_with(
        &self,
        name: &str,
        binary: &Path,
        entrypoint: Option<&str>,
        programs: &[(String, PathBuf)],
    ) -> Result<Image, ImageError> {
        let name = full_name(name)?;
        check_binary(binary)?;
        for (_, program) in programs {
            check_binary(program)?;
        }
        let source = fs::canonicalize(binary).map_err(at(binary))?;
        // The path as it was given, without resolving links.
        let file_name = binary.file_name().or_else(|| source.file_name());
        let file_name = file_name.map(|name| name.to_string_lossy().into_owned());
        let own = format!("/{}", file_name.unwrap_or_default());
        let folder = self.0.join(encoded(&name));
        super::files::private_folder(&folder).map_err(at(&folder))?;
        let mut image = Image {
            id: String::new(),
            entrypoint: entrypoint.map_or(own, str::to_owned),
            loaded: Timestamp::now(),
            programs: programs.iter().map(|(path, _)| path.clone()).collect(),
            binary: folder.join(BINARY),
            name,
            source,
        };
        for (place, (_, program)) in programs.iter().enumerate() {
            copy(program, &folder.join(program_file(place)))?;
        }
        image.id = copy(&image.source, &image.binary)?;
        let path = folder.join(DESCRIPTION);
        let text = serde_json::to_vec_pretty(&image).unwrap_or_default();
        super::files::replace(&path, &text, 0o600).map_err(at(&path))?;
        Ok(image)
    }

    /// The image that Pods call by this name.
    pub fn find(&self, name: &str) -> Result<Option<Image>, ImageError> {
        let Ok(name) = full_name(name) else {
            return Ok(None);
        };
        read(&self.0.join(encoded(&name)))
    }

    /// All images, by name.
    pub fn list(&self) -> Result<Vec<Image>, ImageError> {
        let mut images = Vec::new();
        for entry in fs::read_dir(&self.0).map_err(at(&self.0))? {
            images.extend(read(&entry.map_err(at(&self.0))?.path())?);
        }
        images.sort_by(|one: &Image, other| one.name.cmp(&other.name));
        Ok(images)
    }

    /// Removes an image. Whether there was one; what runs goes on.
    pub fn remove(&self, name: &str) -> Result<bool, ImageError> {
        let folder = self.0.join(encoded(&full_name(name)?));
        match fs::remove_dir_all(&folder) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(at(&folder)(error)),
        }
    }
}

/// Copies a binary, in place of what is there, and returns what it holds: `sha256:…`.
fn copy(from: &Path, to: &Path) -> Result<String, ImageError> {
    // Under a name of its own first: what runs keeps its file, and half a file is never run.
    let begun = to.with_extension(format!("new.{}", std::process::id()));
    let copied = fs::copy(from, &begun)
        .and_then(|_| super::files::set_mode(&begun, 0o500))
        .and_then(|()| digest(&begun));
    let copied = copied.map_err(at(&begun)).and_then(|id| {
        fs::rename(&begun, to).map_err(at(to))?;
        Ok(id)
    });
    copied.inspect_err(|_| drop(fs::remove_file(&begun)))
}

fn at(path: &Path) -> impl Fn(io::Error) -> ImageError + use<> {
    let path = path.to_owned();
    move |source| ImageError::File {
        path: path.clone(),
        source,
    }
}

fn read(folder: &Path) -> Result<Option<Image>, ImageError> {
    let path = folder.join(DESCRIPTION);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(at(&path)(error)),
    };
    let mut image: Image = serde_json::from_slice(&text).map_err(|source| ImageError::Description { path, source })?;
    image.binary = folder.join(BINARY);
    Ok(Some(image))
}

fn check_binary(path: &Path) -> Result<(), ImageError> {
    let metadata = fs::metadata(path).map_err(at(path))?;
    let refuse = |why| {
        let path = path.to_owned();
        Err(ImageError::Binary { path, why })
    };
    if metadata.is_dir() {
        return refuse("is a folder: name the binary in it, such as target/debug/manager");
    }
    if !metadata.is_file() {
        return refuse("is not a file");
    }
    if !super::files::is_executable(&metadata) {
        return refuse("cannot be run: build the binary first, or make it executable (chmod +x)");
    }
    Ok(())
}

fn digest(path: &Path) -> io::Result<String> {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => context.update(&buffer[..read]),
        }
    }
    let hex = context.finish().as_ref().iter().fold(String::new(), |mut hex, byte| {
        // Writing into a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    Ok(format!("sha256:{hex}"))
}

/// Whether an image can have this name.
pub(super) fn is_name(name: &str) -> bool {
    full_name(name).is_ok()
}

/// The name as nodes understand it: without the registry and the folder that are meant by default, and with a tag.
fn full_name(name: &str) -> Result<String, ImageError> {
    let wrong = || ImageError::Name { name: name.to_owned() };
    let short = ["docker.io/library/", "docker.io/"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    let short = short.unwrap_or(name);
    let (path, digest) = match short.split_once('@') {
        Some((path, digest)) => (path, Some(digest)),
        None => (short, None),
    };
    let last = path.rsplit('/').next().unwrap_or_default();
    let (_, tag) = last.split_once(':').unwrap_or((last, "latest"));
    let is_plain = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(plain)
    };
    let without_tag = path.strip_suffix(&format!(":{tag}")).unwrap_or(path);
    let segments: Vec<&str> = without_tag.split('/').collect();
    let is_segment = |(at, segment): (usize, &&str)| match segment.split_once(':') {
        // The first may be a host and a port.
        Some((host, port)) if at == 0 && segments.len() > 1 => is_plain(host) && port.parse::<u16>().is_ok(),
        Some(_) => false,
        None => is_plain(segment) && (at == 0 || !segment.contains(char::is_uppercase)),
    };
    let is_digest = |digest: &str| {
        digest
            .split_once(':')
            .is_some_and(|(sort, hex)| is_plain(sort) && is_plain(hex))
    };
    if !segments.iter().enumerate().all(is_segment)
        || !is_plain(tag.trim_start_matches('_'))
        || !digest.is_none_or(is_digest)
        || name.len() > 1024
        || segments.last().is_some_and(|last| last.contains(char::is_uppercase))
    {
        return Err(wrong());
    }
    Ok(match digest {
        Some(digest) => format!("{without_tag}@{digest}"),
        None => format!("{without_tag}:{tag}"),
    })
}

/// The name as the name of a file.
fn encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_image_has_several_names() {
        for name in [
            "shop",
            "shop:latest",
            "docker.io/library/shop",
            "docker.io/library/shop:latest",
        ] {
            assert_eq!(full_name(name).unwrap(), "shop:latest", "{name}");
        }
        assert_eq!(
            full_name("registry.example.com:5000/team/shop").unwrap(),
            "registry.example.com:5000/team/shop:latest"
        );
        assert_eq!(full_name("shop:v1@sha256:ab").unwrap(), "shop@sha256:ab");
        assert_eq!(full_name("shop:_1").unwrap(), "shop:_1");
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for wrong in [
            "",
            "a b",
            "../shop",
            "Shop",
            "shop:",
            ":v1",
            "a//b",
            "shop:v1/x:y",
            "-a",
            "a/Shop",
            "a@b",
        ] {
            assert!(full_name(wrong).is_err(), "{wrong}");
        }
        assert!(full_name(&"a".repeat(2000)).is_err());
    }

    #[test]
    fn a_name_never_leads_out_of_the_folder() {
        assert_eq!(encoded("registry:5000/a:v1"), "registry%3A5000%2Fa%3Av1");
    }

    #[test]
    fn a_binary_is_copied_and_replaced_and_what_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let images = ImageFolder::open(folder.path().join("images")).unwrap();
        let binary = folder.path().join("manager");
        fs::write(&binary, "one").unwrap();
        let error = images.load("shop:dev", &binary, None).unwrap_err().to_string();
        assert!(error.contains("chmod +x"), "{error}");
        super::super::files::set_mode(&binary, 0o755).unwrap();
        let first = images.load("shop:dev", &binary, None).unwrap();
        assert_eq!(first.entrypoint, "/manager");
        fs::write(&binary, "two").unwrap();
        let second = images.load("shop:dev", &binary, None).unwrap();
        assert_ne!(first.id, second.id);
        assert_eq!(
            fs::read(&images.find("shop:dev").unwrap().unwrap().binary).unwrap(),
            b"two"
        );
        assert_eq!(images.find("shop:other").unwrap(), None);
        let error = images.load("shop:dev", folder.path(), None).unwrap_err().to_string();
        assert!(error.contains("is a folder"), "{error}");
        assert!(images.load("shop:dev", &folder.path().join("none"), None).is_err());
        assert!(!images.remove("other").unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn a_binary_is_called_as_its_link_is() {
        let folder = tempfile::tempdir().unwrap();
        let images = ImageFolder::open(folder.path().join("images")).unwrap();
        let (binary, link) = (folder.path().join("dash"), folder.path().join("sh"));
        fs::write(&binary, "one").unwrap();
        super::super::files::set_mode(&binary, 0o755).unwrap();
        super::super::files::link(&binary, &link).unwrap();
        assert_eq!(images.load("sh:v1", &link, None).unwrap().entrypoint, "/sh");
    }

    #[cfg(unix)]
    #[test]
    fn an_image_has_the_programs_that_were_loaded_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let images = ImageFolder::open(folder.path().join("images")).unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            fs::write(&path, name).unwrap();
            super::super::files::set_mode(&path, 0o755).unwrap();
            path
        };
        let (shop, shell, other) = (file("shop"), file("dash"), file("other"));
        let programs = [("/bin/sh".to_owned(), shell), ("/usr/bin/sh".to_owned(), other.clone())];
        images.load_with("shop:dev", &shop, None, &programs).unwrap();
        let image = images.find("shop:dev").unwrap().unwrap();
        let text = |called: &str| fs::read_to_string(image.program(called).unwrap()).unwrap();
        let called = ["/shop", "shop", "sh", "/usr/bin/sh", "/sbin/sh"];
        assert_eq!(called.map(text), ["shop", "shop", "dash", "other", "dash"]);
        assert_eq!(
            image.program("ls").unwrap_err(),
            "which has /shop and /bin/sh, /usr/bin/sh"
        );
        let image = images.load("shop:dev", &other, None).unwrap();
        assert_eq!(image.program("sh").unwrap_err(), "which is the binary /other alone");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        super::super::files::set_mode(folder.path(), 0o777).unwrap();
        assert!(matches!(ImageFolder::open(folder.path()), Err(ImageError::Open { .. })));
    }
}
