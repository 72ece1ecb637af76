//! The files of a container by the paths that it has them under. Folders are opened one by one and links are followed here, by the rules of
//! a changed root: none leads out of the container, whoever made it and whenever.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::kubelet::process::volumes::Mount;

/// How many links are followed on the way to a file, as on Linux.
const MOST_LINKS: usize = 40;

/// Where the files of a container are.
#[derive(Clone, Debug)]
pub(in crate::kubelet::process) struct ContainerFiles {
    root: PathBuf,
    mounts: Vec<Mount>,
    /// Where relative paths begin.
    working_folder: PathBuf,
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    File,
    Folder,
    /// A symbolic link, with its target as the container knows it.
    Link(PathBuf),
    /// A socket, a pipe or a device.
    Other,
}

/// A folder of the container, and how it was reached.
#[derive(Clone)]
pub(super) struct Folder<'f> {
    files: &'f ContainerFiles,
    /// From the root to the folder.
    levels: Vec<Level>,
}

#[derive(Clone)]
struct Level {
    name: OsString,
    descriptor: Arc<OwnedFd>,
    /// Whether it is the root of the container or of a volume.
    is_root: bool,
}

impl ContainerFiles {
    /// The files of a container that has this root and working folder on this machine, with volumes where they are mounted.
    pub(in crate::kubelet::process) fn new(root: &Path, mounts: Vec<Mount>, working_folder: &Path) -> Self {
        ContainerFiles {
            root: root.to_owned(),
            mounts,
            working_folder: working_folder.strip_prefix(root).unwrap_or(Path::new("")).to_owned(),
        }
    }

    /// The folder with this path.
    pub(super) fn folder(&self, path: &Path) -> io::Result<Folder<'_>> {
        let mut folder = self.root()?;
        if !path.is_absolute() {
            folder.enter(&self.working_folder)?;
        }
        folder.enter(path)?;
        Ok(folder)
    }

    fn root(&self) -> io::Result<Folder<'_>> {
        let root = open_folder(rustix::fs::CWD, self.root.as_os_str())?;
        let level = Level {
            name: OsString::new(),
            descriptor: Arc::new(root),
            is_root: true,
        };
        Ok(Folder {
            files: self,
            levels: vec![level],
        })
    }
}

fn open_folder(above: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(above, name, flags, Mode::empty())
}

