import type { email as english } from './en-email.js'

export const email: typeof english = {
  'confirm-email': {
    title: 'Confirmer la nouvelle adresse e-mail',
    heading: 'Confirmez votre nouvelle adresse',
    lead: 'Après confirmation, votre compte {username} utilisera cette adresse\u00a0: {email}. Les autres appareils seront déconnectés.',
    passwordLead:
      'Pour utiliser désormais {email} pour votre compte, saisissez le mot de passe de ce compte. Tous les appareils seront déconnectés.',
    otherAccount: 'Session ouverte\u00a0: {username}. Ce lien concerne un autre compte.',
    confirm: 'Confirmer cette adresse',
    signInFirst:
      'Connectez-vous au compte auquel l’adresse {email} est destinée. Vous pourrez ensuite la confirmer ici.',
    signIn: 'Se connecter',
    doneHeading: 'Adresse e-mail modifiée',
    done: 'Le compte utilise maintenant cette adresse\u00a0: {email}.',
    doneOther: 'La session de {username} reste ouverte. Rien n’a changé pour ce compte.',
    continue: 'Continuer',
    deadHeading: 'Ce lien ne fonctionne pas',
    deadLink:
      'Il a expiré, a déjà été utilisé ou est incomplet. Si vous avez demandé plusieurs modifications, seul le lien de l’e-mail le plus récent fonctionne.',
    noLink: 'Pour confirmer une nouvelle adresse, ouvrez le lien de l’e-mail que nous lui avons envoyé.',
    takenHeading: 'Cette adresse est déjà prise',
  },
  undo: {
    title: 'Reprendre votre compte',
    heading: 'Ce n’était pas vous\u00a0?',
    lead: 'Choisissez un nouveau mot de passe, et votre compte {username} sera de nouveau à vous. Voici ce qui se passera\u00a0:',
    effects: {
      email: 'Le compte retrouvera l’adresse {email}.',
      username: 'Le nom d’utilisateur redeviendra {username}.',
      language: 'Les e-mails sur le compte seront de nouveau en {language}.',
      totp: 'La connexion en deux étapes sera désactivée.',
      recoveryCodes: 'Les codes de secours créés ces sept derniers jours ne fonctionneront plus.',
      passkey: 'La clé d’accès «\u00a0{name}\u00a0» sera supprimée.',
      provider: 'Le compte {name} sera dissocié.',
      rest: 'Tous les appareils seront déconnectés. L’ancien mot de passe ainsi que les liens et codes des e-mails précédents ne fonctionneront plus.',
    },
    alsoYours:
      'Ce qui a été ajouté ces sept derniers jours sera supprimé, même si c’est vous qui l’avez ajouté. Vous pourrez l’ajouter de nouveau.',
    submit: 'Reprendre le compte',
    wasMe: 'Si c’était vous, fermez cette page. Rien ne changera.',
    doneHeading: 'Le compte est de nouveau à vous',
    done: 'Tous les appareils sont déconnectés. Connectez-vous avec votre nouveau mot de passe.',
    deadHeading: 'Ce lien ne fonctionne pas',
    deadLink: 'Il a expiré, a déjà été utilisé ou est incomplet, ou le compte a déjà été repris.',
    noLink: 'Pour reprendre votre compte, ouvrez le lien de l’e-mail qui annonce la modification.',
  },
  'change-email': {
    change: 'Modifier l’adresse e-mail',
    newEmail: 'Nouvelle adresse e-mail',
    submit: 'Envoyer le lien',
    sent: 'Nous avons envoyé un e-mail à {email}. Ouvrez le lien qu’il contient pour terminer la modification.',
    isPresent: 'C’est déjà votre adresse e-mail.',
    waiting: 'Pas encore confirmée\u00a0: {email}. Ouvrez avant le {date} le lien de l’e-mail que nous y avons envoyé.',
    cancel: 'Annuler la modification',
    cancelled: 'La modification est annulée. Votre adresse e-mail reste la même.',
  },
}
