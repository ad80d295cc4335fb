#include "fleet/launcher.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "fleet/wire/message.h"
#include "measure/processes/child.h"

#define HOSTS_MOST ((size_t)4 << 20)
#define SIMULATED_MOST 64 /* each starts processes of its own */

static void launcher_add_name(struct launcher *l, char *name)
{
	l->names = xrealloc(l->names, l->name_count + 1, sizeof(*l->names));
	l->names[l->name_count++] = name;
	l->expected = l->name_count;
}

/* "node7" of "node7.lan slots=8" or "node7:8", as agents call themselves; malloc'ed. */
static char *launcher_host_name(const struct launcher *l, const char *entry, size_t line,
				struct error *err)
{
	char *whole = xstrndup(entry, strcspn(entry, " \t\r\n#")), *name;
	unsigned char address[sizeof(struct in6_addr)];

	name = xstrndup(whole, strcspn(whole, ":."));
	if (inet_pton(AF_INET6, whole, address) == 1 || inet_pton(AF_INET, whole, address) == 1)
		error_set(err, STATUS_USAGE,
			  "%s:%zu: %.80s is an address; write the host name that `hostname -s` "
			  "prints",
			  l->file, line, whole);
	else if (*whole && !wire_message_name_valid(name))
		error_set(err, STATUS_USAGE, "%s:%zu: invalid host name '%.80s'", l->file, line,
			  name);
	free(whole);
	return name;
}

/* One host per line, as mpirun takes it; '#' begins a comment. */
static enum status launcher_read_hosts(struct launcher *l, struct error *err)
{
	struct text content = TEXT_EMPTY;
	size_t line = 0;

	input_read_file(l->file, "file of hosts", HOSTS_MOST, &content, err);
	for (char *at = content.data; err->status == STATUS_OK && at && *at;) {
		size_t length = strcspn(at, "\n");
		char *name = launcher_host_name(l, at + strspn(at, " \t"), ++line, err);

		at += length + (at[length] == '\n');
		if (*name) {
			for (size_t i = 0; i < l->name_count && err->status == STATUS_OK; i++)
				if (strcmp(l->names[i], name) == 0)
					error_set(err, STATUS_USAGE,
						  "%s:%zu: %s is listed twice (only the part "
						  "before the first dot counts); list each node "
						  "once, because one agent measures all its GPUs",
						  l->file, line, name);
			launcher_add_name(l, name);
		} else {
			free(name);
		}
	}
	if (err->status == STATUS_OK && !l->name_count)
		error_set(err, STATUS_USAGE, "%s lists no hosts", l->file);
	text_release(&content);
	return err->status;
}

static bool launcher_is_file(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 && !S_ISDIR(about.st_mode);
}

/* "all" is 0. */
static enum status launcher_take_count(const struct setting *nodes, size_t most, size_t *count,
				       struct error *err)
{
	const char *text = nodes->values[0].text;
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	*count = 0;
	if (strcmp(text, "all") == 0)
		return STATUS_OK;
	*count = (size_t)n;
	if (*text >= '0' && *text <= '9' && !*end && n > 0 && n <= most)
		return STATUS_OK;
	return error_set(err, STATUS_USAGE,
			 "%s: nodes = %s is invalid; write all, a number from 1 to %zu, or for "
			 "mpirun a file of hosts",
			 nodes->origin, text, most);
}

static enum status launcher_choose_srun(struct launcher *l, const struct setting *nodes,
					struct error *err)
{
	const char *there = getenv("SLURM_JOB_NUM_NODES");
	size_t allocated = there ? (size_t)strtoull(there, NULL, 10) : 0;

	if (!getenv("SLURM_JOB_ID") || !allocated)
		return error_set(err, STATUS_USAGE,
				 "launcher = srun needs a Slurm allocation: sbatch -N 4 --no-kill "
				 "--exclusive --wrap 'gpuproof run ...'");
	if (launcher_take_count(nodes, allocated, &l->expected, err) != STATUS_OK)
		return err->status;
	if (!l->expected)
		l->expected = allocated;
	return STATUS_OK;
}

