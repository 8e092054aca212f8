/** Pages of the operator, in the footer of pages and mails: TERMS_URL, PRIVACY_URL, IMPRINT_URL, SUPPORT_URL. */
const siteLinks = ['terms', 'privacy', 'imprint', 'support'] as const
export type SiteLink = (typeof siteLinks)[number]
export type SiteLinks = Partial<Record<SiteLink, string>>

/**
 * The mail address of a `mailto:` link; undefined for any other link. The mail address is shown as text, so that the reader can write
 * to it from any program.
 */
export const mailAddressIn = (address: string) =>
  address.startsWith('mailto:') ? new URL(address).pathname : undefined

/** The links that are set, in the order of the footer. */
export const labelledLinks = (links: SiteLinks, labels: Readonly<Record<SiteLink, string>>) =>
  siteLinks.flatMap((name) => {
    const address = links[name]
    return address === undefined ? [] : [{ name, label: labels[name], address }]
  })
