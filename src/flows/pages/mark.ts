/** Our own sign: a latchkey whose bit is the latch. Drawn on 32 by 32, in the colour it is given. */
const markShapes =
  '<rect width="32" height="32" rx="9" fill="var(--mark,currentColor)"/>' +
  '<g fill="none" stroke="var(--on-mark,#fff)" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round">' +
  '<circle cx="11.6" cy="16" r="4.4"/><path d="M16 16h8.6v4.2M20.6 16v2.8"/></g>'

export const markSvg = `<svg class="mark" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true">${markShapes}</svg>`

/** The sign as an icon for the browser's tab, which knows none of our styles. */
export const markIcon = (fill: string, onFill: string) => {
  const shapes = markShapes.replace('var(--mark,currentColor)', fill).replace('var(--on-mark,#fff)', onFill)
  return `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${shapes}</svg>`)}`
}
