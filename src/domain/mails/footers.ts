import type { Language } from '../../contract/languages.js'

type Footer = (productName: string) => string

/** `visitorFooter` is for an address that a visitor has entered and that may have no account. */
export const footers: Record<Language, { visitorFooter: Footer; accountFooter: Footer }> = {
  en: {
    visitorFooter: (productName) => `You receive this email because this address was entered at ${productName}.`,
    accountFooter: (productName) => `This email is about your account at ${productName}.`,
  },
  de: {
    visitorFooter: (productName) =>
      `Sie erhalten diese E-Mail, weil diese Adresse bei ${productName} eingegeben wurde.`,
    accountFooter: (productName) => `Diese E-Mail betrifft Ihr Konto bei ${productName}.`,
  },
  fr: {
    visitorFooter: (productName) => `Vous recevez cet e-mail parce que cette adresse a été saisie sur ${productName}.`,
    accountFooter: (productName) => `Cet e-mail concerne votre compte sur ${productName}.`,
  },
}
