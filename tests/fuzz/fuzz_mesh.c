/*
 * Hellos that the ranks of a mesh over TCP receive. A function of its file alone reads them, so
 * that the file is part of this one.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "memory_socket.h"

#include "device/ranks/tcp_mesh.c"

#define RANKS 3
#define FIRST_FD 1000

/* One after another, as they come from callers; this rank is 0, and its token is zero. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_address table[RANKS] = { 0 };
	struct mesh_hello said, mine = { .rank = 0 };
	int peers[RANKS] = { -1, -1, -1 }, fd = FIRST_FD;

	for (; size >= sizeof(said); data += sizeof(said), size -= sizeof(said)) {
		memcpy(&said, data, sizeof(said));
		tcp_mesh_admit_peer(fd++, &said, &mine, 1, RANKS, peers, table);
	}
	if (peers[0] != -1)
		abort();
	for (int rank = 1; rank < RANKS; rank++)
		if (peers[rank] != -1 && (peers[rank] < FIRST_FD || peers[rank] >= fd))
			abort();
	tcp_mesh_close(peers, RANKS);
	return 0;
}
