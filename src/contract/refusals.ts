import { limitTitles } from './limits.js'

/** Refusals that only administrators get, and programs with a service key. */
export const operatorRefusals = {
  reason_required: {
    status: 400,
    error: 'Reason required',
    message: 'Say why you do this, for those who read its event',
  },
  own_account: {
    status: 409,
    error: 'Own account',
    message: 'Administrators cannot change their own account here',
  },
  administrators_account: {
    status: 403,
    error: 'Account of an administrator',
    message: 'Only administrators can change the account of an administrator',
  },
  no_group: { status: 409, error: 'No such group', message: 'There is no group with this name' },
  group_in_use: {
    status: 409,
    error: 'Group in use',
    message: 'An application or a setting names this group. Change that first.',
  },
  group_has_members: {
    status: 409,
    error: 'Group has members',
    message: 'This group has members, who would lose it',
  },
  group_of_administrators: {
    status: 409,
    error: 'Group of administrators',
    message: 'An invitation does not make administrators. Add the user to the group later.',
  },
  account_disabled: {
    status: 409,
    error: 'Account disabled',
    message: 'This account is disabled. Enable it first.',
  },
  address_not_proven: {
    status: 409,
    error: 'Address not proven',
    message: 'Nobody has proven the address of this account, so no link is mailed to it',
  },
  locked_down: {
    status: 409,
    error: 'Locked down',
    message: 'This account was locked down. Only an administrator can give it back to its owner.',
  },
  too_many_mails: {
    status: 409,
    error: 'Too many mails',
    message: 'This address has got as many of these mails as it may get for now',
  },
  has_account: {
    status: 409,
    error: 'Has an account',
    message: 'This address has an account. It can only be invited to groups.',
  },
  set_by_file: {
    status: 409,
    error: 'Set by a file',
    message: 'A configuration file sets this. Change it there, and apply the file.',
  },
  set_by_environment: {
    status: 409,
    error: 'Set by the environment',
    message: 'A variable of the environment sets this. Change it there, and restart the service.',
  },
  changed_meanwhile: {
    status: 412,
    error: 'Changed meanwhile',
    message: 'This was changed since you read it. Read it again.',
  },
  applications_off: {
    status: 403,
    error: 'Switched off',
    message: 'ADMIN_APPLICATIONS=off: only the command line and configuration files change this',
  },
  invalid_configuration: {
    status: 422,
    error: 'Invalid configuration',
    message: 'This value cannot be used',
  },
  name_taken: {
    status: 409,
    error: 'Name taken',
    message: 'Another one has this name',
  },
  origin_taken: {
    status: 409,
    error: 'Site taken',
    message: 'Another application has this site',
  },
  id_taken: {
    status: 409,
    error: 'Id taken',
    message: 'Another application has this id',
  },
  resource_taken: {
    status: 409,
    error: 'Resource taken',
    message: 'Another resource has this address or this name',
  },
  too_many_secrets: {
    status: 409,
    error: 'Too many secrets',
    message: 'An application has two secrets at most. Remove the older one first.',
  },
  last_secret: {
    status: 409,
    error: 'Last secret',
    message: 'The only secret of an application stays. Add another one first.',
  },
  has_no_secret: {
    status: 409,
    error: 'No secrets',
    message: 'Only an application of the kind web has secrets',
  },
  not_changed_back: {
    status: 409,
    error: 'Cannot be changed back',
    message:
      'What this event is about cannot be changed back: a removed secret was not kept, or there is nothing to change back',
  },
  email_reserved: {
    status: 409,
    error: 'Address reserved',
    message: 'This address cannot be registered yet: it is kept for the account that had it in the last seven days',
  },
} as const

/** How a refusal looks on the wire. `error` and the code are for programs, `message` is for people. */
export type Refusal = { status: number; error: string; message: string; retryAfter?: number }

/**
 * Every refusal that the API can give, by its stable code. Codes are part of the public contract: a code may be added, but not renamed,
 * and never means something else. A 429 has no code in its body: the specification fixes these three bodies, and a program knows them
 * by their title (`codeOfLimit`).
 */
