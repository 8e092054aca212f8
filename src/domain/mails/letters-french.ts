import type { Letters } from './letters.js'
import { timeSpan } from './time-spans.js'

const footerFor = (productName: string) =>
  `Vous recevez ce message parce que votre adresse a été indiquée à ${productName}.`

export const french: Letters = {
  'verify-email': ({ token, code, validFor }, { productName, addresses }) => ({
    subject: `Confirmez votre adresse pour ${productName}`,
    blocks: [
      {
        text: `Bienvenue chez ${productName}. Pour terminer votre inscription, ouvrez ce lien et cliquez sur le bouton :`,
      },
      { link: addresses.verifyEmail(token), label: 'Confirmer mon adresse' },
      { text: 'Ou saisissez ce code sur la page où vous vous êtes inscrit. Vous avez cinq essais en tout :' },
      { code },
      {
        text: `Les deux sont valables ${timeSpan(validFor, 'fr')}. Si vous ne vous êtes pas inscrit, ignorez ce message : il ne se passera rien.`,
      },
    ],
    footer: footerFor(productName),
  }),

  'already-registered': (_values, { productName, addresses }) => ({
    subject: `Vous avez déjà un compte chez ${productName}`,
    blocks: [
      {
        text: `Quelqu’un, peut-être vous, a voulu s’inscrire chez ${productName} avec cette adresse. Elle a déjà un compte : rien n’a été modifié.`,
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
        text: `Quelqu’un, peut-être vous, a demandé un nouveau mot de passe pour votre compte chez ${productName}. Choisissez-le ici :`,
      },
      { link: addresses.resetPassword(token), label: 'Choisir un nouveau mot de passe' },
      {
        text: `Le lien sert une seule fois et reste valable ${timeSpan(validFor, 'fr')}. Si vous ne l’avez pas demandé, ignorez ce message : votre mot de passe reste le même.`,
      },
    ],
    footer: footerFor(productName),
  }),

  'password-changed': ({ username }, { productName, addresses }) => ({
    subject: `Votre mot de passe pour ${productName} a été modifié`,
    blocks: [
      {
        text: `Le mot de passe de votre compte ${username} chez ${productName} vient d’être modifié, et tous les autres appareils ont été déconnectés.`,
      },
      { text: 'Si c’était vous, vous n’avez rien à faire. Sinon, choisissez tout de suite un nouveau mot de passe :' },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: footerFor(productName),
  }),

  'password-reset': ({ username }, { productName, addresses }) => ({
    subject: `Votre mot de passe pour ${productName} a été réinitialisé`,
    blocks: [
      {
        text: `Le mot de passe de votre compte ${username} chez ${productName} vient d’être remplacé grâce à un lien envoyé à cette adresse, et tous les appareils ont été déconnectés.`,
      },
      {
        text: 'Si c’était vous, vous n’avez rien à faire. Sinon, choisissez tout de suite un nouveau mot de passe, et vérifiez qui peut lire vos messages :',
      },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: footerFor(productName),
  }),

  'provider-linked': ({ username, providerName }, { productName, addresses }) => ({
    subject: `${providerName} permet maintenant de vous connecter à ${productName}`,
    blocks: [
      {
        text: `Votre compte ${username} chez ${productName} vient d’être lié à ${providerName} : vous pouvez désormais vous connecter avec l’un ou l’autre.`,
      },
      { text: 'Si ce n’était pas vous, connectez-vous, supprimez ce lien et changez votre mot de passe :' },
      { link: addresses.login, label: 'Se connecter' },
    ],
    footer: footerFor(productName),
  }),
}
