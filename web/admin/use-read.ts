import { useRef } from 'preact/hooks'
import { type Answer, isTemporary } from '#client/client.js'
import { useLoaded } from '../hooks/loaded.js'
import { useRefusalSentence } from '../words/refusals.js'
import { useAdmin } from './admin-context.js'

/** Loads the value that a screen shows. If the service just cannot answer at the moment, the screen keeps the value that it has. */
export const useRead = <Value>(ask: () => Promise<Answer<Value>>, key = '') => {
  const { leaveIfEnded, showError } = useAdmin()
  const sentenceOf = useRefusalSentence()
  const read = useLoaded(
    ask,
    async (refusal, isShown) => {
      if (await leaveIfEnded(refusal)) return true
      const isKept = isShown && isTemporary(refusal)
      if (isKept) showError(sentenceOf(refusal), () => read.reload())
      return isKept
    },
    key,
  )
  return read
}

type PageOf<Item> = { items: Item[]; next: string | null }

/** Loads the first page, and further ones until there are at least `minItems` items. */
const loadPages = async <Item>(ask: (after?: string) => Promise<Answer<PageOf<Item>>>, minItems: number) => {
  const first = await ask()
  if (first.refused) return first
  let { items, next } = first.value
  while (next !== null && items.length < minItems) {
    const answer = await ask(next)
    if (answer.refused) return answer
    items = [...items, ...answer.value.items]
    next = answer.value.next
  }
  return { value: { items, next } }
}

/** Loads a long list page by page. */
export const usePages = <Item>(ask: (after?: string) => Promise<Answer<PageOf<Item>>>, key: string) => {
  const { leaveIfEnded, showError, earlierDeparture } = useAdmin()
  const sentenceOf = useRefusalSentence()
  const firstKey = useRef(key)
  // As many items as the screen had before: among them is the one whose page the user comes back from.
  const minItems = key === firstKey.current ? (earlierDeparture?.rows ?? 0) : 0
  const { value, setValue, ...read } = useRead(() => loadPages(ask, minItems), key)
  const loadMore = async () => {
    if (!value?.next) return
    const answer = await ask(value.next)
    if (answer.refused) {
      if (!(await leaveIfEnded(answer))) showError(sentenceOf(answer))
      return
    }
    const { items, next } = answer.value
    // If the user has begun another search meanwhile, these items do not belong to it.
    setValue((shown) => (shown === value ? { items: [...value.items, ...items], next } : shown))
  }
  const addNewer = (items: Item[]) =>
    setValue((shown) => shown && { items: [...items, ...shown.items], next: shown.next })
  return { ...read, items: value?.items, next: value?.next ?? null, loadMore, addNewer }
}
