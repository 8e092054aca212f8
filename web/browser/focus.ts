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
