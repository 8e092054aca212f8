import type { MailWords } from '../letters.js'

const configurationActions = {
  added: { done: 'añadido', toDo: 'añadir' },
  changed: { done: 'cambiado', toDo: 'cambiar' },
  deleted: { done: 'eliminado', toDo: 'eliminar' },
}

export const es: MailWords = {
  labels: {
    login: 'Iniciar sesión',
    mailLogin: 'Iniciar sesión',
    forgotPassword: 'Elegir una contraseña nueva',
    resetPassword: 'Elegir una contraseña nueva',
    setPassword: 'Crear una contraseña',
    verifyEmail: 'Confirmar mi correo',
    confirmEmail: 'Confirmar esta dirección',
    invite: 'Crear mi cuenta',
    join: 'Aceptar la invitación',
    undo: 'No fui yo',
    adminEvent: 'Ver este cambio',
    devices: 'Ver qué sesiones hay',
  },
  footers: {
    visitor: (productName) => `Recibes este correo porque esta dirección se escribió en ${productName}.`,
    account: (productName) => `Este correo es sobre tu cuenta en ${productName}.`,
    invited: (productName) => `Recibes este correo porque esta dirección tiene una invitación a ${productName}.`,
    last: (productName) => `Este es el último correo sobre tu cuenta en ${productName}.`,
  },
  devices: {
    unknownDevice: 'Dispositivo desconocido',
    device: '{browser} en {system}',
    onAppleDevice: '{browser} en {system}',
  },
  links: { terms: 'Condiciones', privacy: 'Privacidad', imprint: 'Aviso legal', support: 'Ayuda' },
  byOperator: (productName, time) => `Lo hizo un administrador de ${productName}. Fecha: ${time}.`,
  byClient: (device, ip, time) => `Dispositivo: ${device}. Dirección IP: ${ip}. Fecha: ${time}.`,
  byVisitor: (device, time) => `Navegador: ${device}. Fecha: ${time}.`,
  byProgram: (ip, time) => `Dirección IP del programa: ${ip}. Fecha: ${time}.`,
  renamed: (formerUsername, username) => `${formerUsername} (ahora ${username})`,
  unproven:
    'Esta dirección nunca se confirmó, por eso este correo no tiene ningún enlace para recuperar la cuenta. Si no fuiste tú, entra y abre la página de la cuenta: cierra la sesión en los demás dispositivos, quita lo que no conozcas y elige una contraseña nueva. Confirma allí también la dirección.',
  accountChanges: {
    account_recovered: 'cuenta devuelta a su titular',
    email_set: 'dirección de correo cambiada',
    factors_reset: 'segundo paso y llaves de acceso eliminados',
    fields_changed: 'campos del perfil cambiados',
    group_joined: 'añadida a grupos',
    group_left: 'quitada de grupos',
    limits_cleared: 'límites borrados',
    password_expired: 'contraseña inutilizada',
    provider_unlinked: 'proveedor desconectado',
    reset_requested: 'enlace para una contraseña nueva enviado',
    sessions_ended: 'sesión cerrada en todas partes',
    token_ended: 'token personal terminado',
    user_deleted: 'cuenta eliminada',
    user_disabled: 'cuenta desactivada',
    user_enabled: 'cuenta activada',
    user_locked_down: 'cuenta bloqueada por seguridad',
  },
  help: 'Así puedes contactar con el administrador:',
  undo: (undoFor) =>
    `Si no fuiste tú, recupera tu cuenta aquí, en un plazo de ${undoFor}. Se quita lo que se le añadió en los últimos días, se cierra la sesión en todos los dispositivos y eliges una contraseña nueva:`,

  letters: {
    'verify-email': ({ productName, code, validFor }) => ({
      subject: `Confirma tu correo para ${productName}`,
      opening: `Te damos la bienvenida a ${productName}. Para terminar tu registro, confirma esta dirección aquí:`,
      codeLead:
        code === undefined
          ? 'Ya se usaron los cinco intentos para escribir el código, así que este correo solo tiene el enlace.'
          : 'O escribe este código en la página en la que te registraste. Tienes cinco intentos en total:',
      closing: `${code === undefined ? 'El enlace sirve' : 'Ambos sirven'} durante ${validFor}. Si no te registraste, puedes ignorar este correo. No se creará ninguna cuenta.`,
    }),
    'already-registered': ({ productName }) => ({
      subject: `Ya tienes una cuenta en ${productName}`,
      happened: `Alguien, quizá tú, intentó registrarse en ${productName} con esta dirección. Ya tienes una cuenta con ella, así que no se cambió nada.`,
      signIn: 'Inicia sesión aquí:',
      forgotten: '¿Olvidaste tu contraseña? Elige una nueva aquí:',
      closing: 'Si no fuiste tú, no tienes que hacer nada.',
    }),
    'address-reserved': ({ productName, reservedFor }) => ({
      subject: `Esta dirección todavía no se puede registrar en ${productName}`,
      happened: `Alguien, quizá tú, intentó registrarse en ${productName} con esta dirección. Hasta hace unos días era de una cuenta, y queda reservada para ella durante ${reservedFor} después del cambio.`,
      signIn: 'Si tienes una cuenta, inicia sesión con tu nombre de usuario o tu dirección nueva:',
      closing: 'Si no, inténtalo de nuevo después de ese plazo o regístrate con otra dirección.',
    }),
    invitation: ({ productName, invitedBy, validFor }) => ({
      subject: `Tienes una invitación a ${productName}`,
      opening:
        invitedBy === undefined
          ? `Un administrador de ${productName} te ha invitado a crear una cuenta. Puedes hacerlo aquí:`
          : `${invitedBy} te ha invitado a crear una cuenta en ${productName}. Puedes hacerlo aquí:`,
      closing: `La invitación es solo para esta dirección. Sirve una sola vez, durante ${validFor}. Si no quieres una cuenta, puedes ignorar este correo.`,
    }),
    'group-invitation': ({ productName, invitedBy, groups, validFor }) => ({
      subject: `Tienes una invitación a un grupo en ${productName}`,
      opening:
        invitedBy === undefined
          ? `Un administrador de ${productName} te ha invitado a unirte con tu cuenta (grupos: ${groups}). Puedes aceptar aquí:`
          : `${invitedBy} te ha invitado a unirte con tu cuenta en ${productName} (grupos: ${groups}). Puedes aceptar aquí:`,
      closing: `Solo te unes cuando inicias sesión y aceptas. El enlace sirve una sola vez, durante ${validFor}. Si no quieres unirte, puedes ignorar este correo.`,
    }),
    'reset-password': ({ productName, validFor, hasPassword }) => ({
      subject: hasPassword
        ? `Elige una contraseña nueva para ${productName}`
        : `Crea una contraseña para ${productName}`,
      opening: hasPassword
        ? `Alguien, quizá tú, pidió restablecer la contraseña de tu cuenta en ${productName}. Elige una contraseña nueva aquí:`
        : `Alguien, quizá tú, pidió crear una contraseña para tu cuenta en ${productName}. Elígela aquí:`,
      closing: `El enlace sirve una sola vez, durante ${validFor}. Si no lo pediste, puedes ignorar este correo. No cambia nada.`,
    }),
    'password-changed': ({ productName, username }) => ({
      subject: `Tu contraseña para ${productName} se cambió`,
      happened: `La contraseña de tu cuenta ${username} en ${productName} se acaba de cambiar. Se cerró la sesión en todos los demás dispositivos.`,
      wasYou: 'Si fuiste tú, no tienes que hacer nada.',
    }),
    'password-reset': ({ productName, username }) => ({
      subject: `Tu contraseña para ${productName} se restableció`,
      happened: `La contraseña de tu cuenta ${username} en ${productName} se acaba de restablecer con un enlace que se envió a esta dirección. Se cerró la sesión en todos los dispositivos.`,
      advice:
        'Si fuiste tú, no tienes que hacer nada. Si no, elige ahora una contraseña nueva y comprueba quién puede leer tu correo:',
    }),
    'password-expired': ({ productName, username }) => ({
      subject: `Elige una contraseña nueva para ${productName}`,
      happened: `Un administrador ha anulado la contraseña de tu cuenta ${username} en ${productName}, porque otras personas podrían conocerla. Se cerró la sesión en todos los dispositivos.`,
      advice: 'Elige una contraseña nueva para volver a iniciar sesión. No uses la anterior tampoco en otros sitios.',
    }),
    'step-up-code': ({ productName, code, username, validFor }) => ({
      subject: `Tu código para ${productName}: ${code}`,
      opening: `Tu cuenta ${username} en ${productName} pregunta una vez más si eres tú. Escribe este código en la página que lo pide:`,
      closing: `El código sirve durante ${validFor}. No se lo des a nadie. Si ninguna página te lo pide, quizá otra persona esté usando tu cuenta: inicia sesión y cierra la sesión en todos los demás dispositivos.`,
    }),
    'enrolment-code': ({ productName, code, username, validFor }) => ({
      subject: `Tu código para ${productName}: ${code}`,
      opening: `Estás iniciando sesión en ${productName} como ${username}, y hay que configurar un segundo paso para esta cuenta. Escribe este código en la página que lo pide:`,
      closing: `El código sirve durante ${validFor}. No se lo des a nadie. Si no estás iniciando sesión, quizá otra persona conozca tu contraseña. Elige ahora una nueva:`,
    }),
    'mail-sign-in': ({ productName, code, username, validFor }) => ({
      subject: `Tu código para iniciar sesión en ${productName}: ${code}`,
      opening: `Escribe este código en la ventana en la que inicias sesión en ${productName} como ${username}:`,
      linkLead: 'O abre este enlace, en el mismo navegador:',
      closing: `Ambos sirven una vez, durante ${validFor}, y solo en el navegador que los pidió. Nadie te pedirá nunca este código, ni siquiera nosotros: no se lo des a nadie. Si no estás iniciando sesión, puedes ignorar este correo.`,
    }),
    'mail-sign-up': ({ productName, code, validFor }) => ({
      subject: `Tu código para ${productName}: ${code}`,
      opening: `Esta dirección todavía no tiene una cuenta en ${productName}. Para crearla, escribe este código en la ventana en la que empezaste:`,
      linkLead: 'O abre este enlace, en el mismo navegador:',
      closing: `Ambos sirven una vez, durante ${validFor}, y solo en el navegador que los pidió. Nadie te pedirá nunca este código, ni siquiera nosotros: no se lo des a nadie. Si no lo pediste, puedes ignorar este correo. No se creará ninguna cuenta.`,
    }),
    'no-mail-sign-in': ({ productName }) => ({
      subject: `No puedes iniciar sesión en ${productName} con esta dirección`,
      happened: `Alguien, quizá tú, quiso iniciar sesión en ${productName} con esta dirección. Con ella no se puede usar ni crear ninguna cuenta.`,
      advice:
        'Si fuiste tú, prueba con otra de tus direcciones o pregunta al administrador. Si no, no tienes que hacer nada.',
    }),
    'new-device': ({ productName, username }) => ({
      subject: `Nuevo inicio de sesión en ${productName}`,
      happened: `Se acaba de iniciar sesión con tu cuenta ${username} en ${productName}, en un dispositivo o un navegador en el que no se había usado antes.`,
      advice:
        'Si fuiste tú, no tienes que hacer nada. Si no, elige ahora una contraseña nueva. Así se cierra la sesión en todos los dispositivos:',
    }),
    'new-program': ({ productName, username, programName, resourceName }) => ({
      subject: `Un programa ha iniciado sesión con tu cuenta de ${productName}`,
      happened:
        resourceName === undefined
          ? `El programa «${programName}» tiene ahora una sesión con tu cuenta ${username} en ${productName}, que sigue abierta hasta que la cierres.`
          : `El programa «${programName}» puede usar ahora «${resourceName}» con tu cuenta ${username} en ${productName}. Su sesión sigue abierta hasta que la cierres.`,
      advice:
        'Si lo has permitido tú, no tienes que hacer nada. Si no, cierra su sesión en la página de tu cuenta, en «Dispositivos y actividad»: las demás siguen abiertas. Si no sabes quién lo ha permitido, elige allí también una contraseña nueva:',
    }),
    'device-trusted': ({ productName, username }) => ({
      subject: `Un navegador ya no necesita código para ${productName}`,
      happened: `En este navegador, tu cuenta ${username} en ${productName} no pedirá un código en los próximos inicios de sesión: se acaba de marcar la casilla correspondiente. Puedes cambiarlo en la página de tu cuenta.`,
      advice:
        'Si fuiste tú, no tienes que hacer nada. Si no, elige ahora una contraseña nueva. Así se cierra la sesión en todos los dispositivos, y todos vuelven a necesitar un código:',
    }),
    'device-proofs-refused': ({ productName, username }) => ({
      subject: `Quizá copiaron las cookies de tu sesión en ${productName}`,
      happened: `Alguien ha intentado tres veces en una hora renovar una sesión de tu cuenta ${username} de ${productName} sin la clave de su dispositivo. Es posible que alguien haya copiado las cookies de ese navegador. La sesión no se renovó para esa persona, y la tuya continúa.`,
      advice:
        'Si no sabes qué ha sido, elige ahora una contraseña nueva. Así se cierra la sesión en todos los dispositivos. Comprueba también si el dispositivo tiene programas maliciosos:',
    }),
    'session-stolen': ({ productName, username }) => ({
      subject: `Se cerró la sesión de un dispositivo en ${productName}: quizá la copiaron`,
      happened: `Se acaba de usar una clave antigua de un dispositivo con la sesión iniciada en tu cuenta ${username} de ${productName}. Eso ocurre si alguien copió la sesión, y también si un navegador se restaura desde una copia de seguridad. Por precaución, hemos cerrado la sesión en ese dispositivo.`,
      advice:
        'Si no has restaurado un navegador ni un dispositivo, elige ahora una contraseña nueva. Así se cierra la sesión en todos los dispositivos:',
    }),
    'sign-in-unfinished': ({ productName, username }) => ({
      subject: `Un inicio de sesión en ${productName} no se terminó`,
      happened: `Alguien, quizá tú, escribió la contraseña correcta de tu cuenta ${username} en ${productName} y no terminó el segundo paso. No se inició ninguna sesión.`,
      advice: 'Si fuiste tú, no tienes que hacer nada. Si no, alguien conoce tu contraseña. Elige ahora una nueva:',
    }),
    'wrong-codes': ({ productName, username }) => ({
      subject: `Quizá alguien conozca tu contraseña para ${productName}`,
      happened: `Alguien, quizá tú, escribió tres códigos incorrectos para tu cuenta ${username} en ${productName}. El código solo se pide después de la contraseña correcta o de un inicio de sesión con un proveedor.`,
      advice: 'Si no fuiste tú, elige ahora una contraseña nueva:',
    }),
    'provider-linked': ({ providerName, productName, username }) => ({
      subject: `Ya puedes iniciar sesión en ${productName} con ${providerName}`,
      happened: `Tu cuenta ${username} en ${productName} se acaba de conectar con ${providerName}. Ahora también puedes iniciar sesión con ${providerName}.`,
    }),
    'provider-unlinked': ({ providerName, productName, username }) => ({
      subject: `Ya no puedes iniciar sesión en ${productName} con ${providerName}`,
      happened: `Tu cuenta ${username} en ${productName} se acaba de desconectar de ${providerName}. Ya no puedes iniciar sesión con ${providerName}.`,
      advice: 'Si fuiste tú, no tienes que hacer nada. Si no, elige ahora una contraseña nueva:',
    }),
    'totp-added': ({ productName, username }) => ({
      subject: `La verificación en dos pasos de ${productName} está activada`,
      happened: `Se acaba de activar la verificación en dos pasos para tu cuenta ${username} en ${productName}: ahora, para iniciar sesión hace falta un código de una aplicación de autenticación. Se cerró la sesión en todos los demás dispositivos.`,
    }),
    'totp-replaced': ({ productName, username }) => ({
      subject: `Nueva aplicación de autenticación para ${productName}`,
      happened: `Se acaba de configurar de nuevo la aplicación de autenticación de tu cuenta ${username} en ${productName}: los códigos de la anterior ya no funcionan. Tus códigos de recuperación siguen siendo los mismos. Se cerró la sesión en todos los demás dispositivos.`,
    }),
    'totp-removed': ({ productName, username }) => ({
      subject: `La verificación en dos pasos de ${productName} está desactivada`,
      happened: `Se acaba de desactivar la verificación en dos pasos de tu cuenta ${username} en ${productName}. Se cerró la sesión en todos los demás dispositivos.`,
      advice: 'Si no fuiste tú, elige ahora una contraseña nueva y vuelve a activarla:',
    }),
    'recovery-codes-renewed': ({ productName, username }) => ({
      subject: `Nuevos códigos de recuperación para ${productName}`,
      happened: `Se acaban de crear códigos de recuperación nuevos para tu cuenta ${username} en ${productName}. Los anteriores ya no funcionan.`,
      advice:
        'Si no fuiste tú, otra persona tiene códigos que abren tu cuenta. Elige ahora una contraseña nueva, inicia sesión con tu aplicación de autenticación y crea códigos de recuperación nuevos: entonces aquellos dejan de funcionar. Si no puedes iniciar sesión, avisa al administrador.',
    }),
    'recovery-code-used': ({ productName, username, left }) => ({
      subject: `Se usó un código de recuperación de ${productName}`,
      happened: `Se acaba de usar un código de recuperación para tu cuenta ${username} en ${productName}. Códigos restantes: ${left}.`,
      advice: 'Si fuiste tú, crea códigos nuevos antes de usar el último. Si no, elige ahora una contraseña nueva:',
    }),
    'passkey-added': ({ productName, username, passkeyName }) => ({
      subject: `Se añadió una llave de acceso para ${productName}`,
      happened: `Se acaba de añadir una llave de acceso a tu cuenta ${username} en ${productName}: «${passkeyName}». Con ella puedes iniciar sesión sin contraseña y sin código.`,
    }),
    'token-made': ({ productName, username, tokenName, applications }) => ({
      subject: `Nuevo token personal para ${productName}`,
      happened: `Se acaba de crear un token personal para tu cuenta ${username} en ${productName}: «${tokenName}». Un programa que lo tenga puede usar en tu nombre, sin iniciar sesión: ${applications}.`,
    }),
    'passkey-removed': ({ productName, username, passkeyName }) => ({
      subject: `Se quitó una llave de acceso de ${productName}`,
      happened: `Se acaba de quitar una llave de acceso de tu cuenta ${username} en ${productName}: «${passkeyName}». Ya no puedes iniciar sesión con ella. Se cerró la sesión en todos los demás dispositivos.`,
      advice: 'Si no fuiste tú, elige ahora una contraseña nueva:',
    }),
    'account-disabled': ({ productName, username }) => ({
      subject: `Tu cuenta en ${productName} se desactivó`,
      happened: `Tu cuenta ${username} en ${productName} se desactivó. No se puede usar para iniciar sesión, y se cerró la sesión en todos los dispositivos.`,
      advice: 'Si no sabes por qué, consulta al administrador.',
    }),
    'account-enabled': ({ productName, username }) => ({
      subject: `Tu cuenta en ${productName} se puede volver a usar`,
      happened: `Tu cuenta ${username} en ${productName} se activó. Ya puedes volver a iniciar sesión:`,
    }),
    'account-locked-down': ({ productName, username }) => ({
      subject: `Tu cuenta en ${productName} se bloqueó`,
      happened: `Tu cuenta ${username} en ${productName} se bloqueó por seguridad. No se puede usar para iniciar sesión, se cerró la sesión en todos los dispositivos, y los enlaces y códigos que se te enviaron ya no funcionan. Los enlaces «No fui yo» siguen funcionando, salvo los que se enviaron después de cambiar la dirección de correo.`,
      advice: 'Pregunta al administrador qué ha pasado y cuándo se podrá volver a usar la cuenta.',
    }),
    'admin-session-began': ({ productName, username }) => ({
      subject: `Tu cuenta se usó como administrador de ${productName}`,
      happened: `Tu cuenta ${username} se acaba de usar como administrador de ${productName}, en un dispositivo que ha iniciado sesión con ella.`,
      advice:
        'Si fuiste tú, no tienes que hacer nada. Si no, elige ahora una contraseña nueva, lo que cierra la sesión en todos los dispositivos, y avisa a los demás administradores:',
    }),
    'factors-reset': ({ productName, username }) => ({
      subject: `La verificación en dos pasos de ${productName} se restableció`,
      happened: `Un administrador ha desactivado la verificación en dos pasos de tu cuenta ${username} en ${productName} y ha quitado sus llaves de acceso. Se cerró la sesión en todos los dispositivos.`,
      advice: 'Inicia sesión y configura ambas de nuevo. Si no lo pediste, avisa al administrador:',
    }),
    'language-changed': ({ productName, username, newLanguage, undoFor }) => ({
      subject: `Los correos sobre tu cuenta en ${productName} llegan ahora en otro idioma`,
      happened: `Desde ahora, los correos sobre tu cuenta ${username} en ${productName} se escriben en ${newLanguage}. Esto se acaba de cambiar en la página de la cuenta. Durante ${undoFor}, los avisos siguen llegando en el idioma anterior.`,
    }),
    'username-changed': ({ username, productName, formerUsername, reservedFor }) => ({
      subject: `Tu nombre de usuario en ${productName} se cambió`,
      happened: `Tu nombre de usuario en ${productName} se acaba de cambiar de ${formerUsername} a ${username}. Usa el nuevo para iniciar sesión. Durante ${reservedFor}, nadie más puede tener el anterior, y puedes volver a él.`,
    }),
    'confirm-email': ({ productName, validFor }) => ({
      subject: `Confirma tu dirección de correo nueva para ${productName}`,
      opening: `Esta dirección se escribió como nueva dirección de correo de una cuenta en ${productName}. Confírmala aquí:`,
      codeLead: 'O escribe este código en la página de la cuenta en la que pediste el cambio. Tienes cinco intentos:',
      closing: `Ambos sirven durante ${validFor}. Si no lo pediste, puedes ignorar este correo. No cambia nada.`,
    }),
    'email-taken': ({ productName }) => ({
      subject: `Esta dirección ya se usa en ${productName}`,
      happened: `Alguien, quizá tú, quiso usar esta dirección para otra cuenta en ${productName}. Es de una cuenta, o lo era hasta hace unos días. No se cambió nada.`,
      signIn: 'Inicia sesión aquí:',
      closing: 'Si no fuiste tú, no tienes que hacer nada.',
    }),
    'email-change-asked': ({ productName, username, newEmail, undoFor }) => ({
      subject: `Tu dirección de correo en ${productName} va a cambiar`,
      happened: `Se escribió una dirección de correo nueva para tu cuenta ${username} en ${productName}: ${newEmail}. Sustituirá a esta en cuanto se confirme.`,
      advice: `Si fuiste tú, no tienes que hacer nada. Si no, otra persona tiene acceso a tu cuenta. Recupera tu cuenta aquí, en un plazo de ${undoFor}. Se quita lo que se le añadió en los últimos días, se cierra la sesión en todos los dispositivos y eliges una contraseña nueva:`,
    }),
    'email-changed': ({ productName, username, newEmail, undoFor }) => ({
      subject: `Tu dirección de correo en ${productName} se cambió`,
      happened: `La dirección de correo de tu cuenta ${username} en ${productName} se acaba de cambiar a ${newEmail}. La dirección en la que lees esto ya no se usa para ella.`,
      advice: `Si no fuiste tú, recupera la cuenta aquí, en un plazo de ${undoFor}. La cuenta vuelve a tener esta dirección, se quita lo que se le añadió en los últimos días, se cierra la sesión en todos los dispositivos y eliges una contraseña nueva:`,
    }),
    'account-restored': ({ productName, username, byOperator, validFor = '' }) => ({
      subject: `Tu cuenta en ${productName} vuelve a ser tuya`,
      happened: byOperator
        ? `Un administrador te ha devuelto tu cuenta ${username} en ${productName}. Ahora tiene esta dirección de correo. Se cerró la sesión en todos los dispositivos, y se quitaron la verificación en dos pasos, las llaves de acceso y los proveedores conectados.`
        : `Tu cuenta ${username} en ${productName} se recuperó con el enlace de un correo enviado a esta dirección, que es la de la cuenta. Se cerró la sesión en todos los dispositivos, y se quitó lo que se había añadido a la cuenta en los últimos siete días. Una aplicación de autenticación que se sustituyó en ese tiempo vuelve a funcionar.`,
      choose: 'La contraseña anterior ya no funciona. Elige una nueva aquí:',
      expiry: `El enlace sirve una sola vez, durante ${validFor}. Si caducó, pide uno nuevo en la página de inicio de sesión.`,
      signIn: 'Desde ahora inicias sesión con la contraseña que se eligió allí:',
      notChosen:
        'Si no la elegiste tú, otra persona puede leer tus correos. Cambia la contraseña de tu buzón y después la de esta cuenta.',
    }),
    'email-withdrawn': ({ productName, username }) => ({
      subject: `Tu dirección de correo en ${productName} volvió a ser la anterior`,
      happened: `La cuenta ${username} en ${productName} vuelve a tener su dirección de correo anterior: se usó el enlace del correo enviado a esa dirección. La dirección en la que lees esto ya no se usa para ella, y se cerró la sesión en todos los dispositivos.`,
      advice: 'Si es un error, elige una contraseña nueva. El enlace se envía a la dirección anterior:',
    }),
    'configuration-changed': ({ productName, action, administrator, thing, added, removed, before, after, kept }) => ({
      subject: `Se ha ${configurationActions[action].done} ${thing} en ${productName}`,
      happened: `${administrator} acaba de ${configurationActions[action].toDo} ${thing} en ${productName}.`,
      added: `Añadido: ${added}`,
      removed: `Quitado: ${removed}`,
      before: `Antes: ${before}`,
      after: `Ahora: ${after}`,
      kept: `Sin cambios: ${kept}`,
      shortened:
        'Eran demasiados para mostrarlos aquí: de una lista larga solo se nombran los hosts. La página de este cambio lo contiene todo.',
      advice: `Si no sabes por qué, pregunta a ${administrator}. Quien puede cambiar una dirección de una aplicación puede entrar allí como cualquier persona. Aquí todos los administradores pueden ver este cambio y deshacerlo:`,
    }),
    'administrator-changed': ({ productName, administrator, account, accountChange, reason }) => ({
      subject: `Se ha cambiado la cuenta ${account} en ${productName}`,
      happened: `${administrator} acaba de cambiar la cuenta ${account} en ${productName}: ${accountChange}.`,
      reason: `Motivo: ${reason}`,
      advice: `Todos los administradores reciben este correo, porque ${account} es, era o pasa a ser miembro de la administración o del soporte. Si no sabes por qué se hizo, pregunta a ${administrator}. Aquí todos los administradores pueden ver este cambio:`,
    }),
    'account-deleted': ({ productName, byOperator, username }) => ({
      subject: `Tu cuenta en ${productName} se eliminó`,
      happened: byOperator
        ? `Un administrador ha eliminado tu cuenta ${username} en ${productName}, con todo lo que estaba guardado sobre ella.`
        : `Tu cuenta ${username} en ${productName} se acaba de eliminar, con todo lo que estaba guardado sobre ella. No se puede recuperar.`,
      advice: `Si no querías esto, avisa al administrador de ${productName}.`,
    }),
  },
}