static enum status launcher_choose_kind(struct launcher *l, const char *wanted, bool hosts,
					struct error *err)
{
	if (strcmp(wanted, "simulate") == 0)
		l->kind = LAUNCH_SIMULATED;
	else if (strcmp(wanted, "command") == 0 || l->command)
		l->kind = LAUNCH_COMMAND;
	else if (strcmp(wanted, "mpirun") == 0 || (strcmp(wanted, "auto") == 0 && hosts))
		l->kind = LAUNCH_MPIRUN;
	else if (strcmp(wanted, "srun") == 0 || getenv("SLURM_JOB_ID"))
		l->kind = LAUNCH_SRUN;
	else
		return error_set(err, STATUS_USAGE,
				 "[fleet]: no Slurm allocation and no file of hosts. Add --hosts "
				 "FILE or --launch 'COMMAND', or try it on this machine with "
				 "--simulate-nodes 3");
	return STATUS_OK;
}

enum status launcher_choose(struct launcher *l, const struct config *config, const char *command,
			    struct error *err)
{
	const struct section *fleet = config_section(config, "fleet", "");
	const struct setting *nodes = section_setting(fleet, "nodes");
	const char *text = nodes->values[0].text;
	size_t count;

	*l = (struct launcher){ .command = command };
	if (launcher_choose_kind(l, section_text(fleet, "launcher"), launcher_is_file(text), err) !=
	    STATUS_OK)
		return err->status;
	switch (l->kind) {
	case LAUNCH_SIMULATED:
		if (launcher_take_count(nodes, SIMULATED_MOST, &count, err) == STATUS_OK)
			for (size_t i = 1; i <= (count ? count : 2); i++)
				launcher_add_name(l, xasprintf("n%zu", i));
		return err->status;
	case LAUNCH_SRUN:
		return launcher_choose_srun(l, nodes, err);
	case LAUNCH_COMMAND:
		if (!command)
			return error_set(err, STATUS_USAGE,
					 "launcher = command needs the option --launch, because a "
					 "config cannot name the program");
		return launcher_take_count(nodes, 1000000, &l->expected, err);
	case LAUNCH_MPIRUN:
		l->file = text;
		if (launcher_is_file(text))
			return launcher_read_hosts(l, err);
	}
	return error_set(err, STATUS_USAGE,
			 "%s: nodes = %s: mpirun needs a file with one host per line",
			 nodes->origin, text);
}

/* Open MPI and MPICH take different options, and say which of them they are. */
static bool launcher_is_open_mpi(void)
{
	char line[256] = "";
	FILE *answer = popen("mpirun --version 2>/dev/null", "r");

	if (!answer)
		return false;
	while (!strstr(line, "Open MPI") && !strstr(line, "OpenRTE") &&
	       fgets(line, sizeof(line), answer))
		;
	pclose(answer);
	return strstr(line, "Open MPI") || strstr(line, "OpenRTE");
}

static char *launcher_shell_command(const struct launcher *l, const char *program)
{
	struct text line = TEXT_EMPTY;

	if (l->kind == LAUNCH_SRUN) {
		/* A site may end all tasks when one fails, or when a node does. */
		text_addf(&line,
			  "srun --nodes=%zu --ntasks=%zu --ntasks-per-node=1 --no-kill "
			  "--kill-on-bad-exit=0 --wait=0 --mpi=none --cpu-bind=none --export=ALL",
			  l->expected, l->expected);
	} else if (l->kind == LAUNCH_MPIRUN && launcher_is_open_mpi()) {
		text_addf(&line,
			  "mpirun%s --enable-recovery --map-by ppr:1:node "
			  "-x " FLEET_ADDRESS_VARIABLE " -x " FLEET_TOKEN_VARIABLE " --hostfile",
			  geteuid() == 0 ? " --allow-run-as-root" : "");
	} else if (l->kind == LAUNCH_MPIRUN) {
		text_addf(&line, "mpirun -disable-auto-cleanup -ppn 1 -n %zu -f", l->expected);
	} else {
		text_add(&line, l->command);
	}
	if (l->kind == LAUNCH_MPIRUN) {
		text_add_char(&line, ' ');
		text_add_shell_word(&line, l->file);
	}
	text_add_char(&line, ' ');
	text_add_shell_word(&line, program);
	text_add(&line, " agent");
	return text_detach(&line);
}

char *launcher_describe(const struct launcher *l)
{
	if (l->kind == LAUNCH_SIMULATED)
		return xasprintf("%zu agents on this machine", l->name_count);
	return launcher_shell_command(l, "gpuproof");
}

