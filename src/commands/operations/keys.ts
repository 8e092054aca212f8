import type { ListedKey } from '../../keys/signing-keys.js'
import { countText } from '../../lib/text.js'
import { loadConfig } from '../../settings/config.js'
import { type CommandContext, CommandFailure, type CommandRooms, command, type Operator } from '../command.js'
import { asTable, listOf } from '../terminal/printing.js'

const purposes = { access_tokens: 'access tokens', id_tokens: 'ID tokens' }

type KeyOfAnyPurpose = Omit<ListedKey, 'state' | 'algorithm'> & {
  purpose: keyof typeof purposes
  algorithm: string
  state: ListedKey['state'] | 'checks'
}

const signsWithKeyPair = async ({ settings }: CommandContext) =>
  loadConfig(await settings()).accessTokenAlgorithm === 'ES256'

/** While a secret signs access tokens, the key pairs of access tokens only check them. */
const stateOf = (state: ListedKey['state'], keyPairsSign: boolean) =>
  keyPairsSign || state === 'unopened' ? state : ('checks' as const)

const listAll = async (
  { signingKeys, applicationKeys }: CommandRooms,
  keyPairsSign: boolean,
): Promise<KeyOfAnyPurpose[]> => [
  ...(await signingKeys.list()).map(({ algorithm, state, id, ...times }) => ({
    id,
    state: stateOf(state, keyPairsSign),
    ...times,
    purpose: 'access_tokens' as const,
    algorithm,
  })),
  ...(await applicationKeys.list()).map((key) => ({ purpose: 'id_tokens' as const, ...key })),
]

const keyTable = (keys: readonly KeyOfAnyPurpose[]) =>
  asTable([
    ['ID', 'FOR', 'ALGORITHM', 'STATE', 'CREATED', 'SIGNS FROM', 'TRUSTED UNTIL'],
    ...keys.map(({ id, purpose, algorithm, state, createdAt, signsFrom, trustedUntil }) => [
      id,
      purposes[purpose],
      algorithm,
      state,
      createdAt.toISOString(),
      signsFrom.toISOString(),
      trustedUntil?.toISOString() ?? '',
    ]),
  ])

const notesOnSigner = (keyPairsSign: boolean) =>
  keyPairsSign ? [] : ['ACCESS_TOKEN_ALGORITHM is not ES256 here: JWT_SECRET signs access tokens, and no key does.']

export const keysList = command({
  summary: 'List the key pairs that sign access tokens with ES256, and ID tokens for applications',
  help: `latchkey keys list [--json]

Lists the keys of access tokens, whose public part is at /.well-known/jwks.json, and those of ID tokens and logout tokens for
applications, at /api/auth/keys; each in the order in which they sign. STATE is one of:

  waiting     published, and signs from the time in SIGNS FROM
  current     signs now
  checks      signs nothing, as ACCESS_TOKEN_ALGORITHM is not ES256 here; tokens that it has signed are accepted
  retired     signs no more, and is trusted until its last token has expired
  hints       only its public part is left, for ID tokens that an application sends back at logout
  unopened    cannot be opened with SEALING_KEY
  unreadable  cannot be opened either, and had only its public part left: ID tokens that it has signed do not count`,
  json: 'one JSON object on each line: {"id", "state", "signsFrom", …}',
  run: async (rooms, { context }) => {
    const keyPairsSign = await signsWithKeyPair(context)
    const keys = await listAll(rooms, keyPairsSign)
    const hasAccessTokenKeys = keys.some(({ purpose }) => purpose === 'access_tokens')
    return {
      ...listOf(keys, { asTable: keyTable, none: 'There are no keys.' }),
      notes: hasAccessTokenKeys ? notesOnSigner(keyPairsSign) : [],
    }
  },
})

/** Only a key for ID tokens has an `algorithm`. */
type RotatedKey = { id: string; algorithm?: string; signsFrom: Date; isNew: boolean; signsNow: boolean }
type Rotation = { keys: RotatedKey[]; withdrawn: string[] }
const emptyRotation: Rotation = { keys: [], withdrawn: [] }
type RotationOfBoth = { accessTokens: Rotation; idTokens: Rotation }

