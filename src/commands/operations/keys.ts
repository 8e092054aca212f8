import { loadConfig } from '../../config.js'
import type { ListedKey } from '../../domain/signing-keys/signing-keys.js'
import {
  type Command,
  type CommandContext,
  CommandFailure,
  operator,
  print,
  readArguments,
  withStores,
} from '../command.js'
import { counted } from '../terminal/counted.js'
import { printableJson } from '../terminal/printable-json.js'
import { asTable } from '../terminal/table.js'

const asLines = (keys: readonly ListedKey[]) =>
  asTable([
    ['ID', 'STATE', 'CREATED', 'SIGNS FROM', 'TRUSTED UNTIL'],
    ...keys.map(({ id, state, createdAt, signsFrom, trustedUntil }) => [
      id,
      state,
      createdAt.toISOString(),
      signsFrom.toISOString(),
      trustedUntil?.toISOString() ?? '',
    ]),
  ])

/** On standard error, so that it never mixes with what a program reads. */
const noteWhoSigns = async ({ environment, stderr }: CommandContext) => {
  if (loadConfig(environment).accessTokenAlgorithm === 'ES256') return
  await print(stderr, 'ACCESS_TOKEN_ALGORITHM is not ES256 here: JWT_SECRET signs access tokens, and no key does.')
}

export const keysList: Command = {
  summary: 'List the key pairs that sign access tokens with ES256',
  help: `latchkey keys list [--json]

Lists the keys whose public part is at /.well-known/jwks.json, in the order in which they sign. STATE is one of:

  waiting     published, and signs from the time in SIGNS FROM
  current     signs now
  retired     signs no more, and is trusted until its last token has expired
  unopened    cannot be opened with SEALING_KEY

  --json      one JSON object on each line, for programs`,

  run: async (args, context) => {
    const { values } = readArguments(args, { json: { type: 'boolean' } }, [])
    return withStores(context, 'service', async ({ signingKeys }) => {
      const keys = await signingKeys.list()
      if (values.json) for (const key of keys) await print(context.stdout, printableJson(key))
      else await print(context.stdout, keys.length > 0 ? asLines(keys) : 'There are no keys.')
      if (keys.length > 0) await noteWhoSigns(context)
      return 0
    })
  },
}

type Rotated = { id: string; signsFrom: Date; isNew: boolean; withdrawn: string[] }

const asSentence = ({ id, signsFrom, isNew, withdrawn }: Rotated, signsNow: boolean) => {
  const when = signsNow ? 'signs now' : `signs from ${signsFrom.toISOString()}`
  if (!isNew) return `Nothing was changed: ${id} is waiting already, and ${when}.`
  return `Made ${id}: it ${when}.${withdrawn.length > 0 ? ` Withdrew ${counted(withdrawn.length, 'key')}.` : ''}`
}

const consequences = `This refuses every access token of the earlier keys within seconds. Browsers get new ones by themselves, and no user is
signed out. Other programs that check tokens may refuse the new ones, and accept the old ones, until they read the keys
again: five minutes at the longest. Add --yes to do it.`

const rotate = (context: CommandContext) =>
  withStores(context, 'service', async ({ signingKeys, events }) => {
    const made = await signingKeys.rotate()
    if (!made)
      throw new CommandFailure(
        'Nothing was changed: the keys cannot be opened with SEALING_KEY. Run this with the settings of the service. If the key that sealed them is lost: latchkey keys rotate --compromised --yes',
      )
    const { id, signsFrom, isNew, now } = made
    if (isNew) await events.record({ kind: 'signing_key_made', reason: id }, operator(context))
    return { rotated: { id, signsFrom, isNew, withdrawn: [] }, signsNow: signsFrom <= now }
  })

const replaceAll = (context: CommandContext) =>
  withStores(context, 'service', async ({ signingKeys, events }) => {
    const { id, signsFrom, removed } = await signingKeys.replaceAll()
    const withdrawn = removed.length > 0 ? removed.join(', ') : 'none'
    await events.record({ kind: 'signing_keys_withdrawn', reason: `${withdrawn}; ${id} signs now` }, operator(context))
    return { rotated: { id, signsFrom, isNew: true, withdrawn: removed }, signsNow: true }
  })

export const keysRotate: Command = {
  summary: 'Replace the key pair that signs access tokens with ES256',
  help: `latchkey keys rotate [--compromised --yes] [--json]

Makes a new key. It is published at once, and signs after 21 minutes, when every program that checks tokens knows it; the
first key of all signs at once. The key before it stays trusted until its last token has expired. If a new key is waiting
already, nothing is changed. The service does this by itself every 90 days.

  --compromised   a key was stolen: withdraw all keys at once, and make one that signs at once
  --yes           needed for --compromised: without it, says what would happen and changes nothing
  --json          {"id": …, "signsFrom": …, "isNew": …, "withdrawn": […]}`,

  run: async (args, context) => {
    const { values } = readArguments(
      args,
      { compromised: { type: 'boolean' }, yes: { type: 'boolean' }, json: { type: 'boolean' } },
      [],
    )
    if (values.compromised && !values.yes) throw new CommandFailure(consequences)
    const { rotated, signsNow } = await (values.compromised ? replaceAll(context) : rotate(context))
    await print(context.stdout, values.json ? printableJson(rotated) : asSentence(rotated, signsNow))
    await noteWhoSigns(context)
    return 0
  },
}
