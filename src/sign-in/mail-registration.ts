import type { MailRegistration } from '../contract/mailed-links.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { ProfileFieldChanges } from '../contract/profile-fields.js'
import type { TermsOfUse } from '../contract/schemas.js'

import type { Events } from '../messages/events.js'
import type { Reservation } from '../platform/cache/cache.js'
import { displayName, type Email, readChosenUsername, type Username, usernameFromEmail } from '../users/names.js'
import type { NewUsers } from '../users/new-users.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { Usernames } from '../users/usernames.js'

import type { CompleteMailRegistration } from './complete-mail-registration.js'
import type { MailSignIns } from './mail-sign-ins.js'
import type { SignIns, Visit } from './sign-ins.js'

type RegistrationForm = {
  /** Undefined only if the username is made from the address (USERNAMES). */
  username?: string | undefined
  name?: string | undefined
  fields?: ProfileFieldChanges | undefined
  /** The version of the terms that the user has seen and agreed to. */
  terms?: string | undefined
}

type FindExcess = (email: Email) => Promise<Reservation | undefined>

type Dependencies = {
  mailSignIns: Pick<MailSignIns, 'findProven'>
  completeMailRegistration: CompleteMailRegistration
  newUsers: Pick<NewUsers, 'freeUsername' | 'withFreeUsername'>
  usernames: Pick<Usernames, 'mayBeChosen'>
  profileFields: Pick<ProfileFields, 'initialValues' | 'definitions'>
  termsOfUse: TermsOfUse | undefined
  signIns: Pick<SignIns, 'byMail'>
  events: Pick<Events, 'record'>
}

/** Creates the account of an address that was proven by a mail. The account has no password. */
export const createMailRegistration = (deps: Dependencies) => {
  const { mailSignIns, completeMailRegistration, newUsers, usernames, profileFields, termsOfUse, signIns, events } =
    deps

  return {
    /** Describes the registration for the form, in the browser that has proven the address. */
    describe: async (browserToken: string): Promise<MailRegistration | undefined> => {
      const email = await mailSignIns.findProven(browserToken)
      if (!email) return undefined
      const { username } = await newUsers.freeUsername(usernameFromEmail(email).username)
      const fields = profileFields.definitions.filter(({ registration }) => registration)
      return { email: email.email, username, fields, ...(termsOfUse && { terms: termsOfUse }) }
    },

    /** `findExcess` counts a new account. */
    complete: async (browserToken: string, form: RegistrationForm, visit: Visit, findExcess: FindExcess) => {
      const email = await mailSignIns.findProven(browserToken)
      if (!email) return refuse('challenge_over')
      const username = form.username === undefined ? undefined : readChosenUsername(form.username)
      if (isRefused(username)) return username
      if (form.terms !== undefined && form.terms !== termsOfUse?.version) return refuse('terms_changed')
      const fields = profileFields.initialValues(form.fields)
      if (isRefused(fields)) return fields
      if (username && !(await usernames.mayBeChosen(username))) return refuse('username_taken')
      const excess = await findExcess(email)
      if (excess) return refuse('too_many_requests', { excess })
      const account = { email, name: displayName(form.name), language: visit.client.language, fields }
      const completeAs = (name: Username) =>
        completeMailRegistration(browserToken, { ...account, username: name }, form.terms)
      const completed = username
        ? await completeAs(username)
        : await newUsers.withFreeUsername(
            email,
            completeAs,
            (outcome) => isRefused(outcome) && outcome.refused === 'username_taken',
          )
      if (isRefused(completed)) return completed
      const { user, usedInvitation } = completed
      if (usedInvitation) await events.record({ kind: 'invitation_used', userId: user.id }, visit.client)
      return (await signIns.byMail(user, { isNew: true }, visit)) ?? refuse('challenge_over')
    },
  }
}
