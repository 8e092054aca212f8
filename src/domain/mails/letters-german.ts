import { timeSpan } from '../../contract/time-spans.js'
import { footers } from './footers.js'
import type { Letters } from './letters.js'
import { accountGerman } from './letters-account-german.js'
import { emailGerman, undoGerman } from './letters-email-german.js'
import { signInGerman } from './letters-sign-in-german.js'

const { visitorFooter, accountFooter } = footers.de

export const german: Letters = {
  ...accountGerman,
  ...signInGerman,

  'verify-email': ({ token, code, validFor }, { productName, addresses }) => ({
    subject: `Bestätigen Sie Ihre E-Mail-Adresse für ${productName}`,
    blocks: [
      {
        text: `Willkommen bei ${productName}. Um die Registrierung abzuschließen, öffnen Sie diesen Link und bestätigen Sie dort Ihre Adresse:`,
      },
      { link: addresses.verifyEmail(token), label: 'E-Mail-Adresse bestätigen' },
      ...(code === undefined
        ? [{ text: 'Alle fünf Versuche für den Code sind aufgebraucht. Deshalb enthält diese E-Mail nur den Link.' }]
        : [
            {
              text: 'Oder geben Sie diesen Code auf der Seite ein, auf der Sie sich registriert haben. Sie haben insgesamt fünf Versuche:',
            },
            { code },
          ]),
      {
        text: `${code === undefined ? 'Der Link ist' : 'Link und Code sind'} ${timeSpan(validFor, 'de')} gültig. Wenn Sie sich nicht registriert haben, können Sie diese E-Mail ignorieren. Es wird kein Konto angelegt.`,
      },
    ],
    footer: visitorFooter(productName),
  }),

  'already-registered': (_values, { productName, addresses }) => ({
    subject: `Sie haben bereits ein Konto bei ${productName}`,
    blocks: [
      {
        text: `Jemand, vielleicht Sie selbst, wollte sich bei ${productName} mit dieser Adresse registrieren. Zu dieser Adresse gibt es bereits ein Konto. Es wurde nichts geändert.`,
      },
      { text: 'Hier können Sie sich anmelden:' },
      { link: addresses.login, label: 'Anmelden' },
      { text: 'Passwort vergessen? Hier können Sie ein neues wählen:' },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
      { text: 'Wenn Sie das nicht waren, brauchen Sie nichts zu tun.' },
    ],
    footer: accountFooter(productName),
  }),

  invitation: ({ token, validFor }, { productName, addresses }) => ({
    subject: `Einladung zu ${productName}`,
    blocks: [
      { text: `Sie sind eingeladen, bei ${productName} ein Konto anzulegen. Öffnen Sie dazu diesen Link:` },
      { link: addresses.invite(token), label: 'Konto anlegen' },
      {
        text: `Die Einladung gilt nur für diese Adresse. Sie kann einmal verwendet werden und ist ${timeSpan(validFor, 'de')} gültig. Wenn Sie kein Konto möchten, können Sie diese E-Mail ignorieren.`,
      },
    ],
    footer: `Sie erhalten diese E-Mail, weil die Administration von ${productName} diese Adresse eingeladen hat.`,
  }),

  'reset-password': ({ token, validFor, hasPassword }, { productName, addresses }) => ({
    subject: hasPassword
      ? `Wählen Sie ein neues Passwort für ${productName}`
      : `Legen Sie ein Passwort für ${productName} fest`,
    blocks: [
      {
        text: hasPassword
          ? `Jemand, vielleicht Sie selbst, möchte das Passwort Ihres Kontos bei ${productName} zurücksetzen. Hier können Sie ein neues Passwort wählen:`
          : `Jemand, vielleicht Sie selbst, möchte ein Passwort für Ihr Konto bei ${productName} festlegen. Hier können Sie eines wählen:`,
      },
      { link: addresses.resetPassword(token), label: hasPassword ? 'Neues Passwort wählen' : 'Passwort festlegen' },
      {
        text: `Der Link funktioniert einmal und ist ${timeSpan(validFor, 'de')} gültig. Wenn Sie ihn nicht angefordert haben, können Sie diese E-Mail ignorieren. Es ändert sich nichts.`,
      },
    ],
    footer: accountFooter(productName),
  }),

  'password-changed': ({ username, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Ihr Passwort für ${productName} wurde geändert`,
    blocks: [
      {
        text: `Das Passwort Ihres Kontos ${username} bei ${productName} wurde gerade geändert. Alle anderen Geräte wurden abgemeldet.`,
      },
      { text: 'Wenn Sie das waren, brauchen Sie nichts zu tun.' },
      { text: undoGerman(undoFor) },
      { link: addresses.undo(undoToken), label: 'Das war ich nicht' },
    ],
    footer: accountFooter(productName),
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
    footer: accountFooter(productName),
  }),

  'step-up-code': ({ username, code, validFor }, { productName }) => ({
    subject: `Ihr Code für ${productName}`,
    blocks: [
      {
        text: `Eine Änderung an Ihrem Konto ${username} bei ${productName} muss bestätigt werden. Geben Sie diesen Code auf der Seite ein, die danach fragt:`,
      },
      { code },
      {
        text: `Der Code ist ${timeSpan(validFor, 'de')} gültig. Geben Sie ihn an niemanden weiter. Wenn Sie gerade nichts ändern, benutzt vielleicht jemand anderes Ihr Konto: Melden Sie sich an, und melden Sie alle anderen Geräte ab.`,
      },
    ],
    footer: accountFooter(productName),
  }),

  'enrolment-code': ({ username, code, validFor }, { productName, addresses }) => ({
    subject: `Ihr Code für ${productName}`,
    blocks: [
      {
        text: `Sie melden sich gerade als ${username} bei ${productName} an. Für dieses Konto muss noch ein zweiter Schritt eingerichtet werden. Geben Sie diesen Code auf der Seite ein, die danach fragt:`,
      },
      { code },
      {
        text: `Der Code ist ${timeSpan(validFor, 'de')} gültig. Geben Sie ihn an niemanden weiter. Wenn Sie sich gerade nicht anmelden, kennt vielleicht jemand anderes Ihr Passwort. Wählen Sie dann sofort ein neues:`,
      },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: accountFooter(productName),
  }),

  'provider-linked': ({ username, providerName, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Anmeldung bei ${productName} jetzt auch mit ${providerName}`,
    blocks: [
      {
        text: `Ihr Konto ${username} bei ${productName} wurde gerade mit ${providerName} verbunden. Sie können sich jetzt auch mit ${providerName} anmelden.`,
      },
      { text: undoGerman(undoFor) },
      { link: addresses.undo(undoToken), label: 'Rückgängig machen' },
    ],
    footer: accountFooter(productName),
  }),

  'provider-unlinked': ({ username, providerName }, { productName, addresses }) => ({
    subject: `Keine Anmeldung bei ${productName} mehr mit ${providerName}`,
    blocks: [
      {
        text: `Die Verbindung Ihres Kontos ${username} bei ${productName} mit ${providerName} wurde gerade getrennt. Mit ${providerName} können Sie sich nicht mehr anmelden.`,
      },
      { text: 'Wenn Sie das waren, brauchen Sie nichts zu tun. Wenn nicht, wählen Sie jetzt ein neues Passwort:' },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: accountFooter(productName),
  }),

  'totp-added': ({ username, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Die Anmeldung in zwei Schritten bei ${productName} ist eingeschaltet`,
    blocks: [
      {
        text: `Für Ihr Konto ${username} bei ${productName} wurde gerade die Anmeldung in zwei Schritten eingeschaltet: Zum Anmelden brauchen Sie jetzt einen Code aus einer Authenticator-App. Alle anderen Geräte wurden abgemeldet.`,
      },
      { text: undoGerman(undoFor) },
      { link: addresses.undo(undoToken), label: 'Rückgängig machen' },
    ],
    footer: accountFooter(productName),
  }),

  'totp-removed': ({ username }, { productName, addresses }) => ({
    subject: `Die Anmeldung in zwei Schritten bei ${productName} ist ausgeschaltet`,
    blocks: [
      {
        text: `Für Ihr Konto ${username} bei ${productName} wurde gerade die Anmeldung in zwei Schritten ausgeschaltet. Alle anderen Geräte wurden abgemeldet.`,
      },
      { text: 'Wenn Sie das nicht waren, wählen Sie jetzt ein neues Passwort, und schalten Sie sie wieder ein:' },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: accountFooter(productName),
  }),

  'recovery-codes-renewed': ({ username }, { productName, addresses }) => ({
    subject: `Neue Wiederherstellungscodes für ${productName}`,
    blocks: [
      {
        text: `Für Ihr Konto ${username} bei ${productName} wurden gerade neue Wiederherstellungscodes erstellt. Die alten funktionieren nicht mehr.`,
      },
      { text: 'Wenn Sie das nicht waren, wählen Sie jetzt ein neues Passwort:' },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: accountFooter(productName),
  }),

  'recovery-code-used': ({ username, left }, { productName, addresses }) => ({
    subject: `Ein Wiederherstellungscode für ${productName} wurde verwendet`,
    blocks: [
      {
        text: `Für Ihr Konto ${username} bei ${productName} wurde gerade ein Wiederherstellungscode verwendet. Übrige Codes: ${left}.`,
      },
      {
        text: 'Wenn Sie das waren, erstellen Sie neue Codes, bevor der letzte verwendet ist. Wenn nicht, wählen Sie jetzt ein neues Passwort:',
      },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: accountFooter(productName),
  }),

  'wrong-codes': ({ username }, { productName, addresses }) => ({
    subject: `Vielleicht kennt jemand Ihr Passwort für ${productName}`,
    blocks: [
      {
        text: `Jemand, vielleicht Sie selbst, hat für Ihr Konto ${username} bei ${productName} dreimal einen falschen Code eingegeben. Nach dem Code wird erst gefragt, wenn das Passwort oder die Anmeldung bei einem Anbieter stimmt.`,
      },
      { text: 'Wenn Sie das nicht waren, wählen Sie jetzt ein neues Passwort:' },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: accountFooter(productName),
  }),

  'passkey-added': ({ username, passkeyName, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Ein Passkey für ${productName} wurde hinzugefügt`,
    blocks: [
      {
        text: `Zu Ihrem Konto ${username} bei ${productName} wurde gerade ein Passkey hinzugefügt: ${passkeyName}. Damit können Sie sich ohne Passwort und ohne Code anmelden.`,
      },
      { text: undoGerman(undoFor) },
      { link: addresses.undo(undoToken), label: 'Rückgängig machen' },
    ],
    footer: accountFooter(productName),
  }),

  'passkey-removed': ({ username, passkeyName }, { productName, addresses }) => ({
    subject: `Ein Passkey für ${productName} wurde entfernt`,
    blocks: [
      {
        text: `Von Ihrem Konto ${username} bei ${productName} wurde gerade ein Passkey entfernt: ${passkeyName}. Damit können Sie sich nicht mehr anmelden. Alle anderen Geräte wurden abgemeldet.`,
      },
      { text: 'Wenn Sie das nicht waren, wählen Sie jetzt ein neues Passwort:' },
      { link: addresses.forgotPassword, label: 'Neues Passwort wählen' },
    ],
    footer: accountFooter(productName),
  }),

  'factors-reset': ({ username }, { productName, addresses }) => ({
    subject: `Die Anmeldung in zwei Schritten bei ${productName} wurde zurückgesetzt`,
    blocks: [
      {
        text: `Die Administration von ${productName} hat für Ihr Konto ${username} die Anmeldung in zwei Schritten ausgeschaltet und die Passkeys entfernt. Alle Geräte wurden abgemeldet.`,
      },
      {
        text: 'Melden Sie sich an, und richten Sie beides neu ein. Wenn Sie nicht darum gebeten haben, sagen Sie es der Administration:',
      },
      { link: addresses.login, label: 'Anmelden' },
    ],
    footer: accountFooter(productName),
  }),

  ...emailGerman,
}
