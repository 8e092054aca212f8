import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isFocusLost, moveFocusTo } from '../browser/focus.js'
import { useStableCallback } from './stable-callback.js'

/** When `step` changes and the focused element went away with the old one, the place of the new one gets the focus. */
export const useFocusAfter = (place: RefObject<HTMLElement | null>, step: string | undefined) => {
  const shownStep = useRef(step)
  const moveIfLost = useStableCallback(() => {
    // What is closed has no name of its own, but its button has.
    if (isFocusLost()) moveFocusTo(place.current?.querySelector('button') ?? place.current)
  })
  useEffect(() => {
    if (shownStep.current !== step) moveIfLost()
    shownStep.current = step
  }, [step])
}

/** The name of the opened part: a label, or the sentence that has to be read before anything in it is pressed. */
type Name = { 'aria-label': string } | { 'aria-labelledby': string }

/**
 * A button that is replaced by what it opens. The opened part gets the focus as a whole, so that a held Enter key does not
 * press a button in it. Escape closes it, and closing returns the focus to the button.
 */
export const useDisclosure = (name: Name, openAtFirst: () => boolean = () => false) => {
  const [isOpen, setOpen] = useState(openAtFirst)
  const container = useRef<HTMLDivElement>(null)
  const wasOpen = useRef(isOpen)
  useEffect(() => {
    if (wasOpen.current === isOpen) return
    wasOpen.current = isOpen
    if (!isOpen) moveFocusTo(container.current?.querySelector('button'))
    // A field in it may have taken the focus already.
    else if (!container.current?.contains(document.activeElement)) moveFocusTo(container.current)
  }, [isOpen])
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen || event.key !== 'Escape') return
    // One press closes one thing.
    event.stopPropagation()
    setOpen(false)
  }
  // While it is closed, the button says the name.
  const group = isOpen ? { role: 'group' as const, ...name } : {}
  const className = isOpen ? 'opened' : 'closed'
  return { isOpen, setOpen, containerProps: { ref: container, onKeyDown, class: className, ...group } }
}
