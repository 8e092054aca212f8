import type { Letters } from './letters.js'
import { timeSpan } from './time-spans.js'

const footerFor = (productName: string) =>
  `Vous recevez ce message parce que votre adresse a été saisie sur ${productName}.`

export const french: Letters = {
  'verify-email': ({ token, code, validFor }, { productName, addresses }) => ({
    subject: `Confirmez votre adresse pour ${productName}`,
    blocks: [
      {
        text: `Bienvenue sur ${productName}. Pour terminer votre inscription, ouvrez ce lien, puis cliquez sur le bouton :`,
      },
      { link: addresses.verifyEmail(token), label: 'Confirmer mon adresse' },
      { text: 'Ou saisissez ce code sur la page où vous vous êtes inscrit. Vous avez cinq essais en tout :' },
      { code },
      {
        text: `Les deux sont valables ${timeSpan(validFor, 'fr')}. Si vous ne vous êtes pas inscrit, vous pouvez ignorer ce message. Aucun compte ne sera créé.`,
      },
    ],
    footer: footerFor(productName),
  }),

  'already-registered': (_values, { productName, addresses }) => ({
    subject: `Vous avez déjà un compte chez ${productName}`,
    blocks: [
      {
        text: `Quelqu’un, peut-être vous, a essayé de s’inscrire sur ${productName} avec cette adresse. Vous avez déjà un compte avec cette adresse : rien n’a été modifié.`,
      },
      { text: 'Connectez-vous ici :' },
      { link: addresses.login, label: 'Se connecter' },
      { text: 'Mot de passe oublié ? Choisissez-en un nouveau ici :' },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
      { text: 'Si ce n’était pas vous, vous n’avez rien à faire.' },
    ],
    footer: footerFor(productName),
  }),

  'reset-password': ({ token, validFor }, { productName, addresses }) => ({
    subject: `Choisissez un nouveau mot de passe pour ${productName}`,
    blocks: [
      {
        text: `Quelqu’un, peut-être vous, a demandé à réinitialiser le mot de passe de votre compte ${productName}. Choisissez un nouveau mot de passe ici :`,
      },
      { link: addresses.resetPassword(token), label: 'Choisir un nouveau mot de passe' },
      {
        text: `Ce lien fonctionne une seule fois et reste valable ${timeSpan(validFor, 'fr')}. Si vous ne l’avez pas demandé, vous pouvez ignorer ce message. Votre mot de passe ne change pas.`,
      },
    ],
    footer: footerFor(productName),
  }),

  'password-changed': ({ username }, { productName, addresses }) => ({
    subject: `Votre mot de passe pour ${productName} a été modifié`,
    blocks: [
      {
        text: `Le mot de passe de votre compte ${username} sur ${productName} vient d’être modifié. Tous les autres appareils ont été déconnectés.`,
      },
      { text: 'Si c’était vous, vous n’avez rien à faire. Sinon, choisissez dès maintenant un nouveau mot de passe :' },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: footerFor(productName),
  }),

  'password-reset': ({ username }, { productName, addresses }) => ({
    subject: `Votre mot de passe pour ${productName} a été réinitialisé`,
    blocks: [
      {
        text: `Le mot de passe de votre compte ${username} sur ${productName} vient d’être réinitialisé avec un lien envoyé à cette adresse. Tous les appareils ont été déconnectés.`,
      },
      {
        text: 'Si c’était vous, vous n’avez rien à faire. Sinon, choisissez dès maintenant un nouveau mot de passe et vérifiez qui peut lire vos e-mails :',
      },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: footerFor(productName),
  }),

  'provider-linked': ({ username, providerName }, { productName, addresses }) => ({
    subject: `${providerName} permet maintenant de vous connecter à ${productName}`,
    blocks: [
      {
        text: `Votre compte ${username} sur ${productName} vient d’être associé à ${providerName}. Vous pouvez maintenant vous connecter aussi avec ${providerName}.`,
      },
      { text: `Si ce n’était pas vous, connectez-vous, dissociez ${providerName} et changez votre mot de passe :` },
      { link: addresses.login, label: 'Se connecter' },
    ],
    footer: footerFor(productName),
  }),
}
