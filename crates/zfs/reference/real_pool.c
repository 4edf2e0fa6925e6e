/*
 * real_pool: what OpenZFS itself does with random overwrites.
 *
 * Makes a pool of file vdevs with libzpool (OpenZFS in user space), fills a volume in order, overwrites blocks at
 * random, and writes as text where each block lies and what the allocator did. README.md has options and formats.
 */
#include "real_pool.h"
#include <sys/spa_impl.h>
#include <sys/vdev_impl.h>
#include <sys/metaslab_impl.h>
#include <sys/arc.h>
#include <sys/dmu.h>
#include <sys/dmu_traverse.h>
#include <sys/dmu_tx.h>
#include <sys/dsl_dataset.h>
#include <sys/fs/zfs.h>
#include <sys/txg.h>
#include <sys/zap.h>
#include <sys/zfeature.h>
#include <err.h>
#include <fcntl.h>
#include <getopt.h>

enum { VOLUME_DATA = 1, VOLUME_PROPERTIES = 2 };	/* object numbers that zvols use */

static struct {
	const char *type, *directory, *blocks, *places;
	int parity, drives, vdevs, ashift, settle, read, data, spares, places_every, is_late;
	uint64_t drive_bytes, last_drive_bytes, special_drive_bytes, object_bytes, block_bytes, passes, writes_per_txg, seed;
} opt = {
	.type = "raidz", .directory = "pool", .parity = 2, .drives = 6, .vdevs = 1, .ashift = 12,
	.drive_bytes = 512 << 20, .object_bytes = 256 << 20, .block_bytes = 8192, .passes = 1, .writes_per_txg = 2048,
	.data = 8, .places_every = 1,
};

static FILE *
open_for_writing(const char *path)
{
	FILE *file = fopen(path, "w");
	if (file == NULL)
		err(1, "%s", path);
	return (file);
}

static nvlist_t *
vdev_config(const char *type)
{
	nvlist_t *config = fnvlist_alloc();
	fnvlist_add_string(config, ZPOOL_CONFIG_TYPE, type);
	fnvlist_add_uint64(config, ZPOOL_CONFIG_ASHIFT, opt.ashift);
	fnvlist_add_uint64(config, ZPOOL_CONFIG_IS_LOG, 0);
	return (config);
}

static uint64_t
drive_bytes(int vdev)
{
	if (vdev == opt.vdevs)
		return (opt.special_drive_bytes);
	return (vdev == opt.vdevs - 1 && opt.last_drive_bytes != 0 ? opt.last_drive_bytes : opt.drive_bytes);
}

static nvlist_t *
drive_config(int vdev, int drive)
{
	char path[512];
	snprintf(path, sizeof (path), "%s/drive.%d.%d", opt.directory, vdev, drive);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	if (fd < 0 || ftruncate(fd, drive_bytes(vdev)) != 0)
		err(1, "%s", path);
	close(fd);
	nvlist_t *config = vdev_config(VDEV_TYPE_FILE);
	fnvlist_add_string(config, ZPOOL_CONFIG_PATH, path);
	return (config);
}

static nvlist_t *
top_level_vdev_config(int vdev)
{
	if (strcmp(opt.type, "single") == 0)
		return (drive_config(vdev, 0));
	const nvlist_t *drives[opt.drives];
	for (int d = 0; d < opt.drives; d++)
		drives[d] = drive_config(vdev, d);
	nvlist_t *config = vdev_config(opt.type);
	if (strcmp(opt.type, VDEV_TYPE_RAIDZ) == 0)
		fnvlist_add_uint64(config, ZPOOL_CONFIG_NPARITY, opt.parity);
	if (strcmp(opt.type, VDEV_TYPE_DRAID) == 0) {
		uint64_t width = opt.data + opt.parity, groups = 1;
		while (groups * width % (opt.drives - opt.spares) != 0)	/* as draid_config_by_type() of zpool does */
			groups++;
		fnvlist_add_uint64(config, ZPOOL_CONFIG_NPARITY, opt.parity);
		fnvlist_add_uint64(config, ZPOOL_CONFIG_DRAID_NDATA, opt.data);
		fnvlist_add_uint64(config, ZPOOL_CONFIG_DRAID_NSPARES, opt.spares);
		fnvlist_add_uint64(config, ZPOOL_CONFIG_DRAID_NGROUPS, groups);
	}
	fnvlist_add_nvlist_array(config, ZPOOL_CONFIG_CHILDREN, drives, opt.drives);
	if (vdev == opt.vdevs)
		fnvlist_add_string(config, ZPOOL_CONFIG_ALLOCATION_BIAS, VDEV_ALLOC_BIAS_SPECIAL);
	return (config);
}

