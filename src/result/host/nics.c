#include "result/host/host_findings.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "result/host/host_files.h"

#define PORTS "/sys/class/infiniband/*/ports/*"

/* Error counters that do not move on a healthy link. */
static const char *const port_errors[] = { "counters/symbol_error",
					   "counters/link_error_recovery",
					   "counters/link_downed",
					   "counters/port_rcv_errors",
					   "counters/port_rcv_remote_physical_errors",
					   "counters/port_xmit_discards",
					   "counters/local_link_integrity_errors",
					   "counters/excessive_buffer_overrun_errors",
					   "hw_counters/out_of_sequence",
					   "hw_counters/packet_seq_err",
					   "hw_counters/local_ack_timeout_err",
					   "hw_counters/rnr_nak_retry_err",
					   "hw_counters/rx_icrc_encapsulated" };
static const char *const interface_errors[] = { "statistics/rx_errors", "statistics/tx_errors",
						"statistics/rx_crc_errors",
						"statistics/tx_carrier_errors",
						"carrier_down_count" };

struct nics {
	finding_fn *add;
	void *context;
	double fastest;   /* rate of the fastest active port, in Gb/s */
	const char *pci;  /* real path of the device whose nearest adapter is searched */
	char numa[16];    /* its NUMA node; "" */
	char nearest[64]; /* adapter */
	int distance;     /* its distance, an index into distances */
	bool found;
	const char *device; /* device of the findings; NULL: the host */
};

static void nic_finding_add(const struct nics *n, enum severity severity, const char *topic,
			    const char *name, const char *text)
{
	struct finding f = { .severity = severity };

	finding_set_subject(&f, topic, name);
	if (n->device)
		finding_set_device(&f, topic, n->device);
	snprintf(f.text, sizeof(f.text), "%s", text);
	n->add(n->context, &f);
}

static bool nic_read_in(const char *folder, const char *file, char *out, size_t size)
{
	char *path = xasprintf("/%s", file);
	bool there = host_files_first_line(folder, path, out, (int)size);

	free(path);
	return there;
}

/* Appends ", symbol_error 3" for each counter that is not 0. */
static void nic_add_errors(struct text *to, const char *folder, const char *const *names,
			   size_t count)
{
	char value[32];

	for (size_t i = 0; i < count; i++) {
		const char *slash = strrchr(names[i], '/');

		if (nic_read_in(folder, names[i], value, sizeof(value)) && strcmp(value, "0") != 0)
			text_addf(to, ", %s %s", slash ? slash + 1 : names[i], value);
	}
}

static bool nics_is_active(const char *folder)
{
	char state[64];

	return nic_read_in(folder, "state", state, sizeof(state)) && strstr(state, "ACTIVE");
}

/* parses "400 Gb/sec (4X NDR)" */
static double nics_port_rate(const char *folder)
{
	char rate[64];

	return nic_read_in(folder, "rate", rate, sizeof(rate)) ? strtod(rate, NULL) : 0;
}

static void nic_visit_fastest(void *state, const char *path)
{
	struct nics *n = state;
	double rate = nics_is_active(path) ? nics_port_rate(path) : 0;

	n->fastest = rate > n->fastest ? rate : n->fastest;
}

static void nics_report_port(void *state, const char *path)
{
	struct nics *n = state;
	char rate[64] = "rate unknown", link[64] = "", condition[64] = "state unknown";
	const char *port = strrchr(path, '/'), *ports = port - strlen("/ports"), *adapter = ports;
	struct text text = TEXT_EMPTY;
	char *name;
	bool active = nics_is_active(path), slow = active && nics_port_rate(path) < n->fastest;

	/* "mlx5_0:1" from ".../mlx5_0/ports/1" */
	while (adapter > path && adapter[-1] != '/')
		adapter--;
	name = xasprintf("%.*s:%s", (int)(ports - adapter), adapter, port + 1);
	nic_read_in(path, "rate", rate, sizeof(rate));
	nic_read_in(path, "link_layer", link, sizeof(link));
	nic_read_in(path, "state", condition, sizeof(condition));
	text_addf(&text, "%s, %s, %s", link, rate, condition);
	nic_add_errors(&text, path, port_errors, ARRAY_SIZE(port_errors));
	if (slow)
		text_addf(&text, ": other ports have %g Gb/s", n->fastest);
	else if (!active && n->fastest > 0)
		text_add(&text, ": other ports are active; check cable and switch port, unless "
				"this port is unused");
	nic_finding_add(n,
			active && !slow  ? SEVERITY_OK
			: n->fastest > 0 ? SEVERITY_WARNING
					 : SEVERITY_NOTE,
			"nic", name, text.data);
	text_release(&text);
	free(name);
}

/* False also for a software interface, which has no device. */
static bool nics_interface_is_up(const char *folder)
{
	char state[32];

	return host_files_has(folder, "/device") &&
	       nic_read_in(folder, "operstate", state, sizeof(state)) && strcmp(state, "up") == 0;
}

