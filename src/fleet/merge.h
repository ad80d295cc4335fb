/* The results of several nodes as one. */
#ifndef GPUPROOF_FLEET_MERGE_H
#define GPUPROOF_FLEET_MERGE_H

#include "plan/config.h"
#include "result/result.h"

/*
 * Adds the summary of what DIR/nodes/NAME holds to `result` for each of its nodes: devices and
 * cases, which get the node's name, presentations, findings; facts of the environment in which all
 * nodes agree, and findings about those in which one differs from most (drift.h). A
 * node that is not NODE_OK or NODE_INTERRUPTED is read from its journal: what it had finished
 * counts. Sets planned and finished of the nodes. What cannot be read makes a node NODE_ERROR.
 *
 * Samples and timelines stay in the nodes' folders, so that the cases of 10,000 nodes can be in
 * memory at once. `before`, if not NULL: a result of the run, which gives the cases of the nodes
 * for which kept[index] is true: they have not changed.
 */
void fleet_merge(struct result *result, struct result *before, const bool *kept,
		 const struct config *config, const char *directory);

/* DIR/nodes/NAME/summary.json: the node's result without samples, for the conductor to merge. */
char *merge_summary_path(const char *directory, const char *name);

/*
 * DIR/nodes/NAME/confirm: ids of the node's cases, one per line, that it is to measure again; the
 * node removes it afterwards. Malloc'ed.
 */
char *merge_confirm_path(const char *directory, const char *name);

/* True if the node's result.json in DIR/nodes/NAME is that of a whole run, with nothing to do. */
bool merge_node_whole(const char *directory, const char *name);

#endif
