import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { ChangeDetails } from '../account-changes/account-change-table.js'
import type { AccountChanges, Changes, FieldChanges } from '../account-changes/account-changes.js'
import { LinkedAccount } from '../contract/account-export.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { ProfileFieldDefinition } from '../contract/profile-fields.js'
import { Account, AccountPatch, type BuiltInField, builtInFieldNames, SignedIn } from '../contract/schemas.js'
import type { Freshness } from '../factors/freshness.js'
import type { Cookies } from '../http/cookies.js'
import { guardRefusals, routeRefusals, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { isUniqueViolation, type Transaction } from '../platform/database/database.js'
import type { IdentityLinks } from '../providers/identity-links.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'
import { sendRenewed } from '../sessions/session-cookies.js'
import type { CallerContext } from '../sessions/session-facts.js'
import { builtInFieldReaders } from '../users/built-in-fields.js'
import { readChosenUsername, readUsername } from '../users/names.js'
import type { InvalidFieldsRefusal, ProfileFields } from '../users/profile-fields.js'
import { type RenameRefusal, type Usernames, usernameReservedFor } from '../users/usernames.js'
import type { User, UserChanges, Users } from '../users/users.js'
import { accountBody } from './user-bodies.js'

const { responses, sendRefusal } = routeRefusals('not_authenticated', 'too_many_requests', 'unavailable')
const changeRefusals = routeRefusals(
  ...guardRefusals,
  'bad_request',
  'fresh_sign_in_required',
  'username_length',
  'username_at_sign',
  'username_characters',
  'username_edges',
  'username_alphabets',
  'username_taken',
  'too_many_groups',
  'too_many_usernames',
  'invalid_fields',
)

const schema = {
  tags: ['account'],
  summary: 'The account of the caller',
  response: {
    200: Type.Object({
      user: Account,
      fields: Type.Array(ProfileFieldDefinition, {
        description: 'The definitions of the fields that `user.fields` can have',
      }),
      linkedAccounts: Type.Array(LinkedAccount, { description: 'The accounts at providers that sign the user in' }),
    }),
    ...responses,
  },
}
const changeSchema = {
  tags: ['account'],
  summary: 'Change the username, the name, the language or the profile fields',
  description:
    'A new username needs a fresh sign-in, and is in the new tokens of this session; other sessions get it at their next renewal. The former one is reserved for its owner for 30 days. At most five are reserved: 409 `too_many_usernames` says in `freeFrom` when the oldest becomes free. Null or an empty text removes the name, or a value of `fields`. The language is that of mails about the account; warnings keep the former one for seven days.',
  body: AccountPatch,
  response: {
    200: withHeaders(SignedIn, { 'Set-Cookie': 'New access_token and refresh_token' }),
    ...changeRefusals.responses,
  },
}

type AccountRouteDependencies = {
  guards: Guards
  profile: ReturnType<typeof createProfile>
  callers: Callers
  users: Users
  identityLinks: IdentityLinks
  profileFields: ProfileFields
  freshness: Freshness
  cookies: Cookies
}

export const accountRoutes = (server: Server, deps: AccountRouteDependencies) => {
  const { guards, profile, callers, users, identityLinks, profileFields, freshness, cookies } = deps
  const path = '/api/auth/account'

  server.get(path, { schema, onRequest: guards.read }, async (request, reply) => {
    const user = await users.findEnabled(callers.of(request).userId)
    if (!user) return sendRefusal(reply, refuse('not_authenticated'))
    return reply.send({
      user: accountBody(user, profileFields.knownValues(user.fields)),
      fields: [...profileFields.definitions],
      linkedAccounts: (await identityLinks.identitiesOf(user.id)).map(({ provider, email }) => ({ provider, email })),
    })
  })

  const requireFreshForUsername = async (request: FastifyRequest, reply: FastifyReply) => {
    const { username } = request.body as AccountPatch
    return username === undefined ? undefined : freshness.required(request, reply)
  }

  const onRequest = guards.change
  server.patch(
    path,
    { schema: changeSchema, onRequest, preHandler: requireFreshForUsername },
    async (request, reply) => {
      const changed = await profile.change(callers.contextOf(request), request.body)
      return isRefused(changed)
        ? changeRefusals.sendRefusal(reply, changed)
        : sendRenewed(reply, cookies, changed.issued)
    },
  )
}

type ProfileDependencies = {
  accountChanges: AccountChanges
  userChanges: UserChanges
  usernames: Usernames
  fieldChanges: FieldChanges
}

type Values = Required<AccountPatch>
type Field = keyof Values
type KindOf<Name extends Field> = `${Name}_changed`
type Refusal =
  | Extract<ReturnType<typeof readUsername | typeof readChosenUsername>, Refused>
  | RenameRefusal
  | InvalidFieldsRefusal

/**
 * Returns a refusal if the account cannot have the value, a function that writes the value, or undefined if the account already has it.
 * All edits are called before the first of these functions. A refusal rolls the transaction back, also what `fields` has written by then.
 */
type Edit<Name extends Field> = (
  sql: Transaction,
  user: User,
  value: Values[Name],
) => Promise<Refusal | (() => Promise<ChangeDetails<KindOf<Name>>>) | undefined>
type Edits = { readonly [Name in Field]: Edit<Name> }

/** The fields of the table `users` whose change needs no further details (`ChangeDetails`). */
type PlainField = {
  [Name in BuiltInField]: Record<never, never> extends ChangeDetails<KindOf<Name>> ? Name : never
}[BuiltInField]

const createPlainEdits = ({ userChanges }: Pick<ProfileDependencies, 'userChanges'>) => {
  const edit =
    (field: BuiltInField) =>
    async (sql: Transaction, user: User, typed: string | null): ReturnType<Edit<PlainField>> => {
      const value = builtInFieldReaders[field].typed(typed)
      if (value === user[field]) return undefined
      return async () => {
        await userChanges.setField(sql, user.id, field, value)
        return {}
      }
    }
  return Object.fromEntries(builtInFieldNames.map((field) => [field, edit(field)])) as Pick<Edits, PlainField>
}

/** If a field whose change has a mail or an undo link misses its edit here, this does not compile. */
const createOtherEdits = ({
  userChanges,
  usernames,
  fieldChanges,
}: Omit<ProfileDependencies, 'accountChanges'>): Omit<Edits, PlainField> => ({
  username: async (sql, user, typed) => {
    const former = user.username
    const newUsername = readUsername(typed)
    if (isRefused(newUsername)) return newUsername
    // A user may keep a name that could not be chosen today.
    if (newUsername.username === former) return undefined
    const chosen = readChosenUsername(newUsername.username)
    if (isRefused(chosen)) return chosen
    const refused = await usernames.refusalFor(sql, user, newUsername)
    if (refused) return refused
    return async () => {
      await usernames.rename(sql, user, newUsername)
      const mail = { username: newUsername.username, formerUsername: former, reservedFor: usernameReservedFor }
      return { mail, undo: { former } }
    }
  },
  language: async (sql, user, newLanguage) => {
    if (newLanguage === user.language) return undefined
    return async () => {
      await userChanges.setField(sql, user.id, 'language', newLanguage)
      return { mail: { newLanguage }, undo: { former: user.language ?? 'en' } }
    }
  },
  fields: async (sql, user, given) => {
    const outcome = await fieldChanges.write(given, 'user')(sql, user)
    if (isRefused(outcome)) return outcome
    const { fields_changed: changed } = outcome.changes
    return changed && (async () => changed)
  },
})

const kindOf = <Name extends Field>(name: Name): KindOf<Name> => `${name}_changed`

/**
 * Changes the name, the username, the language and the fields of the caller. The new tokens of the session have the names at once, other
 * sessions at their next renewal.
 */
export const createProfile = ({ accountChanges, ...parts }: ProfileDependencies) => {
  const edits: Edits = { ...createPlainEdits(parts), ...createOtherEdits(parts) }

  const prepare = <Name extends Field>(sql: Transaction, user: User, name: Name, changes: AccountPatch) => {
    const edit: Edit<Name> = edits[name]
    return edit(sql, user, changes[name] as Values[Name])
  }

  const change = async (context: CallerContext, changes: AccountPatch) => {
    const [first, ...others] = (Object.keys(edits) as Field[]).filter((name) => changes[name] !== undefined)
    if (!first) return refuse('bad_request', { message: `Send one of these: ${Object.keys(edits).join(', ')}` })
    const kinds = [kindOf(first), ...others.map(kindOf)] as const
    const changing = accountChanges.byCaller(context, kinds, async (sql, user) => {
      const prepared = []
      for (const name of [first, ...others]) {
        const applyChange = await prepare(sql, user, name, changes)
        if (isRefused(applyChange)) return applyChange
        if (applyChange) prepared.push({ name, applyChange })
      }
      const appliedChanges: Changes<KindOf<Field>> = {}
      for (const { name, applyChange } of prepared)
        Object.assign(appliedChanges, { [kindOf(name)]: await applyChange() })
      return { changes: appliedChanges }
    })
    return changing.catch((error: unknown) => {
      // Another request has just taken the name.
      if (isUniqueViolation(error)) return refuse('username_taken')
      throw error
    })
  }

  return { change }
}
