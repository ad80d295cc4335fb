/*
 * A world over TCP, for ranks on several nodes. The process of rank 0 runs a hub in a thread; all
 * ranks connect to it, including its own. An exchange is one message from each rank and the
 * messages of all to each: one connection per rank, two hops per exchange.
 *
 * A rank proves itself with the world's token, 256 random bits, which must be passed on a channel
 * that others cannot read (the environment, never the command line). Every wait has a timeout: a
 * rank that does not connect, closes its connection or misses an exchange ends the world, and every
 * other rank learns which one it was. TCP keep-alive detects a machine that dies silently.
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_WORLD_TCP_H
#define GPUPROOF_MEASURE_PROCESSES_WORLD_TCP_H

#include "measure/processes/world.h"
#include "net/net.h"

#define WORLD_TOKEN_BYTES 32

struct world_tcp_options {
	/* numeric address to listen on; NULL: loopback, only ranks of this node */
	const char *host;
	double join_seconds;   /* time for all ranks to connect; 0: 30 */
	double silent_seconds; /* time a rank may be missing while others wait for it; 0: 600 */
};

/* Connection data for ranks on other nodes; the token is secret. */
struct world_tcp_address {
	char host[NET_HOST_SIZE]; /* numeric */
	int port;
	uint64_t id;
	unsigned char token[WORLD_TOKEN_BYTES];
};

/*
 * Call on the node of rank 0 before fork(), like world_create(): listens. Fills `address` (NULL:
 * not needed).
 */
enum status world_tcp_create(struct world *world, int size, const struct world_tcp_options *options,
			     struct world_tcp_address *address, struct error *err);
/*
 * Call on the other nodes before fork(). Connects nothing yet: each rank connects with its first
 * call.
 */
enum status world_tcp_attach(struct world *world, int size, const struct world_tcp_options *options,
			     const struct world_tcp_address *address, struct error *err);

#endif
