/*
 * The threads of a stream that share one operation's work. Parts are taken by whoever is free, the
 * stream's own thread included: a helper that the OS does not run in time costs nothing, since the
 * others take its part. Helpers wait as streams do, so an idle team costs nothing.
 */
#ifndef GPUPROOF_HOST_TEAM_H
#define GPUPROOF_HOST_TEAM_H

#include <stdint.h>

struct share;
struct team;

typedef void team_part_fn(void *context, unsigned part, unsigned parts);

/* Starts threads - 1 helpers bound to the share; fewer when the OS refuses. */
struct team *team_new(const struct share *share, unsigned threads);
void team_free(struct team *team); /* NULL is allowed */

/* Calls `run` once for each part, 0 to parts - 1, and returns when all are done. */
void team_run(struct team *team, unsigned parts, team_part_fn *run, void *context);

#endif
