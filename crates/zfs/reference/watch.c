/*
 * Watches and steers libzpool by interposition: this file exports functions under names that libzpool itself calls, and
 * passes each call on.
 */
#include "real_pool.h"
#include <sys/spa_impl.h>
#include <sys/vdev_impl.h>
#include <sys/vdev_file.h>
#include <sys/metaslab_impl.h>
#include <sys/dsl_pool.h>
#include <sys/zio_checksum.h>
#include <sys/syscall.h>
#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>

#define	EXPORTED __attribute__((visibility("default")))
/* The library's function behind the one of that name here. */
#define	LIBRARY(name) ({ static __typeof__(&name) f; if (f == NULL) f = dlsym(RTLD_NEXT, #name); f; })

#define	DRIVE_THREADS	256

static taskq_t *drive_queue;		/* file vdevs hand their commands to its threads */

/* ---- The event log ---- */

FILE *event_log;
int one_thread, no_slop, positioning_us, command_us, megabytes_a_second = 150;

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Frees are processed whenever threads get to them. The log lists them at the end of their pass, by address, so that
 * logs can be compared. Nothing depends on that order: no allocation gets the space before the transaction group ends.
 */
static struct free { uint64_t txg, vdev, offset, asize; int pass; } *frees;
static size_t free_count, free_room;

static int
compare_frees(const void *left, const void *right)
{
	const struct free *a = left, *b = right;
	if (a->vdev != b->vdev)
		return (a->vdev < b->vdev ? -1 : 1);
	return (a->offset < b->offset ? -1 : a->offset > b->offset);
}

/* Writes the frees of passes other than this one. */
static void
write_frees(uint64_t txg, int pass)
{
	if (free_count == 0 || (frees->txg == txg && frees->pass == pass))
		return;
	qsort(frees, free_count, sizeof (*frees), compare_frees);
	for (struct free *f = frees; f < frees + free_count; f++)
		fprintf(event_log, "F %llu %d %llu:%llu:%llu\n", (u_longlong_t)f->txg, f->pass, (u_longlong_t)f->vdev,
		    (u_longlong_t)f->offset, (u_longlong_t)f->asize);
	free_count = 0;
}

static void
log_free(struct free freed)
{
	write_frees(freed.txg, freed.pass);
	if (free_count == free_room) {
		free_room = MAX(1024, 2 * free_room);
		frees = realloc(frees, free_room * sizeof (*frees));
		VERIFY(frees != NULL);
	}
	frees[free_count++] = freed;
}

static void
log_dva(const dva_t *dva)
{
	fprintf(event_log, " %llu:%llu:%llu", DVA_GET_VDEV(dva), DVA_GET_OFFSET(dva), DVA_GET_ASIZE(dva));
}

static void
log_block(char event, zio_t *zio, uint64_t txg, uint64_t psize, int copies, const blkptr_t *bp)
{
	zbookmark_phys_t *b = &zio->io_bookmark;
	write_frees(txg, spa_sync_pass(zio->io_spa));
	fprintf(event_log, "%c %llu %d %llu %llu %lld %llu %d %llu", event, (u_longlong_t)txg, spa_sync_pass(zio->io_spa),
	    (u_longlong_t)b->zb_objset, (u_longlong_t)b->zb_object, (longlong_t)b->zb_level, (u_longlong_t)b->zb_blkid,
	    zio->io_prop.zp_type, (u_longlong_t)psize);
	if (islower(event))
		fprintf(event_log, " %d", copies);
	for (int d = 0; d < SPA_DVAS_PER_BP && DVA_IS_VALID(&bp->blk_dva[d]); d++)
		log_dva(&bp->blk_dva[d]);
	fprintf(event_log, "\n");
}

/* The lock makes the order of the log that of the allocations. */
EXPORTED int
metaslab_alloc(spa_t *spa, metaslab_class_t *class, uint64_t psize, blkptr_t *bp, int copies, uint64_t txg,
    blkptr_t *hint, int flags, zio_alloc_list_t *list, zio_t *zio, int allocator)
{
	pthread_mutex_lock(&log_lock);
	int error = LIBRARY(metaslab_alloc)(spa, class, psize, bp, copies, txg, hint, flags, list, zio, allocator);
	if (event_log != NULL && zio != NULL) {
		char event = flags & METASLAB_GANG_HEADER ? 'H' : flags & METASLAB_GANG_CHILD ? 'C' : 'A';
		log_block(error == 0 ? event : tolower(event), zio, txg, psize, copies, bp);
	}
	pthread_mutex_unlock(&log_lock);
	return (error);
}

