#include "fleet/rounds/topology.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "fleet/wire/message.h"

static bool host_fits(const char *host, const char *end, const char *name);

/* One of "01-16", of which the host's digits have the width, and the rest after the bracket. */
static bool range_fits(const char *range, const char *rest, const char *end, const char *name)
{
	char *after, *digits_end;
	unsigned long low = strtoul(range, &after, 10), high = low, number;
	size_t width = (size_t)(after - range), digits;

	if (*after == '-')
		high = strtoul(after + 1, &after, 10);
	if (!isdigit((unsigned char)*name))
		return false;
	number = strtoul(name, &digits_end, 10);
	digits = (size_t)(digits_end - name);
	return number >= low && number <= high && (*range != '0' || digits == width) &&
	       (*range == '0' || *name != '0' || digits == 1) && host_fits(rest, end, digits_end);
}

/* The host [host, end) of a list: "gpu[01-16,20]-ib". */
static bool host_fits(const char *host, const char *end, const char *name)
{
	const char *close;

	while (host < end && *host != '[')
		if (*host++ != *name++)
			return false;
	if (host == end)
		return !*name;
	close = memchr(host, ']', (size_t)(end - host));
	for (const char *range = host + 1; close && range < close;) {
		if (range_fits(range, close + 1, end, name))
			return true;
		range += strcspn(range, ",]") + 1;
	}
	return false;
}

bool topology_lists(const char *list, const char *name)
{
	while (*list) {
		const char *end = list;
		bool inside = false;

		for (; *end && (inside || !strchr(", \t", *end)); end++)
			inside = *end == '[' || (inside && *end != ']');
		if (end > list && host_fits(list, end, name))
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

/* The value of "NAME=value", cut off where it ends; NULL: the line has none. */
static char *assigned(const char *line, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = line; *at; at += strcspn(at, " \t"), at += strspn(at, " \t"))
		if (strncasecmp(at, name, length) == 0 && at[length] == '=')
			return xstrndup(at + length + 1, strcspn(at + length + 1, " \t"));
	return NULL;
}

/* The switch and its hosts, malloc'ed; hosts NULL: it is one of switches. False: it is neither. */
static bool read_line(const char *line, char **leaf, char **hosts)
{
	const char *colon = strchr(line, ':');

	*leaf = assigned(line, "SwitchName");
	*hosts = assigned(line, "Nodes");
	if (!*leaf && colon && colon > line && !memchr(line, '=', (size_t)(colon - line))) {
		*leaf = xstrndup(line, (size_t)(colon - line));
		*hosts = xstrdup(colon + 1);
	}
	return *leaf && **leaf && (*hosts || strcasestr(line, "Switches="));
}

static enum status read_lines(FILE *f, const char *path, const char *const *names, size_t count,
			      char **leaves, struct error *err)
{
	char *line = NULL, *leaf = NULL, *hosts = NULL;
	size_t size = 0, number = 0;

	while (err->status == STATUS_OK && getline(&line, &size, f) > 0) {
		const char *from = line + strspn(line, " \t");

		number++;
		line[strcspn(line, "#\r\n")] = '\0';
		if (!*from)
			continue;
		if (!read_line(from, &leaf, &hosts))
			error_set(err, STATUS_USAGE,
				  "%s:%zu: neither 'SwitchName=leaf1 Nodes=n[1-16]' nor 'leaf1: n1 "
				  "n2'",
				  path, number);
		else if (!fleet_name_valid(leaf))
			error_set(err, STATUS_USAGE,
				  "%s:%zu: '%.100s' cannot be the name of a switch: at most 63 "
				  "letters, digits, '.', '_' and '-'",
				  path, number, leaf);
		for (size_t i = 0; i < count && hosts; i++)
			if (!leaves[i] && topology_lists(hosts, names[i]))
				leaves[i] = xstrdup(leaf);
		free(leaf);
		free(hosts);
		leaf = hosts = NULL;
	}
	free(line);
	return err->status;
}

/* topology.conf in the folder of Slurm's configuration; NULL: there is none. */
static char *find_file(void)
{
	const char *conf = getenv("SLURM_CONF"), *slash = conf ? strrchr(conf, '/') : NULL;
	char *path = slash ? xasprintf("%.*s/topology.conf", (int)(slash - conf), conf)
			   : xstrdup("/etc/slurm/topology.conf");

	if (getenv("SLURM_JOB_ID") && access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

enum status topology_read(const char *setting, const char *const *names, size_t count,
			  char **leaves, struct error *err)
{
	char *path = strcmp(setting, "auto") == 0   ? find_file()
		     : strcmp(setting, "none") == 0 ? NULL
						    : xstrdup(setting);
	FILE *f = path ? fopen(path, "re") : NULL;

	if (f)
		read_lines(f, path, names, count, leaves, err);
	else if (path)
		error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
	if (f)
		fclose(f);
	free(path);
	return err->status;
}
