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
    title: 'Annuler une modification',
    heading: 'Ce n’était pas vous\u00a0?',
    leads: {
      email:
        'Votre compte {username} retrouvera l’adresse {email}. Ce qui a été ajouté depuis la modification sera supprimé, tous les appareils seront déconnectés, et vous recevrez un lien pour choisir un nouveau mot de passe.',
      totp: 'La connexion en deux étapes de votre compte {username} sera de nouveau désactivée.',
      passkey: 'La clé d’accès ajoutée à votre compte {username} sera supprimée.',
      provider: 'Le fournisseur associé à votre compte {username} sera dissocié.',
    },
    consequences:
      'Tous les appareils seront déconnectés et le mot de passe ne fonctionnera plus. Nous vous enverrons un lien pour en choisir un nouveau.',
    submit: 'Annuler la modification',
    wasMe: 'Si c’était vous, fermez cette page. Rien ne changera.',
    doneHeading: 'La modification est annulée',
    emailDone:
      'Le compte est de nouveau à vous. Nous vous avons envoyé un e-mail avec un lien pour choisir un nouveau mot de passe.',
    factorDone:
      'Tous les appareils sont déconnectés. Nous vous avons envoyé un e-mail avec un lien pour choisir un nouveau mot de passe.',
    deadHeading: 'Ce lien ne fonctionne pas',
    deadLink: 'Il a expiré, a déjà été utilisé ou est incomplet, ou une modification ultérieure a déjà été annulée.',
    noLink: 'Pour annuler une modification, ouvrez le lien de l’e-mail qui en parle.',
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
