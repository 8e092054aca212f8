import { letterIcon, markIcon, markSvg } from '../../lib/brand-mark.js'
import type { Design } from '../../lib/design.js'
import { escapeHtml } from '../../lib/escape-html.js'
import { inBothSchemes, type Logo, wordMarkSize } from '../../lib/product-logo.js'

export type Brand = { name: string; design: Design; logo?: Logo; iconUrl?: string | undefined }

/** The logo with the name, or the word mark alone: then the name is what it says to those who do not see it. */
export const brandMark = ({ name, logo }: Brand) => {
  const written = escapeHtml(name)
  if (!logo) return `${markSvg}<span>${written}</span>`
  const source = escapeHtml(logo.address)
  if (!logo.size)
    return `${inBothSchemes(logo, `<img class="brand-mark" src="${source}" alt="" width="32" height="32">`)}<span>${written}</span>`
  const { width, height } = wordMarkSize(logo.size)
  // The width grows with the letters, and the height with the width.
  return inBothSchemes(
    logo,
    `<img class="brand-word" src="${source}" alt="${written}" width="${width}" height="${height}" style="width:${width / 16}rem">`,
  )
}

/** In the browser's tab. A word mark could not be read there. */
export const tabIcon = ({ name, design, logo, iconUrl }: Brand) => {
  if (iconUrl !== undefined) return iconUrl
  if (logo && !logo.size) return logo.address
  const { fill, onFill } = design.accent.light
  return logo ? letterIcon(name, fill, onFill) : markIcon(fill, onFill)
}
