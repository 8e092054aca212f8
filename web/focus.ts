import { useEffect, useRef, useState } from 'preact/hooks'

/** Moves the focus to any element, also to one that the Tab key skips, so that a screen reader reads it out. */
export const moveFocusTo = (element: HTMLElement | null | undefined) => {
  if (!element) return
  if (element.tabIndex < 0) element.setAttribute('tabindex', '-1')
  element.focus()
}

/** Whether the focused element was removed. The browser then gives the focus to the body. */
export const isFocusLost = () => document.activeElement === null || document.activeElement === document.body

/**
 * A button that is replaced by what it opens. The opened part gets the focus as a whole, so that a held Enter key does not
 * press a button in it. Escape closes it, and closing returns the focus to the button.
 */
export const useDisclosure = (label: string, openAtFirst: () => boolean = () => false) => {
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
  return { isOpen, setOpen, containerProps: { ref: container, role: 'group' as const, 'aria-label': label, onKeyDown } }
}
