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
/*
 * Keeps the team's streams and, if all ranks have room, its communicator of all of them; closes the rest. Collective, after
 * a success. After a failure: team_close() and keep_nothing(), for communicators know the streams that used them.
 */
void keep_team(struct team *team);

/* Forgets and closes everything; while the device is open. */
void keep_nothing(void);

#endif
