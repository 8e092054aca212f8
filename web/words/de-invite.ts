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
    tryAgain: 'Erneut versuchen',
  },
}
