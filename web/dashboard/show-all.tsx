import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../components/button.js'
import { moveFocusTo } from '../hooks/focus.js'
import { useStableCallback } from '../hooks/stable.js'

const maxShownAtFirst = 5

/** The first lines of a list, or all lines. When all are shown, the focus goes to the first new line. */
export const useFirstFew = <Item,>(items: readonly Item[], list: RefObject<HTMLElement | null>) => {
  const [isShowingAll, setShowingAll] = useState(false)
  const wasShowingAll = useRef(isShowingAll)
  const focusFirstNew = useStableCallback(() => moveFocusTo(list.current?.querySelectorAll('li')[maxShownAtFirst]))
  useEffect(() => {
    if (isShowingAll && !wasShowingAll.current) focusFirstNew()
    wasShowingAll.current = isShowingAll
  }, [isShowingAll])
  const hasMore = items.length > maxShownAtFirst
  return {
    shown: isShowingAll ? items : items.slice(0, maxShownAtFirst),
    isShowingAll,
    hasMore,
    toggle: () => setShowingAll(!isShowingAll),
  }
}

type Props = { isShowingAll: boolean; hasMore: boolean; toggle: () => void; more: string; fewer: string }

/** The same button shows all lines and then fewer again, so it keeps the focus. */
export const ShowAll = ({ isShowingAll, hasMore, toggle, more, fewer }: Props) =>
  hasMore ? (
    <Button look="quiet" onPress={toggle}>
      {isShowingAll ? fewer : more}
    </Button>
  ) : null
