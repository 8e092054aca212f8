import type { MailWords } from '../letters.js'

const configurationActions = {
  added: { done: 'ajouté', toDo: 'd’ajouter' },
  changed: { done: 'modifié', toDo: 'de modifier' },
  deleted: { done: 'supprimé', toDo: 'de supprimer' },
}

export const fr: MailWords = {
  labels: {
    login: 'Se connecter',
    mailLogin: 'Se connecter',
    forgotPassword: 'Choisir un nouveau mot de passe',
    resetPassword: 'Choisir un nouveau mot de passe',
    setPassword: 'Définir un mot de passe',
    verifyEmail: 'Confirmer mon adresse e-mail',
    confirmEmail: 'Confirmer cette adresse',
    invite: 'Créer mon compte',
    join: 'Accepter l’invitation',
    undo: 'Ce n’était pas moi',
    adminEvent: 'Voir cette modification',
    devices: 'Voir ce qui est connecté',
  },
  footers: {
    visitor: (productName) => `Vous recevez cet e-mail parce que cette adresse a été saisie sur ${productName}.`,
    account: (productName) => `Cet e-mail concerne votre compte sur ${productName}.`,
    invited: (productName) => `Vous recevez cet e-mail parce que cette adresse a été invitée sur ${productName}.`,
    last: (productName) => `Ceci est le dernier e-mail concernant votre compte sur ${productName}.`,
  },
  devices: {
    unknownDevice: 'Appareil inconnu',
    device: '{browser} sur {system}',
    onAppleDevice: '{browser} sur {system}',
  },
  links: { terms: 'Conditions', privacy: 'Confidentialité', imprint: 'Mentions légales', support: 'Aide' },
  byOperator: (productName, time) => `Un administrateur de ${productName} l’a fait. Date : ${time}.`,
  byClient: (device, ip, time) => `Appareil : ${device}. Adresse IP : ${ip}. Date : ${time}.`,
  byVisitor: (device, time) => `Navigateur : ${device}. Date : ${time}.`,
  byProgram: (ip, time) => `Adresse IP du programme : ${ip}. Date : ${time}.`,
  renamed: (formerUsername, username) => `${formerUsername} (maintenant ${username})`,
  unproven:
    'Cette adresse n’a jamais été confirmée, c’est pourquoi cet e-mail ne contient aucun lien pour reprendre le compte. Si ce n’était pas vous, connectez-vous et ouvrez la page du compte : déconnectez les autres appareils, supprimez ce que vous ne connaissez pas et choisissez un nouveau mot de passe. Confirmez-y aussi l’adresse.',
  accountChanges: {
    account_recovered: 'compte rendu à son titulaire',
    email_set: 'adresse e-mail modifiée',
    factors_reset: 'deuxième étape et clés d’accès supprimées',
    fields_changed: 'champs du profil modifiés',
    group_joined: 'ajouté à des groupes',
    group_left: 'retiré de groupes',
    limits_cleared: 'limites effacées',
    password_expired: 'mot de passe rendu inutilisable',
    provider_unlinked: 'fournisseur déconnecté',
    reset_requested: 'lien pour un nouveau mot de passe envoyé',
    sessions_ended: 'déconnecté partout',
    token_ended: 'jeton personnel supprimé',
    user_deleted: 'compte supprimé',
    user_disabled: 'compte désactivé',
    user_enabled: 'compte activé',
    user_locked_down: 'compte verrouillé',
  },
  help: 'Pour joindre l’administrateur :',
  undo: (undoFor) =>
    `Si ce n’était pas vous, reprenez votre compte ici, dans un délai de ${undoFor}. Ce qui y a été ajouté ces derniers jours sera supprimé, tous les appareils seront déconnectés, et vous choisirez un nouveau mot de passe :`,

  letters: {
    'verify-email': ({ productName, code, validFor }) => ({
      subject: `Confirmez votre adresse e-mail pour ${productName}`,
      opening: `Bienvenue sur ${productName}. Pour terminer votre inscription, confirmez cette adresse ici :`,
      codeLead:
        code === undefined
          ? 'Les cinq essais pour le code sont épuisés. Cet e-mail ne contient donc que le lien.'
          : 'Ou saisissez ce code sur la page où vous avez commencé votre inscription. Vous avez cinq essais en tout :',
      closing: `${code === undefined ? 'Le lien est valable' : 'Le lien et le code sont valables'} ${validFor}. Si cette inscription ne vient pas de vous, vous pouvez ignorer cet e-mail. Aucun compte ne sera créé.`,
    }),
    'already-registered': ({ productName }) => ({
      subject: `Vous avez déjà un compte sur ${productName}`,
      happened: `Quelqu’un, peut-être vous, a essayé de s’inscrire sur ${productName} avec cette adresse. Un compte existe déjà pour cette adresse. Rien n’a été modifié.`,
      signIn: 'Connectez-vous ici :',
      forgotten: 'Mot de passe oublié ? Choisissez-en un nouveau ici :',
      closing: 'Si ce n’était pas vous, vous n’avez rien à faire.',
    }),
    'address-reserved': ({ productName, reservedFor }) => ({
      subject: `Cette adresse ne peut pas encore être inscrite sur ${productName}`,
      happened: `Quelqu’un, peut-être vous, a essayé de s’inscrire sur ${productName} avec cette adresse. Elle appartenait à un compte il y a quelques jours encore et lui reste réservée pendant ${reservedFor} après la modification.`,
      signIn: 'Si vous avez un compte, connectez-vous avec votre nom d’utilisateur ou votre nouvelle adresse :',
      closing: 'Sinon, réessayez après ce délai ou inscrivez-vous avec une autre adresse.',
    }),
    invitation: ({ productName, invitedBy, validFor }) => ({
      subject: `Votre invitation à ${productName}`,
      opening:
        invitedBy === undefined
          ? `Un administrateur de ${productName} vous invite à y créer un compte. Vous pouvez le faire ici :`
          : `${invitedBy} vous invite à créer un compte sur ${productName}. Vous pouvez le faire ici :`,
      closing: `L’invitation est réservée à cette adresse. Elle ne sert qu’une fois et reste valable ${validFor}. Si vous ne souhaitez pas de compte, vous pouvez ignorer cet e-mail.`,
    }),
    'group-invitation': ({ productName, invitedBy, groups, validFor }) => ({
      subject: `Votre invitation dans un groupe sur ${productName}`,
      opening:
        invitedBy === undefined
          ? `Un administrateur de ${productName} vous invite à rejoindre des groupes avec votre compte (${groups}). Vous pouvez accepter ici :`
          : `${invitedBy} vous invite à rejoindre des groupes avec votre compte sur ${productName} (${groups}). Vous pouvez accepter ici :`,
      closing: `Vous ne rejoignez un groupe qu’après vous être connecté et avoir accepté. Le lien ne sert qu’une fois et reste valable ${validFor}. Si vous ne souhaitez pas rejoindre de groupe, vous pouvez ignorer cet e-mail.`,
    }),
    'reset-password': ({ productName, validFor, hasPassword }) => ({
      subject: hasPassword
        ? `Choisissez un nouveau mot de passe pour ${productName}`
        : `Définissez un mot de passe pour ${productName}`,
      opening: hasPassword
        ? `Quelqu’un, peut-être vous, a demandé à réinitialiser le mot de passe de votre compte sur ${productName}. Choisissez un nouveau mot de passe ici :`
        : `Quelqu’un, peut-être vous, a demandé à définir un mot de passe pour votre compte sur ${productName}. Choisissez-en un ici :`,
      closing: `Ce lien fonctionne une seule fois et reste valable ${validFor}. Si cette demande ne vient pas de vous, vous pouvez ignorer cet e-mail. Rien ne changera.`,
    }),
    'password-changed': ({ productName, username }) => ({
      subject: `Votre mot de passe pour ${productName} a été modifié`,
      happened: `Le mot de passe de votre compte ${username} sur ${productName} vient d’être modifié. Tous les autres appareils ont été déconnectés.`,
      wasYou: 'Si c’était vous, vous n’avez rien à faire.',
    }),
    'password-reset': ({ productName, username }) => ({
      subject: `Votre mot de passe pour ${productName} a été réinitialisé`,
      happened: `Le mot de passe de votre compte ${username} sur ${productName} vient d’être réinitialisé au moyen d’un lien envoyé à cette adresse. Tous les appareils ont été déconnectés.`,
      advice:
        'Si c’était vous, vous n’avez rien à faire. Sinon, choisissez dès maintenant un nouveau mot de passe et vérifiez qui peut lire vos e-mails :',
    }),
    'password-expired': ({ productName, username }) => ({
      subject: `Choisissez un nouveau mot de passe pour ${productName}`,
      happened: `Un administrateur a rendu inutilisable le mot de passe de votre compte ${username} sur ${productName}, car d’autres personnes pourraient le connaître. Tous les appareils ont été déconnectés.`,
      advice:
        'Choisissez un nouveau mot de passe pour vous reconnecter. N’utilisez plus l’ancien, y compris sur d’autres sites.',
    }),
    'step-up-code': ({ productName, code, username, validFor }) => ({
      subject: `Votre code pour ${productName} : ${code}`,
      opening: `Votre compte ${username} sur ${productName} vous demande de confirmer encore une fois que c’est bien vous. Saisissez ce code sur la page qui le demande :`,
      closing: `Ce code reste valable ${validFor}. Ne le donnez à personne. Si aucune page ne vous le demande, quelqu’un d’autre utilise peut-être votre compte : connectez-vous et déconnectez tous les autres appareils.`,
    }),
    'enrolment-code': ({ productName, code, username, validFor }) => ({
      subject: `Votre code pour ${productName} : ${code}`,
      opening: `Vous êtes en train de vous connecter à ${productName} en tant que ${username}, et une deuxième étape doit être configurée pour ce compte. Saisissez ce code sur la page qui le demande :`,
      closing: `Ce code reste valable ${validFor}. Ne le donnez à personne. Si vous n’êtes pas en train de vous connecter, quelqu’un d’autre connaît peut-être votre mot de passe. Choisissez-en un nouveau dès maintenant :`,
    }),
    'mail-sign-in': ({ productName, code, username, validFor }) => ({
      subject: `Votre code de connexion à ${productName} : ${code}`,
      opening: `Saisissez ce code dans la fenêtre où vous vous connectez à ${productName} en tant que ${username} :`,
      linkLead: 'Ou ouvrez ce lien, dans le même navigateur :',
      closing: `Les deux fonctionnent une seule fois, pendant ${validFor}, et seulement dans le navigateur qui les a demandés. Personne ne vous demandera jamais ce code, pas même nous : ne le donnez à personne. Si vous n’êtes pas en train de vous connecter, vous pouvez ignorer cet e-mail.`,
    }),
    'mail-sign-up': ({ productName, code, validFor }) => ({
      subject: `Votre code pour ${productName} : ${code}`,
      opening: `Cette adresse n’a pas encore de compte sur ${productName}. Pour en créer un, saisissez ce code dans la fenêtre où vous avez commencé :`,
      linkLead: 'Ou ouvrez ce lien, dans le même navigateur :',
      closing: `Les deux fonctionnent une seule fois, pendant ${validFor}, et seulement dans le navigateur qui les a demandés. Personne ne vous demandera jamais ce code, pas même nous : ne le donnez à personne. Si cette demande ne vient pas de vous, vous pouvez ignorer cet e-mail. Aucun compte ne sera créé.`,
    }),
    'no-mail-sign-in': ({ productName }) => ({
      subject: `Vous ne pouvez pas vous connecter à ${productName} avec cette adresse`,
      happened: `Quelqu’un, peut-être vous, a voulu se connecter à ${productName} avec cette adresse. Aucun compte ne peut être utilisé ni créé avec elle.`,
      advice:
        'Si c’était vous, essayez une autre de vos adresses, ou adressez-vous à l’administrateur. Sinon, vous n’avez rien à faire.',
    }),
    'new-device': ({ productName, username }) => ({
      subject: `Nouvelle connexion à ${productName}`,
      happened: `Quelqu’un vient de se connecter à votre compte ${username} sur ${productName} depuis un appareil ou un navigateur qui n’avait pas encore été utilisé.`,
      advice:
        'Si c’était vous, vous n’avez rien à faire. Sinon, choisissez dès maintenant un nouveau mot de passe. Tous les appareils seront alors déconnectés :',
    }),
    'new-program': ({ productName, username, programName, resourceName }) => ({
      subject: `Un programme s’est connecté à votre compte sur ${productName}`,
      happened:
        resourceName === undefined
          ? `Le programme « ${programName} » est maintenant connecté à votre compte ${username} sur ${productName}, et le reste jusqu’à ce que vous le déconnectiez.`
          : `Le programme « ${programName} » peut maintenant utiliser « ${resourceName} » avec votre compte ${username} sur ${productName}, et reste connecté jusqu’à ce que vous le déconnectiez.`,
      advice:
        'Si vous l’avez autorisé, vous n’avez rien à faire. Sinon, déconnectez-le sur la page de votre compte, sous « Appareils et activité » : tout le reste demeure connecté. Si vous ne savez pas qui l’a autorisé, choisissez-y aussi un nouveau mot de passe :',
    }),
    'device-trusted': ({ productName, username }) => ({
      subject: `Un navigateur n’a plus besoin de code pour ${productName}`,
      happened: `Dans ce navigateur, votre compte ${username} sur ${productName} ne demandera pas de code lors des prochaines connexions : la case correspondante vient d’être cochée. Vous pouvez y mettre fin sur la page de votre compte.`,
      advice:
        'Si c’était vous, vous n’avez rien à faire. Sinon, choisissez dès maintenant un nouveau mot de passe. Tous les appareils seront alors déconnectés, et tous auront de nouveau besoin d’un code :',
    }),
    'device-proofs-refused': ({ productName, username }) => ({
      subject: `Les cookies de votre session sur ${productName} ont peut-être été copiés`,
      happened: `Quelqu’un a essayé trois fois en une heure de renouveler une session de votre compte ${username} sur ${productName} sans la clé de son appareil. Les cookies de ce navigateur ont peut-être été copiés. La session n’a pas été renouvelée pour cette personne, et la vôtre continue.`,
      advice:
        'Si vous ne savez pas de quoi il s’agit, choisissez dès maintenant un nouveau mot de passe. Tous les appareils seront alors déconnectés. Vérifiez aussi que l’appareil ne contient pas de logiciel malveillant :',
    }),
    'session-stolen': ({ productName, username }) => ({
      subject: `Un appareil a été déconnecté de ${productName} : sa session a peut-être été copiée`,
      happened: `Une ancienne clé d’un appareil connecté vient d’être utilisée pour votre compte ${username} sur ${productName}. Cela arrive si quelqu’un a copié la session, mais aussi si un navigateur est restauré à partir d’une sauvegarde. Par sécurité, nous avons déconnecté cet appareil.`,
      advice:
        'Si vous n’avez restauré ni navigateur ni appareil, choisissez dès maintenant un nouveau mot de passe. Tous les appareils seront alors déconnectés :',
    }),
    'sign-in-unfinished': ({ productName, username }) => ({
      subject: `Une connexion à ${productName} n’a pas été terminée`,
      happened: `Quelqu’un, peut-être vous, a saisi le bon mot de passe de votre compte ${username} sur ${productName} sans terminer la deuxième étape. Personne n’a été connecté.`,
      advice:
        'Si c’était vous, vous n’avez rien à faire. Sinon, quelqu’un connaît votre mot de passe. Choisissez-en un nouveau dès maintenant :',
    }),
    'wrong-codes': ({ productName, username }) => ({
      subject: `Quelqu’un connaît peut-être votre mot de passe pour ${productName}`,
      happened: `Quelqu’un, peut-être vous, a saisi trois codes erronés pour votre compte ${username} sur ${productName}. Le code n’est demandé qu’après le bon mot de passe ou une connexion avec un fournisseur.`,
      advice: 'Si ce n’était pas vous, choisissez dès maintenant un nouveau mot de passe :',
    }),
    'provider-linked': ({ productName, providerName, username }) => ({
      subject: `Vous pouvez maintenant vous connecter à ${productName} avec ${providerName}`,
      happened: `Votre compte ${username} sur ${productName} vient d’être associé à ${providerName}. Vous pouvez maintenant vous connecter aussi avec ${providerName}.`,
    }),
    'provider-unlinked': ({ productName, providerName, username }) => ({
      subject: `Vous ne pouvez plus vous connecter à ${productName} avec ${providerName}`,
      happened: `Votre compte ${username} sur ${productName} vient d’être dissocié de ${providerName}. Vous ne pouvez plus vous connecter avec ${providerName}.`,
      advice: 'Si c’était vous, vous n’avez rien à faire. Sinon, choisissez dès maintenant un nouveau mot de passe :',
    }),
    'totp-added': ({ productName, username }) => ({
      subject: `La connexion en deux étapes à ${productName} est activée`,
      happened: `La connexion en deux étapes vient d’être activée pour votre compte ${username} sur ${productName} : pour vous connecter, il faut maintenant un code d’une application d’authentification. Tous les autres appareils ont été déconnectés.`,
    }),
    'totp-replaced': ({ productName, username }) => ({
      subject: `Nouvelle application d’authentification pour ${productName}`,
      happened: `L’application d’authentification de votre compte ${username} sur ${productName} vient d’être reconfigurée : les codes de la précédente ne fonctionnent plus. Vos codes de secours restent les mêmes. Tous les autres appareils ont été déconnectés.`,
    }),
    'totp-removed': ({ productName, username }) => ({
      subject: `La connexion en deux étapes à ${productName} est désactivée`,
      happened: `La connexion en deux étapes vient d’être désactivée pour votre compte ${username} sur ${productName}. Tous les autres appareils ont été déconnectés.`,
      advice: 'Si ce n’était pas vous, choisissez dès maintenant un nouveau mot de passe et réactivez-la :',
    }),
    'recovery-codes-renewed': ({ productName, username }) => ({
      subject: `Nouveaux codes de secours pour ${productName}`,
      happened: `De nouveaux codes de secours viennent d’être créés pour votre compte ${username} sur ${productName}. Les anciens ne fonctionnent plus.`,
      advice:
        'Si ce n’était pas vous, quelqu’un d’autre a des codes pour votre compte. Choisissez dès maintenant un nouveau mot de passe, connectez-vous avec votre application d’authentification et créez de nouveaux codes de secours : les autres ne fonctionneront plus. Si vous ne pouvez pas vous connecter, contactez l’administrateur.',
    }),
    'recovery-code-used': ({ productName, username, left }) => ({
      subject: `Un code de secours pour ${productName} a été utilisé`,
      happened: `Un code de secours vient d’être utilisé pour votre compte ${username} sur ${productName}. Codes restants : ${left}.`,
      advice:
        'Si c’était vous, créez de nouveaux codes avant d’utiliser le dernier. Sinon, choisissez dès maintenant un nouveau mot de passe :',
    }),
    'passkey-added': ({ productName, username, passkeyName }) => ({
      subject: `Une clé d’accès pour ${productName} a été ajoutée`,
      happened: `Une clé d’accès vient d’être ajoutée à votre compte ${username} sur ${productName} : « ${passkeyName} ». Elle vous permet de vous connecter sans mot de passe ni code de connexion.`,
    }),
    'token-made': ({ productName, username, tokenName, applications }) => ({
      subject: `Nouveau jeton personnel pour ${productName}`,
      happened: `Un jeton personnel vient d’être créé pour votre compte ${username} sur ${productName} : « ${tokenName} ». Un programme qui le possède peut utiliser en votre nom, sans se connecter : ${applications}.`,
    }),
    'passkey-removed': ({ productName, username, passkeyName }) => ({
      subject: `Une clé d’accès pour ${productName} a été supprimée`,
      happened: `Une clé d’accès vient d’être supprimée de votre compte ${username} sur ${productName} : « ${passkeyName} ». Elle ne vous permet plus de vous connecter. Tous les autres appareils ont été déconnectés.`,
      advice: 'Si ce n’était pas vous, choisissez dès maintenant un nouveau mot de passe :',
    }),
    'account-disabled': ({ productName, username }) => ({
      subject: `Votre compte sur ${productName} a été désactivé`,
      happened: `Votre compte ${username} sur ${productName} a été désactivé. Il ne permet plus de se connecter, et tous les appareils ont été déconnectés.`,
      advice: 'Si vous n’en connaissez pas la raison, demandez à l’administrateur.',
    }),
    'account-enabled': ({ productName, username }) => ({
      subject: `Votre compte sur ${productName} peut de nouveau être utilisé`,
      happened: `Votre compte ${username} sur ${productName} a été activé. Vous pouvez de nouveau vous connecter :`,
    }),
    'account-locked-down': ({ productName, username }) => ({
      subject: `Votre compte sur ${productName} a été verrouillé`,
      happened: `Votre compte ${username} sur ${productName} a été verrouillé pour sa sécurité. Il ne permet plus de se connecter, tous les appareils ont été déconnectés, et les liens et codes qui vous ont été envoyés ne fonctionnent plus. Les liens « Ce n’était pas moi » fonctionnent toujours, sauf s’ils ont été envoyés après un changement de l’adresse e-mail.`,
      advice: 'Demandez à l’administrateur ce qui s’est passé et quand le compte pourra de nouveau être utilisé.',
    }),
    'admin-session-began': ({ productName, username }) => ({
      subject: `Votre compte a été utilisé comme administrateur de ${productName}`,
      happened: `Votre compte ${username} vient d’être utilisé comme administrateur de ${productName}, sur un appareil qui s’est connecté avec lui.`,
      advice:
        'Si c’était vous, vous n’avez rien à faire. Sinon, choisissez maintenant un nouveau mot de passe, ce qui déconnecte tous les appareils, et prévenez les autres administrateurs :',
    }),
    'factors-reset': ({ productName, username }) => ({
      subject: `La connexion en deux étapes à ${productName} a été réinitialisée`,
      happened: `Un administrateur a désactivé la connexion en deux étapes de votre compte ${username} sur ${productName} et supprimé ses clés d’accès. Tous les appareils ont été déconnectés.`,
      advice:
        'Connectez-vous et configurez de nouveau les deux. Si vous ne l’avez pas demandé, dites-le à l’administrateur :',
    }),
    'language-changed': ({ productName, username, newLanguage, undoFor }) => ({
      subject: `Les e-mails sur votre compte ${productName} changent de langue`,
      happened: `Désormais, les e-mails sur votre compte ${username} sur ${productName} sont écrits en ${newLanguage}. Cela vient d’être modifié sur la page du compte. Pendant ${undoFor}, les avertissements restent dans la langue précédente.`,
    }),
    'username-changed': ({ productName, formerUsername, username, reservedFor }) => ({
      subject: `Votre nom d’utilisateur sur ${productName} a été modifié`,
      happened: `Votre nom d’utilisateur sur ${productName} vient de passer de ${formerUsername} à ${username}. Utilisez le nouveau pour vous connecter. Pendant ${reservedFor}, personne d’autre ne peut prendre l’ancien, et vous pouvez y revenir.`,
    }),
    'confirm-email': ({ productName, validFor }) => ({
      subject: `Confirmez votre nouvelle adresse e-mail pour ${productName}`,
      opening: `Cette adresse a été saisie comme nouvelle adresse e-mail d’un compte sur ${productName}. Confirmez-la ici :`,
      codeLead:
        'Ou saisissez ce code sur la page du compte où vous avez demandé la modification. Vous avez cinq essais :',
      closing: `Le lien et le code restent valables ${validFor}. Si cette demande ne vient pas de vous, vous pouvez ignorer cet e-mail. Rien ne changera.`,
    }),
    'email-taken': ({ productName }) => ({
      subject: `Cette adresse est déjà utilisée sur ${productName}`,
      happened: `Quelqu’un, peut-être vous, a voulu utiliser cette adresse pour un autre compte sur ${productName}. Elle appartient à un compte, ou lui appartenait encore il y a quelques jours. Rien n’a été modifié.`,
      signIn: 'Connectez-vous ici :',
      closing: 'Si ce n’était pas vous, vous n’avez rien à faire.',
    }),
    'email-change-asked': ({ productName, username, newEmail, undoFor }) => ({
      subject: `Votre adresse e-mail sur ${productName} va changer`,
      happened: `Une nouvelle adresse e-mail a été saisie pour votre compte ${username} sur ${productName} : ${newEmail}. Elle remplacera celle-ci dès qu’elle sera confirmée.`,
      advice: `Si c’était vous, vous n’avez rien à faire. Sinon, quelqu’un d’autre a accès à votre compte. Reprenez votre compte ici, dans un délai de ${undoFor}. Ce qui y a été ajouté ces derniers jours sera supprimé, tous les appareils seront déconnectés, et vous choisirez un nouveau mot de passe :`,
    }),
    'email-changed': ({ productName, username, newEmail, undoFor }) => ({
      subject: `Votre adresse e-mail sur ${productName} a été modifiée`,
      happened: `L’adresse e-mail de votre compte ${username} sur ${productName} vient d’être remplacée par ${newEmail}. L’adresse à laquelle vous lisez ce message n’est plus utilisée pour ce compte.`,
      advice: `Si ce n’était pas vous, reprenez votre compte ici, dans un délai de ${undoFor}. Cette adresse sera rétablie, ce qui a été ajouté au compte ces derniers jours sera supprimé, tous les appareils seront déconnectés, et vous choisirez un nouveau mot de passe :`,
    }),
    'account-restored': ({ productName, username, byOperator, validFor = '' }) => ({
      subject: `Votre compte sur ${productName} est de nouveau à vous`,
      happened: byOperator
        ? `Un administrateur vous a rendu votre compte ${username} sur ${productName}. Il utilise maintenant cette adresse e-mail. Tous les appareils ont été déconnectés, et la connexion en deux étapes, les clés d’accès et les fournisseurs associés ont été supprimés.`
        : `Votre compte ${username} sur ${productName} a été repris au moyen du lien d’un e-mail envoyé à cette adresse, qui est maintenant celle du compte. Tous les appareils ont été déconnectés, et ce qui avait été ajouté au compte ces sept derniers jours a été supprimé. Une application d’authentification remplacée pendant ce temps fonctionne de nouveau.`,
      choose: 'L’ancien mot de passe ne fonctionne plus. Choisissez-en un nouveau ici :',
      expiry: `Ce lien fonctionne une seule fois et reste valable ${validFor}. S’il a expiré, demandez-en un nouveau sur la page de connexion.`,
      signIn: 'Connectez-vous désormais avec le mot de passe choisi à cette occasion :',
      notChosen:
        'Si vous ne l’avez pas choisi vous-même, quelqu’un d’autre peut lire vos e-mails. Changez le mot de passe de votre messagerie, puis celui de ce compte.',
    }),
    'email-withdrawn': ({ productName, username }) => ({
      subject: `Votre adresse e-mail sur ${productName} a été rétablie`,
      happened: `Le compte ${username} sur ${productName} a de nouveau son ancienne adresse e-mail : le lien de l’e-mail envoyé à cette adresse a été utilisé. L’adresse à laquelle vous lisez ce message n’est plus utilisée pour ce compte, et tous les appareils ont été déconnectés.`,
      advice:
        'Si c’est une erreur, choisissez un nouveau mot de passe. Le lien pour cela est envoyé à l’ancienne adresse :',
    }),
    'configuration-changed': ({ productName, action, administrator, thing, added, removed, before, after, kept }) => ({
      subject: `${thing} a été ${configurationActions[action].done} sur ${productName}`,
      happened: `${administrator} vient ${configurationActions[action].toDo} ${thing} sur ${productName}.`,
      added: `Ajouté : ${added}`,
      removed: `Supprimé : ${removed}`,
      before: `Avant : ${before}`,
      after: `Maintenant : ${after}`,
      kept: `Inchangé : ${kept}`,
      shortened:
        'Il y en avait trop pour tout afficher ici : d’une longue liste, seuls les hôtes sont nommés. La page de cette modification contient tout.',
      advice: `Si vous ne savez pas pourquoi, demandez à ${administrator}. Quiconque peut modifier une adresse d’une application peut s’y connecter à la place de n’importe qui. Tous les administrateurs peuvent voir cette modification et l’annuler ici :`,
    }),
    'administrator-changed': ({ productName, administrator, account, accountChange, reason }) => ({
      subject: `Le compte ${account} sur ${productName} a été modifié`,
      happened: `${administrator} vient de modifier le compte ${account} sur ${productName} : ${accountChange}.`,
      reason: `Motif : ${reason}`,
      advice: `Tous les administrateurs reçoivent cet e-mail, car ${account} est, était ou devient membre de l’administration ou de l’assistance. Si vous ne savez pas pourquoi, demandez à ${administrator}. Tous les administrateurs peuvent voir cette modification ici :`,
    }),
    'account-deleted': ({ productName, byOperator, username }) => ({
      subject: `Votre compte sur ${productName} a été supprimé`,
      happened: byOperator
        ? `Un administrateur a supprimé votre compte ${username} sur ${productName}, avec toutes les données qui s’y rattachaient.`
        : `Votre compte ${username} sur ${productName} vient d’être supprimé, avec toutes les données qui s’y rattachaient. Il ne peut pas être restauré.`,
      advice: `Si ce n’était pas votre intention, contactez l’administrateur de ${productName}.`,
    }),
  },
}
