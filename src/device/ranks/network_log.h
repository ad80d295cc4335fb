/*
 * NCCL's choice of network, which it tells in its log alone: the transport, the adapters, and
 * whether the adapter reads and writes GPU memory (GPUDirect RDMA). The log of a process goes into
 * memory instead of a file.
 */
#ifndef GPUPROOF_DEVICE_RANKS_NETWORK_LOG_H
#define GPUPROOF_DEVICE_RANKS_NETWORK_LOG_H

#include <stddef.h>

/*
 * Before NCCL's first call in this process: sets NCCL_DEBUG, NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE.
 * Does nothing where one of them is set already: that log is the user's.
 */
void network_log_open(void);

/* Connections to other nodes, and those of them with GPUDirect RDMA. */
struct network_connections {
	size_t all, direct;
};

/* Counts those of this process so far; 0: nothing is known, or there are none. */
struct network_connections network_log_connections(void);

/*
 * Gives what this process has chosen so far: "NET/IB over mlx5_0:1/IB, GPUDirect RDMA". Malloc'ed;
 * NULL: nothing is known, for there is no log, or no connection to another node.
 */
char *network_log_choice(void);

/* The same of `length` bytes of a log; lines of the releases 2.4 to 2.28. */
char *network_choice(const char *log, size_t length);
struct network_connections network_connections(const char *log, size_t length);

#endif
