import type { Config } from '../config.js'
import type { SiteLinks } from '../contract/site-links.js'

/** How pages and mails look. */
export const themeOf = (config: Config) => {
  const { productName: name, productLogoUrl: logoUrl, accentColor: accent } = config
  const { termsUrl: terms, privacyUrl: privacy, imprintUrl: imprint, supportUrl: support } = config
  const links: SiteLinks = {
    ...(terms !== undefined && { terms }),
    ...(privacy !== undefined && { privacy }),
    ...(imprint !== undefined && { imprint }),
    ...(support !== undefined && { support }),
  }
  return { name, logoUrl, accent, links }
}
