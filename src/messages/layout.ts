import type { Language } from '../contract/languages.js'
import { mailAddressIn, type SiteLinks } from '../contract/pages.js'
import { firstLetter, type Logo, withDarkPicture, wordMarkSize } from '../lib/brand.js'
import type { Design } from '../lib/design.js'
import { fontSizes, lineHeight } from '../lib/design-tokens.js'
import { escapeHtml } from '../lib/text.js'
import type { Config } from '../settings/config.js'
import { createPageAddress } from './letters.js'
import { mailWordsWith, type OwnTexts } from './own-mail-words.js'
import type { Block, Letter } from './write-letter.js'

const blockAsText = (block: Block) => {
  if ('text' in block) return block.text
  if ('contact' in block) return mailAddressIn(block.contact) ?? block.contact
  return 'link' in block ? block.link : block.code
}

export const asText = (letter: Letter) =>
  [
    ...letter.blocks.map(blockAsText),
    [
      '-- ',
      letter.footer,
      // Angle brackets need no words, so they are the same in every language. A colon would need a space before it in French.
      ...letter.links.map(({ label, address }) => `${label} <${mailAddressIn(address) ?? address}>`),
    ].join('\n'),
  ].join('\n\n')

// Inline styles have the light colours. A mail program with a dark mode that drops style sheets derives its dark colours from them.
const stylesOf = ({ colours, accent, radii, fonts }: Design) => {
  const { background, surface, text, muted } = colours.light
  const { fill, onFill, edge } = accent.light
  return {
    body: `margin:0;padding:32px 16px;background:${background};color:${text};font-size:${fontSizes.body}px;line-height:${lineHeight};font-family:${fonts.text}`,
    card: `padding:24px 24px 8px;border-radius:${radii.card}px;background:${surface}`,
    button: `display:inline-block;padding:12px 20px;border-radius:${radii.control}px;font-weight:600;text-decoration:none;background:${fill};color:${onFill};border:1px solid ${edge}`,
    mark: `display:inline-block;width:32px;height:32px;margin-right:10px;border-radius:${radii.mark}px;vertical-align:middle`,
    letter: `background:${fill};color:${onFill};line-height:32px;text-align:center;font-weight:700`,
    code: `font-family:${fonts.code};font-size:${fontSizes.title}px;letter-spacing:3px;margin:0 0 16px`,
    heading: `margin:0 0 16px;font-size:${fontSizes.title}px;line-height:1.25;font-weight:650`,
    small: `font-size:${fontSizes.tiny}px;color:${muted}`,
    quietLink: `color:${muted}`,
  }
}
type Styles = ReturnType<typeof stylesOf>

/**
 * The dark colours, for mail programs that know the scheme of the screen. They need `!important` to override the inline styles. A logo that
 * was drawn for light mails keeps a light background.
 */
const darkStyle = ({ colours: { light, dark }, accent }: Design) => {
  const { fill, onFill, edge } = accent.dark
  const rules = [
    `body{background:${dark.background}!important;color:${dark.text}!important}`,
    `.card{background:${dark.surface}!important}`,
    `.small,.small a{color:${dark.muted}!important}`,
    `.fill{background:${fill}!important;color:${onFill}!important;border-color:${edge}!important}`,
    `.logo{background:${light.surface}!important;box-shadow:0 0 0 4px ${light.surface}!important}`,
  ]
  return `<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><style>:root{color-scheme:light dark}@media (prefers-color-scheme:dark){${rules.join('')}}</style>`
}

/**
 * The text that a list of mails shows beside the subject: the first sentence. Invisible characters fill the rest of the line, so that the
 * list shows nothing of what follows, such as a code.
 */
const preview = ({ blocks }: Letter) => {
  const firstSentence = blocks.flatMap((block) => ('text' in block ? [block.text] : [])).at(0) ?? ''
  return `<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${escapeHtml(firstSentence)}${'&#8199;&#847;'.repeat(90)}</div>`
}

/** How the operator wants mails to look. */
export type Brand = { name: string; design: Design; logo?: Logo; links?: SiteLinks }

const fullAddress = (address: string, publicUrl: string) => {
  const url = URL.canParse(address, publicUrl) ? new URL(address, publicUrl) : undefined
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined
}

/** The brand with a full address of the logo. Without one there is no logo, because mail programs do not show `data:` URLs. */
export const brandForMails = (brand: Brand, publicUrl: string): Brand => {
  const { logo, ...rest } = brand
  const address = logo && fullAddress(logo.address, publicUrl)
  if (address === undefined) return rest
  const darkAddress = logo?.darkAddress === undefined ? undefined : fullAddress(logo.darkAddress, publicUrl)
  return {
    ...rest,
    logo: { address, ...(logo?.size && { size: logo.size }), ...(darkAddress !== undefined && { darkAddress }) },
  }
}

/** A logo for the dark scheme needs no light background. */
const logoClass = ({ darkAddress }: Logo) => (darkAddress === undefined ? 'logo' : 'dark-logo')

/** The operator's logo, or the first letter of the name in the accent colour, because mail programs show no SVG. */
const mark = ({ logo, name }: Brand, styles: Styles) =>
  logo === undefined
    ? `<span aria-hidden="true" class="fill" style="${styles.mark};${styles.letter}">${escapeHtml(firstLetter(name))}</span>`
    : withDarkPicture(
        logo,
        `<img src="${escapeHtml(logo.address)}" alt="" width="32" height="32" class="${logoClass(logo)}" style="${styles.mark};object-fit:contain">`,
      )

