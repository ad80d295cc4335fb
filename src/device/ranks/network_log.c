#include "device/ranks/network_log.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

struct choice {
	char network[64];             /* of the connections: "IB", "Socket", "AWS Libfabric" */
	struct text adapters;         /* "mlx5_0:1/IB, mlx5_1:1/IB" */
	struct text sockets;          /* interfaces of sockets: "eth0" */
	size_t connections, directly; /* connections over the network; those with GPUDirect RDMA */
	bool nvlink;                  /* between nodes */
	char why_not[96];             /* why there is no GPUDirect RDMA */
};

static int log_file = -1;

void network_log_open(void)
{
	char path[64];

	if (log_file >= 0 || getenv("NCCL_DEBUG") || getenv("NCCL_DEBUG_FILE") ||
	    getenv("NCCL_DEBUG_SUBSYS"))
		return;
	log_file = memfd_create("nccl", MFD_CLOEXEC);
	if (log_file < 0)
		return;
	snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), log_file);
	setenv("NCCL_DEBUG", "INFO", 1);
	setenv("NCCL_DEBUG_SUBSYS", "INIT,NET", 1);
	setenv("NCCL_DEBUG_FILE", path, 1);
}

/* Parses " ... [send] via NET/IB/0/GDRDMA", "via NET/AWS Libfabric/2(1)/GDRDMA/Shared". */
static void network_log_take_connection(struct choice *c, const char *line)
{
	const char *name = strstr(line, " via NET/"), *end;

	c->nvlink = c->nvlink || strstr(line, " via P2P/MNNVL");
	if (!name)
		return;
	name += strlen(" via NET/");
	end = name;
	while (*end && !(*end == '/' && isdigit((unsigned char)end[1])))
		end++;
	if (*end == '\0')
		return;
	snprintf(c->network, sizeof(c->network), "%.*s", (int)(end - name), name);
	c->connections++;
	c->directly += strstr(end, "/GDRDMA") != NULL;
}

/*
 * Parses "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB ib0:10.0.0.1<0>"; for Socket
 * "[0]eth0:10.0.0.1<0>".
 */
static void network_log_take_adapters(struct text *adapters, const char *list, bool socket)
{
	adapters->length = 0;
	for (const char *at = list; *at && *at != ';';) {
		size_t length = strcspn(at, " ;"), skip = strcspn(at, "]") + 1;

		if (at[0] == '[' && isdigit((unsigned char)at[1]) && skip < length)
			text_addf(adapters, "%s%.*s", adapters->length ? ", " : "",
				  (int)(socket ? strcspn(at + skip, ":") : length - skip),
				  at + skip);
		at += length;
		at += strspn(at, " ");
	}
}

static char *network_log_choice_describe(const struct choice *c)
{
	bool socket = strcmp(c->network, "Socket") == 0;
	const struct text *adapters = socket ? &c->sockets : &c->adapters;
	/* Sockets never use it. */
	const char *why_not = c->directly || socket ? "" : c->why_not;
	const char *over = adapters->length ? adapters->data : "unknown adapters";

	if (!c->connections)
		return c->nvlink ? xstrdup("NVLink between nodes") : NULL;
	return xasprintf("NET/%s over %s, %s%s%s%s", c->network, over,
			 c->directly == 0                ? "no GPUDirect RDMA"
			 : c->directly == c->connections ? "GPUDirect RDMA"
							 : "GPUDirect RDMA in some connections",
			 why_not[0] ? ": " : "", why_not,
			 c->nvlink ? "; NVLink between some nodes" : "");
}

static void network_log_choice_read(struct choice *c, const char *log, size_t length)
{
	char *copy = xstrndup(log, length), *rest = copy, *line;

	*c = (struct choice){ 0 };
	while ((line = strsep(&rest, "\n"))) {
		const char *said = strstr(line, "NCCL INFO "), *list, *refusal;

		if (!said)
			continue;
		said += strlen("NCCL INFO ");
		refusal = strstr(said, "GPU Direct RDMA Disabled for ");
		list = strstr(said, " : Using [");
		if (list)
			list += strlen(" : Using ");
		if (text_starts_with(said, "Channel ") || text_starts_with(said, "Ring "))
			network_log_take_connection(c, said);
		else if (list && text_starts_with(said, "NET/Socket"))
			network_log_take_adapters(&c->sockets, list, true);
		else if (list && text_starts_with(said, "NET/"))
			network_log_take_adapters(&c->adapters, list, false);
		/* "... for GPU 42000 / HCA 0 (distance 6 > 4)", "... for HCA 0 'mlx5_0'" */
		else if (refusal && !c->why_not[0] && strchr(refusal, '('))
			snprintf(c->why_not, sizeof(c->why_not), "%.*s of GPU and adapter",
				 (int)strcspn(strchr(refusal, '(') + 1, ")"),
				 strchr(refusal, '(') + 1);
		else if (refusal && !c->why_not[0])
			snprintf(c->why_not, sizeof(c->why_not),
				 "the adapters' driver does not support it");
	}
	free(copy);
}

struct network_choice network_log_choice_text(const char *log, size_t length)
{
	struct network_choice found;
	struct choice c;

	network_log_choice_read(&c, log, length);
	found = (struct network_choice){ c.connections, c.directly,
					 network_log_choice_describe(&c) };
	text_release(&c.adapters);
	text_release(&c.sockets);
	return found;
}

struct network_choice network_log_choice(void)
{
	off_t size = log_file < 0 ? 0 : lseek(log_file, 0, SEEK_END);
	char *log = xmalloc((size_t)(size > 0 ? size : 0));
	ssize_t got = size > 0 ? pread(log_file, log, (size_t)size, 0) : 0;
	struct network_choice found = network_log_choice_text(log, got > 0 ? (size_t)got : 0);

	free(log);
	return found;
}
