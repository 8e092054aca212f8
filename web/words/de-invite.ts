import type { Words } from './en.js'

export const invite: Pick<Words, 'invite'> = {
  invite: {
    title: 'Ihre Einladung',
    heading: 'Konto anlegen',
    lead: 'Sie sind eingeladen. Wählen Sie einen Benutzernamen und ein Passwort, oder fahren Sie unten mit einem Anbieter fort.',
    leadWithoutProviders: 'Sie sind eingeladen. Wählen Sie einen Benutzernamen und ein Passwort.',
    fixedAddress: 'Die Einladung gilt für diese Adresse.',
    sameAddress: 'Verwenden Sie beim Anbieter ein Konto mit der Adresse {email}.',
    noLink: 'Um eine Einladung anzunehmen, öffnen Sie den Link in der E-Mail, die Sie erhalten haben.',
    signedIn: 'Sie sind als {username} angemeldet. Diese Einladung ist für ein neues Konto mit der Adresse {email}.',
    notNeeded:
      'Sie sind angemeldet und brauchen keine Einladung. Diese ist abgelaufen, wurde bereits verwendet oder gilt für eine andere Adresse.',
    signOut: 'Abmelden und Einladung verwenden',
    toAccount: 'Zu Ihrem Konto',
  },
}
