import { timeSpan } from '../../contract/time-spans.js'
import { createReadKeys } from '../../keys/application-key-records.js'
import { createListKeys, type ListedApplicationKey } from '../../keys/list-keys.js'
import { isOverdue, signingPeriod } from '../../keys/schedule.js'
import { sealedColumns } from '../../keys/sealed-columns.js'
import { createSealedValues } from '../../keys/sealed-values.js'
import type { ApplicationAlgorithm } from '../../keys/signed-token.js'

import { createSigningKeys } from '../../keys/signing-keys.js'
import { systemClock } from '../../lib/clock.js'
import { countText } from '../../lib/text.js'

import type { Database } from '../../platform/database/database.js'
import { keptSecrets } from '../../platform/own-postgres/kept-secrets.js'
import type { Config } from '../../settings/config.js'
import { type Finding, failure, ok, warning, worstOf } from './check.js'

/** The secrets that seal stored values. */
export const sealingSecretsOf = async ({ sealingKey, jwtSecret, dataDir }: SealingSettings) =>
  sealingKey ?? jwtSecret ?? (await keptSecrets(dataDir, 'jwt_secret')) ?? []

export type SealingSettings = Pick<Config, 'sealingKey' | 'jwtSecret' | 'dataDir'>

const asDate = (moment: Date) => moment.toISOString().slice(0, 10)

type TimedKey = { id: string; state: string; signsFrom: Date }

const findInState = (keys: readonly TimedKey[], state: 'current' | 'waiting') => keys.find((key) => key.state === state)

const signersText = (current: TimedKey, waiting: TimedKey | undefined) =>
  `${current.id} signs since ${asDate(current.signsFrom)}${waiting ? `, ${waiting.id} from ${waiting.signsFrom.toISOString()}` : ''}`

/** Checks which key signs access tokens, how old it is, and whether the next key is waiting. */
export const checkSigningKeys = async (
  database: Database,
  config: SealingSettings & Pick<Config, 'accessTokenAlgorithm'>,
): Promise<Finding> => {
  const sealedValues = createSealedValues(await sealingSecretsOf(config), sealedColumns)
  const keys = await createSigningKeys({ database, clock: systemClock, sealedValues }).list()
  if (keys.some(({ state }) => state === 'unopened'))
    return failure('a signing key cannot be opened: use the SEALING_KEY of the other instances')
  const current = findInState(keys, 'current')
  const waiting = findInState(keys, 'waiting')
  if (config.accessTokenAlgorithm !== 'ES256')
    return ok(
      keys.length === 0
        ? 'JWT_SECRET signs access tokens'
        : `JWT_SECRET signs access tokens; ${countText(keys.length, 'key')} published`,
    )
  if (!current) return ok('the first start with ES256 makes a key')
  const says = signersText(current, waiting)
  return isOverdue(current.signsFrom, new Date()) && !waiting
    ? warning(
        `${says}: it is older than ${timeSpan(signingPeriod, 'en')}, and no running instance has ACCESS_TOKEN_ALGORITHM=ES256`,
      )
    : ok(says)
}

const judgeAlgorithm = (algorithm: ApplicationAlgorithm, keys: readonly ListedApplicationKey[]): Finding => {
  const keysOfAlgorithm = keys.filter((key) => key.algorithm === algorithm)
  const current = findInState(keysOfAlgorithm, 'current')
  const waiting = findInState(keysOfAlgorithm, 'waiting')
  if (!current) return ok(`${algorithm}: the running service makes a key`)
  const says = `${algorithm}: ${signersText(current, waiting)}`
  return isOverdue(current.signsFrom, new Date()) && !waiting
    ? warning(`${says}: it is older than ${timeSpan(signingPeriod, 'en')}, and no running instance has replaced it`)
    : ok(says)
}

const unreadableKeysText = (ids: readonly string[]) =>
  `${ids.join(', ')}: ${countText(ids.length, 'retired key')} not sealed with SEALING_KEY, and not trusted. Unless you have removed a key from SEALING_KEY, another program has written into the table`

/** Checks the keys of ID tokens: one for each algorithm that applications use. */
export const checkApplicationKeys = async (database: Database, config: SealingSettings): Promise<Finding> => {
  const sealedValues = createSealedValues(await sealingSecretsOf(config), sealedColumns)
  const read = createReadKeys({ database, clock: systemClock, sealedValues })
  const { usedAlgorithms } = await read()
  const keys = await createListKeys(read)()
  if (keys.some(({ state }) => state === 'unopened'))
    return failure('a key of ID tokens cannot be opened: use the SEALING_KEY of the other instances')
  const unreadable = keys.filter(({ state }) => state === 'unreadable').map(({ id }) => id)
  const findings = [
    ...usedAlgorithms.map((algorithm) => judgeAlgorithm(algorithm, keys)),
    ...(unreadable.length > 0 ? [warning(unreadableKeysText(unreadable))] : []),
  ]
  return worstOf(findings.map(({ says }) => says).join('; ') || 'no application needs one', findings)
}

/**
 * Finds withdrawn keys that are in their table again. After a restore of the whole database they are not found: its events are
 * older, too.
 */
export const checkWithdrawnKeys = async (database: Database): Promise<Finding> => {
  const returnedKeys = await database.query<{ id: string }>(
    `with withdrawn as materialized (
       select split_part(reason, ';', 1) as ids from events where kind = 'signing_keys_withdrawn'
     )
     select k.id from (select id from signing_keys union all select id from application_keys) as k
     where exists (select 1 from withdrawn where position(k.id in ids) > 0) order by k.id`,
  )
  const ids = returnedKeys.map(({ id }) => id).join(', ')
  return returnedKeys.length === 0
    ? ok('no key has come back after it was withdrawn, as far as the events of this database tell')
    : failure(`${ids}: withdrawn as stolen, and trusted again. Run \`latchkey keys rotate --compromised --yes\``)
}
