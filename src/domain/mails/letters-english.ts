import type { Letters } from './letters.js'
import { timeSpan } from './time-spans.js'

const footerFor = (productName: string) => `You get this email because your address was given to ${productName}.`

export const english: Letters = {
  'verify-email': ({ token, code, validFor }, { productName, addresses }) => ({
    subject: `Confirm your email for ${productName}`,
    blocks: [
      { text: `Welcome to ${productName}. To finish your registration, open this link and press the button there:` },
      { link: addresses.verifyEmail(token), label: 'Confirm my email' },
      { text: 'Or type this code into the page where you registered. You have five tries in all:' },
      { code },
      {
        text: `Both work for ${timeSpan(validFor, 'en')}. If you did not register, ignore this email: nothing will happen.`,
      },
    ],
    footer: footerFor(productName),
  }),

  'already-registered': (_values, { productName, addresses }) => ({
    subject: `You already have an account at ${productName}`,
    blocks: [
      {
        text: `Someone, perhaps you, tried to register at ${productName} with this address. It already has an account, so nothing was changed.`,
      },
      { text: 'Sign in here:' },
      { link: addresses.login, label: 'Sign in' },
      { text: 'Forgot your password? Choose a new one here:' },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
      { text: 'If it was not you, there is nothing to do.' },
    ],
    footer: footerFor(productName),
  }),

  'reset-password': ({ token, validFor }, { productName, addresses }) => ({
    subject: `Choose a new password for ${productName}`,
    blocks: [
      { text: `Someone, perhaps you, asked for a new password for your account at ${productName}. Choose it here:` },
      { link: addresses.resetPassword(token), label: 'Choose a new password' },
      {
        text: `The link works once, for ${timeSpan(validFor, 'en')}. If you did not ask for it, ignore this email: your password stays as it is.`,
      },
    ],
    footer: footerFor(productName),
  }),

  'password-changed': ({ username }, { productName, addresses }) => ({
    subject: `Your password for ${productName} was changed`,
    blocks: [
      {
        text: `The password of your account ${username} at ${productName} was just changed, and every other device was signed out.`,
      },
      { text: 'If it was you, there is nothing to do. If not, choose a new password at once:' },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: footerFor(productName),
  }),

  'password-reset': ({ username }, { productName, addresses }) => ({
    subject: `Your password for ${productName} was reset`,
    blocks: [
      {
        text: `The password of your account ${username} at ${productName} was just replaced through a link in an email to this address, and every device was signed out.`,
      },
      {
        text: 'If it was you, there is nothing to do. If not, choose a new password at once, and check who can read your email:',
      },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: footerFor(productName),
  }),

  'provider-linked': ({ username, providerName }, { productName, addresses }) => ({
    subject: `${providerName} can now sign you in to ${productName}`,
    blocks: [
      {
        text: `Your account ${username} at ${productName} was just linked with ${providerName}: from now on you can sign in with either.`,
      },
      { text: 'If it was not you, sign in, remove the link and change your password:' },
      { link: addresses.login, label: 'Sign in' },
    ],
    footer: footerFor(productName),
  }),
}
