import { AggregatorRegistry, type Registry } from 'prom-client'

/** The metrics of all processes of a service, asked for at each scrape. Each metric says how it is added up. */
export const createSummedMetrics = () => {
  const all = new AggregatorRegistry()
  return { contentType: all.contentType, text: () => all.clusterMetrics() }
}

/** Answers the process that sums up. */
export const shareMetrics = (registry: Registry) => {
  AggregatorRegistry.setRegistries(registry)
  // The listener for its questions comes with the first one of these.
  new AggregatorRegistry()
}
