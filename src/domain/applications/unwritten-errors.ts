/** How often a sentence was noted, and when last. */
type Seen = { count: number; seenAt: Date }
export type NotedSentence = Seen & { sentence: string }

/**
 * The errors of one kind of one application that wait to be written. Requests choose the values in sentences, and a flood of different
 * ones must not become a flood of writes: in each window a sentence is written once, and no more new ones than are kept. What comes in
 * between is counted here until the next window begins. Of too many different ones the newest stay.
 */
export const createUnwrittenErrors = ({ window, kept }: { window: number; kept: number }) => {
  let since = Number.NEGATIVE_INFINITY
  let room = kept
  const written = new Set<string>()
  /** The oldest first. */
  const waiting = new Map<string, Seen>()

  const take = (sentences: readonly string[]) =>
    sentences.flatMap((sentence): NotedSentence[] => {
      const seen = waiting.get(sentence)
      waiting.delete(sentence)
      written.add(sentence)
      return seen ? [{ sentence, ...seen }] : []
    })
  const takeAll = () => take([...waiting.keys()])

  const takeNew = () => {
    const taken = take([...waiting.keys()].filter((sentence) => !written.has(sentence)).slice(0, room))
    room -= taken.length
    return taken
  }

  return {
    add: ({ sentence, count, seenAt }: NotedSentence) => {
      const before = waiting.get(sentence)
      waiting.delete(sentence)
      waiting.set(sentence, { count: count + (before?.count ?? 0), seenAt })
      const [oldest] = waiting.keys()
      if (waiting.size > kept && oldest !== undefined) waiting.delete(oldest)
    },
    /** Takes the errors that may be written now. */
    takeDue: (now: Date) => {
      if (now.getTime() - since < window) return takeNew()
      since = now.getTime()
      room = kept
      written.clear()
      return takeAll()
    },
    takeAll,
  }
}
