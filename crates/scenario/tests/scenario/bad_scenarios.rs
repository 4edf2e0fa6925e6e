//! Every way a scenario can be wrong: each case changes a good one, and gives the line, field,
//! message and help that must result.

use strewn_scenario::{Disk, Scenario, Template};

use crate::common::{changed, error_of};

/// One change to the good scenario, and the single problem that must result.
struct Case {
    name: &'static str,
    from: &'static str,
    to: &'static str,
    /// The beginning of the line that the problem must be on.
    at: &'static str,
    field: &'static str,
    message: &'static str,
    help: &'static str,
}

macro_rules! cases {
    ($($name:literal: $from:literal => $to:literal, $at:literal, $field:literal,
       $message:literal, $help:literal;)*) => {
        [$(Case {
            name: $name,
            from: $from,
            to: $to,
            at: $at,
            field: $field,
            message: $message,
            help: $help,
        }),*]
    };
}

const CASES: &[Case] = &cases! {
    "unknown key":
        "outstanding = 150" => "outstanding = 150\ncolour = 3", "colour",
        "array[anywhere].colour", "unknown key", "the keys here are name, outstanding, controller";
    "misspelt key, which is then not reported as missing":
        "tetris_stripes = 64" => "tetris_strips = 64", "tetris_strips",
        "array[anywhere].write_anywhere.tetris_strips", "unknown key",
        "did you mean `tetris_stripes`?";
    "misspelt table":
        "[array.in_place]" => "[array.inplace]", "[array.inplace]",
        "array[inplace].inplace", "unknown key", "did you mean `in_place`?";
    "key given under another name":
        "seed = 7" => "seed = 7\nseeds = 8", "seeds",
        "seeds", "unknown key", "`seed` is the nearest key, and is already given";
    "missing field":
        "lun = \"1000 GB\"\n" => "", "[[array]]",
        "array[anywhere].lun", "is missing", "add a line such as lun = \"1000 GB\"";
    "missing table":
        "[array.processor]\nhost_operation = \"76 us\"               # fitted\nspindle_command = \"0.11 ms\"\nper_kib = \"500 ns\"\n"
        => "", "[[array]]",
        "array[anywhere].processor", "is missing", "add [array.processor] and its keys";
    "missing field of the scenario itself":
        "segments = 14\n" => "", "# A scenario", "segments", "is missing", "segments = 14";
    "a format of the future":
        "schema = 1" => "schema = 2", "schema", "schema", "is 2", "write schema = 1";
    "a time for a size":
        "lun = \"1000 GB\"" => "lun = \"10 s\"", "lun",
        "array[anywhere].lun", "`s` is not a unit of this quantity; units of size are B, kB",
        "write a size such as \"64 MiB\"";
    "KB, which could be either":
        "chunk = \"128 KiB\"" => "chunk = \"128 KB\"", "chunk =",
        "array[inplace].in_place.chunk", "`KB` is not a unit",
        "write a size such as \"64 MiB\"";
    "a number for a size":
        "file = \"100 GiB\"" => "file = 107374182400", "file",
        "workload.file", "is an integer, not a size", "a number and a unit in double quotes";
    "a size without a unit":
        "file = \"100 GiB\"" => "file = \"100\"", "file",
        "workload.file", "`100` has no unit", "write a size such as";
    "a string for a number":
        "outstanding = 150" => "outstanding = \"150\"", "outstanding",
        "array[anywhere].outstanding", "is a string, not a whole number", "without quotes";
    "a fraction for a count":
        "outstanding = 150" => "outstanding = 1.5", "outstanding",
        "array[anywhere].outstanding", "is a float, not a whole number", "a whole number";
    "a value for a list of tables":
        "access_specification = \"file-server\"" => "access = 3", "access = 3",
        "workload.access", "is not a list of tables", "write [[workload.access]] before";
    "a value for a table":
        "[overhead]\nusd_per_spindle = 1000.0\n" => "[[overhead]]\nusd_per_spindle = 1000.0\n",
        "[[overhead]]", "overhead", "is not a table but an array", "write [overhead]";
    "a value for a list":
        "redundancy_sets = [10, 10]" => "redundancy_sets = 20", "redundancy_sets",
        "array[inplace].in_place.redundancy_sets", "is not an array but an integer",
        "write redundancy_sets = [10, 10]";
    "a table for a value":
        "per_kib = \"500 ns\"" => "per_kib = { ns = 500 }", "per_kib",
        "array[anywhere].processor.per_kib", "is a table, not a time",
        "a number and a unit in double quotes";
    "sizes above 100 %":
        "access_specification = \"file-server\"" =>
        "access = [{ bytes = \"4 KiB\", percent = 60, read_percent = 80, random_percent = 100 },\n { bytes = \"8 KiB\", percent = 45, read_percent = 80, random_percent = 100 }]",
        "access = [", "workload.access", "sum to 105 %", "this is 5 % too much";
    "sizes below 100 %":
        "access_specification = \"file-server\"" =>
        "access = [{ bytes = \"4 KiB\", percent = 60, read_percent = 80, random_percent = 100 }]",
        "access = [", "workload.access", "sum to 60 %", "this is 40 % too little";
    "an operation of part of a sector":
        "access_specification = \"file-server\"" =>
        "access = [{ bytes = \"1 kB\", percent = 100, read_percent = 80, random_percent = 100 }]",
        "access = [", "workload.access[1].bytes", "is 1 kB, which is not whole sectors",
        "a multiple of 512 B";
    "alignment of part of a sector":
        "file = \"100 GiB\"" => "file = \"100 GiB\"\nalignment = \"100 B\"", "alignment",
        "workload.alignment", "not whole sectors", "a multiple of 512 B";
    "two access specifications":
        "file = \"100 GiB\"" =>
        "file = \"100 GiB\"\naccess = [{ bytes = \"4 KiB\", percent = 100, read_percent = 80, random_percent = 100 }]",
        "access_specification", "workload.access_specification", "beside [[workload.access]]",
        "not both";
    "no access specification":
        "access_specification = \"file-server\"\n" => "", "[workload]",
        "workload.access_specification", "is missing", "access_specification = \"file-server\"";
    "unknown access specification":
        "\"file-server\"" => "\"file-servr\"", "access_specification",
        "workload.access_specification", "there is no access specification `file-servr`",
        "did you mean `file-server`?";
    "file shorter than an operation":
        "file = \"100 GiB\"" => "file = \"8 KiB\"", "file",
        "workload.file", "is shorter than an operation of 64 KiB", "give 64 KiB or more";
    "file larger than a LUN":
        "file = \"100 GiB\"" => "file = \"600 GB\"", "file",
        "workload.file", "a file of 600 GB is larger than the LUN of inplace, 500 GB",
        "give at most 500 GB";
    "LUN larger than a write-anywhere array":
        "lun = \"1000 GB\"" => "lun = \"3 TB\"", "lun = \"3 TB\"",
        "array[anywhere].lun", "a LUN of 3 TB is larger than the array's usable 2.1 TiB",
        "18 data spindles of 136000 MiB, less the reserve of 10 %";
    "LUN larger than an in-place array":
        "lun = \"500 GB\"" => "lun = \"2.2 TB\"", "lun = \"2.2 TB\"",
        "array[inplace].lun", "a LUN of 2.2 TB is larger than the array's usable 1.9 TiB",
        "4/5 of 18 drives";
    "too many spindles for RAID-DP":
        "data_spindles = 18" => "data_spindles = 27", "data_spindles",
        "array[anywhere].write_anywhere.data_spindles", "a RAID-DP group of 29 spindles is too many",
        "3 to 28 spindles in all, 2 of them parity: give 1 to 26";
    "too many spindles for RAID-4":
        "parity = \"raid-dp\"" => "parity = \"raid-4\"", "data_spindles",
        "array[anywhere].write_anywhere.data_spindles", "a RAID-4 group of 19 spindles is too many",
        "2 to 14 spindles in all, 1 of them parity: give 1 to 13";
    "no data spindles":
        "data_spindles = 18" => "data_spindles = 0", "data_spindles",
        "array[anywhere].write_anywhere.data_spindles", "is zero", "give one or more";
    "unknown parity":
        "\"raid-dp\"" => "\"raid-6\"", "parity",
        "array[anywhere].write_anywhere.parity", "`raid-6` is not known here",
        "known are `raid-dp`, `raid-4`";
    "right-sized above the drive":
        "\"136000 MiB\"" => "\"144 GiB\"", "right_sized",
        "array[anywhere].write_anywhere.right_sized", "144 GiB is more than the whole drive",
        "the drive has 1";
    "tetris that is no power of two":
        "tetris_stripes = 64" => "tetris_stripes = 60", "tetris_stripes",
        "array[anywhere].write_anywhere.tetris_stripes",
        "is 60: it takes a power of two, at most 64", "32 would do";
    "area that is no multiple of a word of stripes":
        "area_stripes = 4096" => "area_stripes = 4100", "area_stripes",
        "array[anywhere].write_anywhere.area_stripes",
        "is 4100, which is not a multiple of 64", "4160 would do";
    "chunk that is no power of two":
        "chunk_blocks = 32" => "chunk_blocks = 65", "chunk_blocks",
        "array[anywhere].write_anywhere.chunk_blocks",
        "is 65: it takes a power of two, at most 64", "64 would do";
    "buffer cache that holds nothing":
        "buffer_cache = \"1.3 GiB\"" => "buffer_cache = \"1 KiB\"", "buffer_cache",
        "array[anywhere].write_anywhere.buffer_cache",
        "does not hold one block", "give at least 4 KiB";
    "read-ahead of less than two blocks":
        "read_ahead = \"512 KiB\"" => "read_ahead = \"4 KiB\"", "read_ahead = \"4",
        "array[anywhere].write_anywhere.read_ahead", "4 KiB is less than two blocks",
        "give at least 8 KiB, or \"0 B\" for no read-ahead";
    "read-ahead of too much":
        "read_ahead = \"1 MiB\"" => "read_ahead = \"1 GiB\"", "read_ahead = \"1",
        "array[inplace].in_place.read_ahead", "1 GiB is more than an array reads ahead",
        "give at most 64 MiB";
    "read cache that holds nothing":
        "read_cache = \"2 GiB\"" => "read_cache = \"1 KiB\"", "read_cache",
        "array[inplace].in_place.read_cache", "does not hold one block",
        "give at least 4 KiB, or \"0 B\" for none";
    "cache start that is unknown":
        "cache_start = \"metadata\"" => "cache_start = \"warm\"", "cache_start",
        "array[anywhere].write_anywhere.cache_start", "warm", "empty";
    "policy that is unknown":
        "policy = \"emptiest-area\"" => "policy = \"emptiest-aera\"", "policy",
        "array[anywhere].write_anywhere.policy", "`emptiest-aera` is not known here",
        "did you mean `emptiest-area`?";
    "other data in odd runs":
        "[[array]]\nname = \"inplace\"" =>
        "[array.write_anywhere.other_data]\nfull_percent = 50.0\nrun_blocks = 3\n\n[[array]]\nname = \"inplace\"",
        "run_blocks", "array[anywhere].write_anywhere.other_data.run_blocks",
        "is 3: it takes a power of two", "2 would do";
    "aggregate more than full":
        "[[array]]\nname = \"inplace\"" =>
        "[array.write_anywhere.other_data]\nfull_percent = 101.0\nrun_blocks = 1\n\n[[array]]\nname = \"inplace\"",
        "full_percent = 101", "array[anywhere].write_anywhere.other_data.full_percent", "is 101 %",
        "0 to 100";
    "reallocation scan that begins after the run":
        "[[array]]\nname = \"inplace\"" =>
        "[array.write_anywhere.reallocation_scan]\nbegins = \"1000 h\"\n\n[[array]]\nname = \"inplace\"",
        "begins", "array[anywhere].write_anywhere.reallocation_scan.begins",
        "is 1000 h, and the run ends at", "give less than";
    "reallocation scan in stretches of one block":
        "[[array]]\nname = \"inplace\"" =>
        "[array.write_anywhere.reallocation_scan]\nbegins = \"0 s\"\nstretch_blocks = 1\n\n[[array]]\nname = \"inplace\"",
        "stretch_blocks", "array[anywhere].write_anywhere.reallocation_scan.stretch_blocks",
        "is 1", "give 16 to 512";
    "reallocation scan with a negative threshold":
        "[[array]]\nname = \"inplace\"" =>
        "[array.write_anywhere.reallocation_scan]\nbegins = \"0 s\"\nthreshold = -1.0\n\n[[array]]\nname = \"inplace\"",
        "threshold", "array[anywhere].write_anywhere.reallocation_scan.threshold",
        "is negative", "give zero or more";
    "cleaning of nothing":
        "[[array]]\nname = \"inplace\"" =>
        "[array.write_anywhere.cleaning]\nblocks_per_checkpoint = 0\n\n[[array]]\nname = \"inplace\"",
        "blocks_per_checkpoint", "array[anywhere].write_anywhere.cleaning.blocks_per_checkpoint",
        "is zero", "";
    "chunk longer than a tetris":
        "tetris_stripes = 64" => "tetris_stripes = 16", "chunk_blocks",
        "array[anywhere].write_anywhere.chunk_blocks",
        "a chunk of 32 blocks is longer than a tetris of 16 stripes",
        "give at most 16 blocks, or a longer tetris";
    "log half that holds no record":
        "log_half = \"64 MiB\"" => "log_half = \"4 KiB\"", "log_half",
        "array[anywhere].write_anywhere.log_half", "does not hold one record",
        "give at least 4256 B";
    "format that is unknown":
        "parity = \"raid-dp\"" => "parity = \"raid-dp\"\nformat = \"durabel\"", "format",
        "array[anywhere].write_anywhere.format", "`durabel` is not known here",
        "did you mean `durable`? known are `modelled`, `durable`";
    "log of an array without one":
        "write_cache = \"512 MiB\"" => "write_cache = \"512 MiB\"\nlog_half = \"64 MiB\"", "log_half",
        "array[inplace].in_place.log_half", "the modelled format has no log",
        "leave it out, or give format = \"durable\"";
    "redundancy sets that do not add up":
        "[10, 10]" => "[10, 8]", "redundancy_sets",
        "array[inplace].in_place.redundancy_sets", "the sets have 18 spindles, the group 20",
        "make them sum to 20";
    "redundancy set too small":
        "[10, 10]" => "[4, 16]", "redundancy_sets",
        "array[inplace].in_place.redundancy_sets", "a set of 4 spindles is too few",
        "5 to 16 spindles";
    "segment that is not whole chunks":
        "segment = \"2 MiB\"" => "segment = \"3 MiB\"", "segment = \"3",
        "array[inplace].in_place.segment", "a segment of chunks of 128 KiB cannot be 3 MiB",
        "a power of two from 128 KiB";
    "zero segments":
        "segments = 14" => "segments = 0", "segments", "segments", "is zero", "give one or more";
    "more segments than time":
        "segments = 14" => "segments = 4000000000", "segments =", "segments",
        "last longer than 64-bit nanoseconds can count", "give at most 15372286";
    "segments without length":
        "segment = \"20 min\"" => "segment = \"0 s\"", "segment =", "segment", "is zero",
        "longer than that";
    "zero outstanding":
        "outstanding = 170" => "outstanding = 0", "outstanding = 0",
        "array[inplace].outstanding", "is zero", "give one or more";
    "percent above 100":
        "reserve_percent = 10.0" => "reserve_percent = 110", "reserve_percent",
        "array[anywhere].write_anywhere.reserve_percent", "is 110 %", "from 0 to 100";
    "negative percent":
        "destage_low_percent = 10" => "destage_low_percent = -1", "destage_low_percent",
        "array[inplace].in_place.destage_low_percent", "is negative: -1", "from 0 to 100";
    "not a number":
        "dirty_limit_percent = 30.0" => "dirty_limit_percent = nan", "dirty_limit_percent",
        "array[anywhere].write_anywhere.dirty_limit_percent", "is NaN, not a number",
        "from 0 to 100";
    "infinite number":
        "usd_per_spindle = 1000.0" => "usd_per_spindle = inf", "usd_per_spindle",
        "overhead.usd_per_spindle", "is inf, not a number", "write a plain number";
    "negative time":
        "per_kib = \"500 ns\"" => "per_kib = \"-1 us\"", "per_kib",
        "array[anywhere].processor.per_kib", "`-1 us` is negative", "write a time such as";
    "nothing destaged":
        "destages_per_spindle = 4.0" => "destages_per_spindle = 0", "destages_per_spindle",
        "array[inplace].in_place.destages_per_spindle", "is zero", "above zero";
    "a deeper queue than spindles have":
        "commands_per_spindle = 16" => "commands_per_spindle = 1000", "commands_per_spindle",
        "array[inplace].commands_per_spindle", "is 1000", "at most 256";
    "more outstanding than a tag can tell apart":
        "outstanding = 150" => "outstanding = 4000000", "outstanding",
        "array[anywhere].outstanding", "is 4000000", "give at most 500000";
    "unknown scheduler":
        "scheduler = \"sptf\"" => "scheduler = \"stpf\"", "scheduler",
        "array[anywhere].scheduler", "there is no scheduler `stpf`", "did you mean `sptf`?";
    "unknown spindle profile":
        "\"seagate-cheetah-15k5-st3146855fc\"" => "\"seagate-cheetah-15k6\"", "spindle",
        "array[anywhere].spindle", "there is no spindle profile `seagate-cheetah-15k6`",
        "known are `seagate-cheetah-15k5-st3146855fc`";
    "spindle profile in a file that there is not":
        "\"seagate-cheetah-15k5-st3146855fc\"" => "\"drive.toml\"", "spindle",
        "array[anywhere].spindle", "drive.toml", "a path from the scenario's folder";
    "both layouts":
        "[array.in_place]" => "[array.write_anywhere]\n[array.in_place]",
        "[array.in_place]", "array[inplace].in_place", "both a write_anywhere and an in_place",
        "keep one of";
    "overhead of an unknown array":
        "array = \"anywhere\"" => "array = \"anywere\"", "array = ",
        "overhead.configuration[1].array", "there is no array `anywere`",
        "did you mean `anywhere`?";
    "protection level of a write-anywhere array":
        "spare = 1" => "protection_level = \"single\"", "protection_level",
        "overhead.configuration[1].protection_level", "anywhere is a write-anywhere array",
        "give it spare spindles instead";
    "unknown protection level":
        "protection_level = \"single\"" => "protection_level = \"singel\"", "protection_level",
        "array[inplace].in_place.protection_level", "`singel` is not known here",
        "did you mean `single`? known are `none`, `single`, `double`";
    "fitted parameter that there is not":
        "\"processor.host_operation\"" => "\"processor.host_operations\"", "parameters",
        "array[anywhere].fitted.parameters", "there is no parameter `processor.host_operations`",
        "did you mean `processor.host_operation`? known are";
    "fitted parameter of the other layout":
        "\"processor.host_operation\"" => "\"in_place.write_cache\"", "parameters",
        "array[anywhere].fitted.parameters", "there is no parameter `in_place.write_cache`",
        "known are `processor.host_operation`, `processor.spindle_command`";
    "fitted parameter listed twice":
        "\"processor.host_operation\"" => "\"processor.spindle_command\"", "parameters",
        "array[anywhere].fitted.parameters", "is listed twice", "list it once";
    "three numbers fitted for a write-anywhere array":
        "[\"processor.host_operation\"" => "[\"commands_per_spindle\", \"processor.host_operation\"",
        "parameters", "array[anywhere].fitted.parameters", "3 parameters are fitted",
        "at most 2 for a write-anywhere array";
    "two numbers fitted for an in-place array":
        "[\"in_place.destages_per_spindle\"" =>
        "[\"commands_per_spindle\", \"in_place.destages_per_spindle\"",
        "parameters = [\"commands", "array[inplace].fitted.parameters", "2 parameters are fitted",
        "at most 1 for an in-place array";
    "nothing fitted":
        "[\"in_place.destages_per_spindle\"]" => "[]", "parameters = []",
        "array[inplace].fitted.parameters", "is empty",
        "parameters = [\"processor.host_operation\"";
    "fitted segment past the last":
        "segments = [1, 2]" => "segments = [1, 15]", "segments = [",
        "array[anywhere].fitted.segments", "there is no segment 15", "segments 1 to 14";
    "fitted segment zero":
        "segments = [1, 2]" => "segments = [0]", "segments = [",
        "array[anywhere].fitted.segments", "is zero", "give one or more";
    "a failure after the end":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[array.failure]]\nat = \"280 min\"\nspindle = 4\n\n[[array]]\nname = \"inplace\"",
        "at = ", "array[anywhere].failure[1].at", "is 280 min, and the run ends at 280 min",
        "give a time before 280 min";
    "a failure of a spindle that is not there":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[array.failure]]\nat = \"2 h\"\nspindle = 20\n\n[[array]]\nname = \"inplace\"",
        "spindle = ", "array[anywhere].failure[1].spindle", "there is no spindle 20",
        "the array has spindles 0 to 19, those from 18 on for parity";
    "a failure without a time":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[array.failure]]\nspindle = 4\n\n[[array]]\nname = \"inplace\"",
        "[[array.failure]]", "array[anywhere].failure[1].at", "is missing", "at = \"2 h\"";
    "a spindle that fails twice":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[array.failure]]\nat = \"1 h\"\nspindle = 4\n[[array.failure]]\nat = \"2 h\"\nspindle = 4 # again\n\n[[array]]\nname = \"inplace\"",
        "spindle = 4 # again", "array[anywhere].failure[2].spindle", "spindle 4 fails twice",
        "a spindle fails once";
    "a front end over a link that is not there":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"gigabit\"]\n\n[[array]]\nname = \"inplace\"",
        "path = [\"gigabit\"]", "array[anywhere].front_end.path",
        "there is no link `gigabit`, nor any other", "add [[link]] with a name and a kind";
    "settings of another protocol":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"one\"]\nnfs = { slots = 4 }\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "nfs =", "array[anywhere].front_end.nfs", "the protocol is `iscsi`",
        "leave the table out, or give protocol = \"nfs\"";
    "a first burst longer than any burst":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"one\"]\niscsi = { max_burst = \"32 KiB\" }\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "iscsi =", "array[anywhere].front_end.iscsi.first_burst", "is 64 KiB, and max_burst is 32 KiB",
        "give at most 32 KiB";
    "a data segment that iSCSI does not allow":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"one\"]\niscsi = { host_data_segment = \"256 B\" }\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "iscsi =", "array[anywhere].front_end.iscsi.host_data_segment", "is 256 B",
        "give 512 B to 16777212 B";
    "more cores than any host has":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"one\"]\nhost_cores = 4294967295\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "host_cores =", "array[anywhere].front_end.host_cores", "is 4294967295", "give at most 1024";
    "more connections than memory":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"one\"]\nconnections = 4294967295\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "connections =", "array[anywhere].front_end.connections", "is 4294967295",
        "give at most 65535";
    "requests of parts of sectors":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"nfs\"\npath = [\"one\"]\nnfs = { read_size = \"1000 B\" }\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "nfs =", "array[anywhere].front_end.nfs.read_size", "is 1 kB",
        "give a multiple of 512 B";
    "fewer credits than a request takes":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"smb2\"\npath = [\"one\"]\nsmb2 = { credits = 15 }\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "smb2 =", "array[anywhere].front_end.smb2.credits", "a request of 1 MiB takes 16",
        "give at least 16";
    "a congestion window that begins again but never began":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"one\"]\ntcp = { idle_restart = \"keeps\" }\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "tcp =", "array[anywhere].front_end.tcp.idle_restart", "there is no slow start",
        "give slow_start";
    "timeouts the wrong way round":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"one\"]\ntcp = { minimum_timeout = \"3 s\", maximum_timeout = \"2 s\" }\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "tcp =", "array[anywhere].front_end.tcp.maximum_timeout", "is less than minimum_timeout",
        "give a longer time";
    "TCP under Fibre Channel":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"fcp\"\npath = [\"one\"]\ntcp = { window = \"64 KiB\" }\n[[link]]\nname = \"one\"\nkind = \"fc-4g\"\n\n[[array]]\nname = \"inplace\"",
        "tcp =", "array[anywhere].front_end.tcp", "Fibre Channel is not carried by TCP",
        "leave the table out";
    "a router without Fibre Channel behind it":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"one\"]\nrouter = { pdu = \"20 us\" }\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "path =", "array[anywhere].front_end.path", "it begins on Ethernet or InfiniBand and ends on Fibre Channel",
        "or leave the router out";
    "a router of NFS":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"nfs\"\npath = [\"one\", \"two\"]\nrouter = { pdu = \"20 us\" }\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n[[link]]\nname = \"two\"\nkind = \"fc-2g\"\n\n[[array]]\nname = \"inplace\"",
        "router =", "array[anywhere].front_end.router", "a router has iSCSI in front",
        "give protocol = \"iscsi\"";
    "Fibre Channel behind Ethernet without a router":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"one\", \"two\"]\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n[[link]]\nname = \"two\"\nkind = \"fc-2g\"\n\n[[array]]\nname = \"inplace\"",
        "path =", "array[anywhere].front_end.path", "a link of kind fc-2g does not carry this protocol",
        "add [array.front_end.router]";
    "a path over the same link twice":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"one\", \"one\"]\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "path =", "array[anywhere].front_end.path", "the link `one` is in it twice",
        "a link of its own";
    "a router slower than a second":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"one\", \"two\"]\nrouter = { command = \"1 min\" }\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n[[link]]\nname = \"two\"\nkind = \"fc-2g\"\n\n[[array]]\nname = \"inplace\"",
        "router =", "array[anywhere].front_end.router.command", "is 1 min",
        "give 0 ns to 1 s";
    "a misspelt setting of a protocol":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"one\"]\niscsi = { max_brust = \"1 MiB\" }\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "iscsi =", "array[anywhere].front_end.iscsi.max_brust", "unknown key",
        "did you mean `max_burst`?";
    "buffer credits of Ethernet":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\nbuffer_credits = 8\n\n[[array]]\nname = \"inplace\"",
        "buffer_credits = 8", "link[one].buffer_credits", "only Fibre Channel has them", "leave this out";
    "a page cache without dirty pages that has a limit for them":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.page_cache]\nsize = \"1 GiB\"\nwrites = \"through\"\nexpiry = \"3 s\"\n\n[[array]]\nname = \"inplace\"",
        "expiry = \"3 s\"", "array[anywhere].page_cache.expiry",
        "a cache that writes through has no dirty pages", "leave it out";
    "a gateway that serves blocks":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.gateway]\nprotocol = \"iscsi\"\npath = [\"one\"]\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "protocol =", "array[anywhere].gateway.protocol", "a gateway serves files", "give \"nfs\"";
    "an adapter's setting in front of a gateway":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.gateway]\nprotocol = \"nfs\"\npath = [\"one\"]\nhost_receives = \"as-it-arrives\"\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "host_receives =", "array[anywhere].gateway.host_receives", "reaches a gateway without this", "leave it out";
    "a gateway whose two networks share a link":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.gateway]\nprotocol = \"nfs\"\npath = [\"one\"]\n[array.front_end]\nprotocol = \"iscsi\"\npath = [\"one\"]\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "path = [\"one\"]", "array[anywhere].gateway.path", "the link `one` is in the path of [array.front_end] too",
        "links of its own";
    "a gateway that commits before its cache does":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.gateway]\nprotocol = \"nfs\"\npath = [\"one\"]\nnfs = { stability = \"commit\" }\n[array.page_cache]\nsize = \"1 GiB\"\n[[link]]\nname = \"one\"\nkind = \"ethernet-1g\"\n\n[[array]]\nname = \"inplace\"",
        "nfs = {", "array[anywhere].gateway.nfs", "nothing is stable before a file is closed", "writes = \"through\"";
    "a page cache of less than a page":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.page_cache]\nsize = \"4 kB\"\n\n[[array]]\nname = \"inplace\"",
        "size = \"4 kB\"", "array[anywhere].page_cache.size", "is less than a page",
        "give at least 4 KiB";
    "a page cache that may not be dirty":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.page_cache]\nsize = \"1 GiB\"\ndirty_percent = 0\n\n[[array]]\nname = \"inplace\"",
        "dirty_percent = 0", "array[anywhere].page_cache.dirty_percent", "is 0 %",
        "give at least 1 %, or writes = \"through\"";
    "a misspelt link":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[link]]\nname = \"one\"\nkind = \"ethernet-1gb\"\n\n[[array]]\nname = \"inplace\"",
        "kind = \"ethernet-1gb\"", "link[one].kind", "there is no kind of link", "ethernet-1g";
    "a link that is back before it fails":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[link]]\nname = \"one\"\nkind = \"fc-4g\"\ndown = \"2 h\"\nup = \"1 h\"\n\n[[array]]\nname = \"inplace\"",
        "up = \"1 h\"", "link[one].up", "is 1 h, and the link fails at 2 h", "give a later time";
    "more lanes that fail than there are":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[link]]\nname = \"one\"\nkind = \"fc-4g\"\nlanes = 2\ndown = \"1 h\"\ndown_lanes = 3\n\n[[array]]\nname = \"inplace\"",
        "down_lanes = 3", "link[one].down_lanes", "is 3, and the link has 2", "give at most 2";
    "lanes that fail at no time":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[link]]\nname = \"one\"\nkind = \"fc-4g\"\nlanes = 2\ndown_lanes = 2\n\n[[array]]\nname = \"inplace\"",
        "down_lanes = 2", "link[one].down_lanes", "no lane fails", "give `down` as well";
    "a controller that fails at no time":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.pair]\nfailing = 2\n\n[[array]]\nname = \"inplace\"",
        "failing = 2", "array[anywhere].pair.failing", "no controller fails", "give `takeover` as well";
    "a page cache that never sleeps":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.page_cache]\nsize = \"1 GiB\"\nwake_up = \"1 ns\"\n\n[[array]]\nname = \"inplace\"",
        "wake_up = ", "array[anywhere].page_cache.wake_up", "is 1 ns", "give 10 ms to";
    "a processor that takes hours":
        "host_operation = \"76 us\"" => "host_operation = \"2 h\"",
        "host_operation = ", "array[anywhere].processor.host_operation", "is 2 h", "give 0 ns to 1 s";
    "a link of nine lanes":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[link]]\nname = \"one\"\nkind = \"fc-4g\"\nlanes = 9\n\n[[array]]\nname = \"inplace\"",
        "lanes = 9", "link[one].lanes", "is 9", "give 1 to 8";
    "a giveback without a takeover":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.pair]\ngiveback = \"2 h\"\n\n[[array]]\nname = \"inplace\"",
        "giveback = ", "array[anywhere].pair.giveback", "nothing was taken over", "give `takeover`";
    "a giveback before the takeover":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.pair]\ntakeover = \"2 h\"\ngiveback = \"2 h\"\n\n[[array]]\nname = \"inplace\"",
        "giveback = ", "array[anywhere].pair.giveback", "the partner takes over at", "give a later time";
    "a takeover after the end":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.pair]\ntakeover = \"300 min\"\n\n[[array]]\nname = \"inplace\"",
        "takeover = ", "array[anywhere].pair.takeover", "and the run ends at 280 min", "give a time before 280 min";
    "a third controller":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[array.pair]\nfailing = 3\n\n[[array]]\nname = \"inplace\"",
        "failing = 3", "array[anywhere].pair.failing", "is 3", "give 1 to 2";
    "a failure that is no table":
        "scheduler = \"sptf\"" => "scheduler = \"sptf\"\nfailure = 4", "failure = 4",
        "array[anywhere].failure", "is not a list of tables", "write [[array.failure]]";
    "too many parity groups":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[array.write_anywhere.group]]\ndata_spindles = 4\n[[array.write_anywhere.group]]\ndata_spindles = 4\n[[array.write_anywhere.group]]\ndata_spindles = 4\n[[array.write_anywhere.group]]\ndata_spindles = 4\n[[array.write_anywhere.group]]\ndata_spindles = 4\n[[array.write_anywhere.group]]\ndata_spindles = 4\n[[array.write_anywhere.group]]\ndata_spindles = 4\n[[array.write_anywhere.group]]\ndata_spindles = 4\n\n[[array]]\nname = \"inplace\"",
        "[[array.write_anywhere.group]]", "array[anywhere].write_anywhere.group",
        "9 parity groups are too many",
        "an aggregate has at most 8, the first included: keep 7 of these";
    "a group without spindles":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[array.write_anywhere.group]]\nat = \"100 min\"\n\n[[array]]\nname = \"inplace\"",
        "[[array.write_anywhere.group]]", "array[anywhere].write_anywhere.group[1].data_spindles",
        "is missing",
        "add a line such as data_spindles = 18";
    "a group added at the end":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[array.write_anywhere.group]]\ndata_spindles = 18\nat = \"280 min\"\n\n[[array]]\nname = \"inplace\"",
        "at = ", "array[anywhere].write_anywhere.group[1].at",
        "is 280 min, and the run ends at 280 min",
        "give a time before 280 min, or more segments";
    "a group added at the start":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[array.write_anywhere.group]]\ndata_spindles = 18\nat = \"0 s\"\n\n[[array]]\nname = \"inplace\"",
        "at = ", "array[anywhere].write_anywhere.group[1].at",
        "is 0, when the run has not begun",
        "a group without `at` is there from the start";
    "groups out of order":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[array.write_anywhere.group]]\ndata_spindles = 18\nat = \"100 min\"\n\n[[array.write_anywhere.group]]\ndata_spindles = 4\n\n[[array]]\nname = \"inplace\"",
        "[[array.write_anywhere.group]]", "array[anywhere].write_anywhere.group[2].at",
        "is missing, and the group before it is added at 100 min",
        "list the groups in the order in which they are added";
    "a further group with too many spindles":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[array.write_anywhere.group]]\ndata_spindles = 14\nparity = \"raid-4\"\n\n[[array]]\nname = \"inplace\"",
        "data_spindles = 14", "array[anywhere].write_anywhere.group[1].data_spindles",
        "a RAID-4 group of 15 spindles is too many",
        "give 1 to 13 data";
    "more blocks than an aggregate has":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[array.write_anywhere.group]]\ndata_spindles = 26\n[[array.write_anywhere.group]]\ndata_spindles = 26\n[[array.write_anywhere.group]]\ndata_spindles = 26\n[[array.write_anywhere.group]]\ndata_spindles = 26\n[[array.write_anywhere.group]]\ndata_spindles = 26\n\n[[array]]\nname = \"inplace\"",
        "[[array.write_anywhere.group]]", "array[anywhere].write_anywhere.group",
        "148 data spindles in all have more than 2^32 blocks",
        "give at most 123 data spindles in all groups";
    "a failure in a group that is not there yet":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[array.write_anywhere.group]]\ndata_spindles = 18\nat = \"100 min\"\n[[array.failure]]\nat = \"99 min\"\nspindle = 20\n\n[[array]]\nname = \"inplace\"",
        "spindle = 20", "array[anywhere].failure[1].spindle",
        "spindle 20 is not there yet: parity group 2 is added at 100 min",
        "give a time from 100 min on, or a spindle below 20";
    "a failure beyond all groups":
        "\n[[array]]\nname = \"inplace\"" =>
        "\n[[array.write_anywhere.group]]\ndata_spindles = 18\n[[array.failure]]\nat = \"99 min\"\nspindle = 40\n\n[[array]]\nname = \"inplace\"",
        "spindle = 40", "array[anywhere].failure[1].spindle",
        "there is no spindle 40",
        "the array has spindles 0 to 39 in 2 parity groups";
    "a rebuild that never moves":
        "scheduler = \"sptf\"" => "scheduler = \"sptf\"\nrebuild_steps_in_flight = 0",
        "rebuild_steps_in_flight", "array[anywhere].rebuild_steps_in_flight", "is zero",
        "give one or more";
    "spares of a fraction":
        "tetrises_in_flight = 2" => "tetrises_in_flight = 2\nspares = 0.5", "spares",
        "array[anywhere].write_anywhere.spares", "is a float, not a whole number", "whole number";
    "not TOML":
        "seed = 7" => "seed = ?", "seed", "", "must be quoted", "the text must be TOML";
    "a key given twice":
        "seed = 7" => "seed = 7\nseed = 8", "seed = 8", "", "duplicate key",
        "the text must be TOML";
};

