/*
 * Where the sectors of a dRAID vdev lie on its drives: found by contents, and asked of the library's own functions.
 */
#include "real_pool.h"
#include <sys/spa_impl.h>
#include <sys/vdev_impl.h>
#include <sys/metaslab_impl.h>
#include <sys/vdev_draid.h>
#include <sys/dmu.h>
#include <err.h>
#include <fcntl.h>
#include <unistd.h>

/* A sector that is not all zeros: its drive, its number in the drive's allocatable space, its contents. */
struct sector { uint64_t drive, number; uint8_t *data; };

static struct sector *sectors;
static size_t sector_count, sector_room, sector_bytes;

static int
compare_sectors(const void *left, const void *right)
{
	const struct sector *a = left, *b = right;
	int order = memcmp(a->data, b->data, sector_bytes);
	if (order == 0)
		order = a->drive < b->drive ? -1 : a->drive > b->drive;
	return (order);
}

static int
is_zero(const uint8_t *data)
{
	return (data[0] == 0 && memcmp(data, data + 1, sector_bytes - 1) == 0);
}

static void
read_drive(vdev_t *drive)
{
	int fd = open(drive->vdev_path, O_RDONLY);
	if (fd < 0)
		err(1, "%s", drive->vdev_path);
	off_t at = VDEV_LABEL_START_SIZE, end = drive->vdev_psize - VDEV_LABEL_END_SIZE;
	while ((at = lseek(fd, at, SEEK_DATA)) >= 0 && at < end) {
		off_t hole = lseek(fd, at, SEEK_HOLE);
		for (at -= at % sector_bytes; at < MIN(hole, end); at += sector_bytes) {
			uint8_t *data = malloc(sector_bytes);
			VERIFY3S(pread(fd, data, sector_bytes, at), ==, sector_bytes);
			if (is_zero(data)) {
				free(data);
				continue;
			}
			if (sector_count == sector_room) {
				sector_room = MAX(1 << 16, 2 * sector_room);
				sectors = realloc(sectors, sector_room * sizeof (*sectors));
			}
			sectors[sector_count++] = (struct sector) { drive->vdev_id,
			    (at - VDEV_LABEL_START_SIZE) / sector_bytes, data };
		}
	}
	close(fd);
}

