/* Output of gpuproof doctor, for other commands. */
#ifndef GPUPROOF_CLI_COMMANDS_DOCTOR_H
#define GPUPROOF_CLI_COMMANDS_DOCTOR_H

/* Findings about this machine; the caller frees the string. */
char *cmd_doctor_report(void);

#endif
