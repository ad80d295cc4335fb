/*
 * Cases of several nodes together, as one node carries out its part: it starts the ranks of its own
 * devices in a world over TCP (measure/processes/world_tcp.h). The node that leads, which has rank
 * 0, appends each case to DIR/nodes/NAME/groups.jsonl, a line as in a journal, and keeps the time
 * limits of cases. An error is a partial case there, which --resume repeats: the leader cannot know
 * whether it is one of the case, or of a run that is being ended elsewhere.
 */
#ifndef GPUPROOF_RUN_GROUP_H
#define GPUPROOF_RUN_GROUP_H

#include "measure/processes/world_tcp.h"
#include "plan/plan.h"
#include "result/result.h"

#define GROUP_JOURNAL_NAME "groups.jsonl"
/* Findings about adapters after the node's latest group: a line "subject<tab>text" each. */
#define GROUP_ADAPTERS_NAME "adapters.txt"
/* Choices of NCCL on the node (device/ranks/network_log.h), a line for each that a rank saw. */
#define GROUP_NETWORKS_NAME "networks.txt"

/*
 * The devices of the nodes `names`, from their journals in DIR/nodes, as plan_build_group() takes
 * them. Freed by the caller.
 */
enum status run_group_devices(const char *directory, const char *const *names, size_t name_count,
			      struct device_info **out, size_t *count, struct error *err);

struct group_part {
	const struct plan *plan;
	size_t first, last; /* cases of the plan */
	const char *path;   /* of groups.jsonl of this node */
	int log;
	int networks;     /* file for the ranks' choices of network; -1: none */
	const char *host; /* numeric address of this node */
	int node;         /* its place in the group; 0 leads */
	/* the leader: its ranks listen at `address`, which the other nodes need */
	void (*listening)(void *context, const struct world_tcp_address *address);
	void *context;
	struct world_tcp_address address; /* of the leader; on the other nodes */
};

/*
 * Carries the part out. STATUS_OK when all ranks of this node ended as they should; else err says
 * which did not, with its device. STATUS_LOST: only because a rank of another node had.
 */
enum status group_run(const struct group_part *part, struct error *err);

/*
 * Writes the current findings about the node's adapters to DIR/adapters.txt: those in the node's
 * own result are older, from before its cases with other nodes.
 */
void run_group_note_adapters(const char *directory);
/* Replaces the texts of these findings in result->postflight by those of DIR/adapters.txt. */
void run_group_take_adapters(const char *directory, struct result *result);

/* The choices in DIR/networks.txt as a fact of result->environment. */
void run_group_take_networks(const char *directory, struct result *result);

/* Why a case of several nodes has no result, and where it failed. */
struct group_fault {
	enum case_end end;
	int rank;         /* of its ranks; -1: unknown */
	const char *node; /* NULL: that of the rank */
	const char *reason;
};
/* The case `index` of a plan without a result: SKIPPED where it ends as unsupported, else ERROR. */
void run_group_unrun(const struct plan *plan, size_t index, const struct group_fault *why,
		     struct case_result *out);
/*
 * Appends the cases of a groups.jsonl to `result`, beginning at byte *offset, and sets *offset to
 * the end of the last line. With `errors`, includes cases that ended in an error. Leaves out
 * damaged lines and interrupted cases. A missing file has no cases.
 */
void run_group_read(const char *path, size_t *offset, bool errors, struct result *result);

#endif
