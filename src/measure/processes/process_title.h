/*
 * Titles of forked processes: `ps -ef` shows their role ("gpuproof: worker cuda:1") instead of the
 * parent's command line. The command name (`ps -e`, pgrep) and the environment (/proc/PID/environ)
 * remain.
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_PROCESS_TITLE_H
#define GPUPROOF_MEASURE_PROCESSES_PROCESS_TITLE_H

/*
 * Sets the role of this process, at most 126 bytes with "gpuproof: ". The first call must happen
 * while the process has a single thread, because it also sets the end of the heap in the kernel.
 * Without kernel support (CONFIG_CHECKPOINT_RESTORE) it does nothing.
 */
void process_title(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
