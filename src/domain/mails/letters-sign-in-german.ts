import { footers } from './footers.js'
import type { SignInLetters } from './letters.js'

const { accountFooter } = footers.de

export const signInGerman: SignInLetters = {
  'new-device': ({ username }, { productName, addresses }) => ({
    subject: `Neue Anmeldung bei ${productName}`,
    blocks: [
      {
        text: `Mit Ihrem Konto ${username} bei ${productName} hat sich gerade jemand auf einem Gerät oder in einem Browser angemeldet, mit dem dieses Konto bisher nicht benutzt wurde.`,
      },
      {
        text: 'Wenn Sie das waren, brauchen Sie nichts zu tun. Wenn nicht, wählen Sie jetzt ein neues Passwort. Damit werden alle Geräte abgemeldet:',
      },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: accountFooter(productName),
  }),

  'device-trusted': ({ username }, { productName, addresses }) => ({
    subject: `Ein Browser braucht bei ${productName} keinen Code mehr`,
    blocks: [
      {
        text: `In diesem Browser fragt Ihr Konto ${username} bei ${productName} bei den nächsten Anmeldungen nicht nach einem Code: Das Kästchen dafür wurde gerade angekreuzt. Auf Ihrer Kontoseite können Sie das beenden.`,
      },
      {
        text: 'Wenn Sie das waren, brauchen Sie nichts zu tun. Wenn nicht, wählen Sie jetzt ein neues Passwort. Damit werden alle Geräte abgemeldet, und alle brauchen wieder einen Code:',
      },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: accountFooter(productName),
  }),

  'session-stolen': ({ username }, { productName, addresses }) => ({
    subject: `Ein Gerät wurde bei ${productName} abgemeldet: Seine Sitzung wurde vielleicht kopiert`,
    blocks: [
      {
        text: `Für Ihr Konto ${username} bei ${productName} wurde gerade ein alter Schlüssel eines angemeldeten Geräts benutzt. Das geschieht, wenn jemand die Sitzung kopiert hat, und auch, wenn ein Browser aus einer Sicherung wiederhergestellt wird. Zur Sicherheit haben wir dieses Gerät abgemeldet.`,
      },
      {
        text: 'Wenn Sie keinen Browser und kein Gerät wiederhergestellt haben, wählen Sie jetzt ein neues Passwort. Damit werden alle Geräte abgemeldet:',
      },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: accountFooter(productName),
  }),

  'sign-in-unfinished': ({ username }, { productName, addresses }) => ({
    subject: `Eine Anmeldung bei ${productName} wurde nicht abgeschlossen`,
    blocks: [
      {
        text: `Jemand, vielleicht Sie, hat das richtige Passwort Ihres Kontos ${username} bei ${productName} eingegeben und den zweiten Schritt nicht abgeschlossen. Niemand wurde angemeldet.`,
      },
      {
        text: 'Wenn Sie das waren, brauchen Sie nichts zu tun. Wenn nicht, kennt jemand Ihr Passwort. Wählen Sie jetzt ein neues:',
      },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: accountFooter(productName),
  }),
}
