import { footers } from './footers.js'
import type { SignInLetters } from './letters.js'

const { accountFooter } = footers.fr

export const signInFrench: SignInLetters = {
  'new-device': ({ username }, { productName, addresses }) => ({
    subject: `Nouvelle connexion à ${productName}`,
    blocks: [
      {
        text: `Quelqu’un vient de se connecter à votre compte ${username} sur ${productName} depuis un appareil ou un navigateur qui n’avait pas encore été utilisé.`,
      },
      {
        text: 'Si c’était vous, vous n’avez rien à faire. Sinon, choisissez dès maintenant un nouveau mot de passe. Tous les appareils seront alors déconnectés :',
      },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: accountFooter(productName),
  }),

  'device-trusted': ({ username }, { productName, addresses }) => ({
    subject: `Un navigateur n’a plus besoin de code pour ${productName}`,
    blocks: [
      {
        text: `Dans ce navigateur, votre compte ${username} sur ${productName} ne demandera pas de code lors des prochaines connexions : la case correspondante vient d’être cochée. Vous pouvez y mettre fin sur la page de votre compte.`,
      },
      {
        text: 'Si c’était vous, vous n’avez rien à faire. Sinon, choisissez dès maintenant un nouveau mot de passe. Tous les appareils seront alors déconnectés, et tous auront de nouveau besoin d’un code :',
      },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: accountFooter(productName),
  }),

  'session-stolen': ({ username }, { productName, addresses }) => ({
    subject: `Un appareil a été déconnecté de ${productName} : sa session a peut-être été copiée`,
    blocks: [
      {
        text: `Une ancienne clé d’un appareil connecté vient d’être utilisée pour votre compte ${username} sur ${productName}. Cela arrive si quelqu’un a copié la session, mais aussi si un navigateur est restauré à partir d’une sauvegarde. Par sécurité, nous avons déconnecté cet appareil.`,
      },
      {
        text: 'Si vous n’avez restauré ni navigateur ni appareil, choisissez dès maintenant un nouveau mot de passe. Tous les appareils seront alors déconnectés :',
      },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: accountFooter(productName),
  }),

  'sign-in-unfinished': ({ username }, { productName, addresses }) => ({
    subject: `Une connexion à ${productName} n’a pas été terminée`,
    blocks: [
      {
        text: `Quelqu’un, peut-être vous, a saisi le bon mot de passe de votre compte ${username} sur ${productName} sans terminer la deuxième étape. Personne n’a été connecté.`,
      },
      {
        text: 'Si c’était vous, vous n’avez rien à faire. Sinon, quelqu’un connaît votre mot de passe. Choisissez-en un nouveau dès maintenant :',
      },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: accountFooter(productName),
  }),
}
