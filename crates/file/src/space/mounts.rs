//! Mounts, as `/proc/self/mountinfo` lists them.

use crate::error::FileError;

/// What a file system is, as far as it matters for where its blocks lie.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileSystemKind {
    /// ext2, ext3 or ext4, under this name.
    Ext(String),
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
    /// ZFS.
    Zfs,
    /// bcachefs.
    Bcachefs,
    /// F2FS.
    F2fs,
    /// An overlay of other file systems, as containers use it.
    Overlay,
    /// A file system of another machine or process: NFS, SMB, 9P, FUSE, virtiofs, Ceph, GlusterFS, ….
    Network(String),
    /// Any other, under the kernel's name.
    Other(String),
}

impl FileSystemKind {
    /// The kind that the kernel calls `name`.
    #[must_use]
    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "ext2" | "ext3" | "ext4" => Self::Ext(name.to_owned()),
            "xfs" => Self::Xfs,
            "btrfs" => Self::Btrfs,
            "zfs" => Self::Zfs,
            "bcachefs" => Self::Bcachefs,
            "f2fs" => Self::F2fs,
            "overlay" => Self::Overlay,
            "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "9p" | "virtiofs" | "vboxsf" | "ceph"
            | "glusterfs" | "lustre" | "gpfs" | "beegfs" | "afs" | "ocfs2" | "gfs2" | "fuse" => {
                Self::Network(name.to_owned())
            }
            // fuseblk is a file system on a block device of this machine, such as ntfs-3g.
            name if name.starts_with("fuse.") => Self::Network(name.to_owned()),
            name => Self::Other(name.to_owned()),
        }
    }

    /// The name that the kernel gives it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Ext(name) | Self::Network(name) | Self::Other(name) => name,
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Zfs => "zfs",
            Self::Bcachefs => "bcachefs",
            Self::F2fs => "f2fs",
            Self::Overlay => "overlay",
        }
    }

    /// Whether another machine or process, or several machines, decide where the blocks lie. No device of this machine
    /// can be named then.
    #[must_use]
    pub fn is_network(&self) -> bool {
        matches!(self, Self::Network(_))
    }

    /// Whether an overwrite goes to a new address rather than to where the bytes were. XFS does so for shared extents
    /// only, and does not count.
    #[must_use]
    pub fn is_copy_on_write(&self) -> bool {
        match self {
            Self::Btrfs | Self::Zfs | Self::Bcachefs | Self::F2fs => true,
            Self::Other(name) => name == "nilfs2",
            _ => false,
        }
    }
}

/// One mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's number of the mount.
    pub id: u64,
    /// Major and minor number of the device. On btrfs, ZFS, tmpfs and others it names no block device.
    pub device_number: (u32, u32),
    /// The directory of the file system that is mounted: `/` except for bind mounts and subvolumes.
    pub root: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// What kind of file system it is.
    pub kind: FileSystemKind,
    /// What is mounted: the path of a block device, or what else the file system is named by.
    pub source: String,
    /// Options of the file system, divided by commas.
    pub options: String,
}

impl Mount {
    /// The value of option `name` of the file system, such as `upperdir` of an overlay.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.split(',').find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Parses the text of `/proc/self/mountinfo` (proc(5)): one mount a line,
/// `ID PARENT MAJOR:MINOR ROOT MOUNT-POINT OPTIONS [TAG…] - KIND SOURCE OPTIONS`.
///
/// # Errors
/// At the first line that is not of this form; the message names it.
pub fn parse_mountinfo(text: &str) -> Result<Vec<Mount>, FileError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty());
    lines
        .map(|(index, line)| {
            parse_line(line).ok_or_else(|| {
                FileError::input(
                    format!("mountinfo, line {}: not a mount: `{line}`", index + 1),
                    "report it, with the line and the version of the kernel",
                )
            })
        })
        .collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    // A source can be empty, so that two spaces follow each other.
    let mut fields = line.split(' ');
    let id = fields.next()?.parse().ok()?;
    let _parent: u64 = fields.next()?.parse().ok()?;
    let device_number = parse_device_number(fields.next()?)?;
    let root = unescape(fields.next()?);
    let mount_point = unescape(fields.next()?);
    let _mount_options = fields.next()?;
    // Any number of tags, such as `shared:1`, end with a dash.
    fields.find(|field| *field == "-")?;
    let kind = FileSystemKind::from_name(&unescape(fields.next()?));
    let source = unescape(fields.next()?);
    // Some versions of Linux leave spaces in options as they are.
    let options = unescape(&fields.collect::<Vec<_>>().join(" "));
    Some(Mount { id, device_number, root, mount_point, kind, source, options })
}

