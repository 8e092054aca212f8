import { languageName } from '../../contract/languages.js'
import { timeSpan } from '../../contract/time-spans.js'
import { footers } from './footers.js'
import type { AccountLetters } from './letters.js'
import { undoEnglish } from './letters-email-english.js'

const { accountFooter } = footers.en

export const accountEnglish: AccountLetters = {
  'language-changed': ({ username, newLanguage, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Emails about your account at ${productName} come in another language now`,
    blocks: [
      {
        text: `From now on, emails about your account ${username} at ${productName} are written in ${languageName(newLanguage, 'en')}. This was just changed on the account page. For ${timeSpan(undoFor, 'en')}, warnings still come in the language from before.`,
      },
      { text: undoEnglish(undoFor) },
      { link: addresses.undo(undoToken), label: 'This was not me' },
    ],
    footer: accountFooter(productName),
  }),

  'username-changed': ({ username, formerUsername, reservedFor, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Your username at ${productName} was changed`,
    blocks: [
      {
        text: `Your username at ${productName} was just changed from ${formerUsername} to ${username}. Use the new one to sign in. For ${timeSpan(reservedFor, 'en')} no other user can have the old one, and you can change back.`,
      },
      { text: undoEnglish(undoFor) },
      { link: addresses.undo(undoToken), label: 'This was not me' },
    ],
    footer: accountFooter(productName),
  }),

  'password-expired': ({ username }, { productName, addresses }) => ({
    subject: `Choose a new password for ${productName}`,
    blocks: [
      {
        text: `An administrator has made the password of your account ${username} at ${productName} unusable, because others may know it. All devices were signed out.`,
      },
      { text: 'Choose a new password to sign in again. Do not use the old one at other sites either.' },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: accountFooter(productName),
  }),

  'account-deleted': ({ username, byOperator }, { productName }) => ({
    subject: `Your account at ${productName} was deleted`,
    blocks: [
      {
        text: byOperator
          ? `An administrator has deleted your account ${username} at ${productName}, with everything that was stored about it.`
          : `Your account ${username} at ${productName} was just deleted, with everything that was stored about it. It cannot be restored.`,
      },
      {
        text: `If you did not want this, tell the administrator of ${productName}.`,
      },
    ],
    footer: `This is the last email about your account at ${productName}.`,
  }),
}
