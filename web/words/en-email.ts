/** A new email address: its page, its part of the account page, and the page of undo links. */
export const email = {
  'confirm-email': {
    title: 'Confirm your new email',
    heading: 'Confirm your new email',
    lead: 'Press the button to use this address for your account from now on. Other devices are signed out.',
    passwordLead: 'You are not signed in here. Enter the password of your account, so that we know it is you.',
    confirm: 'Confirm this address',
    signInFirst: 'Sign in to the account that this address is for. After that, confirm the address here.',
    signIn: 'Sign in',
    doneHeading: 'Email changed',
    done: 'Your account has the new address now.',
    continue: 'Continue',
    deadHeading: 'This link does not work',
    deadLink:
      'It has expired, or was used before. If you asked for several changes, only the link in the newest email works.',
    noLink: 'To confirm a new address, open the link in the email that we sent to it.',
    takenHeading: 'This address is taken',
  },
  undo: {
    title: 'Undo a change',
    heading: 'Was this not you?',
    emailLead:
      'Your account gets back the email address that this link was sent to. What was added to it since the change is removed, all devices are signed out, and we send you a link to choose a new password.',
    factorLead:
      'We remove what was added to your account. All devices are signed out, and the password does not work any more. After that you can choose a new one.',
    submit: 'Undo the change',
    wasMe: 'If it was you, close this page. Nothing changes.',
    doneHeading: 'The change was undone',
    emailDone: 'The account is yours again. We have sent you an email with a link to choose a new password.',
    factorDone: 'All devices are signed out. We have sent you an email with a link to choose a new password.',
    deadHeading: 'This link does not work',
    deadLink: 'It has expired, was used before, or a later change was undone already.',
    noLink: 'To undo a change, open the link in the email about it.',
  },
  'change-email': {
    change: 'Change the email address',
    newEmail: 'New email address',
    submit: 'Send the link',
    sent: 'We have sent an email to {email}. Open the link in it to finish the change.',
  },
}

/** Its events, in the list of recent activity. */
export const emailKinds = {
  email_change_asked: 'Change of the email address requested',
  email_changed: 'Email address changed',
  email_change_failed: 'Email address not changed: wrong password',
  email_change_undone: 'Change of the email address undone',
  factor_undone: 'A new way to sign in was undone',
  email_set: 'Email address set by the administrator',
}
