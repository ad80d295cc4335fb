/*
 * The page of a run on several nodes: the answer, the nodes to send back first with the evidence of
 * each, and each figure over all devices of the run with those that failed by name. Its size
 * depends on the findings, not on the number of nodes.
 */
#ifndef GPUPROOF_REPORT_FLEET_FLEET_PAGE_H
#define GPUPROOF_REPORT_FLEET_FLEET_PAGE_H

#include "report/page/report.h"
#include "result/verdict.h"

struct fleet_page {
	const struct result *result; /* with nodes; its judgement may be NULL */
	const char *run_page;        /* a link to the page with all measurements; NULL: none */
	const char *acceptance_page; /* to the page with all checks; NULL: none */
};

/*
 * Writes the page to options->output, with report.css in the same folder for separate_css. Of
 * `options` the title, template_dir and separate_css count.
 */
enum status fleet_page_write(const struct fleet_page *fleet, const struct report_options *options,
			     struct error *err);

/* A device with the worst check against it; borrows from the result. */
struct fleet_device_verdict {
	const struct device_info *info;
	bool judged;
	const struct verdict_check *worst; /* NULL: nothing is bad */
};

/* A node with its verdict and its cases; borrows from the result. */
struct fleet_node {
	const struct result_node *node;
	/* judged: PASS, WARN or FAIL; bad: checks that count against the node */
	size_t devices, checks, judged, passed, bad;
	size_t wrong_cases, error_cases;
	const struct verdict_check *worst; /* NULL: nothing is bad */
	struct fleet_device_verdict *gpus; /* `devices` of them, in the order of the result */
	/* of its worst device in each column of the heat map; NaN: not measured */
	double *deficits;
	const char *
		*failed; /* the device that failed in the column; "": all that it has; NULL: none */
	double deficit;  /* the largest of them */
};

struct fleet_nodes {
	struct fleet_node *items; /* in the order of the result */
	size_t count;
	struct fleet_node **by_name, **by_need; /* by_need: those to look at first */
	size_t figures;                         /* columns of the heat map */
	struct fleet_device_verdict *gpus;      /* of all nodes */
};

/* Parts: fleet_nodes.c, fleet_figures.c, fleet_pairs.c */
struct tree;
void fleet_nodes_collect(struct fleet_nodes *nodes, const struct result *result);
void fleet_nodes_release(struct fleet_nodes *nodes);
/* True if the node is to be looked at before it is used. */
bool fleet_node_is_suspect(const struct fleet_node *node);
/* True if something was judged, and nothing is against the node. */
bool fleet_node_is_cleared(const struct fleet_node *node);
/* The columns of the heat map, and a chart of each figure with failed devices. */
void fleet_figures(struct fleet_nodes *nodes, const struct result *result, struct tree *page);
/* A node's row of the heat map. */
void fleet_figures_node_cells(const struct fleet_node *node, size_t count, struct tree *cells);
/* "WRONG", "FAIL", "LOST", "OK", "NOT JUDGED" */
const char *fleet_node_word(const struct fleet_node *node);
/* Orders the nodes by need. Sets the map, the suspects, the worst first, and the table of nodes. */
void fleet_nodes_show(const struct fleet_nodes *nodes, const struct result *result,
		      struct tree *page);
/* The node whose name are the `length` characters at `name`; NULL: none. */
struct fleet_node *fleet_node_find(const struct fleet_nodes *nodes, const char *name,
				   size_t length);
/* Maps of pairs of nodes: the worst of a pair's figures as a share of the median of all pairs. */
void fleet_pairs(const struct fleet_nodes *nodes, const struct result *result, struct tree *page);

#endif
