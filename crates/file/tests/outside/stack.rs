//! What the kernel says of loop devices and their partitions.

use strewn_file::{Address, Piece, System};
use strewn_testing::{Missing, program};

use crate::loops::{Loops, run};

pub fn a_loop_device_is_on_its_file_and_that_on_its_device() -> Result<(), Missing> {
    let mut loops = Loops::new(1, 300)?;
    loops.make(&["mkfs.ext4", "-q", "-F"])?;
    let outer = loops.mount("rw")?;
    let image = outer.point.join("inner image");
    std::fs::File::create(&image).unwrap().set_len(200 << 20).unwrap();
    // Apart, so that it is detached before the outer one is unmounted.
    let mut inner = Loops::new(0, 0)?;
    inner.attach(&image)?;
    inner.make(&["mkfs.ext4", "-q", "-F"])?;
    let mounted = inner.mount("rw")?;
    let space = System::default().address_space(&mounted.mount);
    let device = &space.devices()[0];
    let names = |device: &str| device.trim_start_matches("/dev/").to_owned();
    let (first, second) = (names(&inner.devices[0]), names(&loops.devices[0]));
    assert_eq!((device.name.as_str(), device.bytes), (first.as_str(), Some(200 << 20)));
    let stack = [
        first,
        image.to_str().unwrap().to_owned(),
        second,
        loops.images[0].canonicalize().unwrap().to_str().unwrap().to_owned(),
    ];
    assert_eq!(device.stack[..4], stack);
    // The temporary directory is on a device, or in memory.
    let below = System::default().mount_of(loops.directory.path()).unwrap();
    assert_eq!(device.stack.len() > 4, below.device_number.0 != 0);
    loops.devices.rotate_left(0);
    drop(mounted);
    drop(inner);
    drop(outer);
    Ok(())
}

pub fn a_partition_is_a_part_of_its_disk() -> Result<(), Missing> {
    program(&["addpart"], "apt-get install util-linux")?;
    let loops = Loops::new(1, 100)?;
    // Without a table, which not every kernel reads.
    run("addpart", &[&loops.devices[0], "1", "8192", "65536"]);
    let disk = loops.devices[0].trim_start_matches("/dev/").to_owned();
    let number = std::fs::read_to_string(format!("/sys/block/{disk}/{disk}p1/dev")).unwrap();
    let (major, minor) = number.trim().split_once(':').unwrap();
    let located =
        System::default().device((major.parse().unwrap(), minor.parse().unwrap())).unwrap();
    assert_eq!((located.device.name.as_str(), located.first_byte), (disk.as_str(), 4 << 20));
    assert_eq!(located.device.stack[..2], [format!("{disk}p1"), disk.clone()]);
    let space = strewn_file::AddressSpace::located(vec![located]);
    let mut pieces = Vec::new();
    assert_eq!(space.read(Address::new(0), 512, &mut pieces), 0);
    assert_eq!(pieces, [Piece { device: 0, byte: 4 << 20, bytes: 512 }]);
    Ok(())
}
