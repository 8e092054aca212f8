import type { Language } from '../../contract/languages.js'
import type { SiteLinks } from '../../contract/site-links.js'
import { shadesOf } from '../../lib/accent.js'
import { colours, fontSizes, fonts, lineHeight, radii } from '../../lib/design-tokens.js'
import { escapeHtml } from '../../lib/escape-html.js'
import type { Block, Letter } from './write-letter.js'

export const asText = (letter: Letter) =>
  [
    ...letter.blocks.map((block) => ('text' in block ? block.text : 'link' in block ? block.link : block.code)),
    ['-- ', letter.footer, ...letter.links.map(({ label, address }) => `${label}: ${address}`)].join('\n'),
  ].join('\n\n')

// Mails are always light: most mail programs make a dark form of them by themselves.
const { background, surface, text, muted } = colours.light
const bodyStyle = `margin:0;padding:32px 16px;background:${background};color:${text};font-size:${fontSizes.body}px;line-height:${lineHeight};font-family:${fonts.text}`
const cardStyle = `padding:24px 24px 8px;border-radius:${radii.card}px;background:${surface}`
const buttonStyle = `display:inline-block;padding:12px 20px;border-radius:${radii.control}px;font-weight:600;text-decoration:none`
const markStyle = `display:inline-block;width:32px;height:32px;margin-right:10px;border-radius:${radii.mark}px;vertical-align:middle`
const codeStyle = `font-family:${fonts.code};font-size:${fontSizes.title}px;letter-spacing:3px;margin:0 0 16px`
const smallStyle = `font-size:${fontSizes.tiny}px;color:${muted}`

/** How the operator wants mails to look. */
export type Brand = { name: string; accent: string; logoUrl?: string | undefined; links?: SiteLinks }

/** The logo needs a full address: mail programs do not show `data:`. */
export const brandForMails = (brand: Brand, publicUrl: string): Brand => {
  const { logoUrl, ...rest } = brand
  const url = logoUrl !== undefined && URL.canParse(logoUrl, publicUrl) ? new URL(logoUrl, publicUrl) : undefined
  return url && /^https?:$/.test(url.protocol) ? { ...rest, logoUrl: url.href } : rest
}

const fillOf = ({ accent }: Brand) => {
  const { fill, onFill, edge } = shadesOf(accent).light
  return {
    button: `background:${fill};color:${onFill};border:1px solid ${edge}`,
    mark: `background:${fill};color:${onFill}`,
  }
}

/** The operator's logo, or the first letter of the name in the accent colour: mail programs show no SVG. */
const mark = (brand: Brand) =>
  brand.logoUrl === undefined
    ? `<span aria-hidden="true" style="${markStyle};${fillOf(brand).mark};line-height:32px;text-align:center;font-weight:700">${escapeHtml((Array.from(brand.name)[0] ?? '').toUpperCase())}</span>`
    : `<img src="${escapeHtml(brand.logoUrl)}" alt="" width="32" height="32" style="${markStyle};object-fit:contain">`

/** The address is shown below its button too, so that the reader sees where the link goes. */
const blockAsHtml = (block: Block, brand: Brand) => {
  if ('text' in block) return `<p style="margin:0 0 16px">${escapeHtml(block.text)}</p>`
  if ('code' in block) return `<p style="${codeStyle}"><strong>${escapeHtml(block.code)}</strong></p>`
  const link = escapeHtml(block.link)
  return `<p style="margin:0 0 8px"><a href="${link}" style="${buttonStyle};${fillOf(brand).button}">${escapeHtml(block.label)}</a></p>
<p style="margin:0 0 16px;${smallStyle};word-break:break-all">${link}</p>`
}

const linkAsHtml = ({ label, address }: Letter['links'][number]) =>
  `<br><a href="${escapeHtml(address)}" style="color:${muted}">${escapeHtml(label)}</a>`

/** Styles are in the tags, because mail programs drop style sheets. Only the logo is loaded, if there is one. */
export const asHtml = (letter: Letter, brand: Brand, language: Language) => `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(letter.subject)}</title></head>
<body style="${bodyStyle}">
<div style="max-width:34rem;margin:0 auto">
<p style="margin:0 0 16px;font-size:${fontSizes.brand}px;font-weight:600">${mark(brand)}<span style="vertical-align:middle">${escapeHtml(brand.name)}</span></p>
<div style="${cardStyle}">
${letter.blocks.map((block) => blockAsHtml(block, brand)).join('\n')}
</div>
<p style="margin:16px 0 0;${smallStyle}">${escapeHtml(letter.footer)}${letter.links.map(linkAsHtml).join('')}</p>
</div>
</body>
</html>
`
