import type { RefusalWords } from './refusal-words.js'

export const de: RefusalWords = {
  language: 'de',
  refusals: {
    bad_request: 'Bitte prüfen Sie Ihre Eingaben und versuchen Sie es noch einmal.',
    not_authenticated: 'Melden Sie sich an, um fortzufahren.',
    device_proof_missing:
      'Diese Sitzung ist an Ihr Gerät gebunden, und dessen Schlüssel hat nicht geantwortet. Melden Sie sich erneut an.',
    device_proof_required: 'Der Browser muss den Schlüssel seiner Sitzung nachweisen.',
    session_bound: 'Diese Sitzung ist schon an ein Gerät gebunden.',
    invalid_csrf_token: 'Diese Seite ist veraltet. Laden Sie sie neu und versuchen Sie es noch einmal.',
    cross_site:
      'Diese Anfrage kam nicht von unseren eigenen Seiten. Laden Sie die Seite neu und versuchen Sie es noch einmal.',
    step_up_required: 'Bitte bestätigen Sie noch einmal, dass Sie es sind.',
    not_protected: 'Für diese Adresse ist keine Anwendung eingetragen.',
    group_required: 'Dieses Konto hat dazu keinen Zugang.',
    too_many_groups:
      'Das ist zu lang für die Gruppen Ihres Kontos. Wählen Sie etwas Kürzeres, oder fragen Sie Ihre Administration.',
    scope_required: 'Dieser Schlüssel ist dafür nicht vorgesehen.',
    fresh_sign_in_required: 'Bitte bestätigen Sie noch einmal, dass Sie es sind, um das zu ändern.',
    not_found: 'Das gibt es nicht mehr. Laden Sie die Seite neu.',
    method_not_allowed: 'Das wird nicht unterstützt. Laden Sie die Seite neu und versuchen Sie es noch einmal.',
    too_large: 'Ihre Eingabe ist zu lang.',
    unsupported_media_type: 'Das wird nicht unterstützt. Laden Sie die Seite neu und versuchen Sie es noch einmal.',
    expectation_failed: 'Das wird nicht unterstützt. Laden Sie die Seite neu und versuchen Sie es noch einmal.',
    https_required: 'Diese Verbindung war nicht verschlüsselt. Öffnen Sie die Seite mit https://.',
    unknown_host: 'Diese Adresse gehört nicht zu diesem Dienst. Öffnen Sie ihn unter seiner eigenen Adresse.',
    headers_too_large:
      'Ihr Browser hat zu viele Daten geschickt. Löschen Sie die Cookies dieser Website und versuchen Sie es noch einmal.',
    internal: 'Bei uns ist etwas schiefgegangen. Bitte versuchen Sie es noch einmal.',
    busy: 'Der Dienst ist überlastet. Bitte versuchen Sie es gleich noch einmal.',
    unavailable: 'Der Dienst ist gerade nicht verfügbar. Bitte versuchen Sie es gleich noch einmal.',

    mail_is_off: 'Hier werden keine E-Mails versendet. Bitte wenden Sie sich an Ihre Administration.',
    too_many_logins: 'Zu viele Anmeldeversuche.',
    too_many_requests: 'Zu viele Anfragen. Bitte warten Sie einen Moment.',
    too_many_attempts: 'Zu viele Versuche.',

    invalid_credentials: 'Benutzername, E-Mail oder Passwort ist falsch.',
    email_not_confirmed:
      'Bestätigen Sie zuerst Ihre E-Mail-Adresse. Der Link steht in der E-Mail, die wir Ihnen bei der Registrierung geschickt haben.',

    wrong_second_factor:
      'Dieser Code funktioniert nicht. Prüfen Sie die sechs Ziffern, oder warten Sie auf die nächsten. Wenn auch das nicht hilft, prüfen Sie die Uhr Ihres Geräts.',
    challenge_over:
      'Diese Anmeldung hat zu lange gedauert oder ist schon abgeschlossen. Bitte melden Sie sich erneut an.',
    passkey_rejected:
      'Dieser Passkey funktioniert hier nicht. Versuchen Sie es noch einmal, oder auf einem anderen Weg.',
    too_many_passkeys: 'Ihr Konto hat schon so viele Passkeys wie möglich. Entfernen Sie zuerst einen.',
    too_many_tokens: 'Ihr Konto hat schon so viele persönliche Token wie möglich. Beenden Sie zuerst eines.',
    token_refused: 'Dieses Token gilt nicht für diese Anwendung.',
    current_password_required: 'Geben Sie zuerst Ihr Passwort ein.',
    other_browser: 'Gehen Sie zurück zu dem Fenster, in dem Sie begonnen haben, und geben Sie dort den Code ein.',
    mailed_code_required: 'Geben Sie zuerst den Code aus der E-Mail ein.',
    link_required:
      'Bitten Sie Ihre Administration um einen Link zu Ihrem Konto. Danach können Sie einen zweiten Faktor einrichten.',
    enrolment_open: 'Diese Anmeldung braucht keinen weiteren Nachweis. Fügen Sie jetzt einen zweiten Faktor hinzu.',
    not_enrolling: 'Dieses Konto hat einen zweiten Schritt. Schließen Sie die Anmeldung damit ab.',
    last_factor: 'Ein zweiter Schritt ist hier Pflicht. Richten Sie einen anderen ein, bevor Sie diesen entfernen.',
    totp_is_on: 'Die Anmeldung in zwei Schritten ist bereits eingeschaltet.',
    totp_is_off: 'Die Anmeldung in zwei Schritten ist ausgeschaltet.',
    no_totp_begun: 'Das hat zu lange gedauert. Bitte beginnen Sie noch einmal.',

    email_shape: 'Geben Sie eine E-Mail-Adresse ein, zum Beispiel name@example.com.',
    username_length: 'Verwenden Sie 1 bis 64 Zeichen.',
    username_at_sign: 'Ein Benutzername darf kein @ enthalten.',
    username_characters: 'Nur Buchstaben, Ziffern und . _ - sind möglich.',
    username_edges: 'Am Anfang und am Ende muss ein Buchstabe oder eine Ziffer stehen.',
    username_alphabets: 'Verwenden Sie nur Buchstaben eines Alphabets.',
    other_step: 'Diese Anmeldung wartet auf etwas anderes. Bitte laden Sie die Seite neu.',
    terms_changed: 'Die Bedingungen haben sich geändert. Bitte laden Sie die Seite neu und lesen Sie sie.',
    invalid_fields: 'Einige Angaben können nicht verwendet werden. Bitte sehen Sie die Felder an.',
    password_rejected: 'Dieses Passwort kann nicht verwendet werden. Bitte wählen Sie ein anderes.',

    registration_closed: 'Die Registrierung ist geschlossen. Bitte wenden Sie sich an Ihre Administration.',
    invitation_required:
      'Um hier ein Konto anzulegen, brauchen Sie eine Einladung. Bitte wenden Sie sich an Ihre Administration.',
    invalid_invitation:
      'Diese Einladung funktioniert nicht. Sie ist abgelaufen, wurde bereits verwendet oder zurückgezogen oder gilt für eine andere Adresse. Bitten Sie um eine neue.',
    email_domain_not_allowed: 'Adressen dieser Domain können hier nicht verwendet werden.',
    username_taken: 'Dieser Benutzername ist vergeben. Bitte wählen Sie einen anderen.',
    too_many_usernames:
      'Sie haben Ihren Benutzernamen zu oft geändert. Sie können jetzt zu einem der letzten fünf zurückkehren. Ein neuer ist wieder möglich ab {date}.',
    username_taken_since:
      'Dieser Benutzername wurde inzwischen vergeben. Bitte registrieren Sie sich mit einem anderen.',
    already_registered: 'Zu dieser Adresse gibt es bereits ein Konto. Sie können sich anmelden.',
    already_confirmed: 'Ihre E-Mail-Adresse ist bereits bestätigt. Sie können sich anmelden.',
    invalid_link: 'Dieser Link ist abgelaufen, wurde bereits verwendet oder ist unvollständig.',
    link_replaced: 'Wir haben Ihnen eine neuere E-Mail geschickt. Nur der Link in der neuesten E-Mail funktioniert.',
    invalid_code: 'Dieser Code ist falsch oder abgelaufen. Prüfen Sie ihn oder verwenden Sie den Link in der E-Mail.',
    tries_used_up: 'Ihre fünf Versuche sind aufgebraucht. Öffnen Sie zum Bestätigen den Link in der E-Mail.',
    password_required: 'Geben Sie das Passwort ein, das Sie bei der Registrierung gewählt haben.',
    wrong_chosen_password: 'Das ist nicht das Passwort, das Sie bei der Registrierung gewählt haben.',
    password_tries_used_up:
      'Ihre fünf Versuche für das Passwort sind aufgebraucht. Öffnen Sie den Link in dem Browser, in dem Sie sich registriert haben.',
    no_registration_waiting:
      'In diesem Browser wartet keine Registrierung auf Bestätigung. Öffnen Sie den Link in Ihrer E-Mail. Oder melden Sie sich mit dem gewählten Passwort an, dann können wir Ihnen die E-Mail erneut senden.',
    invalid_setup_token: 'Dieser Link ist abgelaufen, wurde bereits verwendet oder ist unvollständig.',
    already_set_up: 'Es gibt bereits ein Konto.',
    admin_group_needed: 'Setzen Sie zuerst ADMIN_GROUP.',

    wrong_current_password: 'Das ist nicht Ihr aktuelles Passwort.',
    password_unchanged: 'Wählen Sie ein anderes Passwort. Das ist Ihr aktuelles.',

    other_username: 'Das ist nicht Ihr Benutzername. Es wurde nichts gelöscht.',
    email_taken: 'Ein anderes Konto hat diese Adresse. Wählen Sie eine andere.',
    wrong_mailed_code: 'Das ist nicht der Code aus unserer neuesten E-Mail. Bitte prüfen Sie ihn.',
    mailed_code_void:
      'Dieser Code ist abgelaufen, oder alle fünf Versuche sind aufgebraucht. Bitte fordern Sie eine neue E-Mail an.',

    unknown_device_code:
      'Dieser Code ist nicht bekannt, wurde schon verwendet oder ist abgelaufen. Ihr Gerät kann einen neuen anzeigen.',
    program_not_allowed: 'Programme dieser Adresse sind hier nicht zugelassen.',
    program_document_refused: 'Was dieses Programm über sich angibt, ließ sich nicht lesen oder kann nicht stimmen.',
    unknown_application: 'Die Anwendung, die Sie hierher geschickt hat, ist hier nicht bekannt.',
    redirect_not_registered:
      'Die Anwendung möchte, dass Sie zu einer Adresse zurückkehren, die für sie nicht eingetragen ist. Zu Ihrer Sicherheit geht es dorthin nicht weiter.',
    reason_required: 'Geben Sie einen Grund an: Er steht beim Ereignis.',
    own_account: 'Ihr eigenes Konto können Sie hier nicht ändern.',
    administrators_account: 'Nur Administratoren können das Konto eines Administrators ändern.',
    no_group: 'Es gibt keine Gruppe mit diesem Namen.',
    group_in_use: 'Eine Anwendung oder eine Einstellung des Dienstes nennt diese Gruppe. Ändern Sie zuerst das.',
    group_has_members: 'Diese Gruppe hat Mitglieder, die sie verlieren würden.',
    set_by_file: 'Das legt eine Konfigurationsdatei fest. Ändern Sie es dort.',
    set_by_environment: 'Das legt eine Umgebungsvariable fest. Der Betreiber kann sie ändern.',
    changed_meanwhile: 'Das wurde inzwischen geändert. Sehen Sie es sich noch einmal an.',
    applications_off: 'Das lässt sich nur auf der Kommandozeile ändern.',
    invalid_configuration: 'Dieser Wert kann nicht verwendet werden.',
    name_taken: 'Diesen Namen gibt es schon.',
    origin_taken: 'Eine andere Anwendung hat diese Adresse.',
    id_taken: 'Eine andere Anwendung hat diese Kennung.',
    resource_taken: 'Eine andere Ressource hat diese Adresse oder diesen Namen.',
    too_many_secrets: 'Es gibt schon zwei Geheimnisse. Entfernen Sie zuerst das ältere.',
    last_secret: 'Das ist das einzige Geheimnis. Fügen Sie zuerst ein anderes hinzu.',
    has_no_secret: 'Eine Anwendung dieser Art hat keine Geheimnisse.',
    not_changed_back: 'Das lässt sich nicht zurücknehmen.',
    group_of_administrators:
      'Eine Einladung macht niemanden zum Administrator. Fügen Sie den Benutzer später zur Gruppe hinzu.',
    account_disabled: 'Dieses Konto ist gesperrt. Entsperren Sie es zuerst.',
    address_not_proven: 'Die Adresse dieses Kontos wurde nie bestätigt.',
    locked_down: 'Dieses Konto wurde abgesichert. Nur die Administration kann es zurückgeben, nicht der Support.',
    too_many_mails: 'An diese Adresse gingen vorerst genug solcher E-Mails. Versuchen Sie es später noch einmal.',
    has_account: 'Zu dieser Adresse gibt es bereits ein Konto. Sie kann nur in Gruppen eingeladen werden.',
    email_reserved:
      'Diese Adresse kann noch nicht registriert werden: Sie bleibt für das Konto reserviert, das sie in den letzten sieben Tagen hatte.',

    already_linked: 'Ein anderes {provider}-Konto ist bereits verbunden. Trennen Sie es zuerst.',
    last_way_in: 'Das ist Ihre einzige Anmeldemöglichkeit. Richten Sie zuerst eine weitere ein.',
    provider_unavailable: '{provider} ist nicht erreichbar. Bitte versuchen Sie es gleich noch einmal.',
    nothing_to_link:
      'Das hat zu lange gedauert oder wurde in einem anderen Browser begonnen. Bitte verbinden Sie {provider} noch einmal.',
    link_of_another_session: 'Sie haben sich inzwischen neu angemeldet. Bitte verbinden Sie {provider} noch einmal.',
    link_used_before:
      'Dieser Schritt ist schon erledigt. Falls {provider} nicht verbunden ist, versuchen Sie es noch einmal.',
    link_disabled: 'Dieses Konto ist gesperrt. Bitte wenden Sie sich an Ihre Administration.',
    link_other_identity: 'Ein anderes {provider}-Konto ist bereits verbunden. Trennen Sie es zuerst.',
    link_identity_taken: 'Dieses {provider}-Konto ist hier bereits mit einem anderen Konto verbunden.',
    link_email_taken: 'Die E-Mail-Adresse dieses {provider}-Kontos gehört hier bereits zu einem anderen Konto.',
    link_registration_closed: 'Die Registrierung ist geschlossen, daher wurde {provider} nicht verbunden.',
  },
  failures: {
    offline: 'Der Dienst ist nicht erreichbar. Prüfen Sie Ihre Verbindung und versuchen Sie es noch einmal.',
    unavailable: 'Der Dienst ist gerade nicht verfügbar. Bitte versuchen Sie es gleich noch einmal.',
    unexpected: 'Etwas ist schiefgegangen. Bitte versuchen Sie es noch einmal.',
    reference: '(Kennung: {reference})',
  },
  tryAgainIn: 'Bitte versuchen Sie es in {time} noch einmal.',
}
