use std::os::unix::fs::symlink;

use super::*;
use crate::AddressSpace;
use crate::space::PoolLayout;

/// A made-up `/proc`, `/sys` and `/dev`.
struct Tree {
    directory: tempfile::TempDir,
}

impl Tree {
    fn new(mountinfo: &str) -> Self {
        let tree = Self { directory: tempfile::tempdir().unwrap() };
        tree.file("proc/self/mountinfo", mountinfo);
        tree
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A device with directory `sys/devices/PATH`, as the kernel lays them out.
    fn device(&self, path: &str, number: &str, sectors: u64) {
        self.file(&format!("sys/devices/{path}/dev"), &format!("{number}\n"));
        self.file(&format!("sys/devices/{path}/size"), &format!("{sectors}\n"));
        let links = self.directory.path().join("sys/dev/block");
        fs::create_dir_all(&links).unwrap();
        symlink(format!("../../devices/{path}"), links.join(number)).unwrap();
    }

    fn disk(&self, name: &str, number: &str, rotational: &str) {
        self.device(&format!("pci/{name}"), number, 1000);
        self.file(&format!("sys/devices/pci/{name}/queue/rotational"), rotational);
    }

    fn partition(&self, disk: &str, name: &str, number: &str, start: u64) {
        self.device(&format!("pci/{disk}/{name}"), number, 100);
        self.file(&format!("sys/devices/pci/{disk}/{name}/partition"), "1\n");
        self.file(&format!("sys/devices/pci/{disk}/{name}/start"), &format!("{start}\n"));
    }

    /// `device` in `virtual` is made of `slaves`, which are paths below `sys/devices`.
    fn virtual_device(&self, name: &str, number: &str, label: (&str, &str), slaves: &[&str]) {
        self.device(&format!("virtual/{name}"), number, 2000);
        // Virtual devices have a queue too, which says nothing of the drives.
        self.file(&format!("sys/devices/virtual/{name}/queue/rotational"), "1\n");
        self.file(&format!("sys/devices/virtual/{name}/{}", label.0), label.1);
        let links = self.directory.path().join(format!("sys/devices/virtual/{name}/slaves"));
        fs::create_dir_all(&links).unwrap();
        for slave in slaves {
            let link = links.join(slave.rsplit('/').next().unwrap());
            symlink(format!("../../../{slave}"), link).unwrap();
        }
    }

    fn loop_device(&self, name: &str, number: &str, file: &str) {
        self.device(&format!("virtual/{name}"), number, 300);
        self.file(&format!("sys/devices/virtual/{name}/queue/rotational"), "0\n");
        self.file(&format!("sys/devices/virtual/{name}/loop/backing_file"), file);
    }

    fn system(&self) -> System {
        System::below(self.directory.path())
    }
}

#[test]
fn a_partition_is_told_as_a_part_of_its_disk() {
    let tree = Tree::new("");
    tree.disk("sda", "8:0", "1\n");
    tree.partition("sda", "sda2", "8:2", 2048);
    let found = tree.system().device((8, 2)).unwrap();
    assert_eq!((found.device.name.as_str(), found.first_byte), ("sda", 1 << 20));
    assert_eq!((found.device.bytes, found.device.rotational), (Some(512_000), Some(true)));
    assert_eq!(found.device.stack, ["sda2", "sda"]);
    assert!(tree.system().device((8, 3)).is_err());
}

#[test]
fn lvm_on_md_asks_the_drives() {
    let tree = Tree::new("");
    tree.disk("sda", "8:0", "1\n");
    tree.partition("sda", "sda1", "8:1", 2048);
    tree.partition("sda", "sda2", "8:2", 1_000_000);
    tree.disk("sdb", "8:16", "1\n");
    let below = ["pci/sda/sda1", "pci/sda/sda2", "pci/sdb"];
    tree.virtual_device("md127", "9:127", ("md/level", "raid5\n"), &below);
    tree.virtual_device("dm-0", "253:0", ("dm/name", "group-home\n"), &["virtual/md127"]);
    let found = tree.system().device((253, 0)).unwrap();
    assert_eq!((found.device.name.as_str(), found.first_byte), ("dm-0", 0));
    assert_eq!(found.device.rotational, Some(true));
    let stack = ["dm-0 (group-home)", "md127 (raid5)", "sda1", "sda", "sda2", "sdb"];
    assert_eq!(found.device.stack, stack);
}

#[test]
fn drives_that_disagree_say_nothing() {
    let tree = Tree::new("");
    tree.disk("sda", "8:0", "1\n");
    tree.disk("nvme0n1", "259:0", "0\n");
    tree.virtual_device("md0", "9:0", ("md/level", "raid1"), &["pci/sda", "pci/nvme0n1"]);
    assert_eq!(tree.system().device((9, 0)).unwrap().device.rotational, None);
    tree.virtual_device("dm-1", "253:1", ("dm/name", "ssd"), &["pci/nvme0n1"]);
    assert_eq!(tree.system().device((253, 1)).unwrap().device.rotational, Some(false));
    assert_eq!(tree.system().device((259, 0)).unwrap().device.rotational, Some(false));
}

#[test]
fn a_loop_device_is_on_the_device_of_its_file() {
    let tree = Tree::new(
        "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
         28 27 7:0 / /images rw - xfs /dev/loop0 rw\n\
         29 27 0:40 / /server rw - nfs4 server:/ rw\n",
    );
    tree.disk("sda", "8:0", "1\n");
    tree.partition("sda", "sda1", "8:1", 2048);
    tree.loop_device("loop0", "7:0", "/var/outer.img\n");
    tree.loop_device("loop1", "7:1", "/images/inner.img\n");
    tree.loop_device("loop2", "7:2", "/server/far.img\n");
    let found = tree.system().device((7, 1)).unwrap();
    let stack = ["loop1", "/images/inner.img", "loop0", "/var/outer.img", "sda1", "sda"];
    assert_eq!(found.device.stack, stack);
    assert_eq!((found.device.rotational, found.device.bytes), (Some(true), Some(153_600)));
    let far = tree.system().device((7, 2)).unwrap();
    assert_eq!((far.device.rotational, far.device.stack.len()), (None, 2));
}

#[test]
fn circles_and_deep_stacks_end() {
    let mut mounts = String::new();
    let tree = Tree::new("");
    for number in 0..40 {
        mounts += &format!("{number} 1 7:{number} / /m{number} rw - ext4 /dev/loop{number} rw\n");
        let file = format!("/m{}/image\n", number + 1);
        tree.loop_device(&format!("loop{number}"), &format!("7:{number}"), &file);
    }
    tree.loop_device("loop40", "7:40", "/m40/image\n");
    mounts += "40 1 7:40 / /m40 rw - ext4 /dev/loop40 rw\n";
    tree.file("proc/self/mountinfo", &mounts);
    let own = tree.system().device((7, 40)).unwrap().device;
    assert_eq!(
        (own.rotational, own.stack.as_slice()),
        (None, &["loop40".to_owned(), "/m40/image".to_owned()][..])
    );
    let deep = tree.system().device((7, 0)).unwrap().device;
    assert_eq!((deep.rotational, deep.stack.len()), (None, 2 * DEEPEST_STACK + 1));
}

#[test]
fn the_devices_of_a_btrfs_are_listed_with_the_mounted_one() {
    let tree = Tree::new("27 1 0:39 / / rw - btrfs /dev/mapper/one rw\n");
    tree.virtual_device("dm-0", "253:0", ("dm/name", "one"), &[]);
    tree.virtual_device("dm-1", "253:1", ("dm/name", "two"), &[]);
    let devices = tree.directory.path().join("sys/fs/btrfs/some-uuid/devices");
    fs::create_dir_all(&devices).unwrap();
    for name in ["dm-0", "dm-1"] {
        symlink(format!("../../../../devices/virtual/{name}"), devices.join(name)).unwrap();
        tree.file(&format!("dev/{name}"), "");
    }
    fs::create_dir_all(tree.directory.path().join("dev/mapper")).unwrap();
    symlink("../dm-0", tree.directory.path().join("dev/mapper/one")).unwrap();
    let mount = &tree.system().mounts().unwrap()[0];
    let found = tree.system().btrfs_devices(mount);
    assert_eq!(found, [("dm-0".to_owned(), (253, 0)), ("dm-1".to_owned(), (253, 1))]);
    // There is nothing on them: addresses stay, and it is said why.
    let space = tree.system().address_space(mount);
    assert!(space.untranslated_reason().unwrap().contains("device 1"), "{space:?}");
}

#[test]
fn an_overlay_is_where_its_layers_are() {
    let line = |lower: &str| {
        format!(
            "27 1 8:0 / / rw - ext4 /dev/sda rw\n28 27 0:50 / /merged rw - overlay overlay \
             rw,lowerdir={lower},upperdir=/up,workdir=/work\n29 27 8:16 / /other rw - xfs /dev/sdb rw\n"
        )
    };
    for (lower, kind) in [("/a:/b", Some("ext4")), ("/a:/other/b", None), ("a", None)] {
        let tree = Tree::new(&line(lower));
        let mount = &tree.system().mounts().unwrap()[1];
        let below = tree.system().mount_under_overlay(mount);
        assert_eq!(below.as_ref().map(|mount| mount.kind.name()), kind);
    }
    let tree = Tree::new(&line("/a"));
    tree.disk("sda", "8:0", "0\n");
    let space = tree.system().address_space(&tree.system().mounts().unwrap()[1]);
    assert_eq!((space.devices()[0].name.as_str(), space.untranslated_reason()), ("sda", None));
}

#[test]
fn what_has_no_device_here_stays_untranslated() {
    let tree = Tree::new(
        "27 1 0:40 / /server rw - nfs4 server:/ rw\n28 1 0:41 / /tmp rw - tmpfs tmpfs rw\n\
         29 1 0:42 / /pool rw - zfs pool rw\n30 1 0:43 / /b rw - btrfs /dev/sda rw\n",
    );
    for mount in tree.system().mounts().unwrap() {
        let space = tree.system().address_space(&mount);
        assert!(space.untranslated_reason().is_some(), "{mount:?}");
        assert_eq!(space.devices().len(), 1);
    }
}

/// A configuration as zdb prints it, of mirrors of these devices.
fn mirrors(of: &[&[&str]]) -> PoolLayout {
    let mut text = "name: 'tank'\nvdev_tree:\n".to_owned();
    for (id, paths) in of.iter().enumerate() {
        text += &format!(" children[{id}]:\n  type: 'mirror'\n  id: {id}\n  ashift: 12\n");
        for (child, path) in paths.iter().enumerate() {
            text += &format!("  children[{child}]:\n   type: 'disk'\n   path: '{path}'\n");
        }
    }
    PoolLayout::read(text.as_bytes(), "pool").unwrap()
}

#[test]
fn the_devices_of_a_pool_are_files_partitions_and_what_is_missing() {
    let tree = Tree::new("27 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    tree.disk("sda", "8:0", "1\n");
    tree.partition("sda", "sda1", "8:1", 2048);
    tree.file("pool/a", "four");
    let pool = mirrors(&[&["/pool/a", "/pool/b"], &["/gone"]]);
    let space = tree.system().pool_space(&pool);
    assert_eq!(space.untranslated_reason(), None);
    let [a, b, gone] = space.devices() else { panic!("{space:?}") };
    assert_eq!((a.name.as_str(), a.bytes, a.rotational), ("/pool/a", Some(4), Some(true)));
    assert_eq!(a.stack, ["/pool/a", "sda1", "sda"]);
    assert_eq!((b.name.as_str(), b.bytes, b.rotational), ("/pool/b", None, None));
    assert_eq!(gone.name, "/gone");
    let mut pieces = Vec::new();
    assert_eq!(space.read(crate::Address { volume: 1, byte: 8192 }, 4096, &mut pieces), 0);
    let read = crate::Piece { device: 2, byte: (4 << 20) + 8192, bytes: 4096 };
    assert_eq!(pieces, [read]);
    // Of another machine, the same paths mean nothing here.
    assert_eq!(AddressSpace::of_pool(&pool).devices()[0].bytes, None);
}

/// Device nodes can be made by root only.
#[cfg(target_os = "linux")]
#[test]
fn a_pool_on_a_partition_begins_within_its_disk() {
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
    let tree = Tree::new("");
    tree.disk("sda", "8:0", "1\n");
    tree.partition("sda", "sda1", "8:1", 2048);
    let links = tree.directory.path().join("dev/disk/by-id");
    fs::create_dir_all(&links).unwrap();
    let node = tree.directory.path().join("dev/sda1");
    if mknodat(CWD, &node, FileType::BlockDevice, Mode::RUSR, makedev(8, 1)).is_err() {
        return;
    }
    symlink("../../sda1", links.join("ata-x-part1")).unwrap();
    let pool = mirrors(&[&["/dev/disk/by-id/ata-x-part1"]]);
    let space = tree.system().pool_space(&pool);
    assert_eq!(space.devices()[0].name, "sda");
    let mut pieces = Vec::new();
    assert_eq!(space.read(crate::Address::new(0), 4096, &mut pieces), 0);
    assert_eq!(pieces[0].byte, (1 << 20) + (4 << 20));
}

#[test]
fn a_vdev_of_an_unknown_kind_keeps_addresses_as_they_are() {
    let text = "name: 'tank'\nvdev_tree:\n children[0]:\n  type: 'hole'\n  id: 0\n children[2]:\n  \
                type: 'file'\n  id: 2\n  ashift: 12\n  path: '/a'\n";
    let read =
        |text: &str| AddressSpace::of_pool(&PoolLayout::read(text.as_bytes(), "pool").unwrap());
    let (space, mut pieces) = (read(text), Vec::new());
    let in_volume = |volume| crate::Address { volume, byte: 0 };
    assert_eq!(space.read(in_volume(2), 4096, &mut pieces), 0);
    assert_eq!((space.read(in_volume(0), 512, &mut pieces), pieces.len()), (512, 1));
    let space = read(&text.replace("'hole'", "'draid'"));
    let reason = space.untranslated_reason().unwrap();
    assert!(reason.starts_with("vdev 0 is draid"), "{reason}");
    assert_eq!(space.read(in_volume(2), 4096, &mut pieces), 0);
    assert_eq!((pieces[1].byte, space.devices()[2].name.as_str()), (0, "tank vdev 2"));
}
