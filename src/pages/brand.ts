import { type Logo, letterIcon, markIcon, markSvg, withDarkPicture, wordMarkSize } from '../lib/brand.js'
import type { Design } from '../lib/design.js'
import { escapeHtml } from '../lib/text.js'

export type Brand = { name: string; design: Design; logo?: Logo; iconUrl?: string | undefined }

/** The logo with the name, or the word mark alone, with the name for screen readers. */
export const brandMark = ({ name, logo }: Brand) => {
  const nameHtml = escapeHtml(name)
  if (!logo) return `${markSvg}<span>${nameHtml}</span>`
  const source = escapeHtml(logo.address)
  if (!logo.size)
    return `${withDarkPicture(logo, `<img class="brand-mark" src="${source}" alt="" width="32" height="32">`)}<span>${nameHtml}</span>`
  const { width, height } = wordMarkSize(logo.size)
  // The width is in rem, so that the logo grows with the letters. The style sheet lets the height follow.
  return withDarkPicture(
    logo,
    `<img class="brand-word" src="${source}" alt="${nameHtml}" width="${width}" height="${height}" style="width:${width / 16}rem">`,
  )
}

/** The icon in the browser's tab. A word mark would be too small to read there. */
export const tabIcon = ({ name, design, logo, iconUrl }: Brand) => {
  if (iconUrl !== undefined) return iconUrl
  if (logo && !logo.size) return logo.address
  const { fill, onFill } = design.accent.light
  return logo ? letterIcon(name, fill, onFill) : markIcon(fill, onFill)
}
