import { useState } from 'preact/hooks'
import type { Answer } from '#client/client.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { useValueLabel, useValueText } from './application-values.js'

type Versioned = { version: string }

/**
 * Sends a change of what was read. If somebody else was faster, the answer says what is there now, and the next press decides: by then the
 * change is of that. `again` reads it; undefined if it is gone or cannot be read.
 */
export const useMeanwhile = <Thing extends Versioned>(
  thing: Thing,
  names: readonly (keyof Thing & string)[],
  again: () => Promise<Thing | undefined>,
) => {
  const words = useWords('configuration')
  const [present, setPresent] = useState(thing)
  const textOf = useValueText()
  const labelOf = useValueLabel()
  const changesTo = (now: Thing) =>
    names
      .filter((name) => JSON.stringify(present[name] ?? null) !== JSON.stringify(now[name] ?? null))
      .map((name) => `${labelOf(name)}: ${textOf(now[name])}`)
      .join('; ')
  return async (call: (present: Thing) => Promise<Answer<unknown>>): Promise<Answer<unknown>> => {
    const answer = await call(present)
    if (answer.refused !== 'changed_meanwhile') return answer
    const now = await again()
    if (!now) return answer
    setPresent(now)
    return { ...answer, message: fill(words.meanwhile, { changes: changesTo(now) }) }
  }
}