const nameOf = ({ id, algorithm }: { id: string; algorithm?: string }) =>
  algorithm ? `${id} for ID tokens with ${algorithm}` : id

const publishedOnly = 'is published, and signs once ACCESS_TOKEN_ALGORITHM is ES256'

const keySentence = (key: RotatedKey, insteadOfSigning?: string) => {
  if (insteadOfSigning !== undefined) return `${key.isNew ? 'Made ' : ''}${nameOf(key)}: it ${insteadOfSigning}.`
  const when = key.signsNow ? 'signs now' : `signs from ${key.signsFrom.toISOString()}`
  return key.isNew
    ? `Made ${nameOf(key)}: it ${when}.`
    : `Nothing was changed: ${nameOf(key)} is waiting already, and ${when}.`
}

/** `insteadOfSigning` says what the keys do if they do not sign. */
const asSentences = ({ keys, withdrawn }: Rotation, insteadOfSigning?: string) => {
  const sentences = keys.map((key) => keySentence(key, insteadOfSigning))
  if (withdrawn.length > 0) sentences.push(`Withdrew ${countText(withdrawn.length, 'key')}.`)
  return sentences.join(' ')
}

const asJson = ({ accessTokens, idTokens }: RotationOfBoth) => {
  const withoutSignsNow = ({ signsNow, ...key }: RotatedKey) => key
  const hasIdTokens = idTokens.keys.length + idTokens.withdrawn.length > 0
  return {
    ...accessTokens.keys.map(withoutSignsNow)[0],
    withdrawn: accessTokens.withdrawn,
    ...(hasIdTokens && { idTokens: { keys: idTokens.keys.map(withoutSignsNow), withdrawn: idTokens.withdrawn } }),
  }
}

const consequences = `This refuses every access token of the earlier keys within seconds. Browsers get new ones by themselves, and no user is
signed out. Other programs that check tokens may refuse the new ones, and accept the old ones, until they read the keys
again: five minutes at the longest. The keys of ID tokens are replaced too: an application may refuse a sign-in until it
reads the keys again, and a logout that it begins with an ID token of an earlier key asks the user first.
Add --yes to do it.`

const unopenedMessage =
  'Nothing was changed: the keys cannot be opened with SEALING_KEY. Run this with the settings of the service. If the key that sealed them is lost: latchkey keys rotate --compromised --yes'

/** The algorithm is named for ID tokens only: access tokens have one. */
const withoutAlgorithm = <Key extends { algorithm: string }>({ algorithm: _, ...key }: Key) => key

/** Looks at the keys of both kinds first, so that nothing is changed if one of them cannot be opened: then it returns undefined. */
const rotateBoth = async (rooms: CommandRooms, forAccessTokens: boolean) => {
  const { signingKeys, applicationKeys } = rooms
  if ((await listAll(rooms, true)).some(({ state }) => state === 'unopened')) return undefined
  const idTokens = await applicationKeys.rotate()
  if (idTokens && !forAccessTokens) return { accessTokens: [], idTokens }
  const accessTokens = idTokens && (await signingKeys.rotate())
  return accessTokens && { accessTokens: accessTokens.map(withoutAlgorithm), idTokens }
}

const rotate = async (rooms: CommandRooms, forAccessTokens: boolean, client: Operator): Promise<RotationOfBoth> => {
  const newestKeys = await rotateBoth(rooms, forAccessTokens)
  if (!newestKeys) throw new CommandFailure(unopenedMessage)
  for (const key of [...newestKeys.accessTokens, ...newestKeys.idTokens])
    if (key.isNew) await rooms.events.record({ kind: 'signing_key_made', reason: nameOf(key) }, client)
  const asRotation = (keys: readonly (Omit<RotatedKey, 'signsNow'> & { now: Date })[]): Rotation => ({
    keys: keys.map(({ now, ...key }) => ({ ...key, signsNow: key.signsFrom <= now })),
    withdrawn: [],
  })
  return { accessTokens: asRotation(newestKeys.accessTokens), idTokens: asRotation(newestKeys.idTokens) }
}

