import cluster from 'node:cluster'
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client'
import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/timing.js'

type Metric = MetricObjectWithValues<MetricValue<string>>
type Answer = { metrics: Metric[] }

const question = 'metrics'
const answerTimeout = 1 * seconds

const isAnswer = (message: unknown): message is Answer =>
  typeof message === 'object' && message !== null && 'metrics' in message && Array.isArray(message.metrics)

/**
 * True for metrics that only grow. They stay in the sum when their process has ended. Otherwise the sum would shrink, and Prometheus
 * would take that for a restart.
 */
const onlyGrows = ({ type }: Metric) => ['counter', 'histogram'].includes(String(type))

/**
 * The metrics of all processes of a service. The processes are asked at each scrape. If a process does not answer in time, its last
 * answer is used. Each metric says how it is added up.
 */
export const createSummedMetrics = () => {
  const newestAnswers = new Map<number, Metric[]>()
  const waiters = new Set<{ id: number; resolve: () => void }>()
  let metricsOfEnded: Promise<Metric[]> = Promise.resolve([])

  cluster.on('message', ({ id }, message: unknown) => {
    if (!isAnswer(message)) return
    newestAnswers.set(id, message.metrics)
    for (const waiter of waiters) if (waiter.id === id) waiter.resolve()
  })
  cluster.on('exit', ({ id }) => {
    for (const waiter of waiters) if (waiter.id === id) waiter.resolve()
    const lastAnswer = newestAnswers.get(id)?.filter(onlyGrows)
    newestAnswers.delete(id)
    if (lastAnswer) metricsOfEnded = addedTo(metricsOfEnded, lastAnswer)
  })
  const addedTo = async (ended: Promise<Metric[]>, lastAnswer: Metric[]) =>
    AggregatorRegistry.aggregate([await ended, lastAnswer]).getMetricsAsJSON()

  const ask = async (id: number) => {
    const worker = cluster.workers?.[id]
    if (!worker?.isConnected()) return
    const entry = { id, resolve: () => {} }
    const answer = new Promise<void>((resolve) => {
      entry.resolve = resolve
    })
    waiters.add(entry)
    worker.send(question)
    await withTimeout(answer, answerTimeout, () => undefined)
    waiters.delete(entry)
  }

  return {
    contentType: AggregatorRegistry.PROMETHEUS_CONTENT_TYPE,
    text: async () => {
      await Promise.all(Object.keys(cluster.workers ?? {}).map((id) => ask(Number(id))))
      // Both are read at once: a process that ends meanwhile is in one of them.
      const livingAnswers = [...newestAnswers.values()]
      return AggregatorRegistry.aggregate([...livingAnswers, await metricsOfEnded]).metrics()
    },
  }
}

/** Answers the process that adds up the metrics. */
export const shareMetrics = (registry: Registry) => {
  const answer = async () => {
    const metrics: Answer = { metrics: await registry.getMetricsAsJSON() }
    process.send?.(metrics)
  }
  process.on('message', (message) => {
    // If this fails, the supervisor continues without an answer.
    if (message === question) answer().catch(() => undefined)
  })
}
