/*
 * LD_PRELOAD=slow_node.so SLOW_NODE=n3: the node of that name takes milliseconds to send what is
 * longer than a control message, as over a link that has lost its speed. HUNG_NODE=n3: it never
 * sends it.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define LONG_BYTES 16384

static int is_this(const char *variable)
{
	const char *me = getenv("GPUPROOF_AGENT_NODE"), *name = getenv(variable);

	return me && name && strcmp(me, name) == 0;
}

ssize_t send(int fd, const void *bytes, size_t count, int flags)
{
	static ssize_t (*next)(int, const void *, size_t, int);
	const struct timespec pause = { .tv_nsec = 20000000 };

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "send");
	if (count > LONG_BYTES && is_this("SLOW_NODE"))
		nanosleep(&pause, NULL);
	while (count > LONG_BYTES && is_this("HUNG_NODE"))
		nanosleep(&pause, NULL);
	return next(fd, bytes, count, flags);
}
