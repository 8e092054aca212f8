import { useEffect, useRef, useState } from 'preact/hooks'

/** Puts the focus on anything, also on what the Tab key passes over, so that it is read out. */
export const focusOn = (element: HTMLElement | null | undefined) => {
  if (!element) return
  if (element.tabIndex < 0) element.setAttribute('tabindex', '-1')
  element.focus()
}

/** Whether the focused element is gone: the browser gives the focus to the body then. */
export const isFocusLost = () => document.activeElement === null || document.activeElement === document.body

/**
 * A button that opens a choice in its own place. The choice gets the focus: as a whole, so that a held Enter key does not
 * press what has just appeared. Escape closes it, and closing gives the focus back to the button.
 */
export const useChoice = (label: string, openAtFirst: () => boolean = () => false) => {
  const [open, setOpen] = useState(openAtFirst)
  const place = useRef<HTMLDivElement>(null)
  const shown = useRef(open)
  useEffect(() => {
    if (shown.current === open) return
    shown.current = open
    if (!open) focusOn(place.current?.querySelector('button'))
    // A field in it may have taken the focus already.
    else if (!place.current?.contains(document.activeElement)) focusOn(place.current)
  }, [open])
  const onKeyDown = (event: KeyboardEvent) => {
    if (open && event.key === 'Escape') setOpen(false)
  }
  return { open, setOpen, frame: { ref: place, role: 'group' as const, 'aria-label': label, onKeyDown } }
}
