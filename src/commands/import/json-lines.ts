import { tooLong } from './too-long.js'

export type JsonLine = { line: number; value: Record<string, unknown> } | { line: number; fault: string }

const asObject = (text: string, line: number): JsonLine => {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { line, value: value as Record<string, unknown> }
  } catch {
    return { line, fault: 'not valid JSON' }
  }
  return { line, fault: 'not a JSON object' }
}

/** Reads one JSON object from each line of a text that comes in pieces of any size. Other lines become faults; empty lines are skipped. */
export const createJsonLinesReader = ({ maximumLength = 1_000_000 } = {}) => {
  let rest = ''
  let line = 0

  const readLine = (text: string): JsonLine[] => {
    line += 1
    if (text.trim() === '') return []
    return [text.length > maximumLength ? { line, fault: tooLong(maximumLength) } : asObject(text, line)]
  }

  return {
    push: (text: string): JsonLine[] => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      // Only the beginning of a line that is too long is kept: enough to see that it is too long.
      if (rest.length > maximumLength) rest = rest.slice(0, maximumLength + 1)
      return lines.flatMap(readLine)
    },
    end: (): JsonLine[] => readLine(rest),
  }
}
