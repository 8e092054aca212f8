import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { ChangeDetails } from '../account-changes/account-change-table.js'
import type { Changes } from '../account-changes/account-changes.js'
import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import { AccountExport, LinkedAccount } from '../contract/account-export.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { ProfileFieldDefinition } from '../contract/profile-fields.js'
import { Account, AccountPatch, type BuiltInField, builtInFieldNames, SignedIn } from '../contract/schemas.js'
import { usernameRefusals } from '../contract/usernames.js'
import { route, type Server, withHeaders } from '../http/route.js'
import type { Transaction } from '../platform/database/database.js'
import type { App } from '../service/open-http.js'
import { sendRenewed } from '../sessions/session-cookies.js'
import type { CallerContext } from '../sessions/session-facts.js'
import { builtInFieldReaders } from '../users/built-in-fields.js'
import { isNameViolation } from '../users/login-names.js'
import { readChosenUsername, readUsername } from '../users/names.js'
import type { UsersRoom } from '../users/open-users.js'
import type { InvalidFieldsRefusal } from '../users/profile-fields.js'
import { type RenameRefusal, usernameReservedFor } from '../users/usernames.js'
import type { User } from '../users/users.js'
import { accountBody } from './user-bodies.js'

export const accountRoutes = (server: Server, app: App) => {
  const { guards, callers, users, identityLinks, profileFields, freshness, cookies } = app

  route(server, 'GET /api/auth/account', {
    guard: guards.read,
    tag: 'account',
    summary: 'The account of the caller',
    refuses: [],
    answers: {
      200: Type.Object({
        user: Account,
        fields: Type.Array(ProfileFieldDefinition, {
          description: 'The definitions of the fields that `user.fields` can have',
        }),
        linkedAccounts: Type.Array(LinkedAccount, { description: 'The accounts at providers that sign the user in' }),
      }),
    },
    handle: async ({ request }) => {
      const user = await users.findEnabled(callers.of(request).userId)
      if (!user) return refuse('not_authenticated')
      return {
        user: accountBody(user, profileFields.knownValues(user.fields)),
        fields: [...profileFields.definitions],
        linkedAccounts: (await identityLinks.identitiesOf(user.id)).map(({ provider, email }) => ({ provider, email })),
      }
    },
  })

  const requireFreshForUsername = async (request: FastifyRequest, reply: FastifyReply) => {
    const { username } = request.body as AccountPatch
    return username === undefined ? undefined : freshness.required(request, reply)
  }

  route(server, 'PATCH /api/auth/account', {
    guard: guards.change,
    tag: 'account',
    summary: 'Change the username, the name, the language or the profile fields',
    description:
      'A new username needs a fresh sign-in, and is in the new tokens of this session; other sessions get it at their next renewal. The former one is reserved for its owner for 30 days. At most five are reserved: 409 `too_many_usernames` says in `freeFrom` when the oldest becomes free. Null or an empty text removes the name, or a value of `fields`. The language is that of mails about the account; warnings keep the former one for seven days.',
    body: AccountPatch,
    refuses: [
      'bad_request',
      'fresh_sign_in_required',
      ...usernameRefusals,
      'username_taken',
      'too_many_groups',
      'too_many_usernames',
      'invalid_fields',
    ],
    answers: { 200: withHeaders(SignedIn, { 'Set-Cookie': 'New access_token and refresh_token' }) },
    preHandler: requireFreshForUsername,
    handle: async ({ body, request, reply }) => {
      const changed = await changeProfile(app, callers.contextOf(request), body)
      return isRefused(changed) ? changed : sendRenewed(reply, cookies, changed.issued)
    },
  })
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

const plainEditsOf = ({ userChanges }: UsersRoom) => {
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
const otherEditsOf = ({
  userChanges,
  usernames,
  fieldChanges,
}: UsersRoom & AccountChangesRoom): Omit<Edits, PlainField> => ({
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
const changeProfile = async (rooms: UsersRoom & AccountChangesRoom, context: CallerContext, changes: AccountPatch) => {
  const edits: Edits = { ...plainEditsOf(rooms), ...otherEditsOf(rooms) }
  const prepare = <Name extends Field>(sql: Transaction, user: User, name: Name) => {
    const edit: Edit<Name> = edits[name]
    return edit(sql, user, changes[name] as Values[Name])
  }
  const [first, ...others] = (Object.keys(edits) as Field[]).filter((name) => changes[name] !== undefined)
  if (!first) return refuse('bad_request', { message: `Send one of these: ${Object.keys(edits).join(', ')}` })
  const kinds = [kindOf(first), ...others.map(kindOf)] as const
  const changing = rooms.accountChanges.byCaller(context, kinds, async (sql, user) => {
    const prepared = []
    for (const name of [first, ...others]) {
      const applyChange = await prepare(sql, user, name)
      if (isRefused(applyChange)) return applyChange
      if (applyChange) prepared.push({ name, applyChange })
    }
    const appliedChanges: Changes<KindOf<Field>> = {}
    for (const { name, applyChange } of prepared) Object.assign(appliedChanges, { [kindOf(name)]: await applyChange() })
    return { changes: appliedChanges }
  })
  return changing.catch((error: unknown) => {
    // Another request has just taken the name.
    if (isNameViolation(error, 'username')) return refuse('username_taken')
    throw error
  })
}

export const exportAccountRoutes = (server: Server, { guards, callers, users, accountData }: App) =>
  route(server, 'GET /api/auth/export', {
    guard: guards.sensitiveRead,
    tag: 'account',
    summary: 'Everything that is stored about the caller; needs a fresh sign-in',
    refuses: ['cross_site', 'fresh_sign_in_required'],
    answers: { 200: withHeaders(AccountExport, { 'Content-Disposition': 'A browser saves it as a file' }) },
    handle: async ({ request, reply }) => {
      const user = await users.findEnabled(callers.of(request).userId)
      if (!user) return refuse('not_authenticated')
      reply.header('Content-Disposition', 'attachment; filename="account-data.json"')
      return accountData(user)
    },
  })
