import type { RefusalWords } from './refusal-words.js'

export const es: RefusalWords = {
  language: 'es',
  refusals: {
    bad_request: 'Revisa lo que escribiste e inténtalo de nuevo.',
    not_authenticated: 'Inicia sesión para continuar.',
    invalid_csrf_token: 'Esta página ya no está al día. Vuelve a cargarla e inténtalo de nuevo.',
    cross_site: 'Esta solicitud no vino de nuestras propias páginas. Vuelve a cargar la página e inténtalo de nuevo.',
    step_up_required: 'Confirma otra vez que eres tú para continuar.',
    group_required: 'Esta cuenta no tiene acceso a esto.',
    too_many_groups:
      'Esto es demasiado largo para los grupos de tu cuenta. Elige algo más corto o consulta a tu administrador.',
    scope_required: 'Esta clave de servicio no es para esto.',
    fresh_sign_in_required: 'Confirma otra vez que eres tú para hacer este cambio.',
    not_found: 'Esto ya no existe. Vuelve a cargar la página.',
    method_not_allowed: 'Esto no es posible. Vuelve a cargar la página e inténtalo de nuevo.',
    too_large: 'Lo que escribiste es demasiado largo.',
    unsupported_media_type: 'Esto no es posible. Vuelve a cargar la página e inténtalo de nuevo.',
    expectation_failed: 'Esto no es posible. Vuelve a cargar la página e inténtalo de nuevo.',
    https_required: 'Esta conexión no estaba cifrada. Abre la página con https://.',
    unknown_host: 'Esta dirección no es de este servicio. Ábrelo en su propia dirección.',
    headers_too_large: 'Tu navegador envió demasiados datos. Borra las cookies de este sitio e inténtalo de nuevo.',
    internal: 'Algo salió mal por nuestra parte. Inténtalo de nuevo.',
    busy: 'El servicio está sobrecargado. Inténtalo de nuevo en un momento.',
    unavailable: 'El servicio no está disponible en este momento. Inténtalo de nuevo en un rato.',

    mail_is_off: 'Aquí no se envían correos. Pregunta a tu administrador.',
    too_many_logins: 'Demasiados intentos de iniciar sesión.',
    too_many_requests: 'Demasiadas solicitudes. Espera un momento.',
    too_many_attempts: 'Demasiados intentos.',

    invalid_credentials: 'El nombre de usuario, el correo o la contraseña no es correcto.',
    email_not_confirmed:
      'Primero confirma tu correo. El enlace está en el mensaje que te enviamos cuando te registraste.',

    wrong_second_factor:
      'Este código no funciona. Revisa los seis dígitos o espera a los siguientes. Si tampoco funciona, revisa la hora de tu dispositivo.',
    challenge_over: 'Este inicio de sesión tardó demasiado o ya terminó. Vuelve a iniciar sesión.',
    passkey_rejected: 'Esta llave de acceso no funciona aquí. Inténtalo de nuevo o usa otra forma.',
    too_many_passkeys: 'Tu cuenta ya tiene el máximo de llaves de acceso. Quita una primero.',
    current_password_required: 'Primero escribe tu contraseña.',
    other_browser: 'Vuelve a la ventana en la que empezaste y escribe allí el código.',
    mailed_code_required: 'Primero escribe el código del correo.',
    link_required: 'Pide a tu administrador un enlace para tu cuenta. Después podrás añadir un segundo factor.',
    enrolment_open: 'Este inicio de sesión no necesita otra prueba. Añade ahora un segundo factor.',
    not_enrolling: 'Esta cuenta tiene un segundo paso. Termina de iniciar sesión con él.',
    last_factor: 'Aquí es obligatorio un segundo paso. Añade otro antes de quitar este.',
    totp_is_on: 'La verificación en dos pasos ya está activada.',
    totp_is_off: 'La verificación en dos pasos está desactivada.',
    no_totp_begun: 'Esto tardó demasiado. Empieza de nuevo.',

    email_shape: 'Escribe una dirección de correo como nombre@example.com.',
    username_length: 'Usa de 1 a 64 caracteres.',
    username_at_sign: 'Un nombre de usuario no puede contener @.',
    username_characters: 'Usa solo letras, números y . _ -',
    username_edges: 'Empieza y termina con una letra o un número.',
    username_alphabets: 'Usa letras de un solo alfabeto.',
    other_step: 'Este inicio de sesión espera otra cosa. Vuelve a cargar la página.',
    terms_changed: 'Las condiciones han cambiado. Vuelve a cargar la página y léelas.',
    invalid_fields: 'Algunos valores no se pueden usar. Revisa los campos.',
    password_rejected: 'Esta contraseña no se puede usar. Elige otra.',

    registration_closed: 'El registro está cerrado. Pide una cuenta a tu administrador.',
    invitation_required: 'Necesitas una invitación para crear una cuenta aquí. Pídela a tu administrador.',
    invalid_invitation:
      'Esta invitación no funciona. Caducó, ya se usó o se retiró, o es para otra dirección. Pide una nueva.',
    email_domain_not_allowed: 'Las direcciones de este dominio no se pueden usar aquí.',
    username_taken: 'Este nombre de usuario ya está en uso. Elige otro.',
    too_many_usernames:
      'Has cambiado tu nombre de usuario demasiadas veces. Ahora puedes recuperar uno de los cinco últimos, o elegir uno nuevo después del {date}.',
    username_taken_since: 'Entretanto, otra persona tomó este nombre de usuario. Regístrate con otro.',
    already_registered: 'Esta dirección ya tiene una cuenta. Puedes iniciar sesión.',
    already_confirmed: 'Tu correo ya está confirmado. Puedes iniciar sesión.',
    invalid_link: 'Este enlace caducó, ya se usó o está incompleto.',
    link_replaced: 'Te enviamos un correo más reciente. Solo funciona el enlace del último correo.',
    invalid_code: 'Este código no es correcto o caducó. Revísalo o usa el enlace del correo.',
    tries_used_up: 'Has usado los cinco intentos. Abre el enlace del correo para confirmar.',
    password_required: 'Escribe la contraseña que elegiste al registrarte.',
    wrong_chosen_password: 'Esta no es la contraseña que elegiste al registrarte.',
    password_tries_used_up:
      'Has usado los cinco intentos para la contraseña. Abre el enlace en el navegador en el que te registraste.',
    no_registration_waiting:
      'En este navegador no hay ningún registro pendiente. Abre el enlace de tu correo. O inicia sesión con la contraseña que elegiste, y podremos enviarte el correo de nuevo.',

    wrong_current_password: 'Esta no es tu contraseña actual.',
    password_unchanged: 'Elige una contraseña distinta. Esta es la que ya tienes.',

    other_username: 'Este no es tu nombre de usuario. No se eliminó nada.',
    email_taken: 'Otra cuenta tiene esta dirección. Elige otra.',
    wrong_mailed_code: 'Este no es el código de nuestro último correo. Revísalo e inténtalo de nuevo.',
    mailed_code_void: 'Este código caducó o ya se usaron los cinco intentos. Pide un correo nuevo.',

    unknown_device_code: 'Este código no se conoce, ya se usó o caducó. Tu dispositivo puede mostrar uno nuevo.',
    unknown_application: 'Este sitio no conoce la aplicación que te envió aquí.',
    redirect_not_registered:
      'La aplicación quiere que vuelvas a una dirección que no está registrada para ella. Por tu seguridad, no te enviamos allí.',
    reason_required: 'Di por qué lo haces: se muestra con el evento.',
    own_account: 'Aquí no puedes cambiar tu propia cuenta.',
    administrators_account: 'Solo los administradores pueden cambiar la cuenta de un administrador.',
    no_group: 'No hay ningún grupo con este nombre.',
    group_in_use: 'Una aplicación o un ajuste del servicio nombra este grupo. Cambia eso primero.',
    group_has_members: 'Este grupo tiene miembros, que lo perderían.',
    group_of_administrators:
      'Una invitación no convierte a nadie en administrador. Añade al usuario al grupo más tarde.',
    account_disabled: 'Esta cuenta está desactivada. Actívala primero.',
    address_not_proven: 'La dirección de esta cuenta nunca se confirmó.',
    locked_down: 'Esta cuenta se bloqueó por seguridad. Solo un administrador puede devolverla a su dueño.',
    too_many_mails:
      'Esta dirección ya recibió todos los correos de este tipo que puede recibir por ahora. Inténtalo más tarde.',
    has_account: 'Esta dirección ya tiene una cuenta. Solo se la puede invitar a grupos.',
    email_reserved:
      'Esta dirección todavía no se puede registrar: queda reservada para la cuenta que la tuvo en los últimos siete días.',

    already_linked: 'Ya hay otra cuenta de {provider} conectada. Desconéctala primero.',
    last_way_in: 'Esta es tu única forma de iniciar sesión. Añade otra primero.',
    provider_unavailable: 'No se puede acceder a {provider}. Inténtalo de nuevo en un momento.',
    nothing_to_link: 'Esto tardó demasiado o empezó en otro navegador. Conecta {provider} de nuevo.',
    link_of_another_session: 'Entretanto has vuelto a iniciar sesión. Conecta {provider} de nuevo.',
    link_used_before: 'Este paso ya se hizo. Si {provider} no está conectado, inténtalo de nuevo.',
    link_disabled: 'Esta cuenta está desactivada. Consulta a tu administrador.',
    link_other_identity: 'Ya hay otra cuenta de {provider} conectada. Desconéctala primero.',
    link_identity_taken: 'Esta cuenta de {provider} ya está conectada a otra cuenta de aquí.',
    link_email_taken: 'La dirección de correo de esta cuenta de {provider} ya es de otra cuenta de aquí.',
    link_registration_closed: 'El registro está cerrado, así que no se pudo conectar {provider}.',
  },
  failures: {
    offline: 'No se puede acceder al servicio. Revisa tu conexión e inténtalo de nuevo.',
    unavailable: 'El servicio no está disponible en este momento. Inténtalo de nuevo en un rato.',
    unexpected: 'Algo salió mal. Inténtalo de nuevo.',
    reference: '(Referencia: {reference})',
  },
  tryAgainIn: 'Inténtalo de nuevo dentro de {time}.',
}
