import { Type } from 'typebox'
import { longestName } from '../contract/name-lengths.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { ProfileFieldChanges } from '../contract/profile-fields.js'
import {
  Accepted,
  SecondFactorNeeded,
  SendingApplication,
  SignedIn,
  TypedPassword,
  TypedUsername,
  withRequiredUsername,
} from '../contract/schemas.js'
import { usernameRefusals } from '../contract/usernames.js'
import { route, type Server, withHeaders } from '../http/route.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { Reservation } from '../platform/cache/cache.js'
import type { App } from '../service/open-http.js'
import type { Visit } from '../sessions/session-facts.js'
import { sendSignInStep } from '../sign-in/answers.js'
import { displayName, type Email, readChosenUsername, readEmail, usernameFromEmail } from '../users/names.js'
import type { NewUser } from '../users/new-users.js'

type NewRegistration = {
  /** Undefined only if the username is made from the address (USERNAMES). */
  username?: string | undefined
  email: string
  password: string
  name?: string | undefined
  fields?: ProfileFieldChanges | undefined
  /** The version of the terms that the user has seen and agreed to. */
  terms?: string | undefined
  invite?: string | undefined
  /** The secret of the registration that this browser began before. */
  formerBrowserToken?: string | undefined
  /** The id of the application that has sent the user here. */
  application?: string | undefined
  /** Whether the user is signed in at once, if the invitation proves the address. With one that was printed, every user is. */
  signIn?: boolean | undefined
}

/** Each counts, so it is called when everything before it is right. */
type Counting = {
  /** Counts a registration without an invitation. Undefined if it may go on. */
  findExcess: () => Promise<Reservation | undefined>
  /** Counts a mail, and says whether it may be sent. */
  mayMail: () => Promise<boolean>
}

/** The refusal is the same for every invitation that does not work, also if the address has an account. */
const findInvitation = async ({ invitations, mails }: App, token: string, email: Email) => {
  const invitation = await invitations.find(token)
  if (invitation?.key !== email.key) return refuse('invalid_invitation')
  // The invitation proves only the exact spelling, because another one may be another mailbox.
  const provesAddress = invitation.provesAddress && invitation.email === email.email
  // Where nothing is mailed, an address that the link has not proven could never be confirmed.
  if (mails.isOff && !provesAddress && !invitation.isPrinted) return refuse('mail_is_off')
  return { provesAddress, isPrinted: invitation.isPrinted }
}

/** What the form says, as a user who may register, or why not. The order of the checks decides what the answers tell about accounts. */
const readForm = async (app: App, request: NewRegistration, { client }: Visit) => {
  const { registrationGate: gate, usernames, passwords, profileFields, terms } = app
  const { invite } = request
  const closedRefusal = invite === undefined ? gate.refusalForAll() : undefined
  if (closedRefusal) return closedRefusal
  const email = readEmail(request.email)
  if (isRefused(email)) return email
  // The address and the invitation are checked before accounts are looked up, so that a refusal says nothing about accounts.
  const invitation = invite === undefined ? gate.refusalForAddress(email) : await findInvitation(app, invite, email)
  if (isRefused(invitation)) return invitation
  const username = request.username === undefined ? usernameFromEmail(email) : readChosenUsername(request.username)
  const name = displayName(request.name)
  if (isRefused(username)) return username
  if (request.terms !== undefined && request.terms !== terms.version) return refuse('terms_changed')
  const fields = profileFields.initialValues(request.fields)
  if (isRefused(fields)) return fields
  // The username is checked before the password: the page finds the faults of the password by another request, and so can show all problems
  // at once. A username that is made from the address is not checked, because a free one is found when the account is created.
  if (request.username !== undefined && !(await usernames.mayBeChosen(username))) return refuse('username_taken')
  const person = { username: username.username, email: email.email, name }
  const rejected = await passwords.refusalFor(request.password, person, client)
  if (rejected) return rejected
  const { provesAddress = false, isPrinted = false } = invitation ?? {}
  return { user: { email, username, name, fields }, provesAddress, isPrinted }
}

/**
 * Begins a registration and returns the secret for this browser. An email that has an account is handled in the same way and time; only its
 * owner sees the difference, in the mail. With the mailed link of an invitation, the registration is finished at once if the request asks
 * for it. With a printed one it always is.
 */
const register = async (app: App, request: NewRegistration, visit: Visit, { findExcess, mayMail }: Counting) => {
  const { passwords, registrations, mails } = app
  const { client } = visit
  const { invite, formerBrowserToken, application: applicationId, terms: agreedTerms } = request
  const form = await readForm(app, request, visit)
  if (isRefused(form)) return form
  const excess = invite === undefined ? await findExcess() : undefined
  if (excess) return refuse('too_many_requests', { excess })
  const passwordHash = await passwords.hash(request.password, client)
  if (isRefused(passwordHash)) return passwordHash

  const user = { ...form.user, passwordHash }
  const { provesAddress, isPrinted } = form
  if (invite !== undefined && (isPrinted || (provesAddress && (request.signIn || mails.isOff))))
    return enterInvited(app, user, visit, { invite, isPrinted, agreedTerms })

  // The same rows are written for an email that has an account, but writing its mail may take a different time.
  const withheld = !(await mayMail())
  const options = { invite, formerBrowserToken, withheld, applicationId, agreedTerms }
  const registering = registrations.begin(user, client, options)
  return { browserToken: await takeAtLeast(minResponseTime, registering) }
}

