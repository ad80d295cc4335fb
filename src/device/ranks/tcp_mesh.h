/*
 * TCP connections between the ranks of a communicator on several nodes, one per pair. Rank 0
 * listens and tells all ranks the addresses of the others; a rank proves itself with the token of
 * the communicator's id. Every wait has a deadline.
 */
#ifndef GPUPROOF_DEVICE_RANKS_TCP_MESH_H
#define GPUPROOF_DEVICE_RANKS_TCP_MESH_H

#include <stddef.h>

#include "base/error.h"

struct communicator_id;

/*
 * Sets the numeric address at which ranks on other nodes reach this machine; call it before
 * creating an id. Default: loopback, for ranks of this machine.
 */
void tcp_mesh_host(const char *address);
/*
 * Listens, in the process of rank 0 or before it is forked; the id contains the address and the
 * token.
 */
enum status tcp_mesh_id(struct communicator_id *out, struct error *err);

/*
 * Connects `size` ranks; peers[rank] becomes the connection to each other rank (-1 for itself).
 * STATUS_TIMEOUT names a rank that did not connect within `seconds`.
 */
enum status tcp_mesh_open(const struct communicator_id *id, int rank, int size, double seconds,
			  int *peers, struct error *err);
void tcp_mesh_close(int *peers, int size);

/*
 * Transfers all bytes. STATUS_TIMEOUT after `seconds`; STATUS_DEVICE if the peer has gone.
 */
enum status tcp_mesh_send(int fd, const void *from, size_t bytes, double seconds,
			  struct error *err);
enum status tcp_mesh_receive(int fd, void *to, size_t bytes, double seconds, struct error *err);

#endif
