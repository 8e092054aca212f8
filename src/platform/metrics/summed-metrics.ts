import cluster from 'node:cluster'
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client'
import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/with-timeout.js'

type Metric = MetricObjectWithValues<MetricValue<string>>
type Answer = { metrics: Metric[] }

const question = 'metrics'
const answerTimeout = 1 * seconds

const isAnswer = (message: unknown): message is Answer =>
  typeof message === 'object' && message !== null && 'metrics' in message && Array.isArray(message.metrics)

/**
 * True for metrics that only grow. They stay in the sum when their process has ended: otherwise Prometheus would take it for a new start.
 */
const onlyGrows = ({ type }: Metric) => ['counter', 'histogram'].includes(String(type))

/**
 * The metrics of all processes of a service, asked for at each scrape. Of a process that does not answer in time, the last
 * answer counts. Each metric says how it is added up.
 */
export const createSummedMetrics = () => {
  const newest = new Map<number, Metric[]>()
  const waiting = new Set<{ id: number; resolve: () => void }>()
  let endedProcesses: Metric[] = []

  cluster.on('message', ({ id }, message: unknown) => {
    if (!isAnswer(message)) return
    newest.set(id, message.metrics)
    for (const waiter of waiting) if (waiter.id === id) waiter.resolve()
  })
  cluster.on('exit', ({ id }) => {
    for (const waiter of waiting) if (waiter.id === id) waiter.resolve()
    const last = newest.get(id)?.filter(onlyGrows)
    newest.delete(id)
    if (last) void addToEnded(last)
  })
  const addToEnded = async (last: Metric[]) => {
    endedProcesses = await AggregatorRegistry.aggregate([endedProcesses, last]).getMetricsAsJSON()
  }

  const ask = async (id: number) => {
    const worker = cluster.workers?.[id]
    if (!worker?.isConnected()) return
    const entry = { id, resolve: () => {} }
    const answered = new Promise<void>((resolve) => {
      entry.resolve = resolve
    })
    waiting.add(entry)
    worker.send(question)
    await withTimeout(answered, answerTimeout, () => undefined)
    waiting.delete(entry)
  }

  return {
    contentType: AggregatorRegistry.PROMETHEUS_CONTENT_TYPE,
    text: async () => {
      await Promise.all(Object.keys(cluster.workers ?? {}).map((id) => ask(Number(id))))
      return AggregatorRegistry.aggregate([...newest.values(), endedProcesses]).metrics()
    },
  }
}

/** Answers the process that sums up. */
export const shareMetrics = (registry: Registry) => {
  const answer = async () => {
    const metrics: Answer = { metrics: await registry.getMetricsAsJSON() }
    process.send?.(metrics)
  }
  process.on('message', (message) => {
    // The supervisor goes on without an answer.
    if (message === question) answer().catch(() => undefined)
  })
}
