import { timeSpan } from '../../contract/time-spans.js'
import { footers } from './footers.js'
import type { EmailLetters } from './letters.js'

const { visitorFooter, accountFooter } = footers.fr

const resetLinkFrench = (validFor: number) =>
  `Ce lien fonctionne une seule fois et reste valable ${timeSpan(validFor, 'fr')}. S’il a expiré, demandez-en un nouveau sur la page de connexion.`

export const emailFrench: EmailLetters = {
  'confirm-email': ({ token, validFor }, { productName, addresses }) => ({
    subject: `Confirmez votre nouvelle adresse e-mail pour ${productName}`,
    blocks: [
      {
        text: `Cette adresse a été saisie comme nouvelle adresse e-mail d’un compte sur ${productName}. Ouvrez ce lien, puis confirmez-y l’adresse :`,
      },
      { link: addresses.confirmEmail(token), label: 'Confirmer cette adresse' },
      {
        text: `Ce lien reste valable ${timeSpan(validFor, 'fr')}. Si cette demande ne vient pas de vous, vous pouvez ignorer cet e-mail. Rien ne changera.`,
      },
    ],
    footer: visitorFooter(productName),
  }),

  'email-taken': (_values, { productName, addresses }) => ({
    subject: `Cette adresse est déjà utilisée sur ${productName}`,
    blocks: [
      {
        text: `Quelqu’un, peut-être vous, a voulu utiliser cette adresse pour un autre compte sur ${productName}. Elle appartient à un compte, ou lui appartenait encore il y a quelques jours. Rien n’a été modifié.`,
      },
      { text: 'Connectez-vous ici :' },
      { link: addresses.login, label: 'Se connecter' },
      { text: 'Si ce n’était pas vous, vous n’avez rien à faire.' },
    ],
    footer: visitorFooter(productName),
  }),

  'address-reserved': ({ reservedFor }, { productName, addresses }) => ({
    subject: `Cette adresse ne peut pas encore être inscrite sur ${productName}`,
    blocks: [
      {
        text: `Quelqu’un, peut-être vous, a essayé de s’inscrire sur ${productName} avec cette adresse. Elle appartenait à un compte il y a quelques jours encore et lui reste réservée pendant ${timeSpan(reservedFor, 'fr')} après la modification.`,
      },
      { text: 'Si vous avez un compte, connectez-vous avec votre nom d’utilisateur ou votre nouvelle adresse :' },
      { link: addresses.login, label: 'Se connecter' },
      { text: 'Sinon, réessayez après ce délai ou inscrivez-vous avec une autre adresse.' },
    ],
    footer: visitorFooter(productName),
  }),

  'email-change-asked': ({ username, newEmail, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Votre adresse e-mail sur ${productName} va changer`,
    blocks: [
      {
        text: `Une nouvelle adresse e-mail a été saisie pour votre compte ${username} sur ${productName} : ${newEmail}. Elle remplacera celle-ci dès qu’elle sera confirmée.`,
      },
      {
        text: `Si c’était vous, vous n’avez rien à faire. Sinon, quelqu’un d’autre a accès à votre compte. Reprenez votre compte ici, dans un délai de ${timeSpan(undoFor, 'fr')}. Ce qui y a été ajouté ces derniers jours sera supprimé, tous les appareils seront déconnectés, et vous choisirez un nouveau mot de passe :`,
      },
      { link: addresses.undo(undoToken), label: 'Ce n’était pas moi' },
    ],
    footer: accountFooter(productName),
  }),

  'email-changed': ({ username, newEmail, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Votre adresse e-mail sur ${productName} a été modifiée`,
    blocks: [
      {
        text: `L’adresse e-mail de votre compte ${username} sur ${productName} vient d’être remplacée par ${newEmail}. L’adresse à laquelle vous lisez ce message n’est plus utilisée pour ce compte.`,
      },
      {
        text: `Si ce n’était pas vous, reprenez votre compte ici, dans un délai de ${timeSpan(undoFor, 'fr')}. Cette adresse sera rétablie, ce qui a été ajouté au compte ces derniers jours sera supprimé, tous les appareils seront déconnectés, et vous choisirez un nouveau mot de passe :`,
      },
      { link: addresses.undo(undoToken), label: 'Ce n’était pas moi' },
    ],
    footer: accountFooter(productName),
  }),

  'account-restored': ({ username, byOperator, token, validFor }, { productName, addresses }) => ({
    subject: `Votre compte sur ${productName} est de nouveau à vous`,
    blocks: [
      {
        text: byOperator
          ? `Un administrateur vous a rendu votre compte ${username} sur ${productName}. Il utilise maintenant cette adresse e-mail. Tous les appareils ont été déconnectés, et la connexion en deux étapes, les clés d’accès et les fournisseurs associés ont été supprimés.`
          : `Votre compte ${username} sur ${productName} a été repris au moyen du lien d’un e-mail envoyé à cette adresse, qui est maintenant celle du compte. Tous les appareils ont été déconnectés, et ce qui avait été ajouté au compte ces sept derniers jours a été supprimé.`,
      },
      ...(token !== undefined && validFor !== undefined
        ? [
            { text: 'L’ancien mot de passe ne fonctionne plus. Choisissez-en un nouveau ici :' },
            { link: addresses.resetPassword(token), label: 'Choisir un nouveau mot de passe' },
            { text: resetLinkFrench(validFor) },
          ]
        : [
            { text: 'Connectez-vous désormais avec le mot de passe choisi à cette occasion :' },
            { link: addresses.login, label: 'Se connecter' },
            {
              text: 'Si vous ne l’avez pas choisi vous-même, quelqu’un d’autre peut lire vos e-mails. Changez le mot de passe de votre messagerie, puis celui de ce compte.',
            },
          ]),
    ],
    footer: accountFooter(productName),
  }),

  'email-withdrawn': ({ username }, { productName, addresses }) => ({
    subject: `Votre adresse e-mail sur ${productName} a été rétablie`,
    blocks: [
      {
        text: `Le compte ${username} sur ${productName} a de nouveau son ancienne adresse e-mail : le lien de l’e-mail envoyé à cette adresse a été utilisé. L’adresse à laquelle vous lisez ce message n’est plus utilisée pour ce compte, et tous les appareils ont été déconnectés.`,
      },
      {
        text: 'Si c’est une erreur, connectez-vous avec un nouveau mot de passe. Le lien pour le choisir est envoyé à l’ancienne adresse :',
      },
      { link: addresses.login, label: 'Se connecter' },
    ],
    footer: accountFooter(productName),
  }),
}

export const undoFrench = (undoFor: number) =>
  `Si ce n’était pas vous, reprenez votre compte ici, dans un délai de ${timeSpan(undoFor, 'fr')}. Ce qui y a été ajouté ces derniers jours sera supprimé, tous les appareils seront déconnectés, et vous choisirez un nouveau mot de passe :`
