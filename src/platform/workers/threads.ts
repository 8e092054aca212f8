import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { minutes } from '../../lib/durations.js'

/** Threads that run the functions of one compiled file. They start when there is work, and stop after ten minutes without. */
export const createThreads = (file: URL, maxThreads: number) =>
  new Piscina({ filename: fileURLToPath(file), minThreads: 0, maxThreads, idleTimeout: 10 * minutes })