/** The mark with the name, or the word mark alone. The size of a word mark is in attributes, which all mail programs know. */
const heading = (brand: Brand, styles: Styles) => {
  const name = escapeHtml(brand.name)
  if (!brand.logo?.size) return `${mark(brand, styles)}<span style="vertical-align:middle">${name}</span>`
  const { width, height } = wordMarkSize(brand.logo.size)
  return withDarkPicture(
    brand.logo,
    `<img src="${escapeHtml(brand.logo.address)}" alt="${name}" width="${width}" height="${height}" class="${logoClass(brand.logo)}" style="display:block;border:0">`,
  )
}

/** The address is shown below its button too, so that the reader sees where the link goes. */
const blockAsHtml = (block: Block, styles: Styles) => {
  if ('text' in block) return `<p style="margin:0 0 16px">${escapeHtml(block.text)}</p>`
  if ('code' in block) return `<p style="${styles.code}"><strong>${escapeHtml(block.code)}</strong></p>`
  if ('contact' in block) {
    const contactText = mailAddressIn(block.contact) ?? block.contact
    return `<p style="margin:0 0 16px;word-break:break-all"><a href="${escapeHtml(block.contact)}">${escapeHtml(contactText)}</a></p>`
  }
  const link = escapeHtml(block.link)
  return `<p style="margin:0 0 8px"><a href="${link}" class="fill" style="${styles.button}">${escapeHtml(block.label)}</a></p>
<p class="small" style="margin:0 0 16px;${styles.small};word-break:break-all">${link}</p>`
}

const linkAsHtml = ({ label, address }: Letter['links'][number], styles: Styles) =>
  `<br><a href="${escapeHtml(address)}" style="${styles.quietLink}">${escapeHtml(label)}</a>`

/** Styles are in the tags, because many mail programs drop style sheets. Nothing but the logo is loaded. */
export const asHtml = (letter: Letter, brand: Brand, language: Language) => {
  const styles = stylesOf(brand.design)
  return `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(letter.subject)}</title>${darkStyle(brand.design)}</head>
<body style="${styles.body}">
${preview(letter)}
<div style="max-width:34rem;margin:0 auto">
<p style="margin:0 0 16px;font-size:${fontSizes.brand}px;font-weight:600">${heading(brand, styles)}</p>
<div class="card" style="${styles.card}">
<h1 style="${styles.heading}">${escapeHtml(letter.subject)}</h1>
${letter.blocks.map((block) => blockAsHtml(block, styles)).join('\n')}
</div>
<p class="small" style="margin:16px 0 0;${styles.small}">${escapeHtml(letter.footer)}${letter.links.map((link) => linkAsHtml(link, styles)).join('')}</p>
</div>
</body>
</html>
`
}

/** What every mail says about the service. */
export type Letterhead = { publicUrl: string; brand: Brand; from: string; ownTexts?: OwnTexts }

/** The links with full URLs, because a path alone leads nowhere from a mail. */
const fullLinks = ({ links = {} }: Brand, publicUrl: string): SiteLinks =>
  Object.fromEntries(Object.entries(links).map(([name, address]) => [name, new URL(address, publicUrl).href]))

/** The letterhead in the form that letters are written with. */
export const letterSite = ({ brand: configuredBrand, publicUrl, ownTexts = {} }: Letterhead) => {
  const brand = brandForMails(configuredBrand, publicUrl)
  const links = fullLinks(brand, publicUrl)
  const words = mailWordsWith(ownTexts)
  return { brand, site: { productName: brand.name, pageAddress: createPageAddress(publicUrl), links, words } }
}

/** How pages and mails look: their design, name, logo, icon and links. */
export const themeOf = (config: Config, design: Design) => {
  const { productName: name, faviconUrl: iconUrl } = config
  const { termsUrl: terms, privacyUrl: privacy, imprintUrl: imprint, supportUrl: support } = config
  const links: SiteLinks = {
    ...(terms !== undefined && { terms }),
    ...(privacy !== undefined && { privacy }),
    ...(imprint !== undefined && { imprint }),
    ...(support !== undefined && { support }),
  }
  const logo = logoOf(config)
  const home = config.homeUrl ?? applicationAt(config.afterSignIn)
  return { name, design, iconUrl, links, home, ...(logo && { logo }) }
}

/** The name, logo and links that stand in every mail. */
export const letterheadOf = (
  config: Config,
  { design, ownWords }: { design: Design; ownWords: { mails: OwnTexts } },
): Letterhead => ({
  publicUrl: config.publicUrl,
  brand: themeOf(config, design),
  from: config.mailFrom,
  ownTexts: ownWords.mails,
})

/** The application to which a sign-in leads; undefined if it leads to the account page. */
const applicationAt = (afterSignIn: string) =>
  /^\/(dashboard|api\/auth\/account-page)(?![^/?#])/.test(afterSignIn) ? undefined : afterSignIn

const logoOf = ({ productLogoUrl, productLogoDarkUrl, productLogoSize }: Config): Logo | undefined =>
  productLogoUrl === undefined
    ? undefined
    : {
        address: productLogoUrl,
        ...(productLogoDarkUrl !== undefined && { darkAddress: productLogoDarkUrl }),
        ...(productLogoSize && { size: productLogoSize }),
      }
