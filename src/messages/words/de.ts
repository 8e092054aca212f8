import type { MailWords } from '../letters.js'

const configurationActions = { added: 'hinzugefügt', changed: 'geändert', deleted: 'gelöscht' }

export const de: MailWords = {
  labels: {
    login: 'Anmelden',
    mailLogin: 'Anmelden',
    forgotPassword: 'Neues Passwort wählen',
    resetPassword: 'Neues Passwort wählen',
    setPassword: 'Passwort festlegen',
    verifyEmail: 'E-Mail-Adresse bestätigen',
    confirmEmail: 'Adresse bestätigen',
    invite: 'Konto anlegen',
    join: 'Einladung annehmen',
    undo: 'Das war ich nicht',
    adminEvent: 'Diese Änderung ansehen',
    devices: 'Ansehen, was angemeldet ist',
  },
  footers: {
    visitor: (productName) => `Sie erhalten diese E-Mail, weil diese Adresse bei ${productName} eingegeben wurde.`,
    account: (productName) => `Diese E-Mail betrifft Ihr Konto bei ${productName}.`,
    invited: (productName) => `Sie erhalten diese E-Mail, weil diese Adresse zu ${productName} eingeladen wurde.`,
    last: (productName) => `Das ist die letzte E-Mail: Ihr Konto bei ${productName} gibt es nicht mehr.`,
  },
  devices: {
    unknownDevice: 'Unbekanntes Gerät',
    device: '{browser} unter {system}',
    onAppleDevice: '{browser} auf dem {system}',
  },
  links: { terms: 'Nutzungsbedingungen', privacy: 'Datenschutz', imprint: 'Impressum', support: 'Hilfe' },
  byOperator: (productName, time) => `Das hat die Administration von ${productName} getan. Zeit: ${time}.`,
  byClient: (device, ip, time) => `Gerät: ${device}. IP-Adresse: ${ip}. Zeit: ${time}.`,
  byVisitor: (device, time) => `Browser: ${device}. Zeit: ${time}.`,
  byProgram: (ip, time) => `IP-Adresse des Programms: ${ip}. Zeit: ${time}.`,
  renamed: (formerUsername, username) => `${formerUsername} (jetzt ${username})`,
  unproven:
    'Diese Adresse wurde nie bestätigt, deshalb enthält diese E-Mail keinen Link, mit dem Sie das Konto zurückholen. Wenn Sie das nicht waren, melden Sie sich an und öffnen Sie die Kontoseite: Melden Sie die anderen Geräte ab, entfernen Sie, was Sie nicht kennen, und wählen Sie ein neues Passwort. Bestätigen Sie dort auch die Adresse.',
  accountChanges: {
    account_recovered: 'Konto an die Inhaberin oder den Inhaber zurückgegeben',
    email_set: 'E-Mail-Adresse geändert',
    factors_reset: 'zweiter Schritt und Passkeys entfernt',
    fields_changed: 'Profilfelder geändert',
    group_joined: 'zu Gruppen hinzugefügt',
    group_left: 'aus Gruppen entfernt',
    limits_cleared: 'Sperren gelöscht',
    password_expired: 'Passwort unbrauchbar gemacht',
    provider_unlinked: 'Anbieter getrennt',
    reset_requested: 'Link für ein neues Passwort verschickt',
    sessions_ended: 'überall abgemeldet',
    token_ended: 'persönliches Token beendet',
    user_deleted: 'Konto gelöscht',
    user_disabled: 'Konto deaktiviert',
    user_enabled: 'Konto aktiviert',
    user_locked_down: 'Konto abgeriegelt',
  },
  help: 'So erreichen Sie die Administration:',
  undo: (undoFor) =>
    `Wenn Sie das nicht waren, holen Sie sich das Konto hier zurück (das geht ${undoFor} lang). Was in den letzten Tagen hinzugefügt wurde, wird entfernt, alle Geräte werden abgemeldet, und Sie wählen ein neues Passwort:`,

  letters: {
    'verify-email': ({ productName, code, validFor }) => ({
      subject: `Bestätigen Sie Ihre E-Mail-Adresse für ${productName}`,
      opening: `Willkommen bei ${productName}. Um die Registrierung abzuschließen, bestätigen Sie hier diese Adresse:`,
      codeLead:
        code === undefined
          ? 'Alle fünf Versuche für den Code sind aufgebraucht. Deshalb enthält diese E-Mail nur den Link.'
          : 'Oder geben Sie diesen Code auf der Seite ein, auf der Sie sich registriert haben. Sie haben insgesamt fünf Versuche:',
      closing: `${code === undefined ? 'Der Link ist' : 'Link und Code sind'} ${validFor} gültig. Wenn Sie sich nicht registriert haben, können Sie diese E-Mail ignorieren. Es wird kein Konto angelegt.`,
    }),
    'already-registered': ({ productName }) => ({
      subject: `Sie haben bereits ein Konto bei ${productName}`,
      happened: `Jemand, vielleicht Sie selbst, wollte sich bei ${productName} mit dieser Adresse registrieren. Zu dieser Adresse gibt es bereits ein Konto. Es wurde nichts geändert.`,
      signIn: 'Hier können Sie sich anmelden:',
      forgotten: 'Passwort vergessen? Hier können Sie ein neues wählen:',
      closing: 'Wenn Sie das nicht waren, brauchen Sie nichts zu tun.',
    }),
    'address-reserved': ({ productName, reservedFor }) => ({
      subject: `Diese Adresse kann bei ${productName} noch nicht registriert werden`,
      happened: `Jemand, vielleicht Sie selbst, wollte sich bei ${productName} mit dieser Adresse registrieren. Sie gehörte bis vor wenigen Tagen zu einem Konto und bleibt nach der Änderung noch ${reservedFor} dafür reserviert.`,
      signIn: 'Wenn Sie ein Konto haben, melden Sie sich mit Ihrem Benutzernamen oder Ihrer neuen Adresse an:',
      closing:
        'Andernfalls versuchen Sie es nach dieser Zeit noch einmal, oder registrieren Sie sich mit einer anderen Adresse.',
    }),
    invitation: ({ productName, invitedBy, validFor }) => ({
      subject: `Einladung zu ${productName}`,
      opening:
        invitedBy === undefined
          ? `Die Administration von ${productName} lädt Sie ein, dort ein Konto anzulegen. Das können Sie hier tun:`
          : `${invitedBy} lädt Sie ein, bei ${productName} ein Konto anzulegen. Das können Sie hier tun:`,
      closing: `Die Einladung gilt nur für diese Adresse. Sie kann einmal verwendet werden und ist ${validFor} gültig. Wenn Sie kein Konto möchten, können Sie diese E-Mail ignorieren.`,
    }),
    'group-invitation': ({ productName, invitedBy, groups, validFor }) => ({
      subject: `Einladung in eine Gruppe bei ${productName}`,
      opening:
        invitedBy === undefined
          ? `Die Administration von ${productName} lädt Sie ein, mit Ihrem Konto dort beizutreten (Gruppen: ${groups}). Hier können Sie annehmen:`
          : `${invitedBy} lädt Sie ein, mit Ihrem Konto bei ${productName} beizutreten (Gruppen: ${groups}). Hier können Sie annehmen:`,
      closing: `Sie treten erst bei, wenn Sie sich angemeldet und angenommen haben. Der Link kann einmal verwendet werden und ist ${validFor} gültig. Wenn Sie nicht beitreten möchten, können Sie diese E-Mail ignorieren.`,
    }),
    'reset-password': ({ productName, validFor, hasPassword }) => ({
      subject: hasPassword
        ? `Wählen Sie ein neues Passwort für ${productName}`
        : `Legen Sie ein Passwort für ${productName} fest`,
      opening: hasPassword
        ? `Jemand, vielleicht Sie selbst, möchte das Passwort Ihres Kontos bei ${productName} zurücksetzen. Hier können Sie ein neues Passwort wählen:`
        : `Jemand, vielleicht Sie selbst, möchte ein Passwort für Ihr Konto bei ${productName} festlegen. Hier können Sie eines wählen:`,
      closing: `Der Link funktioniert einmal und ist ${validFor} gültig. Wenn Sie ihn nicht angefordert haben, können Sie diese E-Mail ignorieren. Es ändert sich nichts.`,
    }),
    'password-changed': ({ productName, username }) => ({
      subject: `Ihr Passwort für ${productName} wurde geändert`,
      happened: `Das Passwort Ihres Kontos ${username} bei ${productName} wurde gerade geändert. Alle anderen Geräte wurden abgemeldet.`,
      wasYou: 'Wenn Sie das waren, brauchen Sie nichts zu tun.',
    }),
    'password-reset': ({ productName, username }) => ({
      subject: `Ihr Passwort für ${productName} wurde zurückgesetzt`,
      happened: `Das Passwort Ihres Kontos ${username} bei ${productName} wurde gerade über einen Link zurückgesetzt, der an diese Adresse geschickt wurde. Alle Geräte wurden abgemeldet.`,
      advice:
        'Wenn Sie das waren, brauchen Sie nichts zu tun. Wenn nicht, wählen Sie sofort ein neues Passwort und prüfen Sie, wer Ihre E-Mails lesen kann:',
    }),
    'password-expired': ({ productName, username }) => ({
      subject: `Bitte wählen Sie ein neues Passwort für ${productName}`,
      happened: `Die Administration von ${productName} hat das Passwort Ihres Kontos ${username} ungültig gemacht, weil andere es kennen könnten. Alle Geräte wurden abgemeldet.`,
      advice:
        'Wählen Sie ein neues Passwort, um sich wieder anzumelden. Verwenden Sie das alte auch auf anderen Websites nicht mehr.',
    }),
    'step-up-code': ({ productName, code, username, validFor }) => ({
      subject: `Ihr Code für ${productName}: ${code}`,
      opening: `Ihr Konto ${username} bei ${productName} fragt noch einmal nach, ob Sie es sind. Geben Sie diesen Code auf der Seite ein, die danach fragt:`,
      closing: `Der Code ist ${validFor} gültig. Geben Sie ihn an niemanden weiter. Wenn keine Seite danach fragt, benutzt vielleicht jemand anderes Ihr Konto: Melden Sie sich an, und melden Sie alle anderen Geräte ab.`,
    }),
    'enrolment-code': ({ productName, code, username, validFor }) => ({
      subject: `Ihr Code für ${productName}: ${code}`,
      opening: `Sie melden sich gerade als ${username} bei ${productName} an. Für dieses Konto muss noch ein zweiter Schritt eingerichtet werden. Geben Sie diesen Code auf der Seite ein, die danach fragt:`,
      closing: `Der Code ist ${validFor} gültig. Geben Sie ihn an niemanden weiter. Wenn Sie sich gerade nicht anmelden, kennt vielleicht jemand anderes Ihr Passwort. Wählen Sie dann sofort ein neues:`,
    }),
    'mail-sign-in': ({ productName, code, username, validFor }) => ({
      subject: `Ihr Code zum Anmelden bei ${productName}: ${code}`,
      opening: `Geben Sie diesen Code in dem Fenster ein, in dem Sie sich als ${username} bei ${productName} anmelden:`,
      linkLead: 'Oder öffnen Sie diesen Link, im selben Browser:',
      closing: `Beide funktionieren einmal, ${validFor} lang, und nur in dem Browser, der sie angefordert hat. Niemand wird Sie nach diesem Code fragen, auch wir nicht: Geben Sie ihn nicht weiter. Wenn Sie sich gerade nicht anmelden, können Sie diese E-Mail ignorieren.`,
    }),
    'mail-sign-up': ({ productName, code, validFor }) => ({
      subject: `Ihr Code für ${productName}: ${code}`,
      opening: `Mit dieser Adresse gibt es bei ${productName} noch kein Konto. Um eines anzulegen, geben Sie diesen Code in dem Fenster ein, in dem Sie begonnen haben:`,
      linkLead: 'Oder öffnen Sie diesen Link, im selben Browser:',
      closing: `Beide funktionieren einmal, ${validFor} lang, und nur in dem Browser, der sie angefordert hat. Niemand wird Sie nach diesem Code fragen, auch wir nicht: Geben Sie ihn nicht weiter. Wenn Sie das nicht angefordert haben, können Sie diese E-Mail ignorieren. Es wird kein Konto angelegt.`,
    }),
    'no-mail-sign-in': ({ productName }) => ({
      subject: `Mit dieser Adresse können Sie sich bei ${productName} nicht anmelden`,
      happened: `Jemand, vielleicht Sie, wollte sich mit dieser Adresse bei ${productName} anmelden. Mit ihr kann kein Konto benutzt und keines angelegt werden.`,
      advice:
        'Wenn Sie das waren, versuchen Sie es mit einer anderen Adresse, oder fragen Sie die Administration. Wenn nicht, brauchen Sie nichts zu tun.',
    }),
    'new-device': ({ productName, username }) => ({
      subject: `Neue Anmeldung bei ${productName}`,
      happened: `Mit Ihrem Konto ${username} bei ${productName} hat sich gerade jemand auf einem Gerät oder in einem Browser angemeldet, mit dem dieses Konto bisher nicht benutzt wurde.`,
      advice:
        'Wenn Sie das waren, brauchen Sie nichts zu tun. Wenn nicht, wählen Sie jetzt ein neues Passwort. Damit werden alle Geräte abgemeldet:',
    }),
    'new-program': ({ productName, username, programName, resourceName }) => ({
      subject: `Ein Programm hat sich mit Ihrem Konto bei ${productName} angemeldet`,
      happened:
        resourceName === undefined
          ? `Das Programm „${programName}“ ist jetzt mit Ihrem Konto ${username} bei ${productName} angemeldet und bleibt es, bis Sie es abmelden.`
          : `Das Programm „${programName}“ kann jetzt „${resourceName}“ mit Ihrem Konto ${username} bei ${productName} benutzen und bleibt angemeldet, bis Sie es abmelden.`,
      advice:
        'Wenn Sie das erlaubt haben, brauchen Sie nichts zu tun. Wenn nicht, melden Sie es auf Ihrer Kontoseite unter „Geräte und Aktivität“ ab: Alles andere bleibt angemeldet. Wenn Sie nicht wissen, wer es erlaubt hat, wählen Sie dort auch ein neues Passwort:',
    }),
    'device-trusted': ({ productName, username }) => ({
      subject: `Ein Browser braucht bei ${productName} keinen Code mehr`,
      happened: `In diesem Browser fragt Ihr Konto ${username} bei ${productName} bei den nächsten Anmeldungen nicht nach einem Code: Das Kästchen dafür wurde gerade angekreuzt. Auf Ihrer Kontoseite können Sie das beenden.`,
      advice:
        'Wenn Sie das waren, brauchen Sie nichts zu tun. Wenn nicht, wählen Sie jetzt ein neues Passwort. Damit werden alle Geräte abgemeldet, und alle brauchen wieder einen Code:',
    }),
    'device-proofs-refused': ({ productName, username }) => ({
      subject: `Die Cookies Ihrer Sitzung bei ${productName} wurden vielleicht kopiert`,
      happened: `Jemand hat innerhalb einer Stunde dreimal versucht, eine Sitzung Ihres Kontos ${username} bei ${productName} ohne den Schlüssel ihres Geräts zu erneuern. Vielleicht hat jemand die Cookies dieses Browsers kopiert. Die Sitzung wurde dafür nicht erneuert, und Ihre läuft weiter.`,
      advice:
        'Wenn Sie nicht wissen, was das war, wählen Sie jetzt ein neues Passwort. Damit werden alle Geräte abgemeldet. Prüfen Sie das Gerät auch auf Schadprogramme:',
    }),
    'session-stolen': ({ productName, username }) => ({
      subject: `Ein Gerät wurde bei ${productName} abgemeldet: Seine Sitzung wurde vielleicht kopiert`,
      happened: `Für Ihr Konto ${username} bei ${productName} wurde gerade ein alter Schlüssel eines angemeldeten Geräts benutzt. Das geschieht, wenn jemand die Sitzung kopiert hat, und auch, wenn ein Browser aus einer Sicherung wiederhergestellt wird. Zur Sicherheit haben wir dieses Gerät abgemeldet.`,
      advice:
        'Wenn Sie keinen Browser und kein Gerät wiederhergestellt haben, wählen Sie jetzt ein neues Passwort. Damit werden alle Geräte abgemeldet:',
    }),
    'sign-in-unfinished': ({ productName, username }) => ({
      subject: `Eine Anmeldung bei ${productName} wurde nicht abgeschlossen`,
      happened: `Jemand, vielleicht Sie, hat das richtige Passwort Ihres Kontos ${username} bei ${productName} eingegeben und den zweiten Schritt nicht abgeschlossen. Niemand wurde angemeldet.`,
      advice:
        'Wenn Sie das waren, brauchen Sie nichts zu tun. Wenn nicht, kennt jemand Ihr Passwort. Wählen Sie jetzt ein neues:',
    }),
    'wrong-codes': ({ productName, username }) => ({
      subject: `Vielleicht kennt jemand Ihr Passwort für ${productName}`,
      happened: `Jemand, vielleicht Sie selbst, hat für Ihr Konto ${username} bei ${productName} dreimal einen falschen Code eingegeben. Nach dem Code wird erst gefragt, wenn das Passwort oder die Anmeldung bei einem Anbieter stimmt.`,
      advice: 'Wenn Sie das nicht waren, wählen Sie jetzt ein neues Passwort:',
    }),
    'provider-linked': ({ productName, providerName, username }) => ({
      subject: `Anmeldung bei ${productName} jetzt auch mit ${providerName}`,
      happened: `Ihr Konto ${username} bei ${productName} wurde gerade mit ${providerName} verbunden. Sie können sich jetzt auch mit ${providerName} anmelden.`,
    }),
    'provider-unlinked': ({ productName, providerName, username }) => ({
      subject: `Keine Anmeldung bei ${productName} mehr mit ${providerName}`,
      happened: `Die Verbindung Ihres Kontos ${username} bei ${productName} mit ${providerName} wurde gerade getrennt. Mit ${providerName} können Sie sich nicht mehr anmelden.`,
      advice: 'Wenn Sie das waren, brauchen Sie nichts zu tun. Wenn nicht, wählen Sie jetzt ein neues Passwort:',
    }),
    'totp-added': ({ productName, username }) => ({
      subject: `Die Anmeldung in zwei Schritten bei ${productName} ist eingeschaltet`,
      happened: `Für Ihr Konto ${username} bei ${productName} wurde gerade die Anmeldung in zwei Schritten eingeschaltet: Zum Anmelden brauchen Sie jetzt einen Code aus einer Authenticator-App. Alle anderen Geräte wurden abgemeldet.`,
    }),
    'totp-replaced': ({ productName, username }) => ({
      subject: `Neue Authenticator-App für ${productName}`,
      happened: `Für Ihr Konto ${username} bei ${productName} wurde gerade die Authenticator-App neu eingerichtet: Codes der bisherigen App funktionieren nicht mehr. Ihre Wiederherstellungscodes bleiben, wie sie sind. Alle anderen Geräte wurden abgemeldet.`,
    }),
    'totp-removed': ({ productName, username }) => ({
      subject: `Die Anmeldung in zwei Schritten bei ${productName} ist ausgeschaltet`,
      happened: `Für Ihr Konto ${username} bei ${productName} wurde gerade die Anmeldung in zwei Schritten ausgeschaltet. Alle anderen Geräte wurden abgemeldet.`,
      advice: 'Wenn Sie das nicht waren, wählen Sie jetzt ein neues Passwort, und schalten Sie sie wieder ein:',
    }),
    'recovery-codes-renewed': ({ productName, username }) => ({
      subject: `Neue Wiederherstellungscodes für ${productName}`,
      happened: `Für Ihr Konto ${username} bei ${productName} wurden gerade neue Wiederherstellungscodes erstellt. Die alten funktionieren nicht mehr.`,
      advice:
        'Wenn Sie das nicht waren, hat jemand anderes Codes für Ihr Konto. Wählen Sie jetzt ein neues Passwort, melden Sie sich mit Ihrer Authenticator-App an und erstellen Sie neue Wiederherstellungscodes: Dann funktionieren jene nicht mehr. Wenn Sie sich nicht anmelden können, wenden Sie sich an die Administration.',
    }),
    'recovery-code-used': ({ productName, username, left }) => ({
      subject: `Ein Wiederherstellungscode für ${productName} wurde verwendet`,
      happened: `Für Ihr Konto ${username} bei ${productName} wurde gerade ein Wiederherstellungscode verwendet. Übrige Codes: ${left}.`,
      advice:
        'Wenn Sie das waren, erstellen Sie neue Codes, bevor der letzte verwendet ist. Wenn nicht, wählen Sie jetzt ein neues Passwort:',
    }),
    'passkey-added': ({ productName, username, passkeyName }) => ({
      subject: `Ein Passkey für ${productName} wurde hinzugefügt`,
      happened: `Zu Ihrem Konto ${username} bei ${productName} wurde gerade ein Passkey hinzugefügt: „${passkeyName}“. Damit können Sie sich ohne Passwort und ohne Code anmelden.`,
    }),
    'token-made': ({ productName, username, tokenName, applications }) => ({
      subject: `Neues persönliches Token für ${productName}`,
      happened: `Für Ihr Konto ${username} bei ${productName} wurde gerade ein persönliches Token erstellt: „${tokenName}“. Ein Programm, das es hat, kann ohne Anmeldung in Ihrem Namen benutzen: ${applications}.`,
    }),
    'passkey-removed': ({ productName, username, passkeyName }) => ({
      subject: `Ein Passkey für ${productName} wurde entfernt`,
      happened: `Von Ihrem Konto ${username} bei ${productName} wurde gerade ein Passkey entfernt: „${passkeyName}“. Damit können Sie sich nicht mehr anmelden. Alle anderen Geräte wurden abgemeldet.`,
      advice: 'Wenn Sie das nicht waren, wählen Sie jetzt ein neues Passwort:',
    }),
    'account-disabled': ({ productName, username }) => ({
      subject: `Ihr Konto bei ${productName} wurde deaktiviert`,
      happened: `Ihr Konto ${username} bei ${productName} wurde deaktiviert. Eine Anmeldung ist damit nicht möglich, und alle Geräte wurden abgemeldet.`,
      advice: 'Wenn Sie den Grund nicht kennen, fragen Sie die Administration.',
    }),
    'account-enabled': ({ productName, username }) => ({
      subject: `Ihr Konto bei ${productName} kann wieder benutzt werden`,
      happened: `Ihr Konto ${username} bei ${productName} wurde aktiviert. Sie können sich wieder anmelden:`,
    }),
    'account-locked-down': ({ productName, username }) => ({
      subject: `Ihr Konto bei ${productName} wurde gesperrt`,
      happened: `Ihr Konto ${username} bei ${productName} wurde zu seiner Sicherheit gesperrt. Eine Anmeldung ist damit nicht möglich, alle Geräte wurden abgemeldet, und Links und Codes, die Ihnen geschickt wurden, gelten nicht mehr. Links mit „Das war ich nicht“ gelten weiter, außer wenn sie nach einer Änderung der E-Mail-Adresse geschickt wurden.`,
      advice: 'Fragen Sie die Administration, was geschehen ist und wann Sie das Konto wieder benutzen können.',
    }),
    'admin-session-began': ({ productName, username }) => ({
      subject: `Ihr Konto wurde als Administrator von ${productName} benutzt`,
      happened: `Ihr Konto ${username} wurde gerade als Administrator von ${productName} benutzt, auf einem Gerät, das damit angemeldet ist.`,
      advice:
        'Wenn Sie das waren, müssen Sie nichts tun. Wenn nicht, wählen Sie jetzt ein neues Passwort, was alle Geräte abmeldet, und sagen Sie den anderen Administratoren Bescheid:',
    }),
    'factors-reset': ({ productName, username }) => ({
      subject: `Die Anmeldung in zwei Schritten bei ${productName} wurde zurückgesetzt`,
      happened: `Die Administration von ${productName} hat für Ihr Konto ${username} die Anmeldung in zwei Schritten ausgeschaltet und die Passkeys entfernt. Alle Geräte wurden abgemeldet.`,
      advice:
        'Melden Sie sich an, und richten Sie beides neu ein. Wenn Sie nicht darum gebeten haben, sagen Sie es der Administration:',
    }),
    'language-changed': ({ productName, username, newLanguage, undoFor }) => ({
      subject: `E-Mails zu Ihrem Konto bei ${productName} kommen jetzt in einer anderen Sprache`,
      happened: `E-Mails zu Ihrem Konto ${username} bei ${productName} werden ab jetzt auf ${newLanguage} geschrieben. Das wurde gerade auf der Kontoseite geändert. Warnungen kommen noch ${undoFor} lang in der bisherigen Sprache.`,
    }),
    'username-changed': ({ productName, formerUsername, username, reservedFor }) => ({
      subject: `Ihr Benutzername bei ${productName} wurde geändert`,
      happened: `Ihr Benutzername bei ${productName} wurde gerade von ${formerUsername} in ${username} geändert. Melden Sie sich ab jetzt mit dem neuen an. Der alte bleibt ${reservedFor} lang für Sie reserviert. So lange können Sie wieder zu ihm wechseln.`,
    }),
    'confirm-email': ({ productName, validFor }) => ({
      subject: `Bestätigen Sie Ihre neue E-Mail-Adresse für ${productName}`,
      opening: `Diese Adresse wurde als neue E-Mail-Adresse eines Kontos bei ${productName} eingegeben. Bestätigen Sie sie hier:`,
      codeLead:
        'Oder geben Sie diesen Code auf der Kontoseite ein, auf der Sie die Änderung begonnen haben. Sie haben fünf Versuche:',
      closing: `Link und Code sind ${validFor} gültig. Wenn Sie das nicht waren, können Sie diese E-Mail ignorieren. Es ändert sich nichts.`,
    }),
    'email-taken': ({ productName }) => ({
      subject: `Diese Adresse wird bei ${productName} bereits verwendet`,
      happened: `Jemand, vielleicht Sie selbst, wollte diese Adresse für ein anderes Konto bei ${productName} verwenden. Sie gehört zu einem Konto oder gehörte bis vor wenigen Tagen dazu. Es wurde nichts geändert.`,
      signIn: 'Hier können Sie sich anmelden:',
      closing: 'Wenn Sie das nicht waren, brauchen Sie nichts zu tun.',
    }),
    'email-change-asked': ({ productName, username, newEmail, undoFor }) => ({
      subject: `Ihre E-Mail-Adresse bei ${productName} soll geändert werden`,
      happened: `Für Ihr Konto ${username} bei ${productName} wurde eine neue E-Mail-Adresse eingegeben: ${newEmail}. Sie ersetzt diese Adresse, sobald sie bestätigt ist.`,
      advice: `Wenn Sie das waren, brauchen Sie nichts zu tun. Wenn nicht, hat jemand anderes Zugriff auf Ihr Konto. Holen Sie sich das Konto hier zurück (das geht ${undoFor} lang). Was in den letzten Tagen hinzugefügt wurde, wird entfernt, alle Geräte werden abgemeldet, und Sie wählen ein neues Passwort:`,
    }),
    'email-changed': ({ productName, username, newEmail, undoFor }) => ({
      subject: `Ihre E-Mail-Adresse bei ${productName} wurde geändert`,
      happened: `Die E-Mail-Adresse Ihres Kontos ${username} bei ${productName} wurde gerade in ${newEmail} geändert. Die Adresse, an der Sie diese Nachricht lesen, wird dafür nicht mehr verwendet.`,
      advice: `Wenn Sie das nicht waren, holen Sie sich das Konto hier zurück (das geht ${undoFor} lang). Dann gilt wieder diese Adresse, was in den letzten Tagen hinzugefügt wurde, wird entfernt, alle Geräte werden abgemeldet, und Sie wählen ein neues Passwort:`,
    }),
    'account-restored': ({ productName, username, byOperator, validFor = '' }) => ({
      subject: `Ihr Konto bei ${productName} gehört wieder Ihnen`,
      happened: byOperator
        ? `Die Administration von ${productName} hat Ihnen Ihr Konto ${username} zurückgegeben. Es hat jetzt diese E-Mail-Adresse. Alle Geräte wurden abgemeldet, und die Anmeldung in zwei Schritten, Passkeys und verbundene Anbieter wurden entfernt.`
        : `Ihr Konto ${username} bei ${productName} wurde über den Link in einer E-Mail an diese Adresse zurückgeholt. Sie ist jetzt die Adresse des Kontos. Alle Geräte wurden abgemeldet, und was in den letzten sieben Tagen hinzugefügt wurde, ist entfernt. Eine Authenticator-App, die in dieser Zeit ersetzt wurde, funktioniert wieder.`,
      choose: 'Das alte Passwort funktioniert nicht mehr. Wählen Sie hier ein neues:',
      expiry: `Der Link funktioniert einmal und ist ${validFor} gültig. Wenn er abgelaufen ist, fordern Sie auf der Anmeldeseite einen neuen an.`,
      signIn: 'Ab jetzt melden Sie sich mit dem Passwort an, das dabei gewählt wurde:',
      notChosen:
        'Wenn nicht Sie es gewählt haben, kann jemand anderes Ihre E-Mails lesen. Ändern Sie das Passwort Ihres Postfachs und danach das dieses Kontos.',
    }),
    'email-withdrawn': ({ productName, username }) => ({
      subject: `Ihre E-Mail-Adresse bei ${productName} wurde zurückgesetzt`,
      happened: `Das Konto ${username} bei ${productName} hat wieder seine frühere E-Mail-Adresse: Der Link in der E-Mail an jene Adresse wurde verwendet. Die Adresse, an der Sie diese Nachricht lesen, wird dafür nicht mehr verwendet, und alle Geräte wurden abgemeldet.`,
      advice: 'Wenn das ein Versehen ist, wählen Sie ein neues Passwort. Der Link dafür geht an die frühere Adresse:',
    }),
    'configuration-changed': ({ productName, action, administrator, thing, added, removed, before, after, kept }) => ({
      subject: `${thing} bei ${productName} wurde ${configurationActions[action]}`,
      happened: `${administrator} hat gerade ${thing} bei ${productName} ${configurationActions[action]}.`,
      added: `Hinzugefügt: ${added}`,
      removed: `Entfernt: ${removed}`,
      before: `Vorher: ${before}`,
      after: `Jetzt: ${after}`,
      kept: `Unverändert: ${kept}`,
      shortened:
        'Es waren zu viele, um sie hier zu zeigen: Von einer langen Liste sind nur die Hosts genannt. Die Seite dieser Änderung enthält alles.',
      advice: `Wenn Sie nicht wissen, warum, fragen Sie ${administrator}. Wer eine Adresse einer Anwendung ändern kann, kann sich dort als jede Person anmelden. Hier können alle Administratoren diese Änderung ansehen und zurücknehmen:`,
    }),
    'administrator-changed': ({ productName, administrator, account, accountChange, reason }) => ({
      subject: `Das Konto ${account} bei ${productName} wurde geändert`,
      happened: `${administrator} hat gerade das Konto ${account} bei ${productName} geändert: ${accountChange}.`,
      reason: `Grund: ${reason}`,
      advice: `Diese E-Mail geht an alle Administratoren, weil ${account} zur Administration oder zum Support gehört, gehörte oder ab jetzt gehört. Wenn Sie nicht wissen, warum das geschah, fragen Sie ${administrator}. Hier können alle Administratoren diese Änderung ansehen:`,
    }),
    'account-deleted': ({ productName, byOperator, username }) => ({
      subject: `Ihr Konto bei ${productName} wurde gelöscht`,
      happened: byOperator
        ? `Die Administration von ${productName} hat Ihr Konto ${username} gelöscht, mit allem, was dazu gespeichert war.`
        : `Ihr Konto ${username} bei ${productName} wurde gerade gelöscht, mit allem, was dazu gespeichert war. Es lässt sich nicht wiederherstellen.`,
      advice: `Wenn Sie das nicht wollten, wenden Sie sich an die Administration von ${productName}.`,
    }),
  },
}
