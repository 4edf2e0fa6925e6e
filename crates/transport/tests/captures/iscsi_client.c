/* An iSCSI initiator that copies between a local file and LUN 1, built on libiscsi.
 *
 * Every SCSI command transfers OPERATION_BYTES, one command at a time, from block 0 on. The command line sets what
 * libiscsi offers at login; the capture shows what was negotiated.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <iscsi/iscsi.h>
#include <iscsi/scsi-lowlevel.h>

enum { LUN = 1, BLOCK_BYTES = 512 };

static unsigned max_recv_data_segment_bytes;

/* libiscsi has no call to set MaxRecvDataSegmentLength; it prints the key into the login request with snprintf. The
 * executable's definition takes precedence over libc's, so this one sees that call and puts the wanted value in.
 */
int __snprintf_chk(char *text, size_t size, int flag, size_t object_size, const char *format, ...)
{
	(void)flag;
	(void)object_size;
	va_list arguments;
	va_start(arguments, format);
	const int is_key = strncmp(format, "MaxRecvDataSegmentLength=", 25) == 0;
	const int length = is_key ? snprintf(text, size, "MaxRecvDataSegmentLength=%u", max_recv_data_segment_bytes)
				  : vsnprintf(text, size, format, arguments);
	va_end(arguments);
	return length;
}

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "iscsi_client: %s: %s\n", what, why);
	exit(1);
}

static int is_yes(const char *value)
{
	if (strcmp(value, "Yes") != 0 && strcmp(value, "No") != 0)
		fail(value, "expected Yes or No");
	return strcmp(value, "Yes") == 0;
}

static void read_file(int file, unsigned char *buffer, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = read(file, buffer + done, bytes - done);
		if (n <= 0)
			fail("local file", "shorter than the transfer");
		done += (size_t)n;
	}
}

static void write_file(int file, const unsigned char *buffer, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = write(file, buffer + done, bytes - done);
		if (n <= 0)
			fail("local file", "cannot write");
		done += (size_t)n;
	}
}

int main(int argc, char **argv)
{
	if (argc != 11) {
		fprintf(stderr, "usage: iscsi_client PORTAL TARGET read|write FILE TOTAL_BYTES OPERATION_BYTES "
				"INITIAL_R2T IMMEDIATE_DATA HEADER_DIGEST MAX_RECV_DATA_SEGMENT_BYTES\n"
				"INITIAL_R2T, IMMEDIATE_DATA: Yes or No; HEADER_DIGEST: None or CRC32C\n");
		return 2;
	}
	const char *portal = argv[1], *target = argv[2];
	const int writes = strcmp(argv[3], "write") == 0;
	const char *path = argv[4];
	const uint64_t total_bytes = strtoull(argv[5], NULL, 10);
	const uint32_t operation_bytes = (uint32_t)strtoul(argv[6], NULL, 10);
	max_recv_data_segment_bytes = (unsigned)strtoul(argv[10], NULL, 10);
	if (operation_bytes == 0 || operation_bytes % BLOCK_BYTES != 0 || total_bytes % operation_bytes != 0)
		fail("sizes", "need whole blocks and whole operations");

	struct iscsi_context *iscsi = iscsi_create_context("iqn.2000-01.example:initiator");
	unsigned char *buffer = malloc(operation_bytes);
	if (!iscsi || !buffer)
		fail("memory", "none left");
	iscsi_set_targetname(iscsi, target);
	iscsi_set_session_type(iscsi, ISCSI_SESSION_NORMAL);
	iscsi_set_isid_en(iscsi, 1, 0); /* a fixed identifier keeps the login the same from run to run */
	iscsi_set_initial_r2t(iscsi, is_yes(argv[7]) ? ISCSI_INITIAL_R2T_YES : ISCSI_INITIAL_R2T_NO);
	iscsi_set_immediate_data(iscsi, is_yes(argv[8]) ? ISCSI_IMMEDIATE_DATA_YES : ISCSI_IMMEDIATE_DATA_NO);
	iscsi_set_header_digest(iscsi, strcmp(argv[9], "CRC32C") == 0 ? ISCSI_HEADER_DIGEST_CRC32C
								      : ISCSI_HEADER_DIGEST_NONE);
	if (iscsi_full_connect_sync(iscsi, portal, LUN) != 0)
		fail("login", iscsi_get_error(iscsi));

	int file = writes ? open(path, O_RDONLY) : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (file < 0)
		fail(path, "cannot open");
	for (uint64_t offset = 0; offset < total_bytes; offset += operation_bytes) {
		const uint32_t block = (uint32_t)(offset / BLOCK_BYTES);
		struct scsi_task *task;
		if (writes) {
			read_file(file, buffer, operation_bytes);
			task = iscsi_write10_sync(iscsi, LUN, block, buffer, operation_bytes, BLOCK_BYTES, 0, 0, 0, 0, 0);
		} else {
			task = iscsi_read10_sync(iscsi, LUN, block, operation_bytes, BLOCK_BYTES, 0, 0, 0, 0, 0);
		}
		if (!task || task->status != SCSI_STATUS_GOOD)
			fail("command", iscsi_get_error(iscsi));
		if (!writes) {
			if ((uint32_t)task->datain.size != operation_bytes)
				fail("read", "fewer bytes than asked for");
			write_file(file, task->datain.data, operation_bytes);
		}
		scsi_free_scsi_task(task);
	}
	close(file);
	iscsi_logout_sync(iscsi);
	iscsi_destroy_context(iscsi);
	free(buffer);
	return 0;
}