/**
 * Creates the account at once and signs its user in, because nothing is left to confirm: the link of the invitation was mailed to the
 * address and has proven it, or it was printed and the address stays unproven.
 */
const enterInvited = async (
  { registrations, completeRegistration, signIns, events }: App,
  user: NewUser,
  visit: Visit,
  details: { invite: string; isPrinted: boolean; agreedTerms: string | undefined },
) => {
  const { isPrinted } = details
  const pending = await registrations.beginProven(user, visit.client, details)
  const completed = await completeRegistration(pending, { provenBy: isPrinted ? 'nothing' : 'invitation' })
  if (isRefused(completed)) {
    const { refused } = completed
    if (refused === 'username_taken_since') return refuse('username_taken')
    // A mailed link proves the mailbox, so its visitor may know that the address has an account.
    return refuse(refused === 'already_registered' && !isPrinted ? 'already_registered' : 'invalid_invitation')
  }
  await events.record({ kind: 'invitation_used', userId: completed.user.id }, visit.client)
  const outcome = await signIns.byRegistration(completed.user, visit)
  return outcome ? { outcome, isPrinted } : refuse('already_registered')
}

const Registration = Type.Object({
  username: Type.Optional(TypedUsername),
  // The schema allows more than an email may have, so that the rule for emails gives the refusal.
  email: Type.String({ maxLength: 1024 }),
  password: TypedPassword,
  name: Type.Optional(Type.String({ maxLength: longestName })),
  fields: Type.Optional(ProfileFieldChanges),
  terms: Type.Optional(Type.String({ maxLength: 64, description: 'The version that the user agrees to' })),
  invite: Type.Optional(Type.String({ maxLength: 1024, description: 'The token of an invitation for this address' })),
  application: Type.Optional(SendingApplication),
  signIn: Type.Optional(
    Type.Boolean({
      description:
        'With the mailed link of an invitation for exactly this address: the account is created at once, and its user is signed in',
    }),
  ),
})

const signedInCookies = 'access_token, refresh_token and known_device'

export const registerRoutes = (server: Server, app: App) => {
  const { usernameSource, limits, mailLimits, ceilings, cookies, signInCookies } = app

  route(server, 'POST /api/auth/register', {
    guard: [limits.beforeSignIn.registration],
    tag: 'registration',
    summary: 'Register; the account is created when the email is confirmed',
    description:
      '200: the mailed link of an invitation has proven the address. 201: the invitation was printed for an operator, so the account is there at once and its address stays unproven.',
    body: withRequiredUsername(Registration, usernameSource),
    refuses: [
      'bad_request',
      'email_shape',
      ...usernameRefusals,
      'mail_is_off',
      'registration_closed',
      'invitation_required',
      'invalid_invitation',
      'email_domain_not_allowed',
      'cross_site',
      'username_taken',
      'already_registered',
      'password_rejected',
      'invalid_fields',
      'terms_changed',
      'busy',
      'unavailable',
    ],
    answers: {
      200: withHeaders(SignedIn, { 'Set-Cookie': signedInCookies }),
      201: withHeaders(SignedIn, { 'Set-Cookie': signedInCookies }),
      202: withHeaders(Type.Union([Accepted, SecondFactorNeeded]), {
        'Set-Cookie':
          'registration, which ties this browser to the registration; or challenge, if the account was created at once and a step is missing',
      }),
    },
    config: { countsIn: ['network_mails', 'total_registrations', 'total_mails', 'total_newcomer_mails'] },
    handle: async ({ body, request, reply }) => {
      const counting = {
        findExcess: () => ceilings.findExcess('total_registrations', request),
        mayMail: () => mailLimits.mayMailStranger(request, body.invite === undefined ? 'newcomer' : 'visitor'),
      }
      const formerBrowserToken = cookies.read(request, 'registration')
      const result = await register(app, { ...body, formerBrowserToken }, signInCookies.visitOf(request, {}), counting)
      if (isRefused(result))
        return result.refused === 'too_many_requests'
          ? ceilings.answerExcess(reply, 'total_registrations', result.excess)
          : result
      if ('outcome' in result) {
        if (formerBrowserToken !== undefined) cookies.clear(reply, 'registration')
        return sendSignInStep(result.isPrinted ? reply.status(201) : reply, app, result.outcome)
      }
      cookies.set(reply, 'registration', result.browserToken)
      reply.status(202)
      // The body is the same in every case, so it does not show whether the email has an account.
      return { message: 'Check your mail to finish the registration' }
    },
  })
}