/* Hosts may write until the pool is full: small pools refuse them the second half of their space otherwise. */
EXPORTED uint64_t
dsl_pool_adjustedsize(dsl_pool_t *pool, zfs_space_check_t policy)
{
	return (LIBRARY(dsl_pool_adjustedsize)(pool, no_slop ? ZFS_SPACE_CHECK_NONE : policy));
}

/* From pass 2 on, a block that this transaction group has already written is rewritten in place: it has addresses. */
EXPORTED void
zio_checksum_compute(zio_t *zio, enum zio_checksum checksum, abd_t *abd, uint64_t size)
{
	const blkptr_t *bp = zio->io_bp;
	if (event_log != NULL && zio->io_type == ZIO_TYPE_WRITE && bp != NULL && zio->io_logical == zio &&
	    BP_GET_LOGICAL_BIRTH(bp) == zio->io_txg && DVA_IS_VALID(&bp->blk_dva[0])) {
		pthread_mutex_lock(&log_lock);
		log_block('R', zio, zio->io_txg, size, 0, bp);
		pthread_mutex_unlock(&log_lock);
	}
	LIBRARY(zio_checksum_compute)(zio, checksum, abd, size);
}

EXPORTED void
metaslab_free_concrete(vdev_t *vdev, uint64_t offset, uint64_t asize, boolean_t checkpoint)
{
	pthread_mutex_lock(&log_lock);
	if (event_log != NULL)
		log_free((struct free) { spa_syncing_txg(vdev->vdev_spa), vdev->vdev_id, offset, asize,
		    spa_sync_pass(vdev->vdev_spa) });
	LIBRARY(metaslab_free_concrete)(vdev, offset, asize, checkpoint);
	pthread_mutex_unlock(&log_lock);
}

/* An allocation that is taken back at once, because a further copy found no room. `metaslab_alloc` holds the lock. */
EXPORTED void
metaslab_unalloc_dva(spa_t *spa, const dva_t *dva, uint64_t txg)
{
	if (event_log != NULL) {
		write_frees(txg, spa_sync_pass(spa));
		fprintf(event_log, "U %llu", (u_longlong_t)txg);
		log_dva(dva);
		fprintf(event_log, "\n");
	}
	LIBRARY(metaslab_unalloc_dva)(spa, dva, txg);
}

/* A vdev joins the ring of its class. */
EXPORTED void
metaslab_group_activate(metaslab_group_t *group)
{
	pthread_mutex_lock(&log_lock);
	LIBRARY(metaslab_group_activate)(group);
	if (event_log != NULL && group == group->mg_vd->vdev_mg)
		fprintf(event_log, "G %llu\n", (u_longlong_t)group->mg_vd->vdev_id);
	pthread_mutex_unlock(&log_lock);
}

/* Called once for each top-level vdev (and once for its log metaslab) at the end of a transaction group. */
EXPORTED void
metaslab_sync_reassess(metaslab_group_t *group)
{
	LIBRARY(metaslab_sync_reassess)(group);
	vdev_t *vdev = group->mg_vd;
	if (event_log == NULL || group != vdev->vdev_mg)
		return;
	pthread_mutex_lock(&log_lock);
	write_frees(0, 0);
	fprintf(event_log, "E %llu %llu %lld %llu", (u_longlong_t)spa_syncing_txg(vdev->vdev_spa),
	    (u_longlong_t)vdev->vdev_id, (longlong_t)group->mg_fragmentation, (u_longlong_t)vdev->vdev_stat.vs_alloc);
	for (uint64_t m = 0; m < vdev->vdev_ms_count; m++)
		fprintf(event_log, " %llu:%lld", (u_longlong_t)metaslab_allocated_space(vdev->vdev_ms[m]),
		    (longlong_t)vdev->vdev_ms[m]->ms_fragmentation);
	fprintf(event_log, "\n");
	pthread_mutex_unlock(&log_lock);
}

/* ---- Repeatable runs ---- */

/*
 * Blocks are allocated in the order in which the threads of a queue get to them. File vdevs have a queue of their own,
 * whose threads wait for emulated drives: a driver takes as many commands as vdev queues send.
 */
EXPORTED taskq_t *
taskq_create(const char *name, int threads, pri_t priority, int least, int most, uint_t flags)
{
	if (one_thread) {
		threads = 1;
		flags &= ~TASKQ_THREADS_CPU_PCT;
	}
	int is_drives = strcmp(name, "z_vdev_file") == 0;
	if (positioning_us != 0 && is_drives)
		threads = DRIVE_THREADS;
	taskq_t *queue = LIBRARY(taskq_create)(name, threads, priority, least, most, flags);
	if (is_drives)
		drive_queue = queue;
	return (queue);
}