/// Major and minor number of `8:1`.
pub(crate) fn parse_device_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Text in which the kernel wrote spaces, tabs, line ends and backslashes as `\040`: backslash and three octal digits.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let octal = match behind {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if first == b'\\' => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        bytes.push(octal.unwrap_or(first));
        rest = if octal.is_some() { &behind[3..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The mount that `path` is in: the one with the longest mount point, and of several at the same point the last, which
/// covers the others. `path` is absolute and without symbolic links.
#[must_use]
pub fn mount_of_path<'a>(mounts: &'a [Mount], path: &str) -> Option<&'a Mount> {
    let is_below = |mount: &&Mount| match mount.mount_point.as_str() {
        "/" => path.starts_with('/'),
        point => {
            path.strip_prefix(point).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
    };
    // Of several equal ones `max_by_key` returns the last.
    mounts.iter().filter(is_below).max_by_key(|mount| mount.mount_point.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r"22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
41 27 0:39 /sub\040volume /mnt/with\040space\134x rw shared:5 master:1 - btrfs /dev/sdb1 rw,subvolid=256
42 27 0:40 / /mnt/nfs rw - nfs4 server:/export rw,vers=4.2
43 27 0:41 / /mnt/none rw -  tmpfs  rw
44 27 7:0 / /mnt/nfs rw - xfs /dev/loop0 rw
45 27 0:50 / /merged rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/up,workdir=/w
";

    #[test]
    fn mounts_are_told_with_their_escapes() {
        let text = SAMPLE.replace("-  tmpfs  rw", "- tmpfs  rw");
        let mounts = parse_mountinfo(&text).unwrap();
        assert_eq!(mounts.len(), 7);
        assert_eq!(mounts[2].root, "/sub volume");
        assert_eq!(mounts[2].mount_point, r"/mnt/with space\x");
        assert_eq!((mounts[2].kind.clone(), mounts[2].id), (FileSystemKind::Btrfs, 41));
        assert_eq!(mounts[2].option("subvolid"), Some("256"));
        assert!(mounts[3].kind.is_network());
        assert_eq!((mounts[4].source.as_str(), mounts[4].kind.name()), ("", "tmpfs"));
        assert_eq!(mounts[6].option("lowerdir"), Some("/a:/b"));
    }

    #[test]
    fn a_path_is_in_the_longest_and_last_mount() {
        let mounts = parse_mountinfo(&SAMPLE.replace("-  tmpfs  rw", "- tmpfs  rw")).unwrap();
        let kind = |path| mount_of_path(&mounts, path).map(|mount| mount.kind.name().to_owned());
        assert_eq!(kind("/etc/passwd").as_deref(), Some("ext4"));
        assert_eq!(kind("/mnt/nfs").as_deref(), Some("xfs"));
        assert_eq!(kind("/mnt/nfs/file").as_deref(), Some("xfs"));
        assert_eq!(kind("/mnt/nfs2/file").as_deref(), Some("ext4"));
        assert_eq!(kind("relative"), None);
    }

    #[test]
    fn what_is_no_mount_is_named_by_its_line() {
        let error = parse_mountinfo("27 1 254:0 / / rw - ext4 /dev/vda rw\n1 2 3\n").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        for line in [
            "27 1 254 / / rw - ext4 a rw",
            "27 1 254:0 / / rw ext4 a rw",
            "-1 1 1:1 / / rw - a b c",
        ] {
            assert!(parse_mountinfo(line).is_err(), "{line}");
        }
        assert_eq!(parse_mountinfo("").unwrap(), []);
    }

    #[test]
    fn kinds_have_the_names_of_the_kernel() {
        for name in [
            "ext3",
            "xfs",
            "btrfs",
            "zfs",
            "overlay",
            "cifs",
            "9p",
            "fuse.sshfs",
            "fuseblk",
            "tmpfs",
        ] {
            assert_eq!(FileSystemKind::from_name(name).name(), name);
        }
        assert!(FileSystemKind::from_name("fuse.glusterfs").is_network());
        assert!(!FileSystemKind::from_name("fuseblk").is_network());
        assert!(FileSystemKind::from_name("btrfs").is_copy_on_write());
        assert!(!FileSystemKind::from_name("ext4").is_copy_on_write());
    }
}
