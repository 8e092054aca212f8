import { escapeHtml } from './escape-html.js'

type Size = { width: number; height: number }

/** The operator's logo. With a size it is a word mark, which takes the place of the product's name. */
export type Logo = { address: string; darkAddress?: string; size?: Size }

const usualHeight = 32
const maxSize = { width: 224, height: 48 }
/** A word mark that is narrower than this may be higher than usual, because it has two lines or is a sign. */
const narrowWidth = 96

/** The pixels in which a word mark is shown. Pages and mails reserve them before the picture has arrived. */
export const wordMarkSize = ({ width, height }: Size): Size => {
  const ratio = width / height
  const preferredHeight = Math.max(usualHeight, narrowWidth / ratio)
  const shownHeight = Math.min(preferredHeight, maxSize.height, maxSize.width / ratio)
  return { width: Math.round(shownHeight * ratio), height: Math.round(shownHeight) }
}

/** The image with the operator's dark logo, which is shown if the colour scheme is dark. */
export const withDarkPicture = ({ darkAddress }: Logo, image: string) =>
  darkAddress === undefined
    ? image
    : `<picture><source srcset="${escapeHtml(srcset(darkAddress))}" media="(prefers-color-scheme: dark)">${image}</picture>`

/** A space or a comma is escaped, because it would end the address. */
const srcset = (address: string) => address.replaceAll(' ', '%20').replaceAll(',', '%2C')
