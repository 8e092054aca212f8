import type { AccountLetters } from './letters.js'

const accountFooter = (productName: string) => `Diese E-Mail betrifft Ihr Konto bei ${productName}.`

export const germanAccount: AccountLetters = {
  'username-changed': ({ username, formerUsername }, { productName, addresses }) => ({
    subject: `Ihr Benutzername bei ${productName} wurde geändert`,
    blocks: [
      {
        text: `Ihr Benutzername bei ${productName} wurde gerade von ${formerUsername} in ${username} geändert. Melden Sie sich ab jetzt mit dem neuen an. Den alten kann 30 Tage lang niemand anderes bekommen. So lange können Sie wieder zu ihm wechseln.`,
      },
      {
        text: 'Wenn Sie das nicht waren, wählen Sie jetzt ein neues Passwort, und ändern Sie danach den Benutzernamen zurück:',
      },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: accountFooter(productName),
  }),

  'password-expired': ({ username }, { productName, addresses }) => ({
    subject: `Bitte wählen Sie ein neues Passwort für ${productName}`,
    blocks: [
      {
        text: `Ein Administrator hat das Passwort Ihres Kontos ${username} bei ${productName} ungültig gemacht, weil andere es kennen könnten. Alle Geräte wurden abgemeldet.`,
      },
      {
        text: 'Wählen Sie ein neues Passwort, um sich wieder anzumelden. Verwenden Sie das alte auch auf anderen Websites nicht mehr.',
      },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: accountFooter(productName),
  }),

  'account-deleted': ({ username, byOperator }, { productName }) => ({
    subject: `Ihr Konto bei ${productName} wurde gelöscht`,
    blocks: [
      {
        text: byOperator
          ? `Ein Administrator hat Ihr Konto ${username} bei ${productName} gelöscht, mit allem, was dazu gespeichert war.`
          : `Ihr Konto ${username} bei ${productName} wurde gerade gelöscht, mit allem, was dazu gespeichert war. Es lässt sich nicht wiederherstellen.`,
      },
      {
        text: `Wenn Sie das nicht wollten, wenden Sie sich an den Betreiber von ${productName}. Sie können sich mit dieser Adresse jederzeit neu registrieren.`,
      },
    ],
    footer: `Das ist die letzte E-Mail: Ihr Konto bei ${productName} gibt es nicht mehr.`,
  }),
}
