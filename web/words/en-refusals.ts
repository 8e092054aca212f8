import type { RefusalCode } from '../../src/contract/refusals.js'

/** What a user reads when the service refuses something. A code without a sentence does not compile. */
export const refusals: Record<RefusalCode, string> = {
  bad_request: 'Please check what you entered and try again.',
  not_authenticated: 'Sign in to continue.',
  invalid_csrf_token: 'This page is out of date. Reload it and try again.',
  cross_site: 'This request did not come from our own pages. Reload the page and try again.',
  step_up_required: 'Confirm again that it is you to continue.',
  fresh_sign_in_required: 'Confirm again that it is you to make this change.',
  not_found: 'This does not exist any more. Reload the page.',
  method_not_allowed: 'This is not supported. Reload the page and try again.',
  too_large: 'What you entered is too long.',
  unsupported_media_type: 'This is not supported. Reload the page and try again.',
  expectation_failed: 'This is not supported. Reload the page and try again.',
  unknown_host: 'This address does not belong to this service. Open it by its own address.',
  headers_too_large: 'Your browser sent too much data. Delete the cookies of this site and try again.',
  internal: 'Something went wrong on our side. Please try again.',
  busy: 'The service is overloaded. Please try again in a moment.',
  unavailable: 'The service is not available at the moment. Please try again shortly.',

  too_many_logins: 'Too many sign-in attempts.',
  too_many_requests: 'Too many requests. Please wait a moment.',
  too_many_attempts: 'Too many attempts.',

  invalid_credentials: 'Username, email or password is incorrect.',
  email_not_confirmed: 'Confirm your email first. The link is in the email that we sent you when you registered.',

  wrong_second_factor: 'This code does not work. Check the clock of your device, and use each code only once.',
  challenge_over: 'This sign-in took too long or was finished already. Please sign in again.',
  passkey_rejected: 'This passkey does not work here. Try again, or use another way.',
  too_many_passkeys: 'Your account has as many passkeys as it can have. Remove one first.',
  mailed_code_required: 'Enter the code from the mail first.',
  not_enrolling: 'This account has a second step. Finish the sign-in with it.',
  last_factor: 'A second step is required here. Add another one before you remove this one.',
  totp_is_on: 'Two-step sign-in is already on.',
  totp_is_off: 'Two-step sign-in is off.',
  no_totp_begun: 'This took too long. Please begin again.',

  email_shape: 'Enter an email address like name@example.com.',
  username_length: 'Use 1 to 64 characters.',
  username_at_sign: 'A username cannot contain @.',
  username_characters: 'Use letters, digits and . _ - only.',
  username_edges: 'Begin and end with a letter or a digit.',
  username_alphabets: 'Use letters of one alphabet only.',
  password_rejected: 'This password cannot be used. Please choose another.',

  registration_closed: 'Registration is closed. Ask your administrator for an account.',
  invitation_required: 'You need an invitation to create an account here. Ask your administrator for one.',
  invalid_invitation:
    'This invitation does not work. It has expired, was already used or withdrawn, or is for another address. Ask for a new one.',
  email_domain_not_allowed: 'Addresses of this domain cannot be used here.',
  username_taken: 'This username is taken. Please choose another.',
  too_many_usernames:
    'You have changed your username too often. You can take back one of your last five now, or choose a new one after {date}.',
  username_taken_since: 'Another user has taken this username in the meantime. Please register with another one.',
  already_registered: 'This address already has an account. You can sign in.',
  already_confirmed: 'Your email is already confirmed. You can sign in.',
  invalid_link: 'This link has expired, was already used, or is incomplete.',
  link_replaced: 'We have sent you a newer email. Only the link in the newest email works.',
  invalid_code: 'This code is wrong or has expired. Check it, or use the link in the email.',
  tries_used_up: 'You have used all five attempts. Open the link in the email to confirm.',
  password_required: 'Enter the password that you chose when you registered.',
  wrong_chosen_password: 'This is not the password that you chose when you registered.',
  password_tries_used_up:
    'You have used all five attempts for the password. Open the link in the browser where you registered.',
  no_registration_waiting:
    'There is no registration waiting in this browser. Open the link in your email. Or sign in with the password that you chose, and we can send the email again.',

  wrong_current_password: 'This is not your current password.',
  password_unchanged: 'Choose a different password. This is your current one.',

  other_username: 'This is not your username. Nothing was deleted.',
  email_taken: 'Another account has this address. Choose another one.',
  wrong_mailed_code: 'This is not the code of our newest email. Check it and try again.',
  mailed_code_void: 'This code has expired, or all five attempts are used up. Ask for a new email.',

  already_linked: 'Another {provider} account is already connected. Disconnect it first.',
  last_way_in: 'This is your only way to sign in. Add another one first.',
  provider_unavailable: '{provider} cannot be reached. Please try again in a moment.',
  nothing_to_link: 'This took too long, or it was started in another browser. Please connect {provider} again.',
  link_of_another_session: 'You have signed in again in the meantime. Please connect {provider} again.',
  link_used_before: 'This step was already done. If {provider} is not connected, please try again.',
  link_disabled: 'This account is disabled. Ask your administrator.',
  link_other_identity: 'Another {provider} account is already connected. Disconnect it first.',
  link_identity_taken: 'This {provider} account is already connected to another account here.',
  link_email_taken: 'The email address of this {provider} account already belongs to another account here.',
  link_registration_closed: 'Registration is closed, so {provider} could not be connected.',
}
