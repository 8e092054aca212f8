import { timeSpan } from '../../contract/time-spans.js'
import { footers } from './footers.js'
import type { EmailLetters } from './letters.js'

const { visitorFooter, accountFooter } = footers.en

const resetLinkEnglish = (validFor: number) =>
  `The link works once, for ${timeSpan(validFor, 'en')}. If it has expired, ask for a new one on the sign-in page.`

/** Mails about a change of the email address, and about undo links. */
export const emailEnglish: EmailLetters = {
  'confirm-email': ({ token, validFor }, { productName, addresses }) => ({
    subject: `Confirm your new email address for ${productName}`,
    blocks: [
      {
        text: `This address was entered as the new email address of an account at ${productName}. Open this link and press the button there:`,
      },
      { link: addresses.confirmEmail(token), label: 'Confirm this address' },
      {
        text: `The link works for ${timeSpan(validFor, 'en')}. If you did not ask for this, you can ignore this email. Nothing changes.`,
      },
    ],
    footer: visitorFooter(productName),
  }),

  'email-taken': (_values, { productName, addresses }) => ({
    subject: `This address is already used at ${productName}`,
    blocks: [
      {
        text: `Someone, perhaps you, wanted to use this address for another account at ${productName}. It belongs to an account, or did until a few days ago. Nothing was changed.`,
      },
      { text: 'Sign in here:' },
      { link: addresses.login, label: 'Sign in' },
      { text: 'If this was not you, you do not need to do anything.' },
    ],
    footer: visitorFooter(productName),
  }),

  'address-reserved': ({ reservedFor }, { productName, addresses }) => ({
    subject: `This address cannot be registered at ${productName} yet`,
    blocks: [
      {
        text: `Someone, perhaps you, tried to register at ${productName} with this address. It belonged to an account until a few days ago, and is kept for it for ${timeSpan(reservedFor, 'en')} after the change.`,
      },
      { text: 'If you have an account, sign in with your username or your new address:' },
      { link: addresses.login, label: 'Sign in' },
      { text: 'Otherwise, try again after that time, or register with another address.' },
    ],
    footer: visitorFooter(productName),
  }),

  'email-change-asked': ({ username, newEmail, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Your email address at ${productName} is about to change`,
    blocks: [
      {
        text: `A new email address was entered for your account ${username} at ${productName}: ${newEmail}. It replaces this one as soon as it is confirmed.`,
      },
      {
        text: `If this was you, you do not need to do anything. If not, someone else has access to your account. Take your account back here, within ${timeSpan(undoFor, 'en')}. What was added to it in the last days is removed, all devices are signed out, and you choose a new password:`,
      },
      { link: addresses.undo(undoToken), label: 'This was not me' },
    ],
    footer: accountFooter(productName),
  }),

  'email-changed': ({ username, newEmail, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Your email address at ${productName} was changed`,
    blocks: [
      {
        text: `The email address of your account ${username} at ${productName} was just changed to ${newEmail}. The address at which you read this is not used for it any more.`,
      },
      {
        text: `If this was not you, take the account back here, within ${timeSpan(undoFor, 'en')}. It gets this address back, what was added to it in the last days is removed, all devices are signed out, and you choose a new password:`,
      },
      { link: addresses.undo(undoToken), label: 'This was not me' },
    ],
    footer: accountFooter(productName),
  }),

  'account-restored': ({ username, byOperator, token, validFor }, { productName, addresses }) => ({
    subject: `Your account at ${productName} is yours again`,
    blocks: [
      {
        text: byOperator
          ? `An administrator has given your account ${username} at ${productName} back to you. It has this email address now. All devices were signed out, and two-step sign-in, passkeys and connected providers were removed.`
          : `Your account ${username} at ${productName} was taken back with the link in an email to this address, which is its email address. All devices were signed out, and what was added to the account in the last seven days was removed.`,
      },
      ...(token !== undefined && validFor !== undefined
        ? [
            { text: 'The old password does not work any more. Choose a new one here:' },
            { link: addresses.resetPassword(token), label: 'Choose a new password' },
            { text: resetLinkEnglish(validFor) },
          ]
        : [
            { text: 'From now on you sign in with the password that was chosen there:' },
            { link: addresses.login, label: 'Sign in' },
            {
              text: 'If you did not choose it, someone else can read your emails. Change the password of your mailbox, then the one of this account.',
            },
          ]),
    ],
    footer: accountFooter(productName),
  }),

  'email-withdrawn': ({ username }, { productName, addresses }) => ({
    subject: `Your email address at ${productName} was changed back`,
    blocks: [
      {
        text: `The account ${username} at ${productName} has its earlier email address again: the link in the email to that address was used. The address at which you read this is not used for it any more, and all devices were signed out.`,
      },
      {
        text: 'If this is a mistake, sign in with a new password. The link to choose it is sent to the earlier address:',
      },
      { link: addresses.login, label: 'Sign in' },
    ],
    footer: accountFooter(productName),
  }),
}

export const undoEnglish = (undoFor: number) =>
  `If this was not you, take your account back here, within ${timeSpan(undoFor, 'en')}. What was added to it in the last days is removed, all devices are signed out, and you choose a new password:`
