import type { twoStep as english } from './en-two-step.js'

/** Two-step sign-in: its page, and its part of the account page. */
export const twoStep: typeof english = {
  'second-factor': {
    title: 'Zweiter Schritt',
    heading: 'Code eingeben',
    lead: 'Öffnen Sie Ihre Authenticator-App, und geben Sie den Code ein, den sie für diese Seite anzeigt.',
    code: 'Code aus der App',
    recoveryLead:
      'Geben Sie einen der Wiederherstellungscodes ein, die Sie gespeichert haben. Jeder funktioniert einmal.',
    recoveryCode: 'Wiederherstellungscode',
    notTrusted:
      'Nach einem Wiederherstellungscode wird in diesem Browser beim nächsten Mal wieder nach einem Code gefragt.',
    wrongRecoveryCode:
      'Dieser Wiederherstellungscode funktioniert nicht. Prüfen Sie ihn: Jeder funktioniert nur einmal.',
    trustDevice: 'In diesem Browser {time} lang nicht nach einem Code fragen',
    submit: 'Weiter',
    useRecoveryCode: 'Wiederherstellungscode verwenden',
    useApp: 'Authenticator-App verwenden',
    signInAgain: 'Erneut anmelden',
  },
  enrolment: {
    heading: 'Zweiten Schritt einrichten',
    lead: 'Die Anmeldung in zwei Schritten ist hier Pflicht. Bevor Sie sie einrichten, prüfen wir mit einem Code per E-Mail, ob das Konto Ihnen gehört. Das tun wir auch gleich nach einer Registrierung.',
    choose: 'Richten Sie jetzt den zweiten Schritt ein: eine Authenticator-App auf Ihrem Telefon oder einen Passkey.',
    useApp: 'App einrichten',
    chooseHeading: 'Zweiten Schritt wählen',
    appHeading: 'App einrichten',
    otherWay: 'Anderen Weg wählen',
  },
  'two-step': {
    title: 'Anmeldung in zwei Schritten',
    offLead:
      'Wenn Sie sie einschalten, brauchen Sie zum Anmelden auch einen Code aus einer App auf Ihrem Telefon. Ein gestohlenes Passwort reicht dann nicht mehr.',
    switchOn: 'Einschalten',
    scan: 'Scannen Sie dieses Bild mit einer Authenticator-App. Geben Sie dann den Code ein, den die App anzeigt.',
    qrAlt: 'QR-Code für die Authenticator-App',
    secret: 'Oder geben Sie diesen Schlüssel in der App ein:',
    openApp: 'App auf diesem Gerät öffnen',
    code: 'Code aus der App',
    confirm: 'Bestätigen',
    savedHeading: 'Wiederherstellungs\u00adcodes speichern',
    newCodesLead:
      'Das sind Ihre neuen Wiederherstellungscodes. Die alten funktionieren nicht mehr. Speichern Sie die neuen jetzt: Sie werden nur einmal angezeigt. Mit jedem können Sie sich einmal anmelden, wenn Sie Ihr Telefon verlieren.',
    codesLead:
      'Die Anmeldung in zwei Schritten ist eingeschaltet. Speichern Sie jetzt diese Wiederherstellungscodes: Sie werden nur einmal angezeigt. Mit jedem können Sie sich einmal anmelden, wenn Sie Ihr Telefon verlieren.',
    copy: 'Kopieren',
    copied: 'Kopiert',
    print: 'Drucken',
    saved: 'Ich habe sie gespeichert',
    onSince: 'Eingeschaltet seit {date}.',
    codesLeft: 'Übrige Wiederherstellungscodes: {count}.',
    newCodes: 'Neue Wiederherstellungscodes',
    newCodesAsk: 'Ihre bisherigen Wiederherstellungscodes funktionieren danach nicht mehr.',
    newCodesSure: 'Ja, neue Codes erstellen',
    switchOff: 'Ausschalten',
    switchOffAsk: 'Zum Anmelden ist danach kein Code mehr nötig. Ihre anderen Geräte werden abgemeldet.',
    switchOffSure: 'Ja, ausschalten',
    switchedOff: 'Die Anmeldung in zwei Schritten ist ausgeschaltet.',
    needed:
      'Hier braucht jedes Konto einen zweiten Schritt. Fügen Sie zuerst einen Passkey hinzu, wenn Sie diesen ausschalten möchten.',
    trusted: 'Diese Browser brauchen keinen Code:',
    trustedUntil: 'bis {date}',
    stopTrusting: 'Entfernen',
    stopTrustingOf: '{device}, {ip} entfernen',
  },
}
