import type { twoStep as english } from './en-two-step.js'

/** Two-step sign-in: its page, and its part of the account page. */
export const twoStep: typeof english = {
  'second-factor': {
    title: 'Deuxième étape',
    heading: 'Saisissez votre code',
    lead: 'Ouvrez votre application d’authentification et saisissez le code qu’elle affiche pour ce site.',
    code: 'Code de l’application',
    recoveryLead: 'Saisissez l’un des codes de secours que vous avez enregistrés. Chacun fonctionne une seule fois.',
    recoveryCode: 'Code de secours',
    notTrusted: 'Après un code de secours, un code sera de nouveau demandé dans ce navigateur la prochaine fois.',
    wrongRecoveryCode: 'Ce code de secours ne fonctionne pas. Vérifiez-le\u00a0: chacun ne sert qu’une fois.',
    trustDevice: 'Ne plus demander de code dans ce navigateur pendant {time}',
    submit: 'Continuer',
    useRecoveryCode: 'Utiliser un code de secours',
    useApp: 'Utiliser l’application d’authentification',
    signInAgain: 'Se reconnecter',
  },
  enrolment: {
    heading: 'Configurer une deuxième étape',
    lead: 'La connexion en deux étapes est obligatoire ici. Avant de la configurer, nous vérifions avec un code envoyé par e-mail que le compte est bien le vôtre. Nous le faisons aussi juste après une inscription.',
    choose:
      'Configurez maintenant la deuxième étape : une application d’authentification sur votre téléphone ou une clé d’accès.',
    useApp: 'Configurer une application',
    chooseHeading: 'Choisissez votre deuxième étape',
    appHeading: 'Configurez votre application',
    otherWay: 'Choisir un autre moyen',
  },
  'two-step': {
    title: 'Connexion en deux étapes',
    offLead:
      'Si vous l’activez, la connexion demande aussi un code d’une application sur votre téléphone. Un mot de passe volé ne suffit alors plus.',
    switchOn: 'Activer',
    scan: 'Scannez cette image avec une application d’authentification. Saisissez ensuite le code qu’elle affiche.',
    qrAlt: 'Code QR pour l’application d’authentification',
    secret: 'Ou saisissez cette clé dans l’application\u00a0:',
    openApp: 'Ouvrir une application sur cet appareil',
    code: 'Code de l’application',
    confirm: 'Confirmer',
    savedHeading: 'Enregistrez vos codes de secours',
    newCodesLead:
      'Voici vos nouveaux codes de secours. Les anciens ne fonctionnent plus. Enregistrez-les maintenant, ils ne sont affichés qu’une fois. Chacun vous permet de vous connecter une fois si vous perdez votre téléphone.',
    codesLead:
      'La connexion en deux étapes est activée. Enregistrez maintenant ces codes de secours, ils ne sont affichés qu’une fois. Chacun vous permet de vous connecter une fois si vous perdez votre téléphone.',
    copy: 'Copier',
    copied: 'Copié',
    print: 'Imprimer',
    saved: 'Je les ai enregistrés',
    onSince: 'Activée depuis le {date}.',
    codesLeft: 'Codes de secours restants\u00a0: {count}.',
    newCodes: 'Nouveaux codes de secours',
    newCodesAsk: 'Vos codes de secours actuels ne fonctionneront plus.',
    newCodesSure: 'Oui, créer de nouveaux codes',
    switchOff: 'Désactiver',
    switchOffAsk: 'Aucun code ne sera plus demandé à la connexion. Vos autres appareils seront déconnectés.',
    switchOffSure: 'Oui, désactiver',
    switchedOff: 'La connexion en deux étapes est désactivée.',
    needed:
      'Ici, chaque compte a besoin d’une deuxième étape. Pour désactiver celle-ci, ajoutez d’abord une clé d’accès.',
    trusted: 'Ces navigateurs n’ont pas besoin de code\u00a0:',
    trustedUntil: 'jusqu’au {date}',
    stopTrusting: 'Retirer',
    stopTrustingOf: 'Retirer {device}, {ip}',
  },
}