/* Vdevs in all: those of the normal class, and a special one behind them. */
static int
vdevs_in_all(void)
{
	return (opt.vdevs + (opt.special_drive_bytes != 0));
}

static nvlist_t *
root_config(int first, int end)
{
	const nvlist_t *vdevs[end - first];
	for (int v = first; v < end; v++)
		vdevs[v - first] = top_level_vdev_config(v);
	nvlist_t *root = fnvlist_alloc();
	fnvlist_add_string(root, ZPOOL_CONFIG_TYPE, VDEV_TYPE_ROOT);
	fnvlist_add_nvlist_array(root, ZPOOL_CONFIG_CHILDREN, vdevs, end - first);
	return (root);
}

/* Files count as flash otherwise. */
static void
log_vdevs(spa_t *spa, int first, int end)
{
	FILE *out = event_log == NULL ? stdout : event_log;
	for (int v = first; v < end; v++) {
		vdev_t *vdev = spa->spa_root_vdev->vdev_child[v];
		vdev->vdev_nonrot = B_FALSE;
		for (uint64_t d = 0; d < vdev->vdev_children; d++)
			vdev->vdev_child[d]->vdev_nonrot = B_FALSE;
		fprintf(out, "V %d %llu %llu %llu", v, (u_longlong_t)vdev->vdev_asize, (u_longlong_t)vdev->vdev_ms_count,
		    1ULL << vdev->vdev_ms_shift);
		for (uint64_t m = 0; m < vdev->vdev_ms_count; m++)
			if (vdev->vdev_ms[m]->ms_group == vdev->vdev_log_mg)
				fprintf(out, " %llu", (u_longlong_t)m);
		fprintf(out, "\n");
	}
}

/* The last vdev comes when the volume has been filled. */
static void
add_late_vdev(spa_t *spa)
{
	int all = vdevs_in_all(), error = spa_vdev_add(spa, root_config(all - 1, all), B_FALSE);
	if (error != 0)
		errx(1, "spa_vdev_add: %s", strerror(error));
	log_vdevs(spa, all - 1, all);
}

static spa_t *
create_pool(void)
{
	int at_start = vdevs_in_all() - opt.is_late;
	nvlist_t *root = root_config(0, at_start), *properties = fnvlist_alloc();
	for (spa_feature_t f = 0; f < SPA_FEATURES; f++) {	/* `zpool create` enables them; this is the library below it */
		char name[128];
		snprintf(name, sizeof (name), "feature@%s", spa_feature_table[f].fi_uname);
		fnvlist_add_uint64(properties, name, 0);
	}
	int error = spa_create("real", root, properties, NULL, NULL);
	if (error != 0)
		errx(1, "spa_create: %s", strerror(error));
	spa_t *spa;
	VERIFY0(spa_open("real", &spa, FTAG));
	log_vdevs(spa, 0, at_start);
	return (spa);
}

