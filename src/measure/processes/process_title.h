/*
 * Titles of processes that were forked and not executed: `ps -ef` shows their role ("gpuproof:
 * worker cuda:1") instead of the command line of their parent. The command's name (`ps -e`, pgrep)
 * and the environment (/proc/PID/environ) stay.
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_PROCESS_TITLE_H
#define GPUPROOF_MEASURE_PROCESSES_PROCESS_TITLE_H

/*
 * Sets the role of this process, at most 126 bytes with "gpuproof: ". The first call of a process
 * and its ancestors while it has one thread: that one also tells the kernel where the heap ends.
 * Where the kernel cannot (without CONFIG_CHECKPOINT_RESTORE) nothing changes.
 */
void process_title(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