EXPORTED int
random_get_pseudo_bytes(uint8_t *bytes, size_t length)
{
	static uint64_t state;
	if (!one_thread)
		return (LIBRARY(random_get_pseudo_bytes)(bytes, length));
	while (length-- > 0)
		*bytes++ = splitmix64(&state);
	return (0);
}

/* Times of creation are stored, and how well blocks compress depends on them. */
EXPORTED int
clock_gettime(clockid_t clock, struct timespec *time)
{
	if (!one_thread || clock != CLOCK_REALTIME)
		return (syscall(SYS_clock_gettime, clock, time));
	*time = (struct timespec) { 1700000000, 0 };
	return (0);
}

/* ---- Commands of the drives: what leaves the vdev queues ---- */

static struct { uint64_t commands, bytes; } io[2];	/* reads, writes */
#define	MOST_UNDER_WAY	128
static struct drive {
	pthread_mutex_t lock;				/* all zeros is an unlocked mutex */
	uint64_t free_ns;				/* when it is done with all it has */
	off_t end;					/* where its last command ends */
	struct { off_t offset; uint64_t done_ns; } under_way[MOST_UNDER_WAY];
} emulated[1024];					/* by file descriptor */

static uint64_t
now_ns(void)
{
	struct timespec time;
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
	return (time.tv_sec * 1000000000ULL + time.tv_nsec);
}

/*
 * A drive with one arm takes its commands in the order in which its vdev queue sends them, which is not that in which
 * threads get to them.
 */
static void
start_command(int fd, size_t length, off_t offset)
{
	struct drive *drive = &emulated[fd % 1024];
	int place = 0;
	pthread_mutex_lock(&drive->lock);
	while (place < MOST_UNDER_WAY && drive->under_way[place].done_ns != 0)
		place++;
	VERIFY(place < MOST_UNDER_WAY);
	uint64_t overhead_us = command_us + (offset == drive->end ? 0 : positioning_us);
	uint64_t transfer_ns = length * 1000 / megabytes_a_second;
	drive->free_ns = MAX(now_ns(), drive->free_ns) + overhead_us * 1000 + transfer_ns;
	drive->end = offset + length;
	drive->under_way[place].offset = offset;
	drive->under_way[place].done_ns = drive->free_ns;
	pthread_mutex_unlock(&drive->lock);
}

/* Waits until a command is done that was started. */
static void
drive_command(int fd, int direction, size_t length, off_t offset)
{
	__atomic_add_fetch(&io[direction].commands, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&io[direction].bytes, length, __ATOMIC_RELAXED);
	struct drive *drive = &emulated[fd % 1024];
	uint64_t done_ns = 0;
	pthread_mutex_lock(&drive->lock);
	for (int place = 0; place < MOST_UNDER_WAY && done_ns == 0; place++) {
		if (drive->under_way[place].done_ns != 0 && drive->under_way[place].offset == offset) {
			done_ns = drive->under_way[place].done_ns;
			drive->under_way[place].done_ns = 0;
		}
	}
	pthread_mutex_unlock(&drive->lock);
	struct timespec until = { done_ns / 1000000000, done_ns % 1000000000 };
	while (done_ns != 0 && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

EXPORTED taskqid_t
taskq_dispatch(taskq_t *queue, task_func_t function, void *argument, uint_t flags)
{
	zio_t *zio = argument;
	if (positioning_us != 0 && queue == drive_queue &&
	    (zio->io_type == ZIO_TYPE_READ || zio->io_type == ZIO_TYPE_WRITE)) {
		vdev_file_t *file = zio->io_vd->vdev_tsd;
		start_command(file->vf_file->f_fd, zio->io_size, zio->io_offset);
	}
	return (LIBRARY(taskq_dispatch)(queue, function, argument, flags));
}

/* Not `pwrite64`: the library divides each write at random into two calls of it, to test what survives a crash. */
EXPORTED int
zfs_file_pwrite(zfs_file_t *file, const void *data, size_t length, loff_t offset, ssize_t *left)
{
	drive_command(file->f_fd, 1, length, offset);
	return (LIBRARY(zfs_file_pwrite)(file, data, length, offset, left));
}

EXPORTED int
zfs_file_pread(zfs_file_t *file, void *data, size_t length, loff_t offset, ssize_t *left)
{
	drive_command(file->f_fd, 0, length, offset);
	return (LIBRARY(zfs_file_pread)(file, data, length, offset, left));
}

void
reset_io(void)
{
	memset(io, 0, sizeof (io));
}

void
print_io(const char *phase)
{
	printf("%s read_commands %llu read_bytes %llu write_commands %llu write_bytes %llu\n", phase,
	    (u_longlong_t)io[0].commands, (u_longlong_t)io[0].bytes, (u_longlong_t)io[1].commands,
	    (u_longlong_t)io[1].bytes);
}
