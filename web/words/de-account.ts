import type { accountLife as english } from './en-account.js'

export const accountLife: typeof english = {
  'account-life': {
    edit: 'Namen, Benutzernamen oder Sprache ändern',
    nameHint: 'Lassen Sie das Feld leer, um den Namen zu entfernen.',
    usernameHint:
      'Damit melden Sie sich an. Nur Buchstaben, Ziffern und . _ - sind möglich. Der alte bleibt 30 Tage lang für Sie reserviert.',
    language: 'Sprache der E-Mails',
    languageHint: 'In dieser Sprache schreiben wir E-Mails zu Ihrem Konto.',
    noLanguage: 'Noch nicht gewählt',
    save: 'Speichern',
    saved: 'Ihre Änderungen sind gespeichert.',
    nothingChanged: 'Sie haben nichts geändert.',
    data: 'Ihre Daten',
    dataLead: 'Eine Datei mit allem, was über Sie gespeichert ist, im Format JSON.',
    download: 'Daten herunterladen',
    downloaded: 'Ihre Daten wurden als Datei gespeichert.',
    delete: 'Konto löschen',
    deleteLead: 'Löscht Ihr Konto endgültig.',
    lost: {
      data: 'Ihr Konto, Ihre Anmeldemöglichkeiten und Ihre Aktivitäten werden sofort gelöscht. Nichts davon lässt sich wiederherstellen.',
      sessions: 'Sie werden auf allen Geräten abgemeldet.',
      names: 'Ihr Benutzername und Ihre E-Mail-Adresse werden frei: Jeder kann den Benutzernamen wählen.',
      applications: 'Anwendungen, die Sie mit diesem Konto verwendet haben, behalten möglicherweise eigene Daten.',
    },
    typeUsername: 'Geben Sie zur Bestätigung Ihren Benutzernamen ein: {username}',
    deleteSure: 'Mein Konto endgültig löschen',
  },
}