static void
create_volume_objects(objset_t *objset, void *arg, cred_t *cred, dmu_tx_t *tx)
{
	VERIFY0(dmu_object_claim(objset, VOLUME_DATA, DMU_OT_ZVOL, opt.block_bytes, DMU_OT_NONE, 0, tx));
	VERIFY0(zap_create_claim(objset, VOLUME_PROPERTIES, DMU_OT_ZVOL_PROP, DMU_OT_NONE, 0, tx));
	VERIFY0(zap_update(objset, VOLUME_PROPERTIES, "size", 8, 1, &opt.object_bytes, tx));
}

/* Writes a block, and returns its transaction group. Contents do not compress. */
static uint64_t
write_block(objset_t *objset, uint64_t block)
{
	static uint64_t contents = 1, data[SPA_MAXBLOCKSIZE / 8];
	for (uint64_t w = 0; w < opt.block_bytes / 8; w++)
		data[w] = splitmix64(&contents);
	dmu_tx_t *tx = dmu_tx_create(objset);
	dmu_tx_hold_write(tx, VOLUME_DATA, block * opt.block_bytes, opt.block_bytes);
	VERIFY0(dmu_tx_assign(tx, DMU_TX_WAIT));
	uint64_t txg = dmu_tx_get_txg(tx);
	dmu_write(objset, VOLUME_DATA, block * opt.block_bytes, opt.block_bytes, data, tx);
	dmu_tx_commit(tx);
	return (txg);
}

/* A pass writes as many blocks as the volume has: pass 0 each in order, later ones at random. `state` draws them. */
static void
write_pass(objset_t *objset, uint64_t pass, uint64_t *state)
{
	uint64_t blocks = opt.object_bytes / opt.block_bytes, group = 0;
	if (event_log != NULL)
		fprintf(event_log, "P %llu\n", (u_longlong_t)pass);
	for (uint64_t i = 0; i < blocks; i++) {
		uint64_t txg = write_block(objset, pass == 0 ? i : splitmix64(state) % blocks);
		if (group != 0 && txg != group)
			errx(1, "transaction group %llu ended early: see README.md", (u_longlong_t)group);
		group = txg;
		if ((i + 1) % opt.writes_per_txg == 0 || i + 1 == blocks) {
			txg_wait_synced(dmu_objset_pool(objset), opt.settle ? 0 : txg);
			group = 0;
		}
	}
}

static int
list_block(spa_t *spa, zilog_t *zil, const blkptr_t *bp, const zbookmark_phys_t *b, const dnode_phys_t *dnode,
    void *file)
{
	if (b->zb_object == VOLUME_DATA && b->zb_level == 0 && !BP_IS_HOLE(bp))
		fprintf(file, "%llu,%llu,%llu,%llu,%llu\n", (u_longlong_t)b->zb_blkid, DVA_GET_VDEV(&bp->blk_dva[0]),
		    DVA_GET_OFFSET(&bp->blk_dva[0]), DVA_GET_ASIZE(&bp->blk_dva[0]), BP_GET_LOGICAL_BIRTH(bp));
	return (0);
}

static void
list_blocks(objset_t *objset, uint64_t pass)
{
	char path[512];
	snprintf(path, sizeof (path), "%s.%llu.csv", opt.blocks, (u_longlong_t)pass);
	FILE *file = open_for_writing(path);
	fprintf(file, "block,vdev,offset,asize,birth\n");
	VERIFY0(traverse_dataset(dmu_objset_ds(objset), 0, TRAVERSE_PRE, list_block, file));
	fclose(file);
}

static void
read_cold(objset_t *objset)
{
	static char data[1 << 20];
	dmu_objset_evict_dbufs(objset);
	arc_flush(dmu_objset_spa(objset), B_FALSE);
	reset_io();
	for (uint64_t offset = 0; offset < opt.object_bytes; offset += sizeof (data))
		VERIFY0(dmu_read(objset, VOLUME_DATA, offset, sizeof (data), data, DMU_READ_PREFETCH));
	print_io("cold_read");
}