/** Withdraws all keys. A new key is made only if `isKeyWanted`. */
const replaceAccessTokenKeys = async (
  signingKeys: CommandRooms['signingKeys'],
  isKeyWanted: boolean,
): Promise<Rotation> => {
  if (!isKeyWanted) return { ...emptyRotation, withdrawn: await signingKeys.withdrawAll() }
  const { made, removed } = await signingKeys.replaceAll()
  return { keys: made.map((key) => ({ ...withoutAlgorithm(key), isNew: true, signsNow: true })), withdrawn: removed }
}

const replaceAll = async (
  { signingKeys, applicationKeys, events }: CommandRooms,
  forAccessTokens: boolean,
  client: Operator,
): Promise<RotationOfBoth> => {
  const record = async ({ keys, withdrawn }: Rotation) => {
    if (keys.length + withdrawn.length === 0) return
    const namesText = (names: readonly string[]) => names.join(', ') || 'none'
    const reason = `${namesText(withdrawn)}; ${namesText(keys.map(nameOf))} ${keys.length > 1 ? 'sign' : 'signs'} now`
    await events.record({ kind: 'signing_keys_withdrawn', reason }, client)
  }
  const accessTokens = await replaceAccessTokenKeys(signingKeys, forAccessTokens)
  await record(accessTokens)
  const replaced = await applicationKeys.replaceAll()
  const made = replaced.made.map((key) => ({ ...key, isNew: true, signsNow: true }))
  const idTokens = { keys: made, withdrawn: replaced.removed }
  await record(idTokens)
  return { accessTokens, idTokens }
}

export const keysRotate = command({
  summary: 'Replace the key pairs that sign access tokens with ES256, and ID tokens for applications',
  help: `latchkey keys rotate [--compromised --yes] [--before-es256] [--json]

Makes a new key for access tokens. It is published at once, and signs after 21 minutes, when every program that checks tokens
knows it; the first key of all signs at once. The key before it stays trusted until its last token has expired. If a new key
is waiting already, nothing is changed. The service does this by itself every 90 days. While ACCESS_TOKEN_ALGORITHM is not
ES256 here, JWT_SECRET signs access tokens, and no key is made for them.

If there are applications, makes a new key for ID tokens as well, for each algorithm that they use. It signs after 24 hours.

  --compromised   a key was stolen: withdraw all keys, and make new ones that sign at once. Every running instance follows
                  within about two seconds
  --yes           needed for --compromised: without it, says what would happen and changes nothing
  --before-es256  make a key for access tokens although JWT_SECRET signs them here: it is published before you set
                  ACCESS_TOKEN_ALGORITHM=ES256`,
  json: `{"id": …, "signsFrom": …, "isNew": …, "withdrawn": […]}; if there are applications, also
                  "idTokens": {"keys": [{"id": …, "algorithm": …, "signsFrom": …, "isNew": …}], "withdrawn": […]}`,
  options: { compromised: { type: 'boolean' }, yes: { type: 'boolean' }, 'before-es256': { type: 'boolean' } },
  read: async ({ values, context }) => {
    if (values.compromised && !values.yes) throw new CommandFailure(consequences)
    const keyPairsSign = await signsWithKeyPair(context)
    return { keyPairsSign, forAccessTokens: keyPairsSign || (values['before-es256'] ?? false) }
  },
  run: async (rooms, { values, keyPairsSign, forAccessTokens, operator }) => {
    const rotation = await (values.compromised ? replaceAll : rotate)(rooms, forAccessTokens, operator)
    const sentences = [
      asSentences(rotation.accessTokens, keyPairsSign ? undefined : publishedOnly),
      asSentences(rotation.idTokens),
    ].filter((text) => text !== '')
    return {
      json: asJson(rotation),
      text: sentences.join('\n') || 'No key was made.',
      notes: notesOnSigner(keyPairsSign),
    }
  },
})
