import { yieldToOthers } from '../../platform/workers/priority.js'
import type { createEstimator } from './estimator.js'

yieldToOthers()

let estimator: ReturnType<typeof createEstimator> | undefined

/** The dictionaries are read at the first estimate: a service where nobody chooses a password does not hold them. */
export const estimate = async ({ password, inputs }: { password: string; inputs: string[] }) => {
  estimator ??= (await import('./estimator.js')).createEstimator()
  return estimator(password, inputs)
}
