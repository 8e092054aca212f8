/** A new email address: its page, its part of the account page, and the page of undo links. */
export const email = {
  'confirm-email': {
    title: 'Confirm your new email',
    heading: 'Confirm your new email',
    lead: 'When you confirm, your account {username} will use this address: {email}. Other devices will be signed out.',
    passwordLead:
      'To use {email} for your account from now on, enter the password of the account. All devices will be signed out.',
    otherAccount: 'You are signed in as {username}, but this link is for another account.',
    confirm: 'Confirm this address',
    signInFirst: 'Sign in to the account that {email} is meant for. After that, confirm the address here.',
    signIn: 'Sign in',
    doneHeading: 'Email changed',
    done: 'The account has this address now: {email}.',
    doneOther: 'You are still signed in as {username}, whose address has not changed.',
    continue: 'Continue',
    deadHeading: 'This link does not work',
    deadLink:
      'It has expired, was already used, or is incomplete. If you asked for several changes, only the link in the newest email works.',
    noLink: 'To confirm a new address, open the link in the email that we sent to it.',
    takenHeading: 'This address is taken',
  },
  undo: {
    title: 'Undo a change',
    heading: 'Was this not you?',
    leads: {
      email:
        'Your account {username} will get back the address {email}. What was added to it since the change will be removed, all devices will be signed out, and we will send you a link to choose a new password.',
      totp: 'This switches two-step sign-in off again for your account {username}.',
      passkey: 'This removes the passkey that was added to your account {username}.',
      provider: 'This disconnects the provider that was connected to your account {username}.',
    },
    consequences:
      'It also signs out all devices, and the password will not work any more. We will send you a link to choose a new one.',
    submit: 'Undo the change',
    wasMe: 'If it was you, close this page. Nothing will change.',
    doneHeading: 'The change was undone',
    emailDone: 'The account is yours again. We have sent you an email with a link to choose a new password.',
    factorDone: 'All devices are signed out. We have sent you an email with a link to choose a new password.',
    deadHeading: 'This link does not work',
    deadLink: 'It has expired, was already used, is incomplete, or a later change was undone already.',
    noLink: 'To undo a change, open the link in the email about it.',
  },
  'change-email': {
    change: 'Change the email address',
    newEmail: 'New email address',
    submit: 'Send the link',
    sent: 'We have sent an email to {email}. Open the link in it to finish the change.',
    isPresent: 'This is already your email address.',
    waiting: 'Not confirmed yet: {email}. Open the link in the email that we sent there, until {date}.',
    cancel: 'Cancel the change',
    cancelled: 'The change was cancelled. Your email address stays as it is.',
  },
}
