import { yieldToOthers } from '../../platform/workers/priority.js'
import type { createEstimator } from './estimator.js'

let estimator: ReturnType<typeof createEstimator> | undefined

/**
 * The dictionaries are read when they are first needed: a service where nobody chooses a password does not hold them. That
 * happens once and somebody waits for it, so only the estimates themselves give way to everything else.
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
