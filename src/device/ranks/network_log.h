/*
 * NCCL's choice of network, which only its log contains: the transport, the adapters, and whether
 * the adapter accesses GPU memory (GPUDirect RDMA). The log of a process is written to memory
 * instead of a file.
 */
#ifndef GPUPROOF_DEVICE_RANKS_NETWORK_LOG_H
#define GPUPROOF_DEVICE_RANKS_NETWORK_LOG_H

#include <stddef.h>

/*
 * Call before NCCL's first call in this process: sets NCCL_DEBUG, NCCL_DEBUG_SUBSYS and
 * NCCL_DEBUG_FILE. Does nothing if one of them is set: the user wants that log.
 */
void network_log_open(void);

/* Connections to other nodes, and those of them with GPUDirect RDMA. */
struct network_connections {
	size_t all, direct;
};

/* Counts the connections of this process so far; 0: unknown, or none. */
struct network_connections network_log_connections(void);

/*
 * The choices of this process so far: "NET/IB over mlx5_0:1/IB, GPUDirect RDMA". NULL: no log, or
 * no connection to another node. The caller frees the string.
 */
char *network_log_choice(void);

/* As network_log_choice(), for `length` bytes of a log; knows the lines of releases 2.4 to 2.28. */
char *network_log_choice_text(const char *log, size_t length);
struct network_connections network_log_connections_text(const char *log, size_t length);

#endif
