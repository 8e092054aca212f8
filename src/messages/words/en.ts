import { englishDevices } from '../../contract/device-names.js'
import type { MailWords } from '../letters.js'

export const en: MailWords = {
  labels: {
    login: 'Sign in',
    mailLogin: 'Sign in',
    forgotPassword: 'Choose a new password',
    resetPassword: 'Choose a new password',
    setPassword: 'Set a password',
    verifyEmail: 'Confirm my email',
    confirmEmail: 'Confirm this address',
    invite: 'Create my account',
    join: 'Accept the invitation',
    undo: 'This was not me',
    adminEvent: 'See this change',
    devices: 'See what is signed in',
  },
  footers: {
    visitor: (productName) => `You receive this email because this address was entered at ${productName}.`,
    account: (productName) => `This email is about your account at ${productName}.`,
    invited: (productName) => `You receive this email because this address was invited to ${productName}.`,
    last: (productName) => `This is the last email about your account at ${productName}.`,
  },
  devices: englishDevices,
  links: { terms: 'Terms', privacy: 'Privacy', imprint: 'Legal notice', support: 'Help' },
  byOperator: (productName, time) => `An administrator of ${productName} did this. Time: ${time}.`,
  byClient: (device, ip, time) => `Device: ${device}. IP address: ${ip}. Time: ${time}.`,
  byVisitor: (device, time) => `Browser: ${device}. Time: ${time}.`,
  byProgram: (ip, time) => `IP address of the program: ${ip}. Time: ${time}.`,
  renamed: (formerUsername, username) => `${formerUsername} (now ${username})`,
  unproven:
    'This address was never confirmed, so this email has no link that takes the account back. If this was not you, sign in and open the account page: sign out the other devices, remove what you do not know, and choose a new password. Confirm the address there too.',
  accountChanges: {
    account_recovered: 'account given back to its owner',
    email_set: 'email address changed',
    factors_reset: 'two-step sign-in and passkeys removed',
    fields_changed: 'profile fields changed',
    group_joined: 'added to groups',
    group_left: 'removed from groups',
    limits_cleared: 'limits cleared',
    password_expired: 'password made unusable',
    provider_unlinked: 'provider disconnected',
    reset_requested: 'link for a new password sent',
    sessions_ended: 'signed out everywhere',
    token_ended: 'personal token ended',
    user_deleted: 'account deleted',
    user_disabled: 'account disabled',
    user_enabled: 'account enabled',
    user_locked_down: 'account locked down',
  },
  help: 'This is how you reach the administrator:',
  undo: (undoFor) =>
    `If this was not you, take your account back here, within ${undoFor}. What was added to it in the last days is removed, all devices are signed out, and you choose a new password:`,

  letters: {
    'verify-email': ({ productName, code, validFor }) => ({
      subject: `Confirm your email for ${productName}`,
      opening: `Welcome to ${productName}. To finish your registration, confirm this address here:`,
      codeLead:
        code === undefined
          ? 'All five attempts to enter the code are used up, so this email has only the link.'
          : 'Or enter this code on the page where you registered. You have five attempts in all:',
      closing: `${code === undefined ? 'The link works' : 'Both work'} for ${validFor}. If you did not register, you can ignore this email. No account will be created.`,
    }),
    'already-registered': ({ productName }) => ({
      subject: `You already have an account at ${productName}`,
      happened: `Someone, perhaps you, tried to register at ${productName} with this address. You already have an account with it, so nothing was changed.`,
      signIn: 'Sign in here:',
      forgotten: 'Forgot your password? Choose a new one here:',
      closing: 'If this was not you, you do not need to do anything.',
    }),
    'address-reserved': ({ productName, reservedFor }) => ({
      subject: `This address cannot be registered at ${productName} yet`,
      happened: `Someone, perhaps you, tried to register at ${productName} with this address. It belonged to an account until a few days ago, and is kept for it for ${reservedFor} after the change.`,
      signIn: 'If you have an account, sign in with your username or your new address:',
      closing: 'Otherwise, try again after that time, or register with another address.',
    }),
    invitation: ({ productName, invitedBy, validFor }) => ({
      subject: `You are invited to ${productName}`,
      opening:
        invitedBy === undefined
          ? `An administrator of ${productName} has invited you to create an account there. You can do that here:`
          : `${invitedBy} has invited you to create an account at ${productName}. You can do that here:`,
      closing: `The invitation is for this address only. It works once, for ${validFor}. If you do not want an account, you can ignore this email.`,
    }),
    'group-invitation': ({ productName, invitedBy, groups, validFor }) => ({
      subject: `You are invited to a group at ${productName}`,
      opening:
        invitedBy === undefined
          ? `An administrator of ${productName} has invited you to join with your account there (groups: ${groups}). You can accept here:`
          : `${invitedBy} has invited you to join with your account at ${productName} (groups: ${groups}). You can accept here:`,
      closing: `You join when you have signed in and accepted, and not before. The link works once, for ${validFor}. If you do not want to join, you can ignore this email.`,
    }),
    'reset-password': ({ productName, validFor, hasPassword }) => ({
      subject: hasPassword ? `Choose a new password for ${productName}` : `Set a password for ${productName}`,
      opening: hasPassword
        ? `Someone, perhaps you, asked to reset the password of your account at ${productName}. Choose a new password here:`
        : `Someone, perhaps you, asked to set a password for your account at ${productName}. Choose one here:`,
      closing: `The link works once, for ${validFor}. If you did not ask for this, you can ignore this email. Nothing changes.`,
    }),
    'password-changed': ({ productName, username }) => ({
      subject: `Your password for ${productName} was changed`,
      happened: `The password of your account ${username} at ${productName} was just changed. All other devices were signed out.`,
      wasYou: 'If this was you, you do not need to do anything.',
    }),
    'password-reset': ({ productName, username }) => ({
      subject: `Your password for ${productName} was reset`,
      happened: `The password of your account ${username} at ${productName} was just reset with a link that was sent to this address. All devices were signed out.`,
      advice:
        'If this was you, you do not need to do anything. If not, choose a new password now, and check who can read your email:',
    }),
    'password-expired': ({ productName, username }) => ({
      subject: `Choose a new password for ${productName}`,
      happened: `An administrator has made the password of your account ${username} at ${productName} unusable, because others may know it. All devices were signed out.`,
      advice: 'Choose a new password to sign in again. Do not use the old one at other sites either.',
    }),
    'step-up-code': ({ productName, code, username, validFor }) => ({
      subject: `Your code for ${productName}: ${code}`,
      opening: `Your account ${username} at ${productName} asks once more whether it is you. Enter this code on the page that asks for it:`,
      closing: `The code works for ${validFor}. Do not give it to anyone. If no page asks you for it, someone else may be using your account: sign in and sign out all other devices.`,
    }),
    'enrolment-code': ({ productName, code, username, validFor }) => ({
      subject: `Your code for ${productName}: ${code}`,
      opening: `You are signing in to ${productName} as ${username}, and a second step has to be set up for this account. Enter this code on the page that asks for it:`,
      closing: `The code works for ${validFor}. Do not give it to anyone. If you are not signing in, someone else may know your password. Choose a new one now:`,
    }),
    'mail-sign-in': ({ productName, code, username, validFor }) => ({
      subject: `Your code to sign in to ${productName}: ${code}`,
      opening: `Enter this code in the window where you are signing in to ${productName} as ${username}:`,
      linkLead: 'Or open this link, in the same browser:',
      closing: `Both work once, for ${validFor}, and only in the browser that asked for them. No one will ever ask you for this code, not even us: do not give it to anyone. If you are not signing in, you can ignore this email.`,
    }),
    'mail-sign-up': ({ productName, code, validFor }) => ({
      subject: `Your code for ${productName}: ${code}`,
      opening: `This address has no account at ${productName} yet. To create one, enter this code in the window where you started:`,
      linkLead: 'Or open this link, in the same browser:',
      closing: `Both work once, for ${validFor}, and only in the browser that asked for them. No one will ever ask you for this code, not even us: do not give it to anyone. If you did not ask for this, you can ignore this email. No account will be created.`,
    }),
    'no-mail-sign-in': ({ productName }) => ({
      subject: `You cannot sign in to ${productName} with this address`,
      happened: `Someone, perhaps you, wanted to sign in to ${productName} with this address. No account can be used with it, and none can be created with it.`,
      advice:
        'If this was you, try another address of yours, or ask the administrator. If not, you do not need to do anything.',
    }),
    'new-device': ({ productName, username }) => ({
      subject: `New sign-in to ${productName}`,
      happened: `Your account ${username} at ${productName} was just used to sign in on a device or in a browser that it has not been used on before.`,
      advice:
        'If this was you, you do not need to do anything. If not, choose a new password now. That signs out all devices:',
    }),
    'new-program': ({ productName, username, programName, resourceName }) => ({
      subject: `A program has signed in with your account at ${productName}`,
      happened:
        resourceName === undefined
          ? `The program “${programName}” is now signed in with your account ${username} at ${productName}, and stays signed in until you end it.`
          : `The program “${programName}” can now use “${resourceName}” with your account ${username} at ${productName}, and stays signed in until you end it.`,
      advice:
        'If you have allowed this, you do not need to do anything. If not, end it on your account page, under “Devices and activity”: nothing else is signed out. If you do not know who has allowed it, choose a new password there, too:',
    }),
    'device-trusted': ({ productName, username }) => ({
      subject: `A browser needs no code for ${productName} any more`,
      happened: `In this browser, your account ${username} at ${productName} does not ask for a code at the next sign-ins: the box for it was just ticked. You can end this on your account page.`,
      advice:
        'If this was you, you do not need to do anything. If not, choose a new password now. That signs out all devices, and all of them need a code again:',
    }),
    'device-proofs-refused': ({ productName, username }) => ({
      subject: `The cookies of your session at ${productName} may have been copied`,
      happened: `Somebody has tried three times within an hour to renew a session of your account ${username} at ${productName} without the key of its device. Someone may have copied the cookies of that browser. The session was not renewed for them, and yours goes on.`,
      advice:
        'If you do not know what this was, choose a new password now. That signs out all devices. Check the device for malware, too:',
    }),
    'session-stolen': ({ productName, username }) => ({
      subject: `A device was signed out of ${productName}: its session may have been copied`,
      happened: `An old key of a signed-in device was just used for your account ${username} at ${productName}. That happens if someone has copied the session, and also if a browser is restored from a backup. To be safe, we have signed out that device.`,
      advice: 'If you have not restored a browser or a device, choose a new password now. That signs out all devices:',
    }),
    'sign-in-unfinished': ({ productName, username }) => ({
      subject: `A sign-in to ${productName} was not finished`,
      happened: `Someone, perhaps you, entered the right password of your account ${username} at ${productName}, and did not finish the second step. No one was signed in.`,
      advice:
        'If this was you, you do not need to do anything. If not, someone knows your password. Choose a new one now:',
    }),
    'wrong-codes': ({ productName, username }) => ({
      subject: `Someone may know your password for ${productName}`,
      happened: `Someone, perhaps you, entered three wrong codes for your account ${username} at ${productName}. The code is asked for only after the right password or a sign-in with a provider.`,
      advice: 'If this was not you, choose a new password now:',
    }),
    'provider-linked': ({ providerName, productName, username }) => ({
      subject: `${providerName} can now sign you in to ${productName}`,
      happened: `Your account ${username} at ${productName} was just connected to ${providerName}. You can now sign in with ${providerName} too.`,
    }),
    'provider-unlinked': ({ providerName, productName, username }) => ({
      subject: `${providerName} can no longer sign you in to ${productName}`,
      happened: `Your account ${username} at ${productName} was just disconnected from ${providerName}. You cannot sign in with ${providerName} any more.`,
      advice: 'If this was you, you do not need to do anything. If not, choose a new password now:',
    }),
    'totp-added': ({ productName, username }) => ({
      subject: `Two-step sign-in for ${productName} is on`,
      happened: `Two-step sign-in was just switched on for your account ${username} at ${productName}: signing in now needs a code from an authenticator app. All other devices were signed out.`,
    }),
    'totp-replaced': ({ productName, username }) => ({
      subject: `New authenticator app for ${productName}`,
      happened: `The authenticator app of your account ${username} at ${productName} was just set up again: codes of the app before do not work any more. Your recovery codes stay as they are. All other devices were signed out.`,
    }),
    'totp-removed': ({ productName, username }) => ({
      subject: `Two-step sign-in for ${productName} is off`,
      happened: `Two-step sign-in was just switched off for your account ${username} at ${productName}. All other devices were signed out.`,
      advice: 'If this was not you, choose a new password now, and switch it on again:',
    }),
    'recovery-codes-renewed': ({ productName, username }) => ({
      subject: `New recovery codes for ${productName}`,
      happened: `New recovery codes were just made for your account ${username} at ${productName}. The old ones do not work any more.`,
      advice:
        'If this was not you, someone else has codes that open your account. Choose a new password now, sign in with your authenticator app, and make new recovery codes: then those do not work any more. If you cannot sign in, tell the administrator.',
    }),
    'recovery-code-used': ({ productName, username, left }) => ({
      subject: `A recovery code for ${productName} was used`,
      happened: `A recovery code was just used for your account ${username} at ${productName}. Codes left: ${left}.`,
      advice: 'If this was you, make new codes before the last one is used. If not, choose a new password now:',
    }),
    'passkey-added': ({ productName, username, passkeyName }) => ({
      subject: `A passkey for ${productName} was added`,
      happened: `A passkey was just added to your account ${username} at ${productName}: “${passkeyName}”. With it you can sign in without a password and without a code.`,
    }),
    'token-made': ({ productName, username, tokenName, applications }) => ({
      subject: `A personal token for ${productName} was made`,
      happened: `A personal token was just made for your account ${username} at ${productName}: “${tokenName}”. A program that has it can use in your name, without a sign-in: ${applications}.`,
    }),
    'passkey-removed': ({ productName, username, passkeyName }) => ({
      subject: `A passkey for ${productName} was removed`,
      happened: `A passkey was just removed from your account ${username} at ${productName}: “${passkeyName}”. You cannot sign in with it any more. All other devices were signed out.`,
      advice: 'If this was not you, choose a new password now:',
    }),
    'account-disabled': ({ productName, username }) => ({
      subject: `Your account at ${productName} was disabled`,
      happened: `Your account ${username} at ${productName} was disabled. It cannot be used to sign in, and all devices were signed out.`,
      advice: 'If you do not know why, ask the administrator.',
    }),
    'account-enabled': ({ productName, username }) => ({
      subject: `Your account at ${productName} can be used again`,
      happened: `Your account ${username} at ${productName} was enabled. You can sign in again:`,
    }),
    'account-locked-down': ({ productName, username }) => ({
      subject: `Your account at ${productName} was locked`,
      happened: `Your account ${username} at ${productName} was locked for its safety. It cannot be used to sign in, all devices were signed out, and links and codes that were sent to you work no longer. Links with “This was not me” still work, unless they were sent after the email address was changed.`,
      advice: 'Ask the administrator what has happened, and when the account can be used again.',
    }),
    'admin-session-began': ({ productName, username }) => ({
      subject: `Your account was used as an administrator of ${productName}`,
      happened: `Your account ${username} was just used as an administrator of ${productName}, on a device that has signed in with it.`,
      advice:
        'If this was you, you do not need to do anything. If not, choose a new password now, which signs out all devices, and tell the other administrators:',
    }),
    'factors-reset': ({ productName, username }) => ({
      subject: `Two-step sign-in for ${productName} was reset`,
      happened: `An administrator has switched off two-step sign-in for your account ${username} at ${productName}, and removed its passkeys. All devices were signed out.`,
      advice: 'Sign in and set both up again. If you did not ask for this, tell the administrator:',
    }),
    'language-changed': ({ productName, username, newLanguage, undoFor }) => ({
      subject: `Emails about your account at ${productName} come in another language now`,
      happened: `From now on, emails about your account ${username} at ${productName} are written in ${newLanguage}. This was just changed on the account page. For ${undoFor}, warnings still come in the language from before.`,
    }),
    'username-changed': ({ username, productName, formerUsername, reservedFor }) => ({
      subject: `Your username at ${productName} was changed`,
      happened: `Your username at ${productName} was just changed from ${formerUsername} to ${username}. Use the new one to sign in. For ${reservedFor} no other user can have the old one, and you can change back.`,
    }),
    'confirm-email': ({ productName, validFor }) => ({
      subject: `Confirm your new email address for ${productName}`,
      opening: `This address was entered as the new email address of an account at ${productName}. Confirm it here:`,
      codeLead: 'Or enter this code on the account page where you asked for the change. You have five attempts:',
      closing: `Both work for ${validFor}. If you did not ask for this, you can ignore this email. Nothing changes.`,
    }),
    'email-taken': ({ productName }) => ({
      subject: `This address is already used at ${productName}`,
      happened: `Someone, perhaps you, wanted to use this address for another account at ${productName}. It belongs to an account, or did until a few days ago. Nothing was changed.`,
      signIn: 'Sign in here:',
      closing: 'If this was not you, you do not need to do anything.',
    }),
    'email-change-asked': ({ productName, username, newEmail, undoFor }) => ({
      subject: `Your email address at ${productName} is about to change`,
      happened: `A new email address was entered for your account ${username} at ${productName}: ${newEmail}. It replaces this one as soon as it is confirmed.`,
      advice: `If this was you, you do not need to do anything. If not, someone else has access to your account. Take your account back here, within ${undoFor}. What was added to it in the last days is removed, all devices are signed out, and you choose a new password:`,
    }),
    'email-changed': ({ productName, username, newEmail, undoFor }) => ({
      subject: `Your email address at ${productName} was changed`,
      happened: `The email address of your account ${username} at ${productName} was just changed to ${newEmail}. The address at which you read this is not used for it any more.`,
      advice: `If this was not you, take the account back here, within ${undoFor}. It gets this address back, what was added to it in the last days is removed, all devices are signed out, and you choose a new password:`,
    }),
    'account-restored': ({ productName, username, byOperator, validFor = '' }) => ({
      subject: `Your account at ${productName} is yours again`,
      happened: byOperator
        ? `An administrator has given your account ${username} at ${productName} back to you. It has this email address now. All devices were signed out, and two-step sign-in, passkeys and connected providers were removed.`
        : `Your account ${username} at ${productName} was taken back with the link in an email to this address, which is its email address. All devices were signed out, and what was added to the account in the last seven days was removed. An authenticator app that was replaced in that time works again.`,
      choose: 'The old password does not work any more. Choose a new one here:',
      expiry: `The link works once, for ${validFor}. If it has expired, ask for a new one on the sign-in page.`,
      signIn: 'From now on you sign in with the password that was chosen there:',
      notChosen:
        'If you did not choose it, someone else can read your emails. Change the password of your mailbox, then the one of this account.',
    }),
    'email-withdrawn': ({ productName, username }) => ({
      subject: `Your email address at ${productName} was changed back`,
      happened: `The account ${username} at ${productName} has its earlier email address again: the link in the email to that address was used. The address at which you read this is not used for it any more, and all devices were signed out.`,
      advice: 'If this is a mistake, choose a new password. The link for it is sent to the earlier address:',
    }),
    'configuration-changed': ({ productName, action, administrator, thing, added, removed, before, after, kept }) => ({
      subject: `An administrator ${action} ${thing} at ${productName}`,
      happened: `${administrator} has just ${action} ${thing} at ${productName}.`,
      added: `Added: ${added}`,
      removed: `Removed: ${removed}`,
      before: `Before: ${before}`,
      after: `Now: ${after}`,
      kept: `Unchanged: ${kept}`,
      shortened:
        'There were too many to show here: of a long list only the hosts are named. The page of this change has everything.',
      advice: `If you do not know why, ask ${administrator}. Whoever can change an address of an application can sign in there as anybody. Every administrator can see this change here and change it back:`,
    }),
    'administrator-changed': ({ productName, administrator, account, accountChange, reason }) => ({
      subject: `The account ${account} at ${productName} was changed`,
      happened: `${administrator} has just changed the account ${account} at ${productName}: ${accountChange}.`,
      reason: `Reason: ${reason}`,
      advice: `All administrators receive this, because ${account} is, was or becomes a member of administrators or support. If you do not know why it was done, ask ${administrator}. Every administrator can see this change here:`,
    }),
    'account-deleted': ({ productName, byOperator, username }) => ({
      subject: `Your account at ${productName} was deleted`,
      happened: byOperator
        ? `An administrator has deleted your account ${username} at ${productName}, with everything that was stored about it.`
        : `Your account ${username} at ${productName} was just deleted, with everything that was stored about it. It cannot be restored.`,
      advice: `If you did not want this, tell the administrator of ${productName}.`,
    }),
  },
}
