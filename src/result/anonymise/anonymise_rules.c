/*
 * Strings of a result that may be published. A new string member needs a row here, or it is left
 * out. Use TREAT_KEEP only for text that no user, administrator or other program wrote.
 */
#include "result/anonymise/anonymise_rules.h"

#include <stddef.h>
#include <string.h>

const struct anonymise_rule anonymise_rules[] = {
	{ "", "format", TREAT_KEEP },
	{ "", "presentation", TREAT_WHOLE }, /* tables of the suites */
	{ "gpuproof", "version", TREAT_KEEP },
	{ "run", "started, finished, state", TREAT_KEEP },
	{ "run", "id", TREAT_NAME, "run" },
	{ "run", "label", TREAT_NAME, "label" },
	{ "run", "tags", TREAT_NAME, "tags" },
	{ "run", "command", TREAT_DROP }, /* rebuilt from the config's name */
	{ "config", "name", TREAT_FILE },
	{ "config", "text", TREAT_INI },
	{ "config.settings[]", "section", TREAT_SECTION },
	{ "config.settings[]", "key", TREAT_KEEP },
	{ "config.settings[]", "value", TREAT_VALUE },
	{ "config.settings[]", "origin", TREAT_FILE },
	{ "environment", "*", TREAT_FACT },
	{ "yardstick.*", "unit, better, interval, kind, series", TREAT_KEEP },
	{ "devices[]", "id, backend, module, name, vbios, capabilities, emulated_on", TREAT_KEEP },
	{ "devices[]", "uuid", TREAT_NAME, "uuid" },
	{ "devices[]", "serial", TREAT_NAME, "serial" },
	{ "devices[]", "pci", TREAT_NAME, "pci" },
	{ "nodes[]", "status", TREAT_KEEP },
	{ "nodes[]", "name", TREAT_NAME, "node" },
	{ "nodes[]", "reason", TREAT_TEXT },
	{ "nodes[]", "lost_at", TREAT_CASE },
	{ "phases[]", "name", TREAT_KEEP },
	{ "preflight[]", "severity, topic, device", TREAT_KEEP },
	{ "preflight[]", "node, other_node", TREAT_NAME, "node" },
	{ "preflight[]", "subject", TREAT_PLAIN },
	{ "preflight[]", "text", TREAT_TEXT },
	{ "postflight[]", "severity, topic, device", TREAT_KEEP },
	{ "postflight[]", "node, other_node", TREAT_NAME, "node" },
	{ "postflight[]", "subject", TREAT_PLAIN },
	{ "postflight[]", "text", TREAT_TEXT },
	{ "cases[]", "suite, stage, status, end, device, devices, failed_device, paths",
	  TREAT_KEEP },
	{ "cases[]", "parameters, parameter_text, parameter_units", TREAT_WHOLE },
	{ "cases[]", "label", TREAT_LABEL, "label" },
	{ "cases[]", "id", TREAT_CASE },
	{ "cases[]", "node, failed_node", TREAT_NAME, "node" },
	{ "cases[]", "reason", TREAT_TEXT },
	{ "cases[]", "notes", TREAT_DROP },
	{ "cases[].point[]", "axis, value", TREAT_KEEP },
	{ "cases[].metrics.*", "unit, better, interval, kind, series", TREAT_KEEP },
	{ "cases[].samples.*", "unit, stop", TREAT_KEEP },
	{ "cases[].samples.*.statistics", "noise", TREAT_KEEP },
	{ "cases[].timeline[]", "stream, operation", TREAT_KEEP },
	{ "cases[].verification", "method", TREAT_TEXT },
	{ "cases[].watches.*", "uuid", TREAT_NAME, "uuid" },
	{ "cases[].watches.*", "wrong_words", TREAT_TEXT },
	{ "cases[].watches.*.events[]", "work, expected, got", TREAT_KEEP },
	{ "cases[].watches.*.quantities.*", "unit", TREAT_KEEP },
	{ "cases[].energy_windows[]", "name", TREAT_KEEP },
	{ "cases[].phases[]", "name", TREAT_KEEP },
	{ "cases[].lost_workers[]", "devices", TREAT_KEEP },
	{ "cases[].lost_workers[]", "reason", TREAT_TEXT },
	{ "judgement", "verdict", TREAT_KEEP },
	{ "judgement", "sentence", TREAT_DROP }, /* rebuilt from the verdict */
	{ "judgement", "repeat", TREAT_ABSENT },
	{ "judgement", "reasons", TREAT_ABSENT }, /* rebuilt from the checks */
	{ "judgement", "limits", TREAT_FILE },
	{ "judgement", "limits_text", TREAT_INI },
	{ "judgement.devices[]", "device, model", TREAT_KEEP },
	{ "judgement.devices[]", "machine", TREAT_FILE },
	{ "judgement.devices[]", "uuid", TREAT_NAME, "uuid" },
	{ "judgement.devices[]", "serial", TREAT_NAME, "serial" },
	{ "judgement.devices[].aspects[]", "aspect, verdict", TREAT_KEEP },
	{ "judgement.devices[].aspects[]", "reason", TREAT_TEXT },
	{ "judgement.checks[]",
	  "verdict, aspect, cause, suite, devices, failed_device, model, metric, unit, comparison, "
	  "task, task_group, variant, reference_device",
	  TREAT_KEEP },
	{ "judgement.checks[]", "limit", TREAT_LABEL, "limit" },
	{ "judgement.checks[]", "case, point", TREAT_CASE }, /* a point is an id without devices */
	{ "judgement.checks[]", "machine", TREAT_FILE },
	{ "judgement.checks[]", "uuid", TREAT_NAME, "uuid" },
	{ "judgement.checks[]", "bound_text", TREAT_PLAIN },
	{ "judgement.checks[]", "place", TREAT_FILE },
	{ "judgement.checks[]", "origin", TREAT_DROP },
	{ "judgement.checks[]", "reason", TREAT_TEXT },
	{ 0 },
};

/*
 * Facts that TREAT_FACT keeps if they are plain. Separate rules cover "env ", serial numbers and
 * hostname.
 */
const char anonymise_facts[] =
	"os; kernel; cpu; cpu governor; cpu sockets; cpu cores; cpu threads; cpu threads usable; "
	"numa nodes; memory; transparent huge pages; hypervisor; container; iommu; gpuproof; "
	"compiler; usable cores; usable memory; openblas; openblas kernels; hwloc; driver; "
	"cuda_driver; cuda_runtime; cublas; nccl; cuda runtime; provenance";

const char anonymise_named_keys[] = "label, tags, title, author, note, licence, origin, command, "
				    "directory, environment, output, library, regex, json, "
				    "expect, sha256, only, nodes, interface";

bool anonymise_rules_listed(const char *list, const char *name)
{
	const size_t length = strlen(name);

	if (strcmp(list, "*") == 0)
		return true;
	while (*list) {
		size_t n = strcspn(list, ",;");

		if (n == length && memcmp(list, name, n) == 0)
			return true;
		list += n + strspn(list + n, ",; ");
	}
	return false;
}

const struct anonymise_rule *anonymise_rule_of(const char *path, const char *member)
{
	for (const struct anonymise_rule *r = anonymise_rules; r->path; r++)
		if (strcmp(r->path, path) == 0 && anonymise_rules_listed(r->members, member))
			return r;
	return NULL;
}
