import { radii } from './design-tokens.js'

/** The logo of Latchkey, a key whose bit is a latch, on 32 by 32. */
const markShapes = (fill: string, onFill: string) =>
  `<rect width="32" height="32" rx="${radii.mark}" fill="${fill}"/>` +
  `<g fill="none" stroke="${onFill}" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round">` +
  '<circle cx="11.6" cy="16" r="4.4"/><path d="M16 16h8.6v4.2M20.6 16v2.8"/></g>'

/** For a page that has the design's custom properties. */
export const markSvg = `<svg class="brand-mark" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true">${markShapes('var(--accent)', 'var(--on-accent)')}</svg>`

/** For the browser's tab, which knows no custom properties. */
export const markIcon = (fill: string, onFill: string) =>
  `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${markShapes(fill, onFill)}</svg>`)}`
