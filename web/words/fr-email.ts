import type { email as english } from './en-email.js'

export const email: typeof english = {
  'confirm-email': {
    title: 'Confirmer la nouvelle adresse e-mail',
    heading: 'Confirmez votre nouvelle adresse',
    lead: 'Cliquez sur le bouton pour utiliser désormais cette adresse pour votre compte. Les autres appareils seront déconnectés.',
    passwordLead:
      'Vous n’êtes pas connecté ici. Saisissez le mot de passe de votre compte, pour que nous sachions que c’est bien vous.',
    confirm: 'Confirmer cette adresse',
    signInFirst: 'Connectez-vous au compte auquel cette adresse est destinée. Vous pourrez ensuite la confirmer ici.',
    signIn: 'Se connecter',
    doneHeading: 'Adresse e-mail modifiée',
    done: 'Votre compte utilise maintenant la nouvelle adresse.',
    continue: 'Continuer',
    deadHeading: 'Ce lien ne fonctionne pas',
    deadLink:
      'Il a expiré ou a déjà été utilisé. Si vous avez demandé plusieurs modifications, seul le lien de l’e-mail le plus récent fonctionne.',
    noLink: 'Pour confirmer une nouvelle adresse, ouvrez le lien de l’e-mail que nous lui avons envoyé.',
    takenHeading: 'Cette adresse est déjà prise',
  },
  undo: {
    title: 'Annuler une modification',
    heading: 'Ce n’était pas vous\u00a0?',
    emailLead:
      'Votre compte retrouve l’adresse e-mail à laquelle ce lien a été envoyé. Ce qui a été ajouté depuis la modification est supprimé, tous les appareils sont déconnectés, et nous vous envoyons un lien pour choisir un nouveau mot de passe.',
    factorLead:
      'Nous supprimons ce qui a été ajouté à votre compte. Tous les appareils sont déconnectés et le mot de passe ne fonctionne plus. Vous pourrez ensuite en choisir un nouveau.',
    submit: 'Annuler la modification',
    wasMe: 'Si c’était vous, fermez cette page. Rien ne changera.',
    doneHeading: 'La modification est annulée',
    emailDone:
      'Le compte est de nouveau à vous. Nous vous avons envoyé un e-mail avec un lien pour choisir un nouveau mot de passe.',
    factorDone:
      'Tous les appareils sont déconnectés. Nous vous avons envoyé un e-mail avec un lien pour choisir un nouveau mot de passe.',
    deadHeading: 'Ce lien ne fonctionne pas',
    deadLink: 'Il a expiré, a déjà été utilisé, ou une modification ultérieure a déjà été annulée.',
    noLink: 'Pour annuler une modification, ouvrez le lien de l’e-mail qui en parle.',
  },
  'change-email': {
    change: 'Modifier l’adresse e-mail',
    newEmail: 'Nouvelle adresse e-mail',
    submit: 'Envoyer le lien',
    sent: 'Nous avons envoyé un e-mail à {email}. Ouvrez le lien qu’il contient pour terminer la modification.',
  },
}

/** Its events, in the list of recent activity. */
export const emailKinds = {
  email_change_asked: 'Modification de l’adresse e-mail demandée',
  email_changed: 'Adresse e-mail modifiée',
  email_change_failed: 'Adresse e-mail non modifiée\u00a0: mot de passe incorrect',
  email_change_undone: 'Modification de l’adresse e-mail annulée',
  factor_undone: 'Nouveau moyen de connexion annulé',
  email_set: 'Adresse e-mail définie par l’administrateur',
}
