import type { Language } from './languages.js'

/** Pages of the operator, in the footer of pages and mails: TERMS_URL, PRIVACY_URL, IMPRINT_URL, SUPPORT_URL. */
const siteLinks = ['terms', 'privacy', 'imprint', 'support'] as const
type SiteLink = (typeof siteLinks)[number]
export type SiteLinks = Partial<Record<SiteLink, string>>

const labels: Readonly<Record<Language, Record<SiteLink, string>>> = {
  en: { terms: 'Terms', privacy: 'Privacy', imprint: 'Legal notice', support: 'Help' },
  de: { terms: 'Nutzungsbedingungen', privacy: 'Datenschutz', imprint: 'Impressum', support: 'Hilfe' },
  fr: { terms: 'Conditions', privacy: 'Confidentialité', imprint: 'Mentions légales', support: 'Aide' },
}

/** Those that are set, in the order of the footer. */
export const labelledLinks = (links: SiteLinks, language: Language) =>
  siteLinks.flatMap((name) => {
    const address = links[name]
    return address === undefined ? [] : [{ label: labels[language][name], address }]
  })
