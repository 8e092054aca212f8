import cluster from 'node:cluster'
import { Counter, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createSummedMetrics } from './summed-metrics.js'

const metricsWithCount = (count: number) => {
  const registry = new Registry()
  new Counter({ name: 'requests', help: 'Requests', registers: [registry] }).inc(count)
  return registry.getMetricsAsJSON()
}

it('the sum keeps the counters of processes that end in the same moment', async () => {
  const summedMetrics = createSummedMetrics()
  const ids = [1, 2, 3]
  for (const id of ids) cluster.emit('message', { id }, { metrics: await metricsWithCount(10 * id) })
  expect(await summedMetrics.text()).toMatch(/^requests 60$/m)
  for (const id of ids) cluster.emit('exit', { id })
  expect(await summedMetrics.text()).toMatch(/^requests 60$/m)
})
