import { languageName } from '../../contract/languages.js'
import { timeSpan } from '../../contract/time-spans.js'
import { footers } from './footers.js'
import type { AccountLetters } from './letters.js'
import { undoGerman } from './letters-email-german.js'

const { accountFooter } = footers.de

export const accountGerman: AccountLetters = {
  'language-changed': ({ username, newLanguage, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `E-Mails zu Ihrem Konto bei ${productName} kommen jetzt in einer anderen Sprache`,
    blocks: [
      {
        text: `E-Mails zu Ihrem Konto ${username} bei ${productName} werden ab jetzt auf ${languageName(newLanguage, 'de')} geschrieben. Das wurde gerade auf der Kontoseite geändert. Warnungen kommen noch ${timeSpan(undoFor, 'de')} lang in der bisherigen Sprache.`,
      },
      { text: undoGerman(undoFor) },
      { link: addresses.undo(undoToken), label: 'Das war ich nicht' },
    ],
    footer: accountFooter(productName),
  }),

  'username-changed': ({ username, formerUsername, reservedFor, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Ihr Benutzername bei ${productName} wurde geändert`,
    blocks: [
      {
        text: `Ihr Benutzername bei ${productName} wurde gerade von ${formerUsername} in ${username} geändert. Melden Sie sich ab jetzt mit dem neuen an. Der alte bleibt ${timeSpan(reservedFor, 'de')} lang für Sie reserviert. So lange können Sie wieder zu ihm wechseln.`,
      },
      { text: undoGerman(undoFor) },
      { link: addresses.undo(undoToken), label: 'Das war ich nicht' },
    ],
    footer: accountFooter(productName),
  }),

  'password-expired': ({ username }, { productName, addresses }) => ({
    subject: `Bitte wählen Sie ein neues Passwort für ${productName}`,
    blocks: [
      {
        text: `Die Administration von ${productName} hat das Passwort Ihres Kontos ${username} ungültig gemacht, weil andere es kennen könnten. Alle Geräte wurden abgemeldet.`,
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
          ? `Die Administration von ${productName} hat Ihr Konto ${username} gelöscht, mit allem, was dazu gespeichert war.`
          : `Ihr Konto ${username} bei ${productName} wurde gerade gelöscht, mit allem, was dazu gespeichert war. Es lässt sich nicht wiederherstellen.`,
      },
      {
        text: `Wenn Sie das nicht wollten, wenden Sie sich an die Administration von ${productName}.`,
      },
    ],
    footer: `Das ist die letzte E-Mail: Ihr Konto bei ${productName} gibt es nicht mehr.`,
  }),
}
