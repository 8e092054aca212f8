import type { Words } from './en.js'

export const passkeys: Pick<Words, 'passkeys'> = {
  passkeys: {
    title: 'Passkeys',
    lead: 'Melden Sie sich mit Fingerabdruck, Gesicht oder der PIN Ihres Geräts an, ohne Passwort und ohne Code.',
    use: 'Passkey verwenden',
    add: 'Passkey hinzufügen',
    added: 'Der Passkey wurde hinzugefügt: {name}.',
    noneAdded: 'Es wurde kein Passkey hinzugefügt. Versuchen Sie es noch einmal, oder wählen Sie eine App.',
    noneChosen:
      'Es wurde kein Passkey verwendet. Wenn dieses Gerät keinen für diese Website hat, wählen Sie einen anderen Weg.',
    exists: 'Dieses Gerät hat schon einen Passkey für Ihr Konto.',
    wrongAddress:
      'Unter dieser Adresse funktionieren Passkeys nicht, weil die Website für eine andere Adresse eingerichtet ist.',
    numericAddress:
      'Passkeys brauchen einen Namen in der Adresse. Mit einer Adresse aus Zahlen funktionieren sie nicht: Verwenden Sie localhost.',
    unsupported: 'Dieser Browser unterstützt keine Passkeys.',
    otherBrowser:
      'Ihr Konto verlangt hier einen Passkey, und dieser Browser unterstützt keine Passkeys. Bitte verwenden Sie einen anderen Browser.',
    confirmHeading: 'Mit dem Passkey bestätigen',
    confirmLead: 'Als zweiten Schritt verlangt Ihr Konto Ihren Passkey.',
    created: 'Hinzugefügt am {date}',
    used: 'zuletzt verwendet am {date}',
    neverUsed: 'noch nicht verwendet',
    synced: 'auf mehreren Geräten',
    name: 'Name',
    rename: 'Umbenennen',
    renameOf: '{name} umbenennen',
    renamed: 'Der Passkey heißt jetzt {name}.',
    save: 'Speichern',
    remove: 'Entfernen',
    removeOf: '{name} entfernen',
    removeAsk: 'Sie können sich danach nicht mehr damit anmelden. Ihre anderen Geräte werden abgemeldet.',
    removeSure: 'Ja, entfernen',
    removed: 'Der Passkey wurde entfernt. Andere Geräte sind abgemeldet.',
    needed:
      'Hier braucht jedes Konto einen zweiten Schritt. Richten Sie zuerst einen anderen Passkey oder eine Authenticator-App ein, wenn Sie diesen entfernen möchten.',
  },
}
