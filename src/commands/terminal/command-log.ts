import { createLog } from '../../platform/log.js'

/** Warnings go to standard error: the output of the command may be a file. */
export const commandLog = () => createLog({ level: 'warn', format: 'plain', destination: process.stderr })
