import type { SiteLinks } from '../contract/pages.js'
import type { Logo } from '../lib/brand.js'
import type { Design } from '../lib/design.js'

import type { Config } from '../settings/config.js'
import type { Letterhead } from './letterhead.js'
import type { OwnTexts } from './own-mail-words.js'

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
