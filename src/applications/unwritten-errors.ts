/** How often a sentence was noted, and when last. */
type Occurrences = { count: number; seenAt: Date }
export type NotedSentence = Occurrences & { sentence: string }

/**
 * The errors of one kind of one application that wait to be written. Requests choose the values in the sentences, and a flood of different
 * sentences must not become a flood of writes. So in each window a sentence is written once, and at most `maxKept` new sentences are
 * written. The others are counted here until the next window begins. If there are too many different ones, the newest stay.
 */
export const createUnwrittenErrors = ({ window, maxKept }: { window: number; maxKept: number }) => {
  let windowBegan = Number.NEGATIVE_INFINITY
  let newSentencesLeft = maxKept
  const writtenInWindow = new Set<string>()
  /** The sentences that wait, the oldest first. */
  const waiting = new Map<string, Occurrences>()

  const take = (sentences: readonly string[]) =>
    sentences.flatMap((sentence): NotedSentence[] => {
      const occurrences = waiting.get(sentence)
      waiting.delete(sentence)
      writtenInWindow.add(sentence)
      return occurrences ? [{ sentence, ...occurrences }] : []
    })
  const takeAll = () => take([...waiting.keys()])

  const takeNew = () => {
    const taken = take(
      [...waiting.keys()].filter((sentence) => !writtenInWindow.has(sentence)).slice(0, newSentencesLeft),
    )
    newSentencesLeft -= taken.length
    return taken
  }

  return {
    add: ({ sentence, count, seenAt }: NotedSentence) => {
      const before = waiting.get(sentence)
      waiting.delete(sentence)
      waiting.set(sentence, { count: count + (before?.count ?? 0), seenAt })
      const [oldest] = waiting.keys()
      if (waiting.size > maxKept && oldest !== undefined) waiting.delete(oldest)
    },
    /** Takes the errors that may be written now. */
    takeDue: (now: Date) => {
      if (now.getTime() - windowBegan < window) return takeNew()
      windowBegan = now.getTime()
      newSentencesLeft = maxKept
      writtenInWindow.clear()
      return takeAll()
    },
    takeAll,
  }
}
