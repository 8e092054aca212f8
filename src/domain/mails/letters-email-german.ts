import { timeSpan } from '../../contract/time-spans.js'
import { footers } from './footers.js'
import type { EmailLetters } from './letters.js'

const { visitorFooter, accountFooter } = footers.de

/** "innerhalb von" asks for the dative. */
const afterWithin = (span: number) => timeSpan(span, 'de').replace(/Tage$/, 'Tagen')

const resetLinkGerman = (validFor: number) =>
  `Der Link funktioniert einmal und ist ${timeSpan(validFor, 'de')} gültig. Wenn er abgelaufen ist, fordern Sie auf der Anmeldeseite einen neuen an.`

export const emailGerman: EmailLetters = {
  'confirm-email': ({ token, validFor }, { productName, addresses }) => ({
    subject: `Bestätigen Sie Ihre neue E-Mail-Adresse für ${productName}`,
    blocks: [
      {
        text: `Diese Adresse wurde als neue E-Mail-Adresse eines Kontos bei ${productName} eingegeben. Öffnen Sie diesen Link und bestätigen Sie dort die Adresse:`,
      },
      { link: addresses.confirmEmail(token), label: 'Adresse bestätigen' },
      {
        text: `Der Link ist ${timeSpan(validFor, 'de')} gültig. Wenn Sie das nicht waren, können Sie diese E-Mail ignorieren. Es ändert sich nichts.`,
      },
    ],
    footer: visitorFooter(productName),
  }),

  'email-taken': (_values, { productName, addresses }) => ({
    subject: `Diese Adresse wird bei ${productName} bereits verwendet`,
    blocks: [
      {
        text: `Jemand, vielleicht Sie selbst, wollte diese Adresse für ein anderes Konto bei ${productName} verwenden. Sie gehört zu einem Konto oder gehörte bis vor wenigen Tagen dazu. Es wurde nichts geändert.`,
      },
      { text: 'Hier können Sie sich anmelden:' },
      { link: addresses.login, label: 'Anmelden' },
      { text: 'Wenn Sie das nicht waren, brauchen Sie nichts zu tun.' },
    ],
    footer: visitorFooter(productName),
  }),

  'address-reserved': ({ reservedFor }, { productName, addresses }) => ({
    subject: `Diese Adresse kann bei ${productName} noch nicht registriert werden`,
    blocks: [
      {
        text: `Jemand, vielleicht Sie selbst, wollte sich bei ${productName} mit dieser Adresse registrieren. Sie gehörte bis vor wenigen Tagen zu einem Konto und bleibt nach der Änderung noch ${timeSpan(reservedFor, 'de')} dafür reserviert.`,
      },
      { text: 'Wenn Sie ein Konto haben, melden Sie sich mit Ihrem Benutzernamen oder Ihrer neuen Adresse an:' },
      { link: addresses.login, label: 'Anmelden' },
      {
        text: 'Andernfalls versuchen Sie es nach dieser Zeit noch einmal, oder registrieren Sie sich mit einer anderen Adresse.',
      },
    ],
    footer: visitorFooter(productName),
  }),

  'email-change-asked': ({ username, newEmail, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Ihre E-Mail-Adresse bei ${productName} soll geändert werden`,
    blocks: [
      {
        text: `Für Ihr Konto ${username} bei ${productName} wurde eine neue E-Mail-Adresse eingegeben: ${newEmail}. Sie ersetzt diese Adresse, sobald sie bestätigt ist.`,
      },
      {
        text: `Wenn Sie das waren, brauchen Sie nichts zu tun. Wenn nicht, hat jemand anderes Zugriff auf Ihr Konto. Holen Sie sich das Konto hier zurück, innerhalb von ${afterWithin(undoFor)}. Was in den letzten Tagen hinzugefügt wurde, wird entfernt, alle Geräte werden abgemeldet, und Sie wählen ein neues Passwort:`,
      },
      { link: addresses.undo(undoToken), label: 'Das war ich nicht' },
    ],
    footer: accountFooter(productName),
  }),

  'email-changed': ({ username, newEmail, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Ihre E-Mail-Adresse bei ${productName} wurde geändert`,
    blocks: [
      {
        text: `Die E-Mail-Adresse Ihres Kontos ${username} bei ${productName} wurde gerade in ${newEmail} geändert. Die Adresse, an der Sie diese Nachricht lesen, wird dafür nicht mehr verwendet.`,
      },
      {
        text: `Wenn Sie das nicht waren, holen Sie sich das Konto hier zurück, innerhalb von ${afterWithin(undoFor)}. Dann gilt wieder diese Adresse, was in den letzten Tagen hinzugefügt wurde, wird entfernt, alle Geräte werden abgemeldet, und Sie wählen ein neues Passwort:`,
      },
      { link: addresses.undo(undoToken), label: 'Das war ich nicht' },
    ],
    footer: accountFooter(productName),
  }),

  'account-restored': ({ username, byOperator, token, validFor }, { productName, addresses }) => ({
    subject: `Ihr Konto bei ${productName} gehört wieder Ihnen`,
    blocks: [
      {
        text: byOperator
          ? `Die Administration von ${productName} hat Ihnen Ihr Konto ${username} zurückgegeben. Es hat jetzt diese E-Mail-Adresse. Alle Geräte wurden abgemeldet, und die Anmeldung in zwei Schritten, Passkeys und verbundene Anbieter wurden entfernt.`
          : `Ihr Konto ${username} bei ${productName} wurde über den Link in einer E-Mail an diese Adresse zurückgeholt. Sie ist jetzt die Adresse des Kontos. Alle Geräte wurden abgemeldet, und was in den letzten sieben Tagen hinzugefügt wurde, ist entfernt.`,
      },
      ...(token !== undefined && validFor !== undefined
        ? [
            { text: 'Das alte Passwort funktioniert nicht mehr. Wählen Sie hier ein neues:' },
            { link: addresses.resetPassword(token), label: 'Neues Passwort wählen' },
            { text: resetLinkGerman(validFor) },
          ]
        : [
            { text: 'Ab jetzt melden Sie sich mit dem Passwort an, das dabei gewählt wurde:' },
            { link: addresses.login, label: 'Anmelden' },
            {
              text: 'Wenn nicht Sie es gewählt haben, kann jemand anderes Ihre E-Mails lesen. Ändern Sie das Passwort Ihres Postfachs und danach das dieses Kontos.',
            },
          ]),
    ],
    footer: accountFooter(productName),
  }),

  'email-withdrawn': ({ username }, { productName, addresses }) => ({
    subject: `Ihre E-Mail-Adresse bei ${productName} wurde zurückgesetzt`,
    blocks: [
      {
        text: `Das Konto ${username} bei ${productName} hat wieder seine frühere E-Mail-Adresse: Der Link in der E-Mail an jene Adresse wurde verwendet. Die Adresse, an der Sie diese Nachricht lesen, wird dafür nicht mehr verwendet, und alle Geräte wurden abgemeldet.`,
      },
      {
        text: 'Wenn das ein Versehen ist, melden Sie sich mit einem neuen Passwort an. Der Link dafür geht an die frühere Adresse:',
      },
      { link: addresses.login, label: 'Anmelden' },
    ],
    footer: accountFooter(productName),
  }),
}

export const undoGerman = (undoFor: number) =>
  `Wenn Sie das nicht waren, holen Sie sich das Konto hier zurück, innerhalb von ${afterWithin(undoFor)}. Was in den letzten Tagen hinzugefügt wurde, wird entfernt, alle Geräte werden abgemeldet, und Sie wählen ein neues Passwort:`
