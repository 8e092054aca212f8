/** Pages of the operator, in the footer of pages and mails: TERMS_URL, PRIVACY_URL, IMPRINT_URL, SUPPORT_URL. */
const siteLinks = ['terms', 'privacy', 'imprint', 'support'] as const
export type SiteLink = (typeof siteLinks)[number]
export type SiteLinks = Partial<Record<SiteLink, string>>

/** How a reader sees it: a mail address is worth more than its link, as it can be written to from anywhere. */
export const mailAddressIn = (address: string) =>
  address.startsWith('mailto:') ? new URL(address).pathname : undefined

/** Those that are set, in the order of the footer. */
export const labelledLinks = (links: SiteLinks, labels: Readonly<Record<SiteLink, string>>) =>
  siteLinks.flatMap((name) => {
    const address = links[name]
    return address === undefined ? [] : [{ name, label: labels[name], address }]
  })
