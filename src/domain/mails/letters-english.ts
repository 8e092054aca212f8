import { timeSpan } from '../../contract/time-spans.js'
import { footers } from './footers.js'
import type { Letters } from './letters.js'
import { accountEnglish } from './letters-account-english.js'
import { emailEnglish, undoEnglish } from './letters-email-english.js'
import { signInEnglish } from './letters-sign-in-english.js'

const { visitorFooter, accountFooter } = footers.en

export const english: Letters = {
  ...accountEnglish,
  ...signInEnglish,

  'verify-email': ({ token, code, validFor }, { productName, addresses }) => ({
    subject: `Confirm your email for ${productName}`,
    blocks: [
      { text: `Welcome to ${productName}. To finish your registration, open this link and press the button there:` },
      { link: addresses.verifyEmail(token), label: 'Confirm my email' },
      ...(code === undefined
        ? [{ text: 'All five attempts to enter the code are used up, so this email has only the link.' }]
        : [{ text: 'Or enter this code on the page where you registered. You have five attempts in all:' }, { code }]),
      {
        text: `${code === undefined ? 'The link works' : 'Both work'} for ${timeSpan(validFor, 'en')}. If you did not register, you can ignore this email. No account will be created.`,
      },
    ],
    footer: visitorFooter(productName),
  }),

  'already-registered': (_values, { productName, addresses }) => ({
    subject: `You already have an account at ${productName}`,
    blocks: [
      {
        text: `Someone, perhaps you, tried to register at ${productName} with this address. You already have an account with it, so nothing was changed.`,
      },
      { text: 'Sign in here:' },
      { link: addresses.login, label: 'Sign in' },
      { text: 'Forgot your password? Choose a new one here:' },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
      { text: 'If this was not you, you do not need to do anything.' },
    ],
    footer: accountFooter(productName),
  }),

  invitation: ({ token, validFor }, { productName, addresses }) => ({
    subject: `You are invited to ${productName}`,
    blocks: [
      { text: `You are invited to create an account at ${productName}. Open this link to do so:` },
      { link: addresses.invite(token), label: 'Create my account' },
      {
        text: `The invitation is for this address only. It works once, for ${timeSpan(validFor, 'en')}. If you do not want an account, you can ignore this email.`,
      },
    ],
    footer: `You receive this email because the administrator of ${productName} has invited this address.`,
  }),

  'reset-password': ({ token, validFor, hasPassword }, { productName, addresses }) => ({
    subject: hasPassword ? `Choose a new password for ${productName}` : `Set a password for ${productName}`,
    blocks: [
      {
        text: hasPassword
          ? `Someone, perhaps you, asked to reset the password of your account at ${productName}. Choose a new password here:`
          : `Someone, perhaps you, asked to set a password for your account at ${productName}. Choose one here:`,
      },
      { link: addresses.resetPassword(token), label: hasPassword ? 'Choose a new password' : 'Set a password' },
      {
        text: `The link works once, for ${timeSpan(validFor, 'en')}. If you did not ask for this, you can ignore this email. Nothing changes.`,
      },
    ],
    footer: accountFooter(productName),
  }),

  'password-changed': ({ username, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Your password for ${productName} was changed`,
    blocks: [
      {
        text: `The password of your account ${username} at ${productName} was just changed. All other devices were signed out.`,
      },
      { text: 'If this was you, you do not need to do anything.' },
      { text: undoEnglish(undoFor) },
      { link: addresses.undo(undoToken), label: 'This was not me' },
    ],
    footer: accountFooter(productName),
  }),

  'password-reset': ({ username }, { productName, addresses }) => ({
    subject: `Your password for ${productName} was reset`,
    blocks: [
      {
        text: `The password of your account ${username} at ${productName} was just reset with a link that was sent to this address. All devices were signed out.`,
      },
      {
        text: 'If this was you, you do not need to do anything. If not, choose a new password now, and check who can read your email:',
      },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: accountFooter(productName),
  }),

  'step-up-code': ({ username, code, validFor }, { productName }) => ({
    subject: `Your code for ${productName}`,
    blocks: [
      {
        text: `A change to your account ${username} at ${productName} needs to be confirmed. Enter this code on the page that asks for it:`,
      },
      { code },
      {
        text: `The code works for ${timeSpan(validFor, 'en')}. Do not give it to anyone. If you are not changing anything, someone else may be using your account: sign in and sign out all other devices.`,
      },
    ],
    footer: accountFooter(productName),
  }),

  'enrolment-code': ({ username, code, validFor }, { productName, addresses }) => ({
    subject: `Your code for ${productName}`,
    blocks: [
      {
        text: `You are signing in to ${productName} as ${username}, and a second step has to be set up for this account. Enter this code on the page that asks for it:`,
      },
      { code },
      {
        text: `The code works for ${timeSpan(validFor, 'en')}. Do not give it to anyone. If you are not signing in, someone else may know your password. Choose a new one now:`,
      },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: accountFooter(productName),
  }),

  'provider-linked': ({ username, providerName, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `${providerName} can now sign you in to ${productName}`,
    blocks: [
      {
        text: `Your account ${username} at ${productName} was just connected to ${providerName}. You can now sign in with ${providerName} too.`,
      },
      { text: undoEnglish(undoFor) },
      { link: addresses.undo(undoToken), label: 'Undo it' },
    ],
    footer: accountFooter(productName),
  }),

  'provider-unlinked': ({ username, providerName }, { productName, addresses }) => ({
    subject: `${providerName} can no longer sign you in to ${productName}`,
    blocks: [
      {
        text: `Your account ${username} at ${productName} was just disconnected from ${providerName}. You cannot sign in with ${providerName} any more.`,
      },
      { text: 'If this was you, you do not need to do anything. If not, choose a new password now:' },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: accountFooter(productName),
  }),

  'totp-added': ({ username, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Two-step sign-in for ${productName} is on`,
    blocks: [
      {
        text: `Two-step sign-in was just switched on for your account ${username} at ${productName}: signing in now needs a code from an authenticator app. All other devices were signed out.`,
      },
      { text: undoEnglish(undoFor) },
      { link: addresses.undo(undoToken), label: 'Undo it' },
    ],
    footer: accountFooter(productName),
  }),

  'totp-removed': ({ username }, { productName, addresses }) => ({
    subject: `Two-step sign-in for ${productName} is off`,
    blocks: [
      {
        text: `Two-step sign-in was just switched off for your account ${username} at ${productName}. All other devices were signed out.`,
      },
      { text: 'If this was not you, choose a new password now, and switch it on again:' },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: accountFooter(productName),
  }),

  'recovery-codes-renewed': ({ username }, { productName, addresses }) => ({
    subject: `New recovery codes for ${productName}`,
    blocks: [
      {
        text: `New recovery codes were just made for your account ${username} at ${productName}. The old ones do not work any more.`,
      },
      { text: 'If this was not you, choose a new password now:' },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: accountFooter(productName),
  }),

  'recovery-code-used': ({ username, left }, { productName, addresses }) => ({
    subject: `A recovery code for ${productName} was used`,
    blocks: [
      {
        text: `A recovery code was just used for your account ${username} at ${productName}. Codes left: ${left}.`,
      },
      { text: 'If this was you, make new codes before the last one is used. If not, choose a new password now:' },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: accountFooter(productName),
  }),

  'wrong-codes': ({ username }, { productName, addresses }) => ({
    subject: `Someone may know your password for ${productName}`,
    blocks: [
      {
        text: `Someone, perhaps you, entered three wrong codes for your account ${username} at ${productName}. The code is asked for only after the right password or a sign-in with a provider.`,
      },
      { text: 'If this was not you, choose a new password now:' },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: accountFooter(productName),
  }),

  'passkey-added': ({ username, passkeyName, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `A passkey for ${productName} was added`,
    blocks: [
      {
        text: `A passkey was just added to your account ${username} at ${productName}: ${passkeyName}. With it you can sign in without a password and without a code.`,
      },
      { text: undoEnglish(undoFor) },
      { link: addresses.undo(undoToken), label: 'Undo it' },
    ],
    footer: accountFooter(productName),
  }),

  'passkey-removed': ({ username, passkeyName }, { productName, addresses }) => ({
    subject: `A passkey for ${productName} was removed`,
    blocks: [
      {
        text: `A passkey was just removed from your account ${username} at ${productName}: ${passkeyName}. You cannot sign in with it any more. All other devices were signed out.`,
      },
      { text: 'If this was not you, choose a new password now:' },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: accountFooter(productName),
  }),

  'factors-reset': ({ username }, { productName, addresses }) => ({
    subject: `Two-step sign-in for ${productName} was reset`,
    blocks: [
      {
        text: `An administrator has switched off two-step sign-in for your account ${username} at ${productName}, and removed its passkeys. All devices were signed out.`,
      },
      { text: 'Sign in and set both up again. If you did not ask for this, tell the administrator:' },
      { link: addresses.login, label: 'Sign in' },
    ],
    footer: accountFooter(productName),
  }),

  ...emailEnglish,
}
