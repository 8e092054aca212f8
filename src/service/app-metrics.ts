import { byProvider } from '../contract/providers.js'
import { signInLabels } from '../factors/ways-to-sign-in.js'
import { limiterNames } from '../http/limiters.js'
import { countRequests, type Server } from '../http/server.js'

import type { Metrics } from '../platform/metrics/metrics.js'
import { startMetricsServer } from '../platform/metrics/metrics-server.js'
import type { Config } from '../settings/config.js'

type Watched = Parameters<Metrics['watch']>[0]

/** Metrics have a port of their own. Without METRICS_PORT they are not even loaded. */
export const openMetrics = async ({ metricsPort, providers }: Config) => {
  if (metricsPort === undefined) return undefined
  const { createMetrics } = await import('../platform/metrics/metrics.js')
  return createMetrics({ ways: signInLabels(byProvider(providers).map(([id]) => id)), limiters: limiterNames })
}

/** Counts from now on, and returns the function that opens the port of the metrics. */
export const prepareMetrics = (config: Config, metrics: Metrics | undefined, watched: Watched, server: Server) => {
  const { metricsHost: host, metricsPort: port } = config
  if (port === undefined || !metrics) return async () => undefined
  metrics.watch(watched)
  countRequests(server, metrics)
  if (config.workers === 1) return () => startMetricsServer({ host, port, metrics })
  // With several processes the supervisor has the port, and asks each process for its metrics.
  metrics.share()
  return async () => undefined
}
