import type { Letters } from './letters.js'
import { timeSpan } from './time-spans.js'

const footerFor = (productName: string) =>
  `Sie erhalten diese E-Mail, weil Ihre Adresse bei ${productName} angegeben wurde.`

export const german: Letters = {
  'verify-email': ({ token, code, validFor }, { productName, addresses }) => ({
    subject: `Bestätigen Sie Ihre E-Mail-Adresse für ${productName}`,
    blocks: [
      {
        text: `Willkommen bei ${productName}. Um die Registrierung abzuschließen, öffnen Sie diesen Link und klicken Sie dort auf die Schaltfläche:`,
      },
      { link: addresses.verifyEmail(token), label: 'E-Mail-Adresse bestätigen' },
      {
        text: 'Oder geben Sie diesen Code auf der Seite ein, auf der Sie sich registriert haben. Sie haben insgesamt fünf Versuche:',
      },
      { code },
      {
        text: `Beides gilt ${timeSpan(validFor, 'de')}. Wenn Sie sich nicht registriert haben, können Sie diese E-Mail ignorieren. Es wird kein Konto angelegt.`,
      },
    ],
    footer: footerFor(productName),
  }),

  'already-registered': (_values, { productName, addresses }) => ({
    subject: `Sie haben bereits ein Konto bei ${productName}`,
    blocks: [
      {
        text: `Jemand, vielleicht Sie selbst, wollte sich bei ${productName} mit dieser Adresse registrieren. Sie haben damit bereits ein Konto, deshalb wurde nichts geändert.`,
      },
      { text: 'Hier können Sie sich anmelden:' },
      { link: addresses.login, label: 'Anmelden' },
      { text: 'Passwort vergessen? Hier können Sie ein neues wählen:' },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
      { text: 'Wenn Sie das nicht waren, brauchen Sie nichts zu tun.' },
    ],
    footer: footerFor(productName),
  }),

  'reset-password': ({ token, validFor }, { productName, addresses }) => ({
    subject: `Wählen Sie ein neues Passwort für ${productName}`,
    blocks: [
      {
        text: `Jemand, vielleicht Sie selbst, möchte das Passwort Ihres Kontos bei ${productName} zurücksetzen. Hier können Sie ein neues Passwort wählen:`,
      },
      { link: addresses.resetPassword(token), label: 'Neues Passwort wählen' },
      {
        text: `Der Link funktioniert einmal und gilt ${timeSpan(validFor, 'de')}. Wenn Sie ihn nicht angefordert haben, können Sie diese E-Mail ignorieren. Ihr Passwort bleibt unverändert.`,
      },
    ],
    footer: footerFor(productName),
  }),

  'password-changed': ({ username }, { productName, addresses }) => ({
    subject: `Ihr Passwort für ${productName} wurde geändert`,
    blocks: [
      {
        text: `Das Passwort Ihres Kontos ${username} bei ${productName} wurde gerade geändert. Alle anderen Geräte wurden abgemeldet.`,
      },
      { text: 'Wenn Sie das waren, brauchen Sie nichts zu tun. Wenn nicht, wählen Sie sofort ein neues Passwort:' },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: footerFor(productName),
  }),

  'password-reset': ({ username }, { productName, addresses }) => ({
    subject: `Ihr Passwort für ${productName} wurde zurückgesetzt`,
    blocks: [
      {
        text: `Das Passwort Ihres Kontos ${username} bei ${productName} wurde gerade über einen Link zurückgesetzt, der an diese Adresse geschickt wurde. Alle Geräte wurden abgemeldet.`,
      },
      {
        text: 'Wenn Sie das waren, brauchen Sie nichts zu tun. Wenn nicht, wählen Sie sofort ein neues Passwort und prüfen Sie, wer Ihre E-Mails lesen kann:',
      },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: footerFor(productName),
  }),

  'provider-linked': ({ username, providerName }, { productName, addresses }) => ({
    subject: `Anmeldung bei ${productName} jetzt auch mit ${providerName}`,
    blocks: [
      {
        text: `Ihr Konto ${username} bei ${productName} wurde gerade mit ${providerName} verbunden. Sie können sich jetzt auch mit ${providerName} anmelden.`,
      },
      {
        text: `Wenn Sie das nicht waren, melden Sie sich an, trennen Sie die Verbindung mit ${providerName} und ändern Sie Ihr Passwort:`,
      },
      { link: addresses.login, label: 'Anmelden' },
    ],
    footer: footerFor(productName),
  }),
}