/* In Gb/s; 0 or less: unknown. */
static double nics_interface_rate(const char *folder)
{
	char speed[32];

	return nic_read_in(folder, "speed", speed, sizeof(speed)) ? strtod(speed, NULL) / 1000 : 0;
}

static void nics_report_interface(void *state, const char *path)
{
	const struct nics *n = state;
	double rate = nics_interface_rate(path);
	struct text text = TEXT_EMPTY;

	/* An InfiniBand adapter has been reported by its ports. */
	if (!nics_interface_is_up(path) || host_files_has(path, "/device/infiniband"))
		return;
	if (rate > 0)
		text_addf(&text, "%g Gb/s, up", rate);
	else
		text_add(&text, "rate unknown, up");
	nic_add_errors(&text, path, interface_errors, ARRAY_SIZE(interface_errors));
	nic_finding_add(n, SEVERITY_OK, "nic", strrchr(path, '/') + 1, text.data);
	text_release(&text);
}

void nic_findings(const char *root, finding_fn *add, void *context)
{
	struct nics n = { .add = add, .context = context };

	host_files_matches(root, PORTS, nic_visit_fastest, &n);
	host_files_matches(root, PORTS, nics_report_port, &n);
	host_files_matches(root, "/sys/class/net/*", nics_report_interface, &n);
}

static void nics_find_fastest_interface(void *state, const char *path)
{
	struct nics *n = state;
	double rate = nics_interface_is_up(path) ? nics_interface_rate(path) : 0;

	n->fastest = rate > n->fastest ? rate : n->fastest;
}

double nic_bandwidth(const char *root)
{
	struct nics n = { 0 };

	host_files_matches(root, PORTS, nic_visit_fastest, &n);
	if (n.fastest == 0)
		host_files_matches(root, "/sys/class/net/*", nics_find_fastest_interface, &n);
	return n.fastest * 1e9 / 8;
}

enum { SAME_SWITCH, SAME_BRIDGE, SAME_NUMA, OTHER_NUMA };
static const char *const distances[] = { "connected through PCIe switches only",
					 "connected through the host bridge",
					 "connected through the CPU, on the GPU's NUMA node",
					 "on another NUMA node" };

static int nic_distance(const struct nics *n, const char *nic)
{
	const char *bridge = strstr(n->pci, "/pci");
	size_t common = 0; /* length of the common prefix of both paths, in whole names */
	char numa[16] = "";

	for (size_t i = 0; n->pci[i] && n->pci[i] == nic[i]; i++)
		common = nic[i] == '/' ? i : common;
	/* A common name after "/pci0000:15" is a bridge: both are below one switch. */
	if (bridge && common > (size_t)(bridge - n->pci)) {
		const char *below = strchr(bridge + 1, '/');

		return below && common > (size_t)(below - n->pci) ? SAME_SWITCH : SAME_BRIDGE;
	}
	nic_read_in(nic, "numa_node", numa, sizeof(numa));
	return *numa && strcmp(numa, n->numa) == 0 ? SAME_NUMA : OTHER_NUMA;
}

static void nics_look_for_nearest(void *state, const char *path)
{
	struct nics *n = state;
	char *link = xasprintf("%s/device", path), *nic = realpath(link, NULL);
	int far = nic ? nic_distance(n, nic) : OTHER_NUMA;

	if (nic && (!n->found || far < n->distance)) {
		n->found = true;
		n->distance = far;
		snprintf(n->nearest, sizeof(n->nearest), "%s", strrchr(path, '/') + 1);
	}
	free(nic);
	free(link);
}

void nic_distance_finding(const char *root, const struct device_info *device, finding_fn *add,
			  void *context)
{
	char *link = xasprintf("%s/sys/bus/pci/devices/%s", root, device->pci), *pci;
	struct nics n = { .add = add, .context = context, .device = device->id };
	char text[160];

	for (char *c = link + strlen(root); *c; c++)
		*c = (char)tolower((unsigned char)*c);
	pci = *device->pci ? realpath(link, NULL) : NULL;
	n.pci = pci;
	if (pci) {
		nic_read_in(pci, "numa_node", n.numa, sizeof(n.numa));
		host_files_matches(root, "/sys/class/infiniband/*", nics_look_for_nearest, &n);
	}
	if (n.found) {
		snprintf(text, sizeof(text), "%s, %s%s", n.nearest, distances[n.distance],
			 n.distance == OTHER_NUMA ? ": traffic between GPU and adapter crosses the "
						    "link between the CPUs"
						  : "");
		nic_finding_add(&n, n.distance == OTHER_NUMA ? SEVERITY_WARNING : SEVERITY_OK,
				"nearest nic", device->id, text);
	}
	free(pci);
	free(link);
}
