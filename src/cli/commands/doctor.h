/* The output of gpuproof doctor, for other commands. */
#ifndef GPUPROOF_CLI_COMMANDS_DOCTOR_H
#define GPUPROOF_CLI_COMMANDS_DOCTOR_H

/* The findings about this machine; malloc'ed. */
char *doctor_report(void);

#endif
