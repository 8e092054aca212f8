import { timeSpan } from '../../contract/time-spans.js'
import { footers } from './footers.js'
import type { Letters } from './letters.js'
import { accountFrench } from './letters-account-french.js'
import { emailFrench, undoFrench } from './letters-email-french.js'
import { signInFrench } from './letters-sign-in-french.js'

const { visitorFooter, accountFooter } = footers.fr

export const french: Letters = {
  ...accountFrench,
  ...signInFrench,

  'verify-email': ({ token, code, validFor }, { productName, addresses }) => ({
    subject: `Confirmez votre adresse e-mail pour ${productName}`,
    blocks: [
      {
        text: `Bienvenue sur ${productName}. Pour terminer votre inscription, ouvrez ce lien, puis confirmez-y votre adresse :`,
      },
      { link: addresses.verifyEmail(token), label: 'Confirmer mon adresse e-mail' },
      ...(code === undefined
        ? [{ text: 'Les cinq essais pour le code sont épuisés. Cet e-mail ne contient donc que le lien.' }]
        : [
            {
              text: 'Ou saisissez ce code sur la page où vous avez commencé votre inscription. Vous avez cinq essais en tout :',
            },
            { code },
          ]),
      {
        text: `${code === undefined ? 'Le lien est valable' : 'Le lien et le code sont valables'} ${timeSpan(validFor, 'fr')}. Si cette inscription ne vient pas de vous, vous pouvez ignorer cet e-mail. Aucun compte ne sera créé.`,
      },
    ],
    footer: visitorFooter(productName),
  }),

  'already-registered': (_values, { productName, addresses }) => ({
    subject: `Vous avez déjà un compte sur ${productName}`,
    blocks: [
      {
        text: `Quelqu’un, peut-être vous, a essayé de s’inscrire sur ${productName} avec cette adresse. Un compte existe déjà pour cette adresse. Rien n’a été modifié.`,
      },
      { text: 'Connectez-vous ici :' },
      { link: addresses.login, label: 'Se connecter' },
      { text: 'Mot de passe oublié ? Choisissez-en un nouveau ici :' },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
      { text: 'Si ce n’était pas vous, vous n’avez rien à faire.' },
    ],
    footer: accountFooter(productName),
  }),

  invitation: ({ token, validFor }, { productName, addresses }) => ({
    subject: `Votre invitation à ${productName}`,
    blocks: [
      { text: `Vous avez une invitation pour créer un compte sur ${productName}. Pour l’utiliser, ouvrez ce lien :` },
      { link: addresses.invite(token), label: 'Créer mon compte' },
      {
        text: `L’invitation est réservée à cette adresse. Elle ne sert qu’une fois et reste valable ${timeSpan(validFor, 'fr')}. Si vous ne souhaitez pas de compte, vous pouvez ignorer cet e-mail.`,
      },
    ],
    footer: `Vous recevez cet e-mail parce que l’administrateur de ${productName} a invité cette adresse.`,
  }),

  'reset-password': ({ token, validFor, hasPassword }, { productName, addresses }) => ({
    subject: hasPassword
      ? `Choisissez un nouveau mot de passe pour ${productName}`
      : `Définissez un mot de passe pour ${productName}`,
    blocks: [
      {
        text: hasPassword
          ? `Quelqu’un, peut-être vous, a demandé à réinitialiser le mot de passe de votre compte sur ${productName}. Choisissez un nouveau mot de passe ici :`
          : `Quelqu’un, peut-être vous, a demandé à définir un mot de passe pour votre compte sur ${productName}. Choisissez-en un ici :`,
      },
      {
        link: addresses.resetPassword(token),
        label: hasPassword ? 'Choisir un nouveau mot de passe' : 'Définir un mot de passe',
      },
      {
        text: `Ce lien fonctionne une seule fois et reste valable ${timeSpan(validFor, 'fr')}. Si cette demande ne vient pas de vous, vous pouvez ignorer cet e-mail. Rien ne changera.`,
      },
    ],
    footer: accountFooter(productName),
  }),

  'password-changed': ({ username, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Votre mot de passe pour ${productName} a été modifié`,
    blocks: [
      {
        text: `Le mot de passe de votre compte ${username} sur ${productName} vient d’être modifié. Tous les autres appareils ont été déconnectés.`,
      },
      { text: 'Si c’était vous, vous n’avez rien à faire.' },
      { text: undoFrench(undoFor) },
      { link: addresses.undo(undoToken), label: 'Ce n’était pas moi' },
    ],
    footer: accountFooter(productName),
  }),

  'password-reset': ({ username }, { productName, addresses }) => ({
    subject: `Votre mot de passe pour ${productName} a été réinitialisé`,
    blocks: [
      {
        text: `Le mot de passe de votre compte ${username} sur ${productName} vient d’être réinitialisé au moyen d’un lien envoyé à cette adresse. Tous les appareils ont été déconnectés.`,
      },
      {
        text: 'Si c’était vous, vous n’avez rien à faire. Sinon, choisissez dès maintenant un nouveau mot de passe et vérifiez qui peut lire vos e-mails :',
      },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: accountFooter(productName),
  }),

  'step-up-code': ({ username, code, validFor }, { productName }) => ({
    subject: `Votre code pour ${productName}`,
    blocks: [
      {
        text: `Une modification de votre compte ${username} sur ${productName} doit être confirmée. Saisissez ce code sur la page qui le demande :`,
      },
      { code },
      {
        text: `Ce code reste valable ${timeSpan(validFor, 'fr')}. Ne le donnez à personne. Si vous ne modifiez rien en ce moment, quelqu’un d’autre utilise peut-être votre compte : connectez-vous et déconnectez tous les autres appareils.`,
      },
    ],
    footer: accountFooter(productName),
  }),

  'enrolment-code': ({ username, code, validFor }, { productName, addresses }) => ({
    subject: `Votre code pour ${productName}`,
    blocks: [
      {
        text: `Vous êtes en train de vous connecter à ${productName} en tant que ${username}, et une deuxième étape doit être configurée pour ce compte. Saisissez ce code sur la page qui le demande :`,
      },
      { code },
      {
        text: `Ce code reste valable ${timeSpan(validFor, 'fr')}. Ne le donnez à personne. Si vous n’êtes pas en train de vous connecter, quelqu’un d’autre connaît peut-être votre mot de passe. Choisissez-en un nouveau dès maintenant :`,
      },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: accountFooter(productName),
  }),

  'provider-linked': ({ username, providerName, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Vous pouvez maintenant vous connecter à ${productName} avec ${providerName}`,
    blocks: [
      {
        text: `Votre compte ${username} sur ${productName} vient d’être associé à ${providerName}. Vous pouvez maintenant vous connecter aussi avec ${providerName}.`,
      },
      { text: undoFrench(undoFor) },
      { link: addresses.undo(undoToken), label: 'Annuler' },
    ],
    footer: accountFooter(productName),
  }),

  'provider-unlinked': ({ username, providerName }, { productName, addresses }) => ({
    subject: `Vous ne pouvez plus vous connecter à ${productName} avec ${providerName}`,
    blocks: [
      {
        text: `Votre compte ${username} sur ${productName} vient d’être dissocié de ${providerName}. Vous ne pouvez plus vous connecter avec ${providerName}.`,
      },
      {
        text: 'Si c’était vous, vous n’avez rien à faire. Sinon, choisissez dès maintenant un nouveau mot de passe :',
      },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: accountFooter(productName),
  }),

  'totp-added': ({ username, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `La connexion en deux étapes à ${productName} est activée`,
    blocks: [
      {
        text: `La connexion en deux étapes vient d’être activée pour votre compte ${username} sur ${productName} : pour vous connecter, il faut maintenant un code d’une application d’authentification. Tous les autres appareils ont été déconnectés.`,
      },
      { text: undoFrench(undoFor) },
      { link: addresses.undo(undoToken), label: 'Annuler' },
    ],
    footer: accountFooter(productName),
  }),

  'totp-removed': ({ username }, { productName, addresses }) => ({
    subject: `La connexion en deux étapes à ${productName} est désactivée`,
    blocks: [
      {
        text: `La connexion en deux étapes vient d’être désactivée pour votre compte ${username} sur ${productName}. Tous les autres appareils ont été déconnectés.`,
      },
      { text: 'Si ce n’était pas vous, choisissez dès maintenant un nouveau mot de passe et réactivez-la :' },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: accountFooter(productName),
  }),

  'recovery-codes-renewed': ({ username }, { productName, addresses }) => ({
    subject: `Nouveaux codes de secours pour ${productName}`,
    blocks: [
      {
        text: `De nouveaux codes de secours viennent d’être créés pour votre compte ${username} sur ${productName}. Les anciens ne fonctionnent plus.`,
      },
      { text: 'Si ce n’était pas vous, choisissez dès maintenant un nouveau mot de passe :' },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: accountFooter(productName),
  }),

  'recovery-code-used': ({ username, left }, { productName, addresses }) => ({
    subject: `Un code de secours pour ${productName} a été utilisé`,
    blocks: [
      {
        text: `Un code de secours vient d’être utilisé pour votre compte ${username} sur ${productName}. Codes restants : ${left}.`,
      },
      {
        text: 'Si c’était vous, créez de nouveaux codes avant d’utiliser le dernier. Sinon, choisissez dès maintenant un nouveau mot de passe :',
      },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: accountFooter(productName),
  }),

  'wrong-codes': ({ username }, { productName, addresses }) => ({
    subject: `Quelqu’un connaît peut-être votre mot de passe pour ${productName}`,
    blocks: [
      {
        text: `Quelqu’un, peut-être vous, a saisi trois codes erronés pour votre compte ${username} sur ${productName}. Le code n’est demandé qu’après le bon mot de passe ou une connexion avec un fournisseur.`,
      },
      { text: 'Si ce n’était pas vous, choisissez dès maintenant un nouveau mot de passe :' },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: accountFooter(productName),
  }),

  'passkey-added': ({ username, passkeyName, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Une clé d’accès pour ${productName} a été ajoutée`,
    blocks: [
      {
        text: `Une clé d’accès vient d’être ajoutée à votre compte ${username} sur ${productName} : ${passkeyName}. Elle vous permet de vous connecter sans mot de passe ni code de connexion.`,
      },
      { text: undoFrench(undoFor) },
      { link: addresses.undo(undoToken), label: 'Annuler' },
    ],
    footer: accountFooter(productName),
  }),

  'passkey-removed': ({ username, passkeyName }, { productName, addresses }) => ({
    subject: `Une clé d’accès pour ${productName} a été supprimée`,
    blocks: [
      {
        text: `Une clé d’accès vient d’être supprimée de votre compte ${username} sur ${productName} : ${passkeyName}. Elle ne vous permet plus de vous connecter. Tous les autres appareils ont été déconnectés.`,
      },
      { text: 'Si ce n’était pas vous, choisissez dès maintenant un nouveau mot de passe :' },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: accountFooter(productName),
  }),

  'factors-reset': ({ username }, { productName, addresses }) => ({
    subject: `La connexion en deux étapes à ${productName} a été réinitialisée`,
    blocks: [
      {
        text: `Un administrateur a désactivé la connexion en deux étapes de votre compte ${username} sur ${productName} et supprimé ses clés d’accès. Tous les appareils ont été déconnectés.`,
      },
      {
        text: 'Connectez-vous et configurez de nouveau les deux. Si vous ne l’avez pas demandé, dites-le à l’administrateur :',
      },
      { link: addresses.login, label: 'Se connecter' },
    ],
    footer: accountFooter(productName),
  }),

  ...emailFrench,
}
