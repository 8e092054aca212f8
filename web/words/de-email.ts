import type { email as english } from './en-email.js'

export const email: typeof english = {
  'confirm-email': {
    title: 'Neue E-Mail-Adresse bestätigen',
    heading: 'Neue E-Mail-Adresse bestätigen',
    lead: 'Wenn Sie bestätigen, verwendet Ihr Konto {username} künftig diese Adresse: {email}. Andere Geräte werden dabei abgemeldet.',
    passwordLead:
      'Um {email} ab jetzt für Ihr Konto zu verwenden, geben Sie das Passwort dieses Kontos ein. Alle Geräte werden dabei abgemeldet.',
    otherAccount: 'Sie sind als {username} angemeldet, dieser Link gehört aber zu einem anderen Konto.',
    confirm: 'Adresse bestätigen',
    signInFirst:
      'Melden Sie sich bei dem Konto an, für das {email} gedacht ist. Danach können Sie die Adresse hier bestätigen.',
    signIn: 'Anmelden',
    doneHeading: 'E-Mail-Adresse geändert',
    done: 'Das Konto hat jetzt diese Adresse: {email}.',
    doneOther: 'Sie sind weiterhin als {username} angemeldet. An diesem Konto hat sich nichts geändert.',
    continue: 'Weiter',
    deadHeading: 'Dieser Link funktioniert nicht',
    deadLink:
      'Er ist abgelaufen, wurde bereits verwendet oder ist unvollständig. Wenn Sie mehrere Änderungen angefordert haben, funktioniert nur der Link in der neuesten E-Mail.',
    noLink: 'Um eine neue Adresse zu bestätigen, öffnen Sie den Link in der E-Mail, die wir an sie geschickt haben.',
    takenHeading: 'Diese Adresse ist vergeben',
  },
  undo: {
    title: 'Konto zurückholen',
    heading: 'Waren Sie das nicht?',
    lead: 'Wählen Sie ein neues Passwort, dann gehört Ihr Konto {username} wieder Ihnen. Das geschieht dabei:',
    effects: {
      email: 'Das Konto bekommt die Adresse {email} zurück.',
      username: 'Der Benutzername lautet wieder {username}.',
      language: 'E-Mails zum Konto kommen wieder auf {language}.',
      totp: 'Die Anmeldung in zwei Schritten wird ausgeschaltet.',
      recoveryCodes: 'Die Wiederherstellungscodes aus den letzten sieben Tagen funktionieren nicht mehr.',
      passkey: 'Der Passkey „{name}“ wird entfernt.',
      provider: 'Die Verbindung mit {name} wird getrennt.',
      rest: 'Alle Geräte werden abgemeldet. Das alte Passwort und alle Links und Codes aus früheren E-Mails funktionieren nicht mehr.',
    },
    alsoYours:
      'Dabei wird entfernt, was in den letzten sieben Tagen hinzugefügt wurde, auch von Ihnen selbst. Sie können es danach neu hinzufügen.',
    submit: 'Konto zurückholen',
    wasMe: 'Wenn Sie es waren, schließen Sie diese Seite. Es ändert sich nichts.',
    doneHeading: 'Das Konto gehört wieder Ihnen',
    done: 'Alle Geräte sind abgemeldet. Melden Sie sich mit Ihrem neuen Passwort an.',
    deadHeading: 'Dieser Link funktioniert nicht',
    deadLink:
      'Er ist abgelaufen, wurde bereits verwendet oder ist unvollständig, oder das Konto wurde bereits zurückgeholt.',
    noLink: 'Um Ihr Konto zurückzuholen, öffnen Sie den Link in der E-Mail zu der Änderung.',
  },
  'change-email': {
    change: 'E-Mail-Adresse ändern',
    newEmail: 'Neue E-Mail-Adresse',
    submit: 'Link senden',
    sent: 'Wir haben eine E-Mail an {email} geschickt. Öffnen Sie den Link darin, um die Änderung abzuschließen.',
    isPresent: 'Das ist bereits Ihre E-Mail-Adresse.',
    waiting:
      'Noch nicht bestätigt: {email}. Öffnen Sie bis {date} den Link in der E-Mail, die wir dorthin geschickt haben.',
    cancel: 'Änderung abbrechen',
    cancelled: 'Die Änderung wurde abgebrochen. Ihre E-Mail-Adresse bleibt, wie sie ist.',
  },
}
