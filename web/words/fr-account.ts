import type { accountLife as english } from './en-account.js'

export const accountLife: typeof english = {
  'account-life': {
    edit: 'Modifier le nom, le nom d’utilisateur ou la langue',
    nameHint: 'Laissez ce champ vide pour supprimer le nom.',
    usernameHint:
      'Il sert à vous connecter. Seuls les lettres, les chiffres et . _ - sont possibles. L’ancien vous reste réservé pendant 30 jours.',
    language: 'Langue des e-mails',
    languageHint: 'Les e-mails sur votre compte sont écrits dans cette langue.',
    noLanguage: 'Pas encore choisie',
    save: 'Enregistrer',
    saved: 'Vos modifications sont enregistrées.',
    nothingChanged: 'Vous n’avez rien modifié.',
    data: 'Vos données',
    dataLead: 'Un fichier avec tout ce qui est enregistré à votre sujet, au format JSON.',
    download: 'Télécharger vos données',
    downloaded: 'Vos données ont été enregistrées dans un fichier.',
    delete: 'Supprimer le compte',
    deleteLead: 'Supprime définitivement votre compte.',
    lost: {
      data: 'Votre compte, vos moyens de connexion et votre activité sont supprimés immédiatement. Rien ne peut être restauré.',
      sessions: 'Tous vos appareils sont déconnectés.',
      names: 'Votre nom d’utilisateur et votre adresse e-mail redeviennent libres : n’importe qui peut prendre ce nom.',
      applications: 'Les applications que vous utilisiez avec ce compte peuvent conserver leurs propres données.',
    },
    typeUsername: 'Pour confirmer, saisissez votre nom d’utilisateur : {username}',
    deleteSure: 'Supprimer définitivement mon compte',
  },
}
