import { createLog } from './log.js'

/** Warnings go to standard error, because the output of the command may go to a file. */
export const commandLog = () => createLog({ level: 'warn', format: 'plain', destination: process.stderr })
