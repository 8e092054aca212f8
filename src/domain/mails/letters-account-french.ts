import { languageName } from '../../contract/languages.js'
import { timeSpan } from '../../contract/time-spans.js'
import { footers } from './footers.js'
import type { AccountLetters } from './letters.js'
import { undoFrench } from './letters-email-french.js'

const { accountFooter } = footers.fr

export const accountFrench: AccountLetters = {
  'language-changed': ({ username, newLanguage, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Les e-mails sur votre compte ${productName} changent de langue`,
    blocks: [
      {
        text: `Désormais, les e-mails sur votre compte ${username} sur ${productName} sont écrits en ${languageName(newLanguage, 'fr')}. Cela vient d’être modifié sur la page du compte. Pendant ${timeSpan(undoFor, 'fr')}, les avertissements restent dans la langue précédente.`,
      },
      { text: undoFrench(undoFor) },
      { link: addresses.undo(undoToken), label: 'Ce n’était pas moi' },
    ],
    footer: accountFooter(productName),
  }),

  'username-changed': ({ username, formerUsername, reservedFor, undoToken, undoFor }, { productName, addresses }) => ({
    subject: `Votre nom d’utilisateur sur ${productName} a été modifié`,
    blocks: [
      {
        text: `Votre nom d’utilisateur sur ${productName} vient de passer de ${formerUsername} à ${username}. Utilisez le nouveau pour vous connecter. Pendant ${timeSpan(reservedFor, 'fr')}, personne d’autre ne peut prendre l’ancien, et vous pouvez y revenir.`,
      },
      { text: undoFrench(undoFor) },
      { link: addresses.undo(undoToken), label: 'Ce n’était pas moi' },
    ],
    footer: accountFooter(productName),
  }),

  'password-expired': ({ username }, { productName, addresses }) => ({
    subject: `Choisissez un nouveau mot de passe pour ${productName}`,
    blocks: [
      {
        text: `Un administrateur a rendu inutilisable le mot de passe de votre compte ${username} sur ${productName}, car d’autres personnes pourraient le connaître. Tous les appareils ont été déconnectés.`,
      },
      {
        text: 'Choisissez un nouveau mot de passe pour vous reconnecter. N’utilisez plus l’ancien, y compris sur d’autres sites.',
      },
      { link: addresses.forgotPassword, label: 'Choisir un nouveau mot de passe' },
    ],
    footer: accountFooter(productName),
  }),

  'account-deleted': ({ username, byOperator }, { productName }) => ({
    subject: `Votre compte sur ${productName} a été supprimé`,
    blocks: [
      {
        text: byOperator
          ? `Un administrateur a supprimé votre compte ${username} sur ${productName}, avec toutes les données qui s’y rattachaient.`
          : `Votre compte ${username} sur ${productName} vient d’être supprimé, avec toutes les données qui s’y rattachaient. Il ne peut pas être restauré.`,
      },
      {
        text: `Si ce n’était pas votre intention, contactez l’administrateur de ${productName}.`,
      },
    ],
    footer: `Ceci est le dernier e-mail concernant votre compte sur ${productName}.`,
  }),
}
