import { setTimeout as pause } from 'node:timers/promises'
import type { Answer, Visitor } from '../support/site/https-client.js'
import { until } from '../support/until.js'

/** Between two requests of a visitor. Without it, all cores would be busy with the load instead of with the test. */
export const pauseMs = 100

type Ask = (visitor: Visitor) => Promise<Answer>
type Fault = { at: number; what: string }

/**
 * Visitors who ask one thing after another until they are told to stop. Whatever is not answered as it should be is kept,
 * with the moment.
 */
export const startLoad = (
  visitors: Visitor[],
  asks: Record<string, Ask>,
  isGood = ({ status }: Answer) => status < 400,
) => {
  const faults: Fault[] = []
  const begun = performance.now()
  let answered = 0
  let going = true
  const note = (what: string) => faults.push({ at: Math.round(performance.now() - begun), what })

  const work = async (visitor: Visitor, index: number) => {
    const kinds = Object.entries(asks)
    for (let turn = index; going; turn += 1) {
      const [name = '', ask] = kinds[turn % kinds.length] ?? []
      try {
        const answer = await ask?.(visitor)
        if (answer && !isGood(answer)) note(`${name}: ${answer.status} ${answer.text.slice(0, 120)}`)
        answered += 1
      } catch (error) {
        note(`${name}: ${error instanceof Error ? error.message : 'unknown failure'}`)
      }
      await pause(pauseMs)
    }
  }
  const workers = visitors.map(work)
  return {
    faults,
    answered: () => answered,
    /** Resolves when so many more requests have been answered. */
    more: (count: number) => {
      const goal = answered + count
      return until(`${count} more answers`, () => answered >= goal)
    },
    stop: async () => {
      going = false
      await Promise.all(workers)
      return faults
    },
  }
}