/// The target of a link; `None` if it is none.
fn read_link(above: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<PathBuf>> {
    match rustix::fs::readlinkat(above, name, Vec::new()) {
        Ok(target) => Ok(Some(PathBuf::from(OsStr::from_bytes(target.as_bytes())))),
        Err(Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The parts of a path that lead anywhere.
fn parts(path: &Path) -> impl DoubleEndedIterator<Item = &OsStr> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        Component::ParentDir => Some(OsStr::new("..")),
        _ => None,
    })
}

impl Folder<'_> {
    fn descriptor(&self) -> BorrowedFd<'_> {
        // There is always the root.
        self.levels[self.levels.len() - 1].descriptor.as_fd()
    }

    /// Goes to a folder by a path from here; an absolute one begins at the root.
    pub(super) fn enter(&mut self, path: &Path) -> io::Result<()> {
        let mut rest: VecDeque<OsString> = parts(path).map(OsStr::to_owned).collect();
        if path.is_absolute() {
            self.levels.truncate(1);
        }
        let mut links = 0;
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                if self.levels.len() > 1 {
                    self.levels.pop();
                }
                continue;
            }
            if let Some(mount) = self.mount(&name) {
                let descriptor = open_mount(mount)?.ok_or(Errno::NOTDIR)?;
                self.push(name, descriptor, true);
                continue;
            }
            match open_folder(self.descriptor(), &name) {
                Ok(descriptor) => self.push(name, descriptor, false),
                Err(error @ (Errno::LOOP | Errno::NOTDIR)) => {
                    let target = read_link(self.descriptor(), &name)?.ok_or(error)?;
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    let target = self.as_seen_inside(target);
                    if target.is_absolute() {
                        self.levels.truncate(1);
                    }
                    for part in parts(&target).rev() {
                        rest.push_front(part.to_owned());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn push(&mut self, name: OsString, descriptor: OwnedFd, is_root: bool) {
        self.levels.push(Level {
            name,
            descriptor: Arc::new(descriptor),
            is_root,
        });
    }

    /// What is mounted under a name of this folder.
    fn mount(&self, name: &OsStr) -> Option<&Mount> {
        let names = || self.levels[1..].iter().map(|level| level.name.as_os_str());
        let mut mounts = self.files.mounts.iter();
        mounts.find(|mount| parts(&mount.place).eq(names().chain([name])))
    }

    /// The target of a link as the container knows it: links that we make have a path of this machine.
    fn as_seen_inside(&self, target: PathBuf) -> PathBuf {
        match target.strip_prefix(&self.files.root) {
            Ok(inside) => Path::new("/").join(inside),
            Err(_) => target,
        }
    }

    /// What is under a name of this folder, with its metadata. Links are not followed.
    pub(super) fn look(&self, name: &OsStr) -> io::Result<(Found, Stat)> {
        if let Some(mount) = self.mount(name) {
            if let Some(folder) = open_mount(mount)? {
                return Ok((Found::Folder, rustix::fs::fstat(folder)?));
            }
            let file = mounted_file(mount)?;
            return Ok((Found::File, rustix::fs::fstat(file)?));
        }
        let stat = rustix::fs::statat(self.descriptor(), name, AtFlags::SYMLINK_NOFOLLOW)?;
        let found = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Found::File,
            FileType::Directory => Found::Folder,
            FileType::Symlink => {
                let target = read_link(self.descriptor(), name)?.ok_or(Errno::NOENT)?;
                Found::Link(self.as_seen_inside(target))
            }
            _ => Found::Other,
        };
        Ok((found, stat))
    }

    /// The metadata of the folder itself.
    pub(super) fn stat(&self) -> io::Result<Stat> {
        Ok(rustix::fs::fstat(self.descriptor())?)
    }

    /// The names in the folder, in order.
    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(self.descriptor())? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Opens a file to read it.
    pub(super) fn open(&self, name: &OsStr) -> io::Result<File> {
        if let Some(mount) = self.mount(name) {
            return mounted_file(mount);
        }
        // A pipe that took the place of the file must not keep us waiting.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(self.descriptor(), name, flags, Mode::empty())?;
        regular(file)
    }

    /// Makes a file, in place of one of that name.
    pub(super) fn create(&self, name: &OsStr, mode: u32, exactly: bool) -> io::Result<File> {
        self.make_room(name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = permissions(mode);
        let file = rustix::fs::openat(self.descriptor(), name, flags, mode)?;
        if exactly {
            rustix::fs::fchmod(&file, mode)?;
        }
        Ok(file.into())
    }

    /// Makes a folder, if there is none of that name. Links to folders are as good as these.
    pub(super) fn make_folder(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        if self.mount(name).is_some() {
            return Ok(());
        }
        // Its owner must be able to fill it.
        match rustix::fs::mkdirat(self.descriptor(), name, permissions(mode | 0o700)) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => {
                let mut there = self.clone();
                there.enter(Path::new(name)).map_err(|_| Errno::EXIST.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a symbolic link to what the container knows as `target`. One that leads out of the container is refused: programs would follow
    /// it to files of this machine.
    pub(super) fn link(&self, name: &OsStr, target: &Path) -> io::Result<()> {
        let out = || io::Error::other("it leads out of the container");
        let climbs = parts(target).take_while(|part| *part == "..").count();
        if parts(target).skip(climbs).any(|part| part == "..") {
            return Err(out());
        }
        let target = if target.is_absolute() {
            if climbs > 0 {
                return Err(out());
            }
            self.files.root.join(target.strip_prefix("/").unwrap_or(target))
        } else {
            // What a link climbs are the folders it really is in, which may be those of a volume.
            let depth = self.levels.iter().rev().take_while(|level| !level.is_root).count();
            if climbs > depth {
                return Err(out());
            }
            target.to_owned()
        };
        self.make_room(name)?;
        Ok(rustix::fs::symlinkat(target.as_os_str(), self.descriptor(), name)?)
    }

    /// Makes another name for a file.
    pub(super) fn hard_link(&self, name: &OsStr, to: &Folder<'_>, target: &OsStr) -> io::Result<()> {
        if to.mount(target).is_some() || to.look(target)?.0 != Found::File {
            return Err(Errno::PERM.into());
        }
        self.make_room(name)?;
        let flags = AtFlags::empty();
        Ok(rustix::fs::linkat(
            to.descriptor(),
            target,
            self.descriptor(),
            name,
            flags,
        )?)
    }

    /// Removes what is under a name, unless it is a folder.
    fn make_room(&self, name: &OsStr) -> io::Result<()> {
        if self.mount(name).is_some() {
            return Err(Errno::BUSY.into());
        }
        match rustix::fs::unlinkat(self.descriptor(), name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The permissions of what was found.
pub(super) fn mode_of(stat: &Stat) -> u32 {
    #[allow(clippy::useless_conversion, reason = "other systems have fewer bits")]
    let mode = u32::from(stat.st_mode);
    mode & 0o777
}

/// The permissions of a file: no program gets the rights of its owner.
fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o777) as rustix::fs::RawMode)
}

fn regular(file: OwnedFd) -> io::Result<File> {
    let stat = rustix::fs::fstat(&file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(Errno::INVAL.into()),
    }
}

/// Opens what is mounted somewhere; `None` if it is a file. The parts below the volume are those of processes, so that links in them lead
/// nowhere but down.
fn open_mount(mount: &Mount) -> io::Result<Option<OwnedFd>> {
    let folder = mount_parent(mount)?;
    match mount_name(mount) {
        None => Ok(Some(folder)),
        Some(name) => match open_folder(folder.as_fd(), name) {
            Ok(opened) => Ok(Some(opened)),
            Err(Errno::LOOP | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        },
    }
}

fn mount_name(mount: &Mount) -> Option<&OsStr> {
    parts(&mount.part).next_back()
}

/// The folder of a volume in which the mounted part is.
fn mount_parent(mount: &Mount) -> io::Result<OwnedFd> {
    let mut folder = open_folder(rustix::fs::CWD, mount.volume.as_os_str())?;
    let above = mount.part.parent().unwrap_or(Path::new(""));
    for part in parts(above) {
        folder = open_folder(folder.as_fd(), part)?;
    }
    Ok(folder)
}

/// A file of a volume that is mounted by itself. Those of `ConfigMaps` and Secrets are links to the newest ones, within their volume.
fn mounted_file(mount: &Mount) -> io::Result<File> {
    let volume = ContainerFiles::new(&mount.volume, Vec::new(), &mount.volume);
    let mut folder = volume.root()?;
    folder.enter(mount.part.parent().unwrap_or(Path::new("")))?;
    let mut name = mount_name(mount).ok_or(Errno::ISDIR)?.to_owned();
    for _ in 0..MOST_LINKS {
        match folder.look(&name)?.0 {
            Found::Link(target) => {
                folder.enter(target.parent().unwrap_or(Path::new("")))?;
                target.file_name().ok_or(Errno::ISDIR)?.clone_into(&mut name);
            }
            _ => return folder.open(&name),
        }
    }
    Err(Errno::LOOP.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A container with a file outside of it, a volume at `/data` and a file of another one at `/one.txt`.
    fn container(home: &Path) -> ContainerFiles {
        let (root, volumes) = (home.join("root"), home.join("volumes"));
        for folder in [&root.join("deep/er"), &volumes.join("a/sub"), &volumes.join("b/..1")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(home.join("secret"), "secret").unwrap();
        fs::write(root.join("deep/file"), "file").unwrap();
        fs::write(volumes.join("a/sub/inner"), "inner").unwrap();
        fs::write(volumes.join("b/..1/key"), "value").unwrap();
        symlink("..1", volumes.join("b/..data")).unwrap();
        symlink("..data/key", volumes.join("b/key")).unwrap();
        symlink(volumes.join("a"), root.join("data")).unwrap();
        symlink(volumes.join("b/key"), root.join("one.txt")).unwrap();
        let mount = |place: &str, volume: &str, part: &str| Mount {
            place: place.into(),
            volume: volumes.join(volume),
            part: part.into(),
        };
        let mounts = vec![mount("data", "a", ""), mount("one.txt", "b", "key")];
        ContainerFiles::new(&root, mounts, &root.join("deep"))
    }

    fn text(files: &ContainerFiles, folder: &str, name: &str) -> io::Result<String> {
        io::read_to_string(files.folder(Path::new(folder))?.open(OsStr::new(name))?)
    }

    #[test]
    fn paths_begin_at_the_working_folder_or_at_the_root_and_lead_into_volumes() {
        let home = tempfile::tempdir().unwrap();
        let files = container(home.path());
        assert_eq!(text(&files, "", "file").unwrap(), "file");
        assert_eq!(text(&files, "/deep/../deep", "file").unwrap(), "file");
        assert_eq!(text(&files, "../data/sub", "inner").unwrap(), "inner");
        assert_eq!(text(&files, "/", "one.txt").unwrap(), "value");
        // Above the volume is the root that it is mounted in.
        assert_eq!(text(&files, "/data/../deep", "file").unwrap(), "file");
        let root = files.folder(Path::new("/")).unwrap();
        assert_eq!(root.look(OsStr::new("data")).unwrap().0, Found::Folder);
        assert_eq!(root.look(OsStr::new("one.txt")).unwrap().0, Found::File);
        assert_eq!(root.names().unwrap(), ["data", "deep", "one.txt"]);
    }

    #[test]
    fn no_path_and_no_link_leads_out() {
        let home = tempfile::tempdir().unwrap();
        let files = container(home.path());
        let (root, outside) = (home.path().join("root"), home.path().display().to_string());
        symlink("../..", root.join("deep/up")).unwrap();
        symlink(&outside, root.join("absolute")).unwrap();
        symlink("../../../..", home.path().join("volumes/a/up")).unwrap();
        symlink("absolute", root.join("twice")).unwrap();
        symlink(home.path().join("secret"), root.join("direct")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for path in [
            "..",
            "../../..",
            "/..",
            "/deep/up",
            "/data/up",
            "/absolute",
            "/twice",
            "/loop",
        ] {
            let read = text(&files, path, "secret");
            assert!(read.is_err(), "{path}: {read:?}");
        }
        assert!(text(&files, "/", "direct").is_err());
        // They lead to the root at most.
        assert_eq!(text(&files, "/deep/up/deep", "file").unwrap(), "file");
    }

    #[test]
    fn links_that_lead_out_are_not_made_and_others_are_those_of_the_container() {
        let home = tempfile::tempdir().unwrap();
        let files = container(home.path());
        let deep = files.folder(Path::new("/deep/er")).unwrap();
        let sub = files.folder(Path::new("/data/sub")).unwrap();
        let name = OsStr::new("link");
        for wrong in ["../../../x", "../a/../../../../x", "/../x", "a/.."] {
            assert!(deep.link(name, Path::new(wrong)).is_err(), "{wrong}");
        }
        // The folder above the volume is none of the container's.
        assert!(sub.link(name, Path::new("../../x")).is_err());
        assert!(sub.link(name, Path::new("../x")).is_ok());
        for right in ["../file", "sibling", "/deep/file", "../../one.txt"] {
            deep.link(name, Path::new(right)).unwrap();
            assert_eq!(deep.look(name).unwrap().0, Found::Link(right.into()));
        }
        deep.link(name, Path::new("/deep/file")).unwrap();
        assert_eq!(fs::read(home.path().join("root/deep/er/link")).unwrap(), b"file");
    }

    #[test]
    fn a_new_file_takes_the_place_of_a_link_and_is_not_written_through_it() {
        let home = tempfile::tempdir().unwrap();
        let files = container(home.path());
        symlink(home.path().join("secret"), home.path().join("root/direct")).unwrap();
        let root = files.folder(Path::new("/")).unwrap();
        let mut made = root.create(OsStr::new("direct"), 0o4755, true).unwrap();
        io::Write::write_all(&mut made, b"new").unwrap();
        assert_eq!(fs::read(home.path().join("secret")).unwrap(), b"secret");
        assert_eq!(text(&files, "/", "direct").unwrap(), "new");
        let permissions = fs::metadata(home.path().join("root/direct")).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o7777, 0o755);
        // What is mounted stays.
        assert!(root.create(OsStr::new("one.txt"), 0o644, false).is_err());
        root.make_folder(OsStr::new("data"), 0o755).unwrap();
        assert_eq!(text(&files, "/data/sub", "inner").unwrap(), "inner");
    }
}
