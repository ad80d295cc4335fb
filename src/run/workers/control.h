/*
 * State that the conductor and the worker in flight exchange at any time, in shared memory; results
 * go through the pipe (message.h), and a rank's last word is its exit code. Made by the conductor
 * before the first fork().
 */
#ifndef GPUPROOF_RUN_WORKERS_CONTROL_H
#define GPUPROOF_RUN_WORKERS_CONTROL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct activity; /* measure/activity.h */
struct control;

enum status control_open(struct control **out, struct error *err);
void control_close(struct control *control); /* NULL is allowed */

/* By the conductor: finish the sample, then no further cases. Workers read the flag. */
void control_stop(struct control *control);
const volatile sig_atomic_t *control_stop_flag(const struct control *control);

/* By the conductor: no concurrent groups (any more), because one of them died; or groups again. */
void control_ban_groups(struct control *control, bool banned);
bool control_groups_banned(const struct control *control);

/*
 * By rank 0: `cases` of a concurrent group, 1: one case, are in flight; the log's end is where
 * their words begin.
 */
void control_begin(struct control *control, size_t cases, off_t log_end);
/* By rank 0: from now on one after the other gets its result. */
void control_settles(struct control *control);
size_t control_in_flight(const struct control *control);

/*
 * Offset in the log at which the output of the case in flight begins; set by the conductor when a
 * team starts.
 */
void control_mark_log(struct control *control, off_t log_end);
off_t control_log_mark(const struct control *control);

/* Activity of the case in flight. */
struct activity *control_activity(struct control *control);

#endif
