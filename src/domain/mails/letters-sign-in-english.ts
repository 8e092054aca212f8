import { footers } from './footers.js'
import type { SignInLetters } from './letters.js'

const { accountFooter } = footers.en

/** Mails about sign-ins and the devices that are signed in. */
export const signInEnglish: SignInLetters = {
  'new-device': ({ username }, { productName, addresses }) => ({
    subject: `New sign-in to ${productName}`,
    blocks: [
      {
        text: `Your account ${username} at ${productName} was just used to sign in on a device or in a browser that it has not been used on before.`,
      },
      {
        text: 'If this was you, you do not need to do anything. If not, choose a new password now. That signs out all devices:',
      },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: accountFooter(productName),
  }),

  'device-trusted': ({ username }, { productName, addresses }) => ({
    subject: `A browser needs no code for ${productName} any more`,
    blocks: [
      {
        text: `In this browser, your account ${username} at ${productName} does not ask for a code at the next sign-ins: the box for it was just ticked. You can end this on your account page.`,
      },
      {
        text: 'If this was you, you do not need to do anything. If not, choose a new password now. That signs out all devices, and all of them need a code again:',
      },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: accountFooter(productName),
  }),

  'session-stolen': ({ username }, { productName, addresses }) => ({
    subject: `A device was signed out of ${productName}: its session may have been copied`,
    blocks: [
      {
        text: `An old key of a signed-in device was just used for your account ${username} at ${productName}. That happens if someone has copied the session, and also if a browser is restored from a backup. To be safe, we have signed out that device.`,
      },
      {
        text: 'If you have not restored a browser or a device, choose a new password now. That signs out all devices:',
      },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: accountFooter(productName),
  }),

  'sign-in-unfinished': ({ username }, { productName, addresses }) => ({
    subject: `A sign-in to ${productName} was not finished`,
    blocks: [
      {
        text: `Someone, perhaps you, entered the right password of your account ${username} at ${productName}, and did not finish the second step. No one was signed in.`,
      },
      {
        text: 'If this was you, you do not need to do anything. If not, someone knows your password. Choose a new one now:',
      },
      { link: addresses.forgotPassword, label: 'Choose a new password' },
    ],
    footer: accountFooter(productName),
  }),
}
