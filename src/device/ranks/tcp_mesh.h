/*
 * Connections between the ranks of a communicator on several nodes, one for each two, over which a
 * rank's process sends and receives bytes. Rank 0 listens and tells all where the others do; a rank
 * identifies itself by the token of the communicator's id. Every wait has a deadline.
 */
#ifndef GPUPROOF_DEVICE_RANKS_TCP_MESH_H
#define GPUPROOF_DEVICE_RANKS_TCP_MESH_H

#include <stddef.h>

#include "base/error.h"

struct communicator_id;

/*
 * Sets the numeric address at which ranks on other nodes reach this machine, before any id is made.
 * Without a call: loopback, for ranks of this machine.
 */
void tcp_mesh_host(const char *address);
/*
 * Listens, in the process of rank 0 or before it is forked; the id says where, and has the token.
 */
enum status tcp_mesh_id(struct communicator_id *out, struct error *err);

/*
 * Connects `size` ranks; peers[rank] becomes the connection with each other one (-1: the own
 * place). STATUS_TIMEOUT names a rank that did not come within `seconds`.
 */
enum status tcp_mesh_open(const struct communicator_id *id, int rank, int size, double seconds,
			  int *peers, struct error *err);
void tcp_mesh_close(int *peers, int size);

/* All bytes within `seconds` each; STATUS_TIMEOUT and STATUS_DEVICE (the peer has gone) else. */
enum status tcp_mesh_send(int fd, const void *from, size_t bytes, double seconds,
			  struct error *err);
enum status tcp_mesh_receive(int fd, void *to, size_t bytes, double seconds, struct error *err);

#endif
