import type { Words } from './en.js'

export const invite: Pick<Words, 'invite'> = {
  invite: {
    title: 'Votre invitation',
    heading: 'Créez votre compte',
    lead: 'Vous avez une invitation. Choisissez un nom d’utilisateur et un mot de passe, ou continuez avec un fournisseur ci-dessous.',
    leadWithoutProviders: 'Vous avez une invitation. Choisissez un nom d’utilisateur et un mot de passe.',
    fixedAddress: 'L’invitation est réservée à cette adresse.',
    sameAddress: 'Chez le fournisseur, utilisez un compte avec l’adresse {email}.',
    noLink: 'Pour accepter une invitation, ouvrez le lien de l’e-mail que vous avez reçu.',
    signedIn:
      'Session ouverte\u00a0: {username}. Cette invitation est destinée à un nouveau compte avec l’adresse {email}.',
    notNeeded:
      'Votre session est ouverte, vous n’avez pas besoin d’invitation. Celle-ci a expiré, a déjà été utilisée ou concerne une autre adresse.',
    signOut: 'Se déconnecter et utiliser l’invitation',
    toAccount: 'Aller à votre compte',
  },
}