static void
parse(int argc, char **argv)
{
	int letter;
	while ((letter = getopt(argc, argv, "t:p:d:n:v:u:X:a:o:b:P:x:s:T:D:B:E:L:K:M:g:S:C:c:1AeFr")) != -1) {
		switch (letter) {
		case 't': opt.type = optarg; break;
		case 'p': opt.parity = atoi(optarg); break;
		case 'd': opt.drives = atoi(optarg); break;
		case 'n': opt.vdevs = atoi(optarg); break;
		case 'v': opt.drive_bytes = strtoull(optarg, NULL, 0) << 20; break;
		case 'u': opt.last_drive_bytes = strtoull(optarg, NULL, 0) << 20; break;
		case 'X': opt.special_drive_bytes = strtoull(optarg, NULL, 0) << 20; break;
		case 'A': opt.is_late = 1; break;
		case 'a': opt.ashift = atoi(optarg); break;
		case 'o': opt.object_bytes = strtoull(optarg, NULL, 0) << 20; break;
		case 'b': opt.block_bytes = strtoull(optarg, NULL, 0); break;
		case 'P': opt.passes = strtoull(optarg, NULL, 0); break;
		case 'x': opt.writes_per_txg = strtoull(optarg, NULL, 0); break;
		case 's': opt.seed = strtoull(optarg, NULL, 0); break;
		case 'T': if (set_global_var(optarg) != 0) exit(2); break;
		case 'D': opt.directory = optarg; break;
		case 'B': opt.blocks = optarg; break;
		case 'E': event_log = open_for_writing(optarg); break;
		case 'L': positioning_us = atoi(optarg); break;
		case 'K': command_us = atoi(optarg); break;
		case 'M': megabytes_a_second = atoi(optarg); break;
		case 'g': opt.data = atoi(optarg); break;
		case 'S': opt.spares = atoi(optarg); break;
		case 'C': opt.places = optarg; break;
		case 'c': opt.places_every = atoi(optarg); break;
		case 'F': no_slop = 1; break;
		case '1': one_thread = 1; break;
		case 'e': opt.settle = 1; break;
		case 'r': opt.read = 1; break;
		default: errx(2, "options: see README.md");
		}
	}
}

int
main(int argc, char **argv)
{
	parse(argc, argv);
	char cache[512];
	snprintf(cache, sizeof (cache), "%s/zpool.cache", opt.directory);
	unlink(cache);
	spa_config_path = cache;

	kernel_init(SPA_MODE_READ | SPA_MODE_WRITE);
	spa_t *spa = create_pool();
	objset_t *objset;
	VERIFY0(dmu_objset_create("real/volume", DMU_OST_ZVOL, 0, NULL, create_volume_objects, NULL));
	VERIFY0(dmu_objset_own("real/volume", DMU_OST_ZVOL, B_FALSE, B_TRUE, FTAG, &objset));
	for (uint64_t pass = 0, state = opt.seed; pass <= opt.passes; pass++) {
		txg_wait_synced(dmu_objset_pool(objset), 0);
		reset_io();
		if (pass == 1 && opt.is_late)
			add_late_vdev(spa);
		write_pass(objset, pass, &state);
		printf("pass %llu last_txg %llu frag %llu allocated %llu\n", (u_longlong_t)pass,
		    (u_longlong_t)spa_last_synced_txg(spa),
		    (u_longlong_t)metaslab_class_fragmentation(spa_normal_class(spa)),
		    (u_longlong_t)metaslab_class_get_alloc(spa_normal_class(spa)));
		print_io("write");
		if (opt.blocks != NULL)
			list_blocks(objset, pass);
		if (opt.read)
			read_cold(objset);
	}
	if (opt.places != NULL) {
		txg_wait_synced(dmu_objset_pool(objset), 0);
		list_places(opt.places, objset, VOLUME_DATA, opt.object_bytes, opt.block_bytes, opt.places_every);
	}
	/* The pool is discarded with the process. Exporting it would only add to the log. */
	fflush(NULL);
	_exit(0);
}
