import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useStableCallback } from './stable.js'

/** Moves the focus to any element, also to one that the Tab key skips, so that a screen reader reads it out. */
export const moveFocusTo = (element: HTMLElement | null | undefined) => {
  if (!element) return
  if (element.tabIndex < 0) element.setAttribute('tabindex', '-1')
  element.focus()
}

/** Whether the user has not moved the focus yet: it is lost, or still at the heading, where each screen begins. */
export const isFocusAtStart = () => isFocusLost() || document.activeElement?.tagName === 'H1'

/** Whether the focused element was removed. The browser then gives the focus to the body. */
export const isFocusLost = () => document.activeElement === null || document.activeElement === document.body

/** If a change of `step` has removed the focused element, `place` gets the focus. */
export const useFocusAfter = (place: RefObject<HTMLElement | null>, step: string | undefined) => {
  const shownStep = useRef(step)
  const moveIfLost = useStableCallback(() => {
    // A closed part has no name that could be read out, but its button has one.
    if (isFocusLost()) moveFocusTo(place.current?.querySelector('button') ?? place.current)
  })
  useEffect(() => {
    if (shownStep.current !== step) moveIfLost()
    shownStep.current = step
  }, [step])
}

/** The name of the opened part: a label, or the sentence that the user should read before pressing a button in it. */
type Name = { 'aria-label': string } | { 'aria-labelledby': string }

const buttonsIn = (container: Element | null) => [...(container?.querySelectorAll('button') ?? [])]

/**
 * A button that is replaced by what it opens. The opened part gets the focus as a whole, so that a held Enter key does not press a
 * button in it. Escape closes the opened part, and closing it returns the focus to the button that opened it.
 */
export const useDisclosure = (name: Name, openAtFirst: () => boolean = () => false) => {
  const [isOpen, setOpen] = useState(openAtFirst)
  const container = useRef<HTMLDivElement>(null)
  const wasOpen = useRef(isOpen)
  /** Which of the buttons has opened the part. It gets the focus again. */
  const opener = useRef(0)
  const onClickCapture = ({ target }: Event) => {
    const isPressed = (button: Element) => target instanceof Node && button.contains(target)
    if (!isOpen) opener.current = buttonsIn(container.current).findIndex(isPressed)
  }
  useEffect(() => {
    if (wasOpen.current === isOpen) return
    wasOpen.current = isOpen
    if (!isOpen) moveFocusTo(buttonsIn(container.current)[Math.max(0, opener.current)])
    // A field of the opened part may have taken the focus already.
    else if (!container.current?.contains(document.activeElement)) moveFocusTo(container.current)
  }, [isOpen])
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen || event.key !== 'Escape') return
    // One press of Escape closes one thing only.
    event.stopPropagation()
    setOpen(false)
  }
  // While the part is closed, its button has the name.
  const group = isOpen ? { role: 'group' as const, ...name } : {}
  const className = isOpen ? 'opened' : 'closed'
  return { isOpen, setOpen, containerProps: { ref: container, onKeyDown, onClickCapture, class: className, ...group } }
}
