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
    title: 'Änderung rückgängig machen',
    heading: 'Waren Sie das nicht?',
    leads: {
      email:
        'Ihr Konto {username} bekommt die Adresse {email} zurück. Was seit der Änderung hinzugefügt wurde, wird entfernt, alle Geräte werden abgemeldet, und wir schicken Ihnen einen Link für ein neues Passwort.',
      totp: 'Damit wird die Anmeldung in zwei Schritten für Ihr Konto {username} wieder ausgeschaltet.',
      passkey: 'Damit wird der Passkey entfernt, der zu Ihrem Konto {username} hinzugefügt wurde.',
      provider: 'Damit wird die neue Verbindung Ihres Kontos {username} mit einem Anbieter getrennt.',
    },
    consequences:
      'Außerdem werden alle Geräte abgemeldet, und das Passwort funktioniert nicht mehr. Wir schicken Ihnen einen Link für ein neues.',
    submit: 'Änderung rückgängig machen',
    wasMe: 'Wenn Sie es waren, schließen Sie diese Seite. Es ändert sich nichts.',
    doneHeading: 'Die Änderung ist rückgängig gemacht',
    emailDone:
      'Das Konto gehört wieder Ihnen. Wir haben Ihnen eine E-Mail mit einem Link für ein neues Passwort geschickt.',
    factorDone:
      'Alle Geräte sind abgemeldet. Wir haben Ihnen eine E-Mail mit einem Link für ein neues Passwort geschickt.',
    deadHeading: 'Dieser Link funktioniert nicht',
    deadLink:
      'Er ist abgelaufen, wurde bereits verwendet oder ist unvollständig, oder eine spätere Änderung wurde bereits rückgängig gemacht.',
    noLink: 'Um eine Änderung rückgängig zu machen, öffnen Sie den Link in der E-Mail dazu.',
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
