import type { Config } from '../config.js'

/** How pages and mails look. */
export const themeOf = ({ productName: name, productLogoUrl: logoUrl, accentColor: accent }: Config) => ({
  name,
  logoUrl,
  accent,
})
