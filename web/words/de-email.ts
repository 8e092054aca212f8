import type { email as english } from './en-email.js'

export const email: typeof english = {
  'confirm-email': {
    title: 'Neue E-Mail-Adresse bestätigen',
    heading: 'Neue E-Mail-Adresse bestätigen',
    lead: 'Klicken Sie auf die Schaltfläche, um diese Adresse ab jetzt für Ihr Konto zu verwenden. Andere Geräte werden abgemeldet.',
    passwordLead:
      'Sie sind hier nicht angemeldet. Geben Sie das Passwort Ihres Kontos ein, damit wir wissen, dass Sie es sind.',
    confirm: 'Adresse bestätigen',
    signInFirst:
      'Melden Sie sich bei dem Konto an, für das die Adresse gedacht ist. Danach können Sie sie hier bestätigen.',
    signIn: 'Anmelden',
    doneHeading: 'E-Mail-Adresse geändert',
    done: 'Ihr Konto hat jetzt die neue Adresse.',
    continue: 'Weiter',
    deadHeading: 'Dieser Link funktioniert nicht',
    deadLink:
      'Er ist abgelaufen oder wurde bereits verwendet. Wenn Sie mehrere Änderungen angefordert haben, funktioniert nur der Link in der neuesten E-Mail.',
    noLink: 'Um eine neue Adresse zu bestätigen, öffnen Sie den Link in der E-Mail, die wir an sie geschickt haben.',
    takenHeading: 'Diese Adresse ist vergeben',
  },
  undo: {
    title: 'Änderung rückgängig machen',
    heading: 'Waren Sie das nicht?',
    emailLead:
      'Ihr Konto bekommt die E-Mail-Adresse zurück, an die dieser Link ging. Was seit der Änderung hinzugefügt wurde, wird entfernt, alle Geräte werden abgemeldet, und wir schicken Ihnen einen Link für ein neues Passwort.',
    factorLead:
      'Wir entfernen, was zu Ihrem Konto hinzugefügt wurde. Alle Geräte werden abgemeldet, und das Passwort funktioniert nicht mehr. Danach können Sie ein neues wählen.',
    submit: 'Änderung rückgängig machen',
    wasMe: 'Wenn Sie es waren, schließen Sie diese Seite. Es ändert sich nichts.',
    doneHeading: 'Die Änderung ist rückgängig gemacht',
    emailDone:
      'Das Konto gehört wieder Ihnen. Wir haben Ihnen eine E-Mail mit einem Link für ein neues Passwort geschickt.',
    factorDone:
      'Alle Geräte sind abgemeldet. Wir haben Ihnen eine E-Mail mit einem Link für ein neues Passwort geschickt.',
    deadHeading: 'Dieser Link funktioniert nicht',
    deadLink:
      'Er ist abgelaufen, wurde bereits verwendet, oder eine spätere Änderung wurde bereits rückgängig gemacht.',
    noLink: 'Um eine Änderung rückgängig zu machen, öffnen Sie den Link in der E-Mail dazu.',
  },
  'change-email': {
    change: 'E-Mail-Adresse ändern',
    newEmail: 'Neue E-Mail-Adresse',
    submit: 'Link senden',
    sent: 'Wir haben eine E-Mail an {email} geschickt. Öffnen Sie den Link darin, um die Änderung abzuschließen.',
  },
}

/** Its events, in the list of recent activity. */
export const emailKinds = {
  email_change_asked: 'Änderung der E-Mail-Adresse angefordert',
  email_changed: 'E-Mail-Adresse geändert',
  email_change_failed: 'E-Mail-Adresse nicht geändert: falsches Passwort',
  email_change_undone: 'Änderung der E-Mail-Adresse rückgängig gemacht',
  factor_undone: 'Neue Anmeldemöglichkeit rückgängig gemacht',
  email_set: 'E-Mail-Adresse vom Administrator festgelegt',
}
