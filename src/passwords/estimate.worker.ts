import { yieldToOthers } from '../platform/threads.js'
import type { createEstimator } from './estimator.js'

let estimator: ReturnType<typeof createEstimator> | undefined

/**
 * The dictionaries are loaded when they are first needed, so that a service without new passwords does not keep them in memory. A user
 * waits for the first loading, so only the estimates run with low priority.
 */
export const load = async () => {
  if (estimator) return
  estimator = (await import('./estimator.js')).createEstimator()
  yieldToOthers()
}

export const estimate = async ({ password, inputs }: { password: string; inputs: string[] }) => {
  await load()
  return estimator?.(password, inputs)
}
