/*
 * What one case of the suite leaves to the next one in the same process: streams with the products that were searched on
 * them, and communicators. Opening them takes longer than many a case.
 */
#ifndef GPUPROOF_PARALLEL_KEEP_H
#define GPUPROOF_PARALLEL_KEEP_H

#include "suites/parallel/team.h"

struct network;

/* As team_open_over(), with what is kept where it fits. Collective: all ranks have kept the same. */
enum status keep_team_open(struct team *team, struct device *device, struct world *world,
			   enum transport transport, int multiprocessors, struct error *err);
/* Keeps the team's streams and its communicator of all ranks; closes the rest. All ranks or none, after a success. */
void keep_team(struct team *team);

/* Forgets and closes everything; while the device is open. */
void keep_nothing(void);

#endif
