import { yieldToOthers } from '../../platform/workers/priority.js'
import type { createEstimator } from './estimator.js'

yieldToOthers()

let estimator: ReturnType<typeof createEstimator> | undefined

/** The dictionaries are read when they are first needed: a service where nobody chooses a password does not hold them. */
export const load = async () => {
  estimator ??= (await import('./estimator.js')).createEstimator()
}

export const estimate = async ({ password, inputs }: { password: string; inputs: string[] }) => {
  await load()
  return estimator?.(password, inputs)
}
