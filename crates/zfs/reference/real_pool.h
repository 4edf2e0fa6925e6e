#pragma once
#include <sys/zfs_context.h>
#include <sys/spa.h>
#include <sys/dmu.h>

extern FILE *event_log;		/* where allocations and frees are written, or NULL */
extern int one_thread;		/* each task queue has one thread, and random numbers repeat */
extern int no_slop;		/* hosts may write until the pool is full */
extern int positioning_us;	/* time a drive takes for a command that does not follow its last */
extern int command_us;		/* what any command takes then besides */
extern int megabytes_a_second;	/* what a drive transfers then */

/* Commands that drives got since the last reset. */
void reset_io(void);
void print_io(const char *phase);

static inline uint64_t
splitmix64(uint64_t *state)
{
	uint64_t z = (*state += 0x9E3779B97F4A7C15ULL);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
	return (z ^ (z >> 31));
}

/* Writes where every so many blocks of an object lie on the drives of a dRAID vdev, and the vdev's tables. */
void list_places(const char *path, objset_t *objset, uint64_t object, uint64_t object_bytes, uint64_t block_bytes,
    uint64_t every);