export const refusals = {
  // Any request
  bad_request: { status: 400, error: 'Bad request', message: 'The request could not be understood' },
  not_authenticated: { status: 401, error: 'Not authenticated', message: 'Sign in to continue' },
  device_proof_missing: {
    status: 401,
    error: 'Not authenticated',
    message: 'This session is bound to a device, and its key did not answer. Sign in again.',
  },
  device_proof_required: {
    status: 403,
    error: 'Proof required',
    message: 'Sign the challenge with the key of the session',
  },
  session_bound: { status: 409, error: 'Session bound', message: 'This session is bound to a device already' },
  invalid_csrf_token: { status: 403, error: 'Invalid CSRF token', message: 'Reload the page and try again' },
  cross_site: { status: 403, error: 'Cross-site request', message: 'This request must come from our own pages' },
  step_up_required: { status: 403, error: 'Step-up required', message: 'Confirm again that it is you' },
  not_protected: { status: 403, error: 'Not protected', message: 'No application is registered for this address' },
  group_required: {
    status: 403,
    error: 'Group required',
    message: 'This account has no access to this',
  },
  too_many_groups: {
    status: 409,
    error: 'Too many groups',
    message:
      'With this, the access tokens of the account would be too long. Fewer groups, or groups with shorter names, would fit.',
  },
  scope_required: {
    status: 403,
    error: 'Scope required',
    message: 'This service key is not for this',
  },
  fresh_sign_in_required: {
    status: 403,
    error: 'Fresh sign-in required',
    message: 'Confirm again that it is you before you change this',
  },
  not_found: { status: 404, error: 'Not found', message: 'There is nothing at this address' },
  method_not_allowed: {
    status: 405,
    error: 'Method not allowed',
    message: 'This address does not take that method',
  },
  too_large: { status: 413, error: 'Too large', message: 'The request is larger than 16 KB' },
  https_required: {
    status: 403,
    error: 'HTTPS required',
    message: 'Use https. This request was not encrypted: replace the secrets that it carried.',
  },
  unknown_host: {
    status: 421,
    error: 'Unknown host',
    message:
      'Outside production the service answers for localhost, IP addresses and the host of PUBLIC_URL only. DEVELOPMENT_HOSTS adds other names.',
  },
  unsupported_media_type: { status: 415, error: 'Unsupported media type', message: 'Send application/json' },
  expectation_failed: { status: 417, error: 'Expectation failed', message: 'This expectation is not supported' },
  headers_too_large: { status: 431, error: 'Headers too large', message: 'The request headers are too large' },
  internal: { status: 500, error: 'Internal error', message: 'Something went wrong on our side' },
  busy: { status: 503, error: 'Busy', message: 'The service is overloaded. Try again shortly.', retryAfter: 2 },
  unavailable: { status: 503, error: 'Temporarily unavailable', message: 'Try again in a moment', retryAfter: 5 },

  mail_is_off: {
    status: 403,
    error: 'Mail is off',
    message: 'No mails are sent here. Ask your administrator.',
  },

  // Limits
  too_many_logins: {
    status: 429,
    error: limitTitles.too_many_logins,
    message: 'Please try again after 15 minutes',
    retryAfter: 900,
  },
  too_many_requests: { status: 429, error: limitTitles.too_many_requests, message: 'Please slow down' },
  too_many_attempts: {
    status: 429,
    error: limitTitles.too_many_attempts,
    message: 'Account temporarily locked. Try again in 1 hour.',
  },

  // Signing in
  invalid_credentials: {
    status: 401,
    error: 'Invalid credentials',
    message: 'Username or password is incorrect',
  },
  email_not_confirmed: { status: 403, error: 'Email not confirmed', message: 'Confirm your email first' },

  other_browser: {
    status: 409,
    error: 'Other browser',
    message: 'Go back to the window where you started, and enter the code of the mail there',
  },

  // The second step of a sign-in
  wrong_second_factor: {
    status: 401,
    error: 'Invalid code',
    message: 'This code does not work. Check the clock of your device, and use each code once.',
  },
  challenge_over: {
    status: 401,
    error: 'Sign-in expired',
    message: 'This sign-in has expired or was finished. Sign in again.',
  },
  passkey_rejected: {
    status: 401,
    error: 'Invalid passkey',
    message: 'This passkey does not work here. Try again, or use another way.',
  },
  too_many_passkeys: {
    status: 409,
    error: 'Too many passkeys',
    message: 'Remove a passkey before you add another one',
  },
  too_many_tokens: {
    status: 409,
    error: 'Too many tokens',
    message: 'End a token before you make another one',
  },
  token_refused: {
    status: 403,
    error: 'Token refused',
    message: 'This token is not for this application',
  },
  mailed_code_required: {
    status: 403,
    error: 'Mailed code required',
    message: 'Enter the code that is mailed to you before you add a second factor',
  },
  current_password_required: {
    status: 403,
    error: 'Password required',
    message: 'Enter your password before you add a second factor',
  },
  link_required: {
    status: 403,
    error: 'Link required',
    message: 'Ask your administrator for a link before you add a second factor',
  },
  enrolment_open: {
    status: 409,
    error: 'Nothing to prove',
    message: 'This sign-in needs no further proof before you add a second factor. Add it now.',
  },
  not_enrolling: {
    status: 409,
    error: 'No enrolment',
    message: 'This account has a second factor. Finish the sign-in with it.',
  },
  last_factor: {
    status: 409,
    error: 'Last factor',
    message: 'A second factor is required here. Add another one before you remove this one.',
  },
  totp_is_on: {
    status: 409,
    error: 'Already on',
    message: 'Two-step sign-in is on. Replace the app, or switch it off first.',
  },
  totp_is_off: { status: 409, error: 'Not on', message: 'Two-step sign-in is off' },
  no_totp_begun: {
    status: 409,
    error: 'Nothing to confirm',
    message: 'This session began no two-step sign-in, or it took too long. Begin again.',
  },

  // Values that users enter
  email_shape: { status: 400, error: 'Bad request', message: 'Email must be an address like name@example.com' },
  username_length: { status: 400, error: 'Bad request', message: 'Username must have 1 to 64 characters' },
  username_at_sign: { status: 400, error: 'Bad request', message: 'Username must not contain @' },
  username_characters: {
    status: 400,
    error: 'Bad request',
    message: 'Username must not contain spaces, invisible characters, or signs other than . _ -',
  },
  username_edges: {
    status: 400,
    error: 'Bad request',
    message: 'Username must begin and end with a letter or a digit',
  },
  username_alphabets: { status: 400, error: 'Bad request', message: 'Username must not mix alphabets' },
  other_step: { status: 409, error: 'Other step', message: 'This sign-in waits for something else' },
  terms_changed: {
    status: 409,
    error: 'Terms changed',
    message: 'The terms have another version. Read them again.',
  },
  invalid_fields: { status: 422, error: 'Invalid fields', message: 'Some of the values cannot be used' },
  password_rejected: { status: 422, error: 'Password rejected', message: 'Choose another password' },

  // Registering and confirming the email
  registration_closed: { status: 403, error: 'Registration closed', message: 'Ask your administrator for an account' },
  invitation_required: {
    status: 403,
    error: 'Invitation required',
    message: 'A new account needs an invitation. Ask your administrator for one.',
  },
  invalid_invitation: {
    status: 403,
    error: 'Invalid invitation',
    message: 'This invitation does not work: it has expired, was used or withdrawn, or is for another address',
  },
  email_domain_not_allowed: {
    status: 403,
    error: 'Address not allowed',
    message: 'Addresses of this domain cannot be used here',
  },
  username_taken: { status: 409, error: 'Username taken', message: 'Choose another username' },
  too_many_usernames: {
    status: 409,
    error: 'Too many usernames',
    message: 'Five former usernames are reserved for you. Take one of them back, or wait until one is free.',
  },
  username_taken_since: {
    status: 409,
    error: 'Username taken',
    message: 'Another user has taken this username. Register with another one.',
  },
  already_registered: {
    status: 409,
    error: 'Already registered',
    message: 'This address has an account. Sign in.',
  },
  already_confirmed: {
    status: 409,
    error: 'Already confirmed',
    message: 'This address is confirmed. Sign in.',
  },
  invalid_link: {
    status: 400,
    error: 'Invalid or expired link',
    message: 'This link has expired or was already used.',
  },
  link_replaced: {
    status: 400,
    error: 'Link replaced',
    message: 'A newer mail was sent since. Use the link in that one.',
  },
  invalid_code: {
    status: 400,
    error: 'Invalid code',
    message: 'This code does not work. Check it, or use the link in the mail.',
  },
  tries_used_up: {
    status: 400,
    error: 'Invalid code',
    message: 'All five tries for the code are used up. Use the link in the mail.',
  },
  password_required: {
    status: 401,
    error: 'Password required',
    message: 'Enter the password that you chose',
  },
  wrong_chosen_password: {
    status: 401,
    error: 'Invalid credentials',
    message: 'That is not the password that was chosen',
  },
  password_tries_used_up: {
    status: 400,
    error: 'Invalid or expired link',
    message: 'All five tries for the password are used up. Open the link in the browser where you registered.',
  },
  no_registration_waiting: {
    status: 400,
    error: 'No registration waiting',
    message: 'This browser began no registration that could be confirmed. Register again.',
  },

  // The first start
  invalid_setup_token: {
    status: 403,
    error: 'Invalid setup link',
    message:
      'This link is wrong or has expired. A start of the service logs a new one; latchkey setup-link prints one.',
  },
  already_set_up: {
    status: 410,
    error: 'Already set up',
    message:
      'There is an account, so the setup is over. If there is no administrator yet, put a user into the group that ADMIN_GROUP names: latchkey user groups USER --add GROUP',
  },
  admin_group_needed: {
    status: 409,
    error: 'ADMIN_GROUP needed',
    message:
      'The group administrators was made before, for something else. Set ADMIN_GROUP to the name of a group for administrators, restart the service, and open the link again.',
  },

  // Changing the password
  wrong_current_password: {
    status: 401,
    error: 'Invalid credentials',
    message: 'The current password is incorrect',
  },
  password_unchanged: {
    status: 409,
    error: 'Password unchanged',
    message: 'The new password is the current one. Choose a different password.',
  },

  // Changing the email
  email_taken: {
    status: 409,
    error: 'Email taken',
    message: 'Another account has this address. Choose another one.',
  },

  // Deleting the account
  other_username: {
    status: 400,
    error: 'Other username',
    message: 'This is not your username. Nothing was deleted.',
  },

  // Proving the identity again
  wrong_mailed_code: {
    status: 401,
    error: 'Invalid code',
    message: 'This is not the code of the newest mail. Check it and try again.',
  },
  mailed_code_void: {
    status: 401,
    error: 'Invalid code',
    message: 'No code works any more: it has expired, or all five tries are used up. Ask for a new mail.',
  },

  // Requests of applications
  unknown_device_code: {
    status: 404,
    error: 'Unknown code',
    message: 'This code is not known, was used, or has expired. Your device can show a new one.',
  },
  unknown_application: {
    status: 400,
    error: 'Unknown application',
    message: 'No application with this client_id may sign its users in here',
  },
  program_not_allowed: {
    status: 400,
    error: 'Program not allowed',
    message: 'Programs of this address are not allowed here',
  },
  program_document_refused: {
    status: 400,
    error: 'Document not usable',
    message: 'The document of this program cannot be read, or says something else than it must',
  },
  redirect_not_registered: {
    status: 400,
    error: 'Unknown redirect address',
    message: 'The application has sent a redirect_uri that is not registered for it',
  },

  ...operatorRefusals,

  // Linked providers
  already_linked: {
    status: 409,
    error: 'Already linked',
    message: 'Remove the account that is linked at this provider first',
  },
  last_way_in: {
    status: 409,
    error: 'Last way in',
    message: 'Add another way to sign in before you remove this one',
  },
  provider_unavailable: {
    status: 503,
    error: 'Provider unavailable',
    message: 'The provider cannot be reached. Try again in a moment.',
    retryAfter: 5,
  },
  nothing_to_link: {
    status: 409,
    error: 'Not linked',
    message: 'Nothing waits to be linked. Start again from the account page.',
  },
  link_of_another_session: {
    status: 409,
    error: 'Not linked',
    message: 'Another session began this. Start again from the account page.',
  },
  link_used_before: { status: 409, error: 'Not linked', message: 'This was finished before' },
  link_disabled: { status: 409, error: 'Not linked', message: 'This account cannot be used' },
  link_other_identity: {
    status: 409,
    error: 'Not linked',
    message: 'Another account at this provider is linked already',
  },
  link_identity_taken: {
    status: 409,
    error: 'Not linked',
    message: 'This account at the provider belongs to another user',
  },
  link_email_taken: {
    status: 409,
    error: 'Not linked',
    message: 'The email address of this account belongs to another user',
  },
  link_registration_closed: { status: 409, error: 'Not linked', message: 'Registration is closed' },
} as const satisfies Record<string, Refusal>

export type RefusalCode = keyof typeof refusals

export const refusalCodes = Object.keys(refusals) as RefusalCode[]

export const isRefusalCode = (code: unknown): code is RefusalCode =>
  typeof code === 'string' && Object.hasOwn(refusals, code)