/*
 * Settings of srun that a batch script or a site handed down for the tasks of a job are not those
 * of agents: each has all that the job has on its node, next to the step that the conductor may be
 * in.
 */
static void launcher_set_srun_environment(void)
{
	static const char *const others[] = { "SLURM_CPU_BIND",      "SLURM_MEM_BIND",
					      "SLURM_GPU_BIND",      "SLURM_GPUS_PER_TASK",
					      "SLURM_TRES_PER_TASK", "SLURM_NTASKS_PER_GPU",
					      "SLURM_CPUS_PER_TASK", "SLURM_EXACT",
					      "SLURM_EXCLUSIVE",     "SLURM_DISTRIBUTION" };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		unsetenv(others[i]);
	setenv("SLURM_OVERLAP", "1", 1);
}

/* In a session of its own: Ctrl-C at the terminal is for the conductor, which passes it on. */
static pid_t launcher_start_process(const struct launcher *l, const char *path,
				    char *const *arguments, const char *node, int log,
				    struct error *err)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		error_errno(err, "fork");
	if (pid != 0)
		return pid;
	setsid();
	dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (l->kind == LAUNCH_SRUN)
		launcher_set_srun_environment();
	if (node)
		setenv(FLEET_NODE_VARIABLE, node, 1);
	execv(path, arguments);
	fprintf(stderr, "gpuproof: %s: %s\n", path, strerror(errno));
	_exit(127);
}

enum status launcher_start(struct launcher *l, const bool *wanted, const char *addresses,
			   const char *token, int log, struct error *err)
{
	char path[4096], *line, *arguments[4] = { path, (char[]){ "agent" }, NULL, NULL };
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (length <= 0)
		return error_errno(err, "/proc/self/exe");
	path[length] = '\0';
	setenv(FLEET_ADDRESS_VARIABLE, addresses, 1);
	setenv(FLEET_TOKEN_VARIABLE, token, 1);
	l->process_count = l->kind == LAUNCH_SIMULATED ? l->name_count : 1;
	l->processes = xcalloc(l->process_count, sizeof(*l->processes));
	line = l->kind == LAUNCH_SIMULATED ? NULL : launcher_shell_command(l, path);
	if (line) {
		l->processes[0] = launcher_start_process(l, "/bin/sh",
							 (char *[]){ (char[]){ "sh" },
								     (char[]){ "-c" }, line, NULL },
							 NULL, log, err);
	} else {
		for (size_t i = 0; i < l->name_count && !err->status; i++)
			if (wanted[i])
				l->processes[i] = launcher_start_process(l, path, arguments,
									 l->names[i], log, err);
	}
	free(line);
	unsetenv(FLEET_TOKEN_VARIABLE);
	unsetenv(FLEET_ADDRESS_VARIABLE);
	return err->status;
}

bool launcher_attend(struct launcher *l)
{
	bool there = false;

	for (size_t i = 0; i < l->process_count; i++) {
		char how[128];
		int status;

		if (l->processes[i] <= 0)
			continue;
		if (waitpid(l->processes[i], &status, WNOHANG) == l->processes[i]) {
			snprintf(l->ending, sizeof(l->ending), "%s",
				 child_ending(status, how, sizeof(how)));
			l->processes[i] = 0;
		}
		there = there || l->processes[i] > 0;
	}
	return there;
}

void launcher_kill_node(struct launcher *l, size_t index)
{
	if (l->kind == LAUNCH_SIMULATED && index < l->process_count && l->processes[index] > 0)
		kill(-l->processes[index], SIGKILL);
}

void launcher_end(struct launcher *l, double seconds)
{
	double began = clock_seconds();
	int number = SIGTERM;

	for (;;) {
		if (!launcher_attend(l))
			return;
		if (clock_seconds() - began > seconds) {
			for (size_t i = 0; i < l->process_count; i++)
				if (l->processes[i] > 0)
					kill(-l->processes[i], number);
			number = SIGKILL;
			began = clock_seconds();
		}
		clock_sleep(0.02);
	}
}

void launcher_release(struct launcher *l)
{
	for (size_t i = 0; i < l->name_count; i++)
		free(l->names[i]);
	free(l->names);
	free(l->processes);
	*l = (struct launcher){ 0 };
}
