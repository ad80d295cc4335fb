/* Merges the results of several nodes into one. */
#ifndef GPUPROOF_FLEET_MERGE_H
#define GPUPROOF_FLEET_MERGE_H

#include "plan/config.h"
#include "result/result.h"

/*
 * Adds the summaries in DIR/nodes/NAME to `result` for each of its nodes: devices and cases, with
 * the node's name; presentations; findings; facts of the environment that all nodes share, and
 * findings about facts in which one node differs from most (drift.h). A node that is not NODE_OK or
 * NODE_INTERRUPTED is read from its journal, so its finished cases count. Sets planned and finished
 * of the nodes. A node that cannot be read becomes NODE_ERROR.
 *
 * Samples and timelines stay in the nodes' folders, so that the cases of 10,000 nodes fit into
 * memory. `before`, if not NULL, is a result of the run that provides the cases of the nodes with
 * kept[index]: they have not changed.
 */
void fleet_merge(struct result *result, struct result *before, const bool *kept,
		 const struct config *config, const char *directory);

/*
 * DIR/nodes/NAME/summary.json: the node's result without samples, for the conductor to merge. The
 * caller frees it.
 */
char *fleet_summary_path(const char *directory, const char *name);

/*
 * DIR/nodes/NAME/confirm: ids of the node's cases to measure again, one per line; the node removes
 * the file afterwards. The caller frees it.
 */
char *fleet_confirm_path(const char *directory, const char *name);

/* True if the node's result.json in DIR/nodes/NAME belongs to a complete run. */
bool fleet_node_whole(const char *directory, const char *name);

#endif