/// Returns how a case differs from what it expects, if it does.
fn failure(case: &Case) -> Option<String> {
    let text = changed(case.from, case.to);
    let error = Scenario::parse_with_files(&text, crate::common::NAME, &Disk)
        .expect_err("the scenario must be refused");
    let [problem] = error.problems() else {
        return Some(format!("not one problem: {:#?}", error.problems()));
    };
    let line = text.lines().nth(problem.line() - 1).unwrap();
    let place = format!("{}:{}:{}: ", crate::common::NAME, problem.line(), problem.column());
    let comes_true = line.starts_with(case.at)
        && problem.field() == case.field
        && problem.message().contains(case.message)
        && problem.help().contains(case.help)
        && error.to_string().starts_with(&place);
    (!comes_true).then(|| format!("{error}\n    line: {line}\n    help: {}", problem.help()))
}

#[test]
fn each_is_refused_at_its_line_with_help() {
    let failures: Vec<String> = CASES
        .iter()
        .filter_map(|case| Some(format!("{}: {}", case.name, failure(case)?)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn two_arrays_of_one_name() {
    let error = error_of(&changed("name = \"inplace\"", "name = \"anywhere\""));
    let problem = &error.problems()[0];
    assert_eq!((problem.line(), problem.column()), (51, 8));
    assert_eq!(problem.message(), "there is another array `anywhere`");
    // The other problem is the overhead of the array whose name is gone.
    assert_eq!(error.problems().len(), 2);
}

#[test]
fn no_arrays() {
    let workload = crate::common::GOOD.split("[[array]]").next().unwrap();
    let missing = error_of(workload);
    let [problem] = missing.problems() else { panic!("{missing:?}") };
    assert_eq!(problem.field(), "array");
    assert!(problem.help().contains("add [[array]] and its keys"));

    let empty = error_of(&workload.replace("seed = 7", "seed = 7\narray = []"));
    let [problem] = empty.problems() else { panic!("{empty:?}") };
    assert_eq!((problem.field(), problem.line()), ("array", 7));
}

#[test]
fn columns_count_characters() {
    let text = changed("seed = 7", "\"s\u{e9}\u{e9}d\" = 7\nseed = 7");
    let text = text.replace("\"20 min\"", "'\u{b5}\u{b5}'   # \u{b5}");
    let error = error_of(&text);
    let places: Vec<_> = error.problems().iter().map(|p| (p.line(), p.column())).collect();
    assert_eq!(places, [(6, 1), (9, 11)]);
}

#[test]
fn every_problem_is_reported_at_once() {
    let text = changed("segments = 14", "segments = 0")
        .replace("outstanding = 150", "outstandng = 150")
        .replace("lun = \"500 GB\"", "lun = \"9 TB\"")
        .replace("per_kib = \"500 ns\"\n", "")
        .replace("chunk_blocks = 32", "chunk_blocks = 128")
        .replace("\"double\"\n", "\"treble\"\n");
    let error = error_of(&text);
    let fields: Vec<_> = error.problems().iter().map(strewn_scenario::Problem::field).collect();
    assert_eq!(
        fields,
        [
            "segments",
            "array[anywhere].outstandng",
            "array[anywhere].processor.per_kib",
            "array[anywhere].write_anywhere.chunk_blocks",
            "array[inplace].lun",
            "overhead.configuration[2].protection_level",
        ]
    );
    assert_eq!(error.to_string(), "6 problems in scenarios/good.toml");
}

/// What refers to settings of an array that could not be read is not reported: the array's own problem is what to mend.
#[test]
fn a_mistake_in_an_array_is_one_problem_whatever_refers_to_its_settings() {
    let text = include_str!("../../../../scenarios/making-sense-of-wafl-4.toml");
    assert!(text.contains("[[unknown]]"));
    for (from, to) in
        [("outstanding = 150", "outstandign = 150"), ("area_stripes = 4096", "area_stripes = 0")]
    {
        assert!(text.contains(from));
        let error = Scenario::parse(&text.replacen(from, to, 1), "x.toml").unwrap_err();
        let problems: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 1, "{problems:#?}");
    }
}

fn eva4400() -> String {
    Template::named("eva4400").unwrap().scenario("mine")
}

/// The controller has a layout of its own, which the text need not give.
#[test]
fn a_layout_of_another_kind_than_the_controllers_is_named() {
    let text = eva4400() + "\n[array.write_anywhere]\npolicy = \"first-fit\"\n";
    let error = error_of(&text);
    let [problem] = error.problems() else { panic!("{error}") };
    assert_eq!(problem.field(), "array[EVA4400].write_anywhere");
    assert!(problem.message().contains("the controller is that of an in-place array"), "{error}");
    assert_eq!(problem.help(), "leave out `controller`, or [array.write_anywhere]");
}

#[test]
fn a_write_cache_has_room_for_a_sector() {
    let text = eva4400() + "\n[array.in_place]\nwrite_cache = \"511 B\"\n";
    let error = error_of(&text);
    let [problem] = error.problems() else { panic!("{error}") };
    assert_eq!((problem.message(), problem.help()), ("is 511 B", "give at least 512 B"));
}
