import type { Words } from './en.js'

export const passkeys: Pick<Words, 'passkeys'> = {
  passkeys: {
    title: 'Clés d’accès',
    lead: 'Connectez-vous avec votre empreinte, votre visage ou le code de votre appareil, sans mot de passe ni code de connexion.',
    use: 'Utiliser une clé d’accès',
    add: 'Ajouter une clé d’accès',
    added: 'La clé d’accès a été ajoutée : {name}.',
    noneAdded: 'Aucune clé d’accès n’a été ajoutée. Réessayez, ou choisissez une application.',
    noneChosen:
      'Aucune clé d’accès n’a été utilisée. Si cet appareil n’en a pas pour ce site, utilisez un autre moyen.',
    exists: 'Cet appareil a déjà une clé d’accès pour votre compte.',
    wrongAddress:
      'Les clés d’accès ne fonctionnent pas à cette adresse, car le site est configuré pour une autre adresse.',
    numericAddress:
      'Les clés d’accès ont besoin d’un nom dans l’adresse. Elles ne fonctionnent pas avec une adresse en chiffres : utilisez localhost.',
    unsupported: 'Ce navigateur ne prend pas en charge les clés d’accès.',
    otherBrowser:
      'Votre compte demande ici une clé d’accès, et ce navigateur ne les prend pas en charge. Veuillez utiliser un autre navigateur.',
    confirmHeading: 'Confirmez avec votre clé d’accès',
    confirmLead: 'Votre compte demande votre clé d’accès comme deuxième étape.',
    created: 'Ajoutée le {date}',
    used: 'dernière utilisation le {date}',
    neverUsed: 'jamais utilisée',
    synced: 'synchronisée entre vos appareils',
    name: 'Nom',
    rename: 'Renommer',
    renameOf: 'Renommer {name}',
    renamed: 'La clé d’accès s’appelle maintenant {name}.',
    save: 'Enregistrer',
    remove: 'Supprimer',
    removeOf: 'Supprimer {name}',
    removeAsk: 'Elle ne vous permettra plus de vous connecter. Vos autres appareils seront déconnectés.',
    removeSure: 'Oui, supprimer',
    removed: 'La clé d’accès a été supprimée. Les autres appareils sont déconnectés.',
    needed:
      'Ici, chaque compte a besoin d’une deuxième étape. Pour supprimer cette clé d’accès, ajoutez-en d’abord une autre ou une application d’authentification.',
  },
}
