import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { moveFocusTo } from '../browser/focus.js'
import { Button } from '../components/button.js'
import { useStableCallback } from '../hooks/stable-callback.js'

const shownAtFirst = 5

/** The first lines of a list, or all of them. The focus goes to the first of the new lines. */
export const useFirstFew = <Item,>(items: readonly Item[], list: RefObject<HTMLElement | null>) => {
  const [all, setAll] = useState(false)
  const wasAll = useRef(all)
  const focusFirstNew = useStableCallback(() => moveFocusTo(list.current?.querySelectorAll('li')[shownAtFirst]))
  useEffect(() => {
    if (all && !wasAll.current) focusFirstNew()
    wasAll.current = all
  }, [all])
  const hasMore = items.length > shownAtFirst
  return { shown: all ? items : items.slice(0, shownAtFirst), all, hasMore, toggle: () => setAll(!all) }
}

type Props = { all: boolean; hasMore: boolean; toggle: () => void; more: string; fewer: string }

/** The same button takes it back, and keeps the focus then. */
export const ShowAll = ({ all, hasMore, toggle, more, fewer }: Props) =>
  hasMore ? (
    <Button look="quiet" onPress={toggle}>
      {all ? fewer : more}
    </Button>
  ) : null
