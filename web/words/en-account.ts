/** The life of an account: its names, a copy of its data, its end. */
export const accountLife = {
  'account-life': {
    edit: 'Change name, username or language',
    nameHint: 'Leave it empty to remove it.',
    usernameHint: 'You sign in with it. Letters, digits and . _ - only. Your old one stays yours for 30 days.',
    language: 'Language of emails',
    languageHint: 'Emails about your account are written in it.',
    noLanguage: 'Not chosen yet',
    save: 'Save',
    saved: 'Your changes are saved.',
    nothingChanged: 'You have changed nothing.',
    data: 'Your data',
    dataLead: 'A file with everything that is stored about you, in JSON.',
    download: 'Download your data',
    downloaded: 'Your data was saved as a file.',
    delete: 'Delete account',
    deleteLead: 'Deletes your account for good.',
    lost: {
      data: 'Your account, your ways to sign in and your activity are deleted at once. Nothing can be restored.',
      sessions: 'You are signed out on every device.',
      names: 'Your username and your email address become free: anyone may take the username.',
      applications: 'Applications that you used with this account may keep data of their own.',
    },
    typeUsername: 'To confirm, type your username: {username}',
    deleteSure: 'Delete my account for good',
  },
}