/* Writes all places with these contents, joined by `|`. */
static void
print_found(FILE *out, uint8_t *data)
{
	size_t low = 0, high = sector_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (memcmp(sectors[middle].data, data, sector_bytes) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	const char *before = " ";
	for (; low < sector_count && memcmp(sectors[low].data, data, sector_bytes) == 0; low++, before = "|")
		fprintf(out, "%s%llu:%llu", before, (u_longlong_t)sectors[low].drive, (u_longlong_t)sectors[low].number);
	if (before[0] == ' ')
		errx(1, "a sector is on no drive");
}

/* Parity `number` of row `row` by Horner's rule in GF(256): P of 1, Q of 2, R of 4. */
static void
compute_parity(const uint8_t *data, uint64_t sectors_in_all, uint64_t ndata, uint64_t number, uint64_t row,
    uint8_t *parity)
{
	uint64_t whole = sectors_in_all / ndata, longer = sectors_in_all % ndata, first = 0;
	memset(parity, 0, sector_bytes);
	for (uint64_t c = 0; c < ndata; c++) {
		uint64_t height = whole + (c < longer);
		for (size_t b = 0; b < sector_bytes; b++) {
			uint8_t value = parity[b];
			for (uint64_t times = 0; times < number; times++)
				value = (value << 1) ^ (value & 0x80 ? 0x1d : 0);
			parity[b] = value ^ (row < height ? data[(first + row) * sector_bytes + b] : 0);
		}
		first += height;
	}
}

static void
print_block(FILE *out, vdev_draid_config_t *draid, uint64_t block, uint64_t offset, const uint8_t *data, uint64_t bytes)
{
	uint8_t *parity = malloc(sector_bytes);
	fprintf(out, "B %llu %llu %llu", (u_longlong_t)block, (u_longlong_t)offset, (u_longlong_t)bytes);
	while (bytes > 0) {
		/* A block may end in the next group. */
		uint64_t left = (offset / draid->vdc_groupsz + 1) * draid->vdc_groupsz - offset;
		uint64_t here = MIN(bytes, left / draid->vdc_groupwidth * draid->vdc_ndata);
		uint64_t count = here / sector_bytes, rows = (count + draid->vdc_ndata - 1) / draid->vdc_ndata;
		for (uint64_t p = 0; p < draid->vdc_nparity; p++) {
			for (uint64_t row = 0; row < rows; row++) {
				compute_parity(data, count, draid->vdc_ndata, p, row, parity);
				print_found(out, parity);
			}
		}
		for (uint64_t s = 0; s < count; s++)
			print_found(out, (uint8_t *)data + s * sector_bytes);
		offset += rows * draid->vdc_groupwidth * sector_bytes;
		data += here;
		bytes -= here;
	}
	fprintf(out, "\n");
	free(parity);
}

/* The drives that `vdev_xlate` finds a range on, and those that stand in for spares. */
static void
print_ranges(FILE *out, vdev_t *top, vdev_draid_config_t *draid, uint64_t count)
{
	uint64_t row = draid->vdc_groupwidth * sector_bytes, rows = top->vdev_asize / row;
	for (uint64_t i = 0, state = 1; i < count; i++) {
		uint64_t start = splitmix64(&state) % rows;
		uint64_t length = MIN(1 + splitmix64(&state) % 40, rows - start);
		length = MIN(length, (start * row / draid->vdc_groupsz + 1) * draid->vdc_groupsz / row - start);
		zfs_range_seg64_t logical = { start * row, (start + length) * row };
		fprintf(out, "X %llu %llu", (u_longlong_t)logical.rs_start, (u_longlong_t)(length * row));
		uint64_t physical = 0;
		for (uint64_t c = 0; c < top->vdev_children; c++) {
			zfs_range_seg64_t here, remain;
			top->vdev_ops->vdev_op_xlate(top->vdev_child[c], &logical, &here, &remain);
			if (here.rs_end == here.rs_start)
				continue;
			physical = here.rs_start;
			fprintf(out, " %llu:%llu:%llu", (u_longlong_t)c, (u_longlong_t)(here.rs_start / sector_bytes),
			    (u_longlong_t)((here.rs_end - here.rs_start) / sector_bytes));
		}
		fprintf(out, "\nS %llu", (u_longlong_t)(physical / sector_bytes));
		spa_aux_vdev_t *spares = &top->vdev_spa->spa_spares;
		for (int s = 0; s < spares->sav_count; s++)
			fprintf(out, " %llu", (u_longlong_t)
			    vdev_draid_spare_get_child(spares->sav_vdevs[s], physical)->vdev_id);
		fprintf(out, "\n");
	}
}

void
list_places(const char *path, objset_t *objset, uint64_t object, uint64_t object_bytes, uint64_t block_bytes,
    uint64_t every)
{
	spa_t *spa = dmu_objset_spa(objset);
	vdev_t *top = spa->spa_root_vdev->vdev_child[0];
	vdev_draid_config_t *draid = top->vdev_tsd;
	FILE *out = fopen(path, "w");
	if (out == NULL)
		err(1, "%s", path);
	VERIFY3P(top->vdev_ops, ==, &vdev_draid_ops);
	sector_bytes = 1ULL << top->vdev_ashift;
	fprintf(out, "D %llu %llu %llu %llu %llu %llu %llu\n", (u_longlong_t)draid->vdc_nparity,
	    (u_longlong_t)draid->vdc_ndata, (u_longlong_t)draid->vdc_children, (u_longlong_t)draid->vdc_nspares,
	    (u_longlong_t)top->vdev_ashift, (u_longlong_t)top->vdev_child[0]->vdev_psize, (u_longlong_t)top->vdev_asize);
	fprintf(out, "M %llu %llu", (u_longlong_t)top->vdev_ms_count, (u_longlong_t)top->vdev_ms_shift);
	for (uint64_t m = 0; m < MIN(top->vdev_ms_count, 12); m++)
		fprintf(out, " %llu:%llu", (u_longlong_t)top->vdev_ms[m]->ms_start, (u_longlong_t)top->vdev_ms[m]->ms_size);
	fprintf(out, "\n");
	for (uint64_t bytes = sector_bytes; bytes <= 64 * sector_bytes; bytes += sector_bytes)
		fprintf(out, "%s%llu", bytes == sector_bytes ? "A " : " ",
		    (u_longlong_t)(vdev_psize_to_asize(top, bytes) >> top->vdev_ashift));
	fprintf(out, "\n");
	for (uint64_t c = 0; c < top->vdev_children; c++)
		read_drive(top->vdev_child[c]);
	qsort(sectors, sector_count, sizeof (*sectors), compare_sectors);
	uint8_t *data = malloc(block_bytes);
	for (uint64_t block = 0; block < object_bytes / block_bytes; block++) {
		dmu_buf_t *buffer;
		VERIFY0(dmu_buf_hold(objset, object, block * block_bytes, FTAG, &buffer, DMU_READ_NO_PREFETCH));
		const blkptr_t *bp = dmu_buf_get_blkptr(buffer);
		uint64_t first = DVA_GET_OFFSET(&bp->blk_dva[0]), last = first + DVA_GET_ASIZE(&bp->blk_dva[0]) - 1;
		int is_in_two_groups = first / draid->vdc_groupsz != last / draid->vdc_groupsz;
		memcpy(data, buffer->db_data, block_bytes);
		if (block % every == 0 || is_in_two_groups)
			print_block(out, draid, block, first, data, block_bytes);
		dmu_buf_rele(buffer, FTAG);
	}
	print_ranges(out, top, draid, 150);
	fclose(out);
}
